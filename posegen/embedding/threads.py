"""Cores: how many batches are embedded at once, and how many threads each of them has."""

from __future__ import annotations

from posegen.errors import UsageError
from posegen.machine import available_cores

__all__ = ["threads_each", "workers_of"]

_MOST_BATCHES = 8
"""At once. A batch for each core is a quarter quicker than one that all cores share: matrices of short texts are small, and
threads that share one wait for each other, the more so where others want the cores, too."""


def workers_of(workers: int | None) -> int:
    """How many batches are embedded at once: as told, or one for each core.

    Raises
    ------
    UsageError
        If it is not at least 1.
    """
    if workers is not None and workers < 1:
        msg = f"--workers must be at least 1 (got {workers})"
        raise UsageError(msg)
    return workers or min(available_cores(), _MOST_BATCHES)


def threads_each(workers: int | None) -> int:
    """How many threads one batch has, so that all together fill the cores."""
    return max(1, available_cores() // workers_of(workers))
