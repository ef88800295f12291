"""Compile numba kernels with posegen's options, and keep their machine code in a cache folder of posegen's own.

The options are part of the promise that a sample is the same on every machine: no fast-math, so that no compiler may
reorder or fuse arithmetic, and no libm, which differs between machines (use :mod:`posegen.foundations.trigonometry`).

numba compiles for the very processor that it runs on, and takes machine code from a cache only where name and features of the
processor are the same. For x86-64-v3, which Intel has had since Haswell (2013) and AMD since Excavator (2015) except in some
low-cost models, kernels give the same bits at .95 of the rate (docs/speed.md): such portable kernels can be shared by machines
and brought by a wheel. numba documents the settings ``CPU_NAME`` and ``CPU_FEATURES``, and that a cache may be copied.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core import event
from numpy.typing import DTypeLike, NDArray

from posegen.foundations.errors import PosegenError
from posegen.foundations.machine import private_folder, user_cache
from posegen.foundations.progress import compilation_display

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Array: TypeAlias = NDArray[Any]
Scalar: TypeAlias = Any
"""A float32 or float64 number in a kernel; numba compiles the kernel for either."""

LINE_BYTES = 64
"""Size of a cache line of the processor."""

CACHE_VARIABLE = "POSEGEN_KERNEL_CACHE"
"""Environment variable that names the folder of compiled kernels."""
TESTED_NUMBA = ("0.68",)
"""Versions of numba that kernels are linked with: posegen/foundations/kernel_linking.py was tested with their internals."""
PLAIN_VARIABLE = "POSEGEN_PLAIN_KERNELS"
"""Environment variable: if set, kernels are compiled by plain :func:`numba.njit`, as with any other version of numba."""
_REPORTED = "POSEGEN_UNTESTED_NUMBA_REPORTED"
COMPILING = "compile kernels, once per version"
"""What the progress display shows while kernels are compiled."""
_RARELY = (100_000, 20, 20)
"""Thresholds of Python's garbage collector during compilation, which takes a tenth less time and 10 % more memory."""
_PACKAGES = "checks exchange/kernels fields/kernels foundations library motion variants"
KERNEL_PACKAGES = tuple(_PACKAGES.split())
"""The only packages that kernels import from (a test checks that), so that editing others does not recompile kernels."""
PORTABLE_VARIABLE = "POSEGEN_PORTABLE_KERNELS"
"""Environment variable: if set, kernels are compiled for x86-64-v3."""
COMPILED_FOLDER = Path(__file__).parents[1] / "compiled"
"""The kernels that a wheel brings: ``NAME/PACKAGE/FILE``, with the name of the cache folder and the package of a kernel."""

_PORTABLE = "x86-64-v3"
_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")


def choose_processor() -> str:
    """Let numba compile for x86-64-v3 if the environment or the installation asks for it and this machine can run it.

    numba has one setting for a process, so it holds for kernels of other packages, too. A processor that the user has chosen
    stays.

    Returns
    -------
    str
        The processor that numba compiles for, empty for that of this machine.
    """
    settings: Any = numba.config
    is_wanted = bool(os.environ.get(PORTABLE_VARIABLE)) or (COMPILED_FOLDER.is_dir() and not settings.BOUNDSCHECK)
    if is_wanted and settings.CPU_NAME is None and settings.CPU_FEATURES is None and _can_run():
        settings.CPU_NAME, settings.CPU_FEATURES = _PORTABLE, ""
    return settings.CPU_NAME or ""


def _can_run() -> bool:
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in _FEATURES)


_PROCESSOR = choose_processor()  # before numba makes the first kernel, which fixes it


