"""The place of a process among those that torchrun started for one training, on one machine or several.

Not responsible for connecting them; see :mod:`posegen.training.loop.processes`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """A process of a training: its number, the number of all, and the number of those on its machine."""

    rank: int
    processes: int
    local: int


def member(environment: Mapping[str, str] = os.environ) -> Member | None:
    """Return the place of this process; None if torchrun did not start it, or started no other.

    Examples
    --------
    >>> member({"TORCHELASTIC_RUN_ID": "1", "RANK": "3", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"})
    Member(rank=3, processes=4, local=2)
    """
    if "TORCHELASTIC_RUN_ID" not in environment or environment["WORLD_SIZE"] == "1":
        return None
    return Member(*(int(environment[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")))


def local_processes(devices: int) -> int:
    """Return how many of the processes of a training, one for each device, are on this machine."""
    place = member()
    return place.local if place and devices > 1 else devices
