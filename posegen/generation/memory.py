"""Keep the memory of one shard for the next.

By default the C library gives large blocks back to the system when they are freed, and the system zeroes them again page by
page when they are asked for anew: a tenth to a fifth of the time of a run, whose arrays are as large for each shard.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["KEEP_MEMORY", "kept_memory"]

_ALL = 2**31 - 1

KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(_ALL)}
"""Variables that make a process keep what it frees, if it starts with them and uses the GNU C library."""

# The same for a process that runs already, from that library's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_USUAL_TRIM_THRESHOLD, _USUAL_MMAP_MAX = 128 * 1024, 65536


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory for a while, and give it back to the system in the end; other C libraries do as they always do."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        yield
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, _ALL)
    try:
        yield
    finally:
        library.mallopt(_MMAP_MAX, _USUAL_MMAP_MAX)
        library.mallopt(_TRIM_THRESHOLD, _USUAL_TRIM_THRESHOLD)
        library.malloc_trim(0)
