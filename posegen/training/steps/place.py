"""The place of a process among those that train together, one for each device."""

from __future__ import annotations

from dataclasses import dataclass

from posegen.errors import UsageError

__all__ = ["ALONE", "Place", "parts_in", "parts_of"]


@dataclass(frozen=True)
class Place:
    """Which one it is, of how many, and the port on this machine by which they find each other."""

    rank: int = 0
    of: int = 1
    port: int = 0


ALONE = Place()


def parts_in(batch: int, of: int, micro_batch: int) -> int:
    """Count the micro-batches of each process's share of a batch.

    Raises
    ------
    UsageError
        If the shares would not be equal, as an average of gradients needs them.
    """
    if batch % of:
        msg = (
            f"a batch of {batch} clips has no {of} equal shares. --set batch={-(-batch // of) * of}, or --set machine.devices=1"
        )
        raise UsageError(msg)
    return parts_of(batch // of, micro_batch)


def parts_of(batch: int, micro_batch: int) -> int:
    """Count the micro-batches of a batch: as few as do, of equal size."""
    fewest = -(-batch // micro_batch)
    return next(parts for parts in range(fewest, batch + 1) if batch % parts == 0)
