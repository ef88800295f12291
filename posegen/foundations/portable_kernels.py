"""Kernels for every recent x86-64 processor, which machines can share and a wheel can bring.

numba compiles for the very processor that it runs on, and takes machine code from a cache only where name and features of the
processor are the same. For x86-64-v3, which Intel has had since Haswell (2013) and AMD since Excavator (2015) except in some
low-cost models, kernels give the same bits at .95 of the rate (docs/speed.md). numba documents the settings ``CPU_NAME`` and
``CPU_FEATURES``, and that a cache may be copied to another machine.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]

VARIABLE = "POSEGEN_PORTABLE_KERNELS"
"""Environment variable: if set, kernels are compiled for x86-64-v3."""
FOLDER = Path(__file__).parents[1] / "compiled"
"""The kernels that a wheel brings: ``NAME/PACKAGE/FILE``, with the name of the cache folder and the package of a kernel."""

_PROCESSOR = "x86-64-v3"
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
    is_wanted = bool(os.environ.get(VARIABLE)) or (FOLDER.is_dir() and not settings.BOUNDSCHECK)
    if is_wanted and settings.CPU_NAME is None and settings.CPU_FEATURES is None and _can_run():
        settings.CPU_NAME, settings.CPU_FEATURES = _PROCESSOR, ""
    return settings.CPU_NAME or ""


def _can_run() -> bool:
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in _FEATURES)


def add_compiled(package: Path, cache: Path, name: str) -> None:
    """Copy the kernels that the installation brings for one package into numba's cache, unless they are there.

    Parameters
    ----------
    package : Path
        Folder of the package, relative to posegen's.
    cache : Path
        The folder that numba keeps them in.
    name : str
        Name of posegen's cache folder: other sources, another numba or another processor have other kernels.
    """
    # The index of a kernel ends in .nbi. It is last, so that another process finds no kernel without its machine code.
    for source in sorted((FOLDER / name / package).glob("*.nb[ci]")):
        if not (cache / source.name).exists():
            part = cache / f"{source.name}.{os.getpid()}"
            # Without it, the kernel is compiled.
            with suppress(OSError):
                part.write_bytes(source.read_bytes())
                part.replace(cache / source.name)
