"""The one way to compile a kernel.

A kernel is a small function over flat arrays, compiled by numba. Everything that decides content goes through
:func:`kernel`, because its options are part of the promise that a sample is the same on every machine: no fast-math, so
that no compiler may reorder or fuse arithmetic, and no libm, which differs between machines (use
:mod:`posegen.motion.trigonometry` instead).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numpy.typing import DTypeLike, NDArray

from posegen.kernel_cache import KERNEL_SOURCES, cache_folder
from posegen.lowering import PartCompiler

__all__ = ["KERNEL_SOURCES", "LINE_BYTES", "Scalar", "aligned_zeros", "cache_folder", "kernel", "kernel_part", "processor"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Scalar: TypeAlias = Any
"""A number in a kernel: float32 or float64, for either of which numba compiles it."""


LINE_BYTES = 64
"""Of a line of the processor's cache."""


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array for kernels to work in, which begins where a line of the processor's cache does.

    NumPy's own begin at any multiple of 16 bytes. Then every second of the vectors that a kernel reads lies in two lines, and
    is read twice, unless rows are no whole number of lines either.

    Examples
    --------
    >>> aligned_zeros((3, 320), np.float32).ctypes.data % LINE_BYTES
    0
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE_BYTES, np.uint8)
    begin = -memory.ctypes.data % LINE_BYTES
    return memory[begin : begin + size].view(dtype).reshape(shape)


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` with posegen's options, caching the result on disk.

    A kernel allocates nothing: arrays that it works in are passed to it. So numba need not count who holds which array, which
    makes kernels a fifth faster. Machine code is made for the kernel that Python calls; those that it calls become parts of
    it (:mod:`posegen.lowering`).

    Parameters
    ----------
    function : callable
        A function in numba's nopython subset.

    Returns
    -------
    callable
        The compiled function, with the type of the original.
    """
    compiled = _compiled(function)
    # A process that finds what it calls in the cache needs neither a part nor the place in the cache of most kernels.
    part = cache(lambda: _compiled(function, no_cpython_wrapper=True, pipeline_class=PartCompiler))
    compiled.compile = _kept(compiled)
    compiled.get_call_template = _once_for_all_values(lambda args, named: part().get_call_template(args, named))
    compiled.get_overload = lambda signature: part().get_overload(signature)
    compiled.as_part = part
    return cast("Callable[Parameters, Result]", compiled)


def kernel_part(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` as if it were written where it is called: the way to give a part of an array that was passed to it.

    Parameters
    ----------
    function : callable
        A function in numba's nopython subset.

    Returns
    -------
    callable
        The compiled function, with the type of the original.
    """
    return cast("Callable[Parameters, Result]", _compiled(function, inline="always"))


def _compiled(function: Callable[Parameters, Result], **options: Any) -> Any:
    compile_lazily: Any = numba.njit  # whose stub knows no `no_cfunc_wrapper`: nothing calls kernels from C
    return compile_lazily(fastmath=False, error_model="numpy", nogil=True, no_cfunc_wrapper=True, _nrt=False, **options)(
        function
    )


def _kept(kernel: Any) -> Any:
    """Have what is compiled kept on disk; numba looks for its place there, and whether it can be written, with the first."""
    compile_anew = kernel.compile
    enable = cache(lambda: _keep_on_disk(kernel))

    def compile_or_read(signature: Any) -> Any:
        enable()
        return compile_anew(signature)

    return compile_or_read


def _keep_on_disk(kernel: Any) -> None:
    # numba chooses the cache folder when it is asked to keep; another user of numba in this process keeps its own.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        kernel.enable_caching()
    finally:
        settings.CACHE_DIR = before


def _once_for_all_values(resolve: Any) -> Any:
    # Where a caller passes a constant, numba would compile the kernel anew for that very value.
    any_value: Any = numba.types.unliteral

    def resolve_types(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return resolve(tuple(map(any_value, args)), {name: any_value(kind) for name, kind in named.items()})

    return resolve_types


def processor() -> tuple[str, ...]:
    """What kernels are compiled for here, as numba tells its cache entries apart: the processor, its features, its options."""
    settings: Any = numba.config
    name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return tuple(map(str, (name, features, settings.CPU_NAME, settings.CPU_FEATURES, settings.BOUNDSCHECK)))
