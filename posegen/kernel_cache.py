"""Where compiled kernels are kept: a folder named by a hash of the sources that kernels are made of.

numba itself does not see that a kernel calls another one that was edited, or reads a constant that was.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import numba

__all__ = ["KERNEL_SOURCES", "cache_folder"]

KERNEL_SOURCES = (
    "kernel_cache.py",
    "kernels.py",
    "lowered.py",
    "lowering.py",
    "randomness.py",
    "skeleton.py",
    "scene.py",
    "library/channels.py",
    "motion/*.py",
    "truth/*.py",
    "store/hashing.py",
)
"""Where kernels, and the constants that they read, are written; patterns within the package."""


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels, one for each state of their sources.

    ``POSEGEN_KERNEL_CACHE`` names another parent folder than the user's cache.
    """
    package = Path(__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted({path for pattern in KERNEL_SOURCES for path in package.glob(pattern)}):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parent = Path(os.environ.get("POSEGEN_KERNEL_CACHE") or user_cache / "posegen" / "kernels")
    return parent / digest.hexdigest()[:16]
