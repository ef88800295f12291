"""The kernel cache must see every source that a kernel is made of; kernels allocate nothing, and are compiled once."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import posegen.foundations.kernels
from posegen.config.schema import Config
from posegen.foundations.kernels import COMPILING, KERNEL_PACKAGES, LINE_BYTES, aligned_zeros, kernel
from posegen.foundations.progress import Progress, compilation_shown
from posegen.generation import shard


def test_no_kernel_reads_a_package_that_the_cache_key_leaves_out() -> None:
    package = Path(posegen.foundations.kernels.__file__).parents[1]
    kernels = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text()}
    assert kernels
    seen: set[Path] = set()
    pending = list(kernels)
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        assert any(path.is_relative_to(package / name) for name in KERNEL_PACKAGES), path
        source = path.read_text()
        assert not re.search(r"^import posegen", source, re.MULTILINE), path
        for module in re.findall(r"^from (posegen[\w.]*) import", source, re.MULTILINE):
            file = package.parent.joinpath(*module.split("."))
            pending += [found for found in (file.with_suffix(".py"), file / "__init__.py") if found.is_file()]


@pytest.mark.slow
def test_editing_a_constant_that_kernels_read_changes_the_cache_folder(tmp_path: Path) -> None:
    copy = tmp_path / "posegen"
    shutil.copytree(Path(posegen.foundations.kernels.__file__).parents[1], copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = "from posegen.foundations import kernels; print(kernels.__file__, kernels.cache_folder().name)"

    def folder() -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-c", code]
        printed = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout
        file, name = printed.split()
        assert Path(file).is_relative_to(copy)
        return name

    before = folder()
    (copy / "cli" / "main.py").write_text("")
    assert folder() == before
    for constant in ("foundations/constants.py", "library/actions.py"):
        with (copy / constant).open("a") as file:
            file.write("\nEDITED = 1\n")
        assert folder() != before
        before = folder()


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
    types = (numba.float64[::1],)
    fresh = numba.jit(**caller.targetoptions)(caller.py_func)  # what comes from the cache compiled nothing
    fresh.compile(types)
    assert called.part().signatures == [(numba.int64,)]


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
    called.part().compile((numba.float32[::1],))
    (compiled,) = called.part().overloads.values()
    with pytest.raises(RuntimeError, match="no compiled object"):
        compiled.library._get_compiled_object()


@pytest.mark.slow
def test_an_untested_numba_compiles_plain_kernels_and_reports_it_once(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import numba\nnumba.__version__ = '0.1234.5'\n")
    code = (
        "import os, subprocess, sys\n"
        "import numpy as np\n"
        "from posegen.motion.stances import standing_ankle_ahead\n"
        "linking = 'posegen.foundations.kernel_linking' in sys.modules\n"
        "print(standing_ankle_ahead(np.linspace(0, 0.2, 32), 0.5, 0.375).hex(), linking)\n"
        "if len(sys.argv) > 1:\n"
        "    os.environ['POSEGEN_KERNEL_CACHE'] = sys.argv.pop()\n"
        "    subprocess.run([sys.executable, '-c', sys.argv.pop()], check=True)\n"
    )

    def run(command: list[str], folder: str, **environment: str) -> tuple[list[str], str]:
        settings = os.environ | {"POSEGEN_KERNEL_CACHE": str(tmp_path / folder)} | environment
        ran = subprocess.run([sys.executable, *command], env=settings, check=True, capture_output=True, text=True)
        return ran.stdout.split(), ran.stderr

    tested, silent = run(["-c", code], "tested")
    assert (tested[1], silent) == ("True", "")
    # A worker that compiles, too, does not repeat the line.
    untested, reported = run(["-c", code, code, str(tmp_path / "worker")], "untested", PYTHONPATH=str(tmp_path))
    assert untested == [tested[0], "False"] * 2
    assert (reported.count("\n"), "posegen: numba 0.1234.5 was not tested" in reported) == (1, True)
    assert run(["-c", code], "untested", PYTHONPATH=str(tmp_path))[1] == ""  # nothing is compiled
    assert run(["-m", "posegen", "--help"], "help", PYTHONPATH=str(tmp_path))[1] == ""


def test_a_kernel_that_allocates_is_refused() -> None:
    with pytest.raises(numba.core.errors.NumbaError, match="Only accept returning of array passed into the function"):
        _room(3)


class _Planted:
    """Runs code of another user when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.slow
