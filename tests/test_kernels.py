"""The kernel cache must see every source that a kernel is made of; kernels allocate nothing, and are compiled once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import posegen.kernels
from posegen.kernels import KERNEL_SOURCES, LINE_BYTES, aligned_zeros, kernel


def test_every_kernel_is_in_a_source_that_the_cache_hashes() -> None:
    package = Path(posegen.kernels.__file__).parent
    hashed = {path for pattern in KERNEL_SOURCES for path in package.glob(pattern)}
    written = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text()}
    assert written
    assert written <= hashed


def test_arrays_to_work_in_begin_where_lines_of_the_cache_do() -> None:
    for shape in ((3, 320), (1,), (7, 9, 250)):
        made = [aligned_zeros(shape, dtype) for dtype in (np.float32, np.float64, np.bool_) for _ in range(5)]
        assert all(array.ctypes.data % LINE_BYTES == 0 for array in made)
        assert all(array.shape == shape and array.flags.c_contiguous and array.flags.aligned for array in made)
        assert not any(array.any() for array in made)


@kernel
def _twice(x: float) -> float:
    return 2 * x


@kernel
def _sum_of_constants(out: Any) -> None:
    out[0] = _twice(1) + _twice(2)


@kernel
def _room(count: int) -> Any:
    return np.zeros(count)


def test_a_kernel_is_compiled_once_for_all_constants_that_are_passed_to_it() -> None:
    out = np.zeros(1)
    _sum_of_constants(out)
    assert out[0] == 6
    called: Any = _twice
    caller: Any = _sum_of_constants
    caller.as_part().compile((numba.float64[::1],))  # what comes from the cache compiled nothing
    assert called.as_part().signatures == [(numba.int64,)]


@kernel
def _thirds(values: Any) -> None:
    for i in range(len(values)):
        values[i] = values[i] / np.float32(3) + _twice(values[i])


@kernel
def _outermost(values: Any) -> None:
    _thirds(values)
    _thirds(values)


def test_a_kernel_that_others_call_becomes_machine_code_with_them_and_gives_the_same() -> None:
    values = np.linspace(-7, 11, 101, dtype=np.float32)
    alone = values.copy()
    _outermost(values)
    _thirds(alone)
    _thirds(alone)
    assert values.tobytes() == alone.tobytes()
    called: Any = _thirds
    called.as_part().compile((numba.float32[::1],))
    (compiled,) = called.as_part().overloads.values()
    with pytest.raises(RuntimeError, match="no compiled object"):
        compiled.library._get_compiled_object()


HOME_AHEAD = """
import sys
import numpy as np
from numba.core import event
from posegen.motion.plant import home_ahead

passes = event.RecordingListener()
event.register("numba:run_pass", passes)
thigh = np.dtype(sys.argv[1]).type(0.5)
told = [home_ahead(np.linspace(0, 0.2, 32), thigh, 0.375).hex()]
print(*told, *(seen.data["qualname"] for _, seen in passes.buffer if seen.is_start and "posegen_part" in seen.data["name"]))
"""


def test_what_another_process_lowered_is_read_and_gives_the_same(tmp_path: Path) -> None:
    def home_ahead_in_a_process(thigh: str) -> list[str]:
        environment = os.environ | {"POSEGEN_KERNEL_CACHE": str(tmp_path)}
        command = [sys.executable, "-c", HOME_AHEAD, thigh]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()

    # The numbers are the same as float32 and as float64, but for numba they make another outermost kernel.
    first, second = home_ahead_in_a_process("float64"), home_ahead_in_a_process("float32")
    assert first[1:] == ["sin_turns"]
    assert second == first[:1]
    # A module that is gone, or not whole, is made again.
    for spoil in (Path.unlink, lambda module: module.write_bytes(module.read_bytes()[:-1])):
        for module in tmp_path.rglob("*.bc"):
            spoil(module)
        for compiled in tmp_path.glob("*/motion*/*"):
            compiled.unlink()
        assert home_ahead_in_a_process("float32") == first


def test_a_kernel_that_allocates_is_refused() -> None:
    with pytest.raises(numba.core.errors.NumbaError, match="Only accept returning of array passed into the function"):
        _room(3)
