"""Whether the machine swaps: memory is written to disk and read back, and steps take many times as long."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from posegen.quantities import human_bytes

__all__ = ["SwapWatch", "swapped"]

_WORTH_TELLING = 64 * 2**20
"""Bytes since the last look. What is seldom used is written out once by every system, and slows nothing down."""


def swapped() -> tuple[int, int]:
    """Bytes that the machine has read back from disk and written to it, since it was started."""
    swap = psutil.swap_memory()
    return int(swap.sin), int(swap.sout)


class SwapWatch:
    """Looks at how much is swapped between two looks, and warns once.

    Parameters
    ----------
    look : callable
        Gives bytes read back and written so far.
    """

    def __init__(self, look: Callable[[], tuple[int, int]] = swapped) -> None:
        self._look = look
        self._before = look()
        self._warned = False

    def warning(self, *, limit: str | None, micro_batch: int) -> str | None:
        """Tell what is the matter and what helps, the first time that much went both ways; None otherwise."""
        now = self._look()
        read, written = (new - old for new, old in zip(now, self._before, strict=True))
        self._before = now
        if self._warned or read < _WORTH_TELLING:
            return None
        self._warned = True
        if limit is None:
            cure = f"--set machine.micro_batch={max(1, micro_batch // 2)} takes less, or --set memory.limit=4GB"
        else:
            cure = f"A lower limit than {limit} takes less, --set memory.limit"
        return (
            f"warning: the machine swaps: {human_bytes(read)} were read back from disk and {human_bytes(written)} written to "
            f"it within some steps, which wait for that. {cure}; or end other programs. Stopped, the same command goes on"
        )