def test_kernels_that_another_user_may_have_planted_are_not_run(tmp_path: Path) -> None:
    cache, trace = tmp_path / "kernels", tmp_path / "trace"
    code = (
        "import os, numpy as np\n"
        "from posegen.motion.stances import standing_ankle_ahead\n"
        "print(standing_ankle_ahead(np.linspace(0, 0.2, 32), 0.5, 0.375).hex(), os.environ['POSEGEN_KERNEL_CACHE'])"
    )

    def run() -> tuple[list[str], str]:
        environment = os.environ | {"POSEGEN_KERNEL_CACHE": str(cache), "TMPDIR": str(tmp_path)}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        return ran.stdout.split(), ran.stderr

    before, warning = run()
    assert (before[1], warning) == (str(cache), "")
    indices = list(cache.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(pickle.dumps(_Planted(trace)))
    (folder,) = cache.iterdir()
    folder.chmod(0o777)
    after, warning = run()
    assert not trace.exists()
    assert after[0] == before[0]
    assert warning.count("\n") == 1
    assert f"rm -r {folder}. Until then, or until POSEGEN_KERNEL_CACHE names" in warning
    assert not Path(after[1]).exists()  # the temporary folder
    folder.chmod(0o700)
    run()
    assert trace.exists()  # the planted index is one that numba runs


class _Recorded(Progress):
    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0, keep: bool = True) -> None:
        self.events.append((task, unit, done < total, keep))

    def update(self, done: int, details: str = "") -> None:
        self.events.append(("update", done))

    def stop(self) -> None:
        self.events.append(("stop",))


def test_compilation_is_shown_with_what_it_is_for() -> None:
    display, name = _Recorded(), f"_new_{os.getpid()}"
    source = f"def {name}(x):\n    return x + 1\n"
    made: dict[str, Any] = {}
    exec(source, made)  # a function that no cache has
    made[name].__module__ = __name__
    compiled = numba.njit(made[name])
    posegen.foundations.kernels._compilation.declared.add(f"{__name__}.{name}")  # what the decorator does
    with compilation_shown(display):
        assert compiled(1) == 2
        assert compiled(2) == 3  # is compiled already
    kind, unit, is_partial, keep = display.events[0]
    assert (kind, unit, is_partial, keep) == (COMPILING, "kernels", True, False)
    assert [event[0] for event in display.events] == [COMPILING, "update", "stop"]
    assert compiled(1.0) == 2.0  # outside of the display
    assert len(display.events) == 3


def test_the_stamp_of_compiled_kernels_is_that_of_this_python_and_this_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config()
    stamp = shard._stamp(config)
    assert shard._stamp(config) == stamp
    monkeypatch.setattr(shard, "__file__", "/elsewhere/posegen/generation/shard.py")
    elsewhere = shard._stamp(config)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "implementation", SimpleNamespace(cache_tag="cpython-399"))
    assert len({stamp, elsewhere, shard._stamp(config)}) == 3


def test_what_numba_remembers_changes_no_machine_code_and_ends_with_the_compilation() -> None:
    from numba import njit, types

    from posegen.foundations.kernel_linking import remembering

    def total(values: Any) -> float:
        held = 0.0
        for f in range(len(values)):
            held += values[f] * 2.0 + values[f] * 2.0 if f % 2 else values[f]
        return held

    before = types.Function.get_call_type
    (plain,) = _assembly(njit("float64(float64[::1])")(total))
    with remembering():
        assert types.Function.get_call_type is not before
        (remembered,) = _assembly(njit("float64(float64[::1])")(total))
    assert types.Function.get_call_type is before
    assert remembered == plain


def _assembly(function: Any) -> list[str]:
    """Return the machine code of each compiled version, without the numbers that numba gives to them."""
    return [re.sub(r"B\d+v\d+|v\d+|0x[0-9a-f]+|\d{6,}", "", text) for text in function.inspect_asm().values()]
