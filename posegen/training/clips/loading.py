"""Who loads: processes beside the one that trains, or that one itself where there are none or they fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from posegen.errors import PosegenError
from posegen.training.clips.feed import Feed

__all__ = ["Loader", "Loading"]

Tensors = dict[str, Any]

_AHEAD = 4
"""Batches that each process has ready."""


@dataclass(frozen=True)
class Loading:
    """How batches are loaded: by how many processes, and whether into memory that a GPU reads by itself."""

    workers: int
    pinned: bool


class _Whole(IterableDataset[list[Tensors]]):
    """Gives the micro-batches of a whole batch at a time, so that workers can take turns and each reads ahead by itself."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self._feed = feed
        self._process = os.getpid()

    def __iter__(self) -> Iterator[list[Tensors]]:
        worker = get_worker_info()
        # A fork copies locks that a thread may have held, which is not there any more to let them go.
        batches = self._feed.batches if os.getpid() == self._process else deepcopy(self._feed.batches)
        if worker is not None:
            batches = batches.share(worker.id, worker.num_workers)
        return map(self._feed.tensors, batches)


class Loader:
    """Micro-batches in order, whatever the number of processes that load.

    Where these processes cannot start, die, or find an error, the one that trains goes on loading by itself from the same
    batch: what was wrong with them is told, and what is wrong with the data is raised then as the error that it is.

    Parameters
    ----------
    feed : Feed
    loading : Loading
    say : callable
        Is told when they fail.
    """

    def __init__(self, feed: Feed, loading: Loading, say: Callable[[str], None]) -> None:
        self._feed = feed
        self._loading = loading
        self._say = say

    def __iter__(self) -> Iterator[Tensors]:
        done = 0
        for batch in self._by_others():
            yield from batch
            done += 1
        batches = self._feed.batches
        rest = replace(self._feed, batches=batches.at(batches.start + done))
        for batch in DataLoader(_Whole(rest), batch_size=None, num_workers=0, pin_memory=self._loading.pinned):
            yield from batch

    def _by_others(self) -> Iterator[list[Tensors]]:
        """Give the batches that other processes load, until they fail."""
        workers = self._loading.workers
        if not workers:
            return
        try:
            # Forked from a process without threads, they take over no lock that nobody would let go.
            others = DataLoader(
                _Whole(self._feed),
                batch_size=None,
                num_workers=workers,
                pin_memory=self._loading.pinned,
                multiprocessing_context="forkserver",
                prefetch_factor=_AHEAD,
            )
            found = iter(others)
        except (RuntimeError, OSError, ValueError) as error:
            self._say(_told(f"{workers} processes that load cannot start", error))
            return
        while True:
            try:
                batch = next(found)
            except StopIteration:
                return
            except (RuntimeError, OSError, EOFError, MemoryError, PosegenError) as error:
                self._say(_told("a process that loads has failed", error))
                return
            yield batch


def _told(what: str, error: Exception) -> str:
    first = str(error).strip().splitlines()
    return (
        f"{what} ({first[0] if first else type(error).__name__:.160}): going on without such processes, with the same batches"
    )