def is_linked() -> bool:
    """Return whether kernels are linked into their callers: numba's version was tested, and no plain ones are requested."""
    return _is_tested() and not os.environ.get(PLAIN_VARIABLE)


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` with posegen's options and cache the machine code on disk.

    A kernel does not allocate: callers pass the arrays that it works in.

    Parameters
    ----------
    function : callable
        A function in numba's nopython subset.

    Returns
    -------
    callable
        The compiled function, with the type of the original.
    """
    compiled = _njit(function)
    _compilation.declared.add(_name(function))
    if is_linked():
        from posegen.foundations.kernel_linking import link_into_callers

        link_into_callers(compiled, lambda **options: _njit(function, **options))
    # Without this check numba would fall back to another folder, whose name does not depend on the sources.
    if os.access(cache_folder(), os.W_OK | os.X_OK):
        package = Path(*function.__module__.split(".")[1:-1])
        # numba reads the folder when caching is enabled; other users of numba in this process keep their own.
        settings: Any = numba.config
        before, settings.CACHE_DIR = settings.CACHE_DIR, str(cache_folder() / package)
        try:
            compiled.enable_caching()
        finally:
            settings.CACHE_DIR = before
        _add_compiled(package, Path(compiled.stats.cache_path))
    return cast("Callable[Parameters, Result]", compiled)


def inline_kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` as if its body stood where it is called.

    For a kernel in a loop over frames that the compiler does not vectorise around a normal call: with one of
    :func:`posegen.motion.legs.shank_lean`, all motion takes a tenth longer.

    Parameters
    ----------
    function : callable
        A function in numba's nopython subset.

    Returns
    -------
    callable
        The compiled function, with the type of the original.
    """
    return cast("Callable[Parameters, Result]", _njit(function, inline="always"))


class _Compilation(event.Listener):
    """Shows the compilation of kernels; loading them from the cache is no event.

    Attributes
    ----------
    declared, compiled : set of str
        Names of the kernels of all imported modules, and of those that this process has compiled.

    While it compiles, Python searches rarely for reference cycles: numba makes millions of objects that stay.
    """

    def __init__(self) -> None:
        self.declared: set[str] = set()
        self.compiled: set[str] = set()
        self._open: list[str] = []
        self._collected = gc.get_threshold()
        self._is_shown = False
        self._memory = ExitStack()

    def on_start(self, started: Any) -> None:
        """Show the bar for an outermost kernel, unless a task is shown: then one line reports why it takes long."""
        display, name = compilation_display(), _name(started.data["dispatcher"].py_func)
        self._open.append(name)
        if len(self._open) > 1:
            return
        self._collected = gc.get_threshold()
        gc.set_threshold(*_RARELY)
        if name in self.declared and is_linked():
            from posegen.foundations.kernel_linking import remembering

            self._memory.enter_context(remembering())
        if name in self.declared and not self.compiled:
            _report_untested()
        self._is_shown = name in self.declared and not display.is_counting
        if self._is_shown:
            display.start(COMPILING, len(self.declared), unit="kernels", done=len(self.compiled), keep=False)
        elif name in self.declared and not self.compiled:
            display.log(f"{COMPILING}; this takes a minute or two")

    def on_end(self, ended: Any) -> None:
        """Count the kernel; numba compiles the kernels that it calls before it."""
        del ended
        self.compiled |= {self._open.pop()} & self.declared
        if not self._open:
            gc.set_threshold(*self._collected)
            self._memory.close()
        if self._is_shown:
            compilation_display().update(len(self.compiled))
            if not self._open:
                compilation_display().stop()


_compilation = _Compilation()
event.register("numba:compile", _compilation)


@cache
def _add_compiled(package: Path, cache: Path) -> None:
    """Copy the kernels that the installation brings for one package into numba's cache, unless they are there.

    Parameters
    ----------
    package : Path
        Folder of the package, relative to posegen's.
    cache : Path
        The folder that numba keeps them in.
    """
    # The index of a kernel ends in .nbi. It is last, so that another process finds no kernel without its machine code.
    for source in sorted((COMPILED_FOLDER / cache_folder().name / package).glob("*.nb[ci]")):
        if not (cache / source.name).exists():
            part = cache / f"{source.name}.{os.getpid()}"
            # Without it, the kernel is compiled.
            with suppress(OSError):
                part.write_bytes(source.read_bytes())
                part.replace(cache / source.name)


def _is_tested() -> bool:
    return ".".join(numba.__version__.split(".")[:2]) in TESTED_NUMBA


def _report_untested() -> None:
    """Print a line if an untested numba makes compilation slower, unless the process that started this one has printed it."""
    if _is_tested() or os.environ.get(PLAIN_VARIABLE) or os.environ.get(_REPORTED):
        return
    os.environ[_REPORTED] = "1"
    line = f"posegen: numba {numba.__version__} was not tested ({', '.join(TESTED_NUMBA)} was)"
    print(f"{line}: kernels are compiled without linking, which takes about three times as long", file=sys.stderr)


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _njit(function: Callable[Parameters, Result], **options: Any) -> Any:
    compile_lazily: Any = numba.njit  # its stub does not know `no_cfunc_wrapper`: nothing calls kernels from C
    if is_linked():
        options = {"_nrt": False, **options}  # kernels allocate nothing; counting references would double their time
    return compile_lazily(fastmath=False, error_model="numpy", nogil=True, no_cfunc_wrapper=True, **options)(function)


@cache
def cache_folder() -> Path:
    """Return the folder of the compiled kernels, named by a hash of numba's version, of how kernels are linked, of the
    processor unless it is that of this machine, and of all sources that kernels may read.

    numba checks only the file of a kernel itself, not the constants and kernels that it imports. The environment variable
    ``POSEGEN_KERNEL_CACHE`` replaces the parent folder, ``posegen/kernels`` in the user's cache. numba unpickles and runs what
    is in the folder: if other users can change it, this process and its workers use a temporary folder instead.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(f"{numba.__version__} {is_linked()} {_PROCESSOR}".encode())
    for source in sorted(source for name in KERNEL_PACKAGES for source in (package / name).rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    name, parent = digest.hexdigest()[:16], os.environ.get(CACHE_VARIABLE)
    folder = Path(parent or user_cache() / "kernels") / name
    try:
        return private_folder(folder, own=2 if parent else 3)
    except (OSError, PosegenError) as error:
        until = (
            f"Until then, or until {CACHE_VARIABLE} names a folder of your own, each run compiles its kernels (about a minute)."
        )
        print(f"posegen: {error}. {until}", file=sys.stderr)
    with suppress(OSError):
        temporary = os.environ[CACHE_VARIABLE] = tempfile.mkdtemp(prefix="posegen-kernels-")  # workers inherit it
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return private_folder(Path(temporary) / name, own=2)
    return Path(os.devnull) / name  # each process compiles for itself


def processor() -> tuple[str, ...]:
    """Return what numba compiles kernels for on this machine: processor, its features, and compiler options."""
    settings: Any = numba.config
    name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return tuple(map(str, (name, features, settings.CPU_NAME, settings.CPU_FEATURES, settings.BOUNDSCHECK)))


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return an array of zeros that starts on a cache line.

    NumPy aligns arrays to 16 bytes. A vector that crosses a cache line is read twice.

    Examples
    --------
    >>> aligned_zeros((3, 320), np.float32).ctypes.data % LINE_BYTES
    0
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE_BYTES, np.uint8)
    begin = -memory.ctypes.data % LINE_BYTES
    return memory[begin : begin + size].view(dtype).reshape(shape)
