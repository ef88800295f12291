"""The kernel cache must see every source that a kernel is made of; kernels allocate nothing, and are compiled once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import posegen.kernels
from posegen.kernels import KERNEL_SOURCES, kernel


def test_every_kernel_is_in_a_source_that_the_cache_hashes() -> None:
    package = Path(posegen.kernels.__file__).parent
    hashed = {path for pattern in KERNEL_SOURCES for path in package.glob(pattern)}
    written = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text()}
    assert written
    assert written <= hashed


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
    caller.as_part.compile((numba.float64[::1],))  # what comes from the cache compiled nothing
    assert called.as_part.signatures == [(numba.int64,)]


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
    called.as_part.compile((numba.float32[::1],))
    (compiled,) = called.as_part.overloads.values()
    with pytest.raises(RuntimeError, match="no compiled object"):
        compiled.library._get_compiled_object()


def test_a_kernel_that_allocates_is_refused() -> None:
    with pytest.raises(numba.core.errors.NumbaError, match="Only accept returning of array passed into the function"):
        _room(3)
