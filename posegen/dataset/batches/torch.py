"""Batches for torch: a dataset for its loaders, and a loader that starts its workers safely and goes on where it stopped.

Import it by its own name; the rest of posegen runs without torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from posegen.dataset.batches.batches import Batches, SequenceBatch
from posegen.errors import UsageError
from posegen.wording import shown

__all__ = ["TorchBatches", "TorchLoader", "as_tensors"]

Tensors = dict[str, Any]


def as_tensors(batch: SequenceBatch) -> Tensors:
    """Give a batch as tensors, which share its memory.

    Parameters
    ----------
    batch : SequenceBatch

    Returns
    -------
    dict of str to Tensor or list
        What the batch holds, and its ``number``; texts stay lists.
    """
    values = {
        name: torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
        for name, value in batch.values.items()
    }
    return {"number": batch.number, **values}


class TorchBatches(IterableDataset[Tensors]):
    """Batches as an iterable dataset: what it gives are whole batches, so a loader needs ``batch_size=None``.

    The workers of a loader share the batches: each batch is made by one of them, and a loader gives them in their order,
    whatever the number of workers. However they are started, they take nothing over from the process that starts them: each
    opens what it reads by itself.

    Parameters
    ----------
    batches : Batches
    """

    def __init__(self, batches: Batches) -> None:
        super().__init__()
        self.batches = batches
        self._process = os.getpid()

    def __iter__(self) -> Iterator[Tensors]:
        worker = get_worker_info()
        # A fork copies locks that a thread may have held, which is not there any more to let them go.
        batches = self.batches if os.getpid() == self._process else deepcopy(self.batches)
        if worker is not None:
            batches = batches.share(worker.id, worker.num_workers)
        return map(as_tensors, batches)

    def __len__(self) -> int:
        return len(self.batches)


class TorchLoader:
    """Loads batches in worker processes, and tells where it is, so that training can go on from there.

    Its state is the number of the next batch, and what the order of batches depends on.

    Parameters
    ----------
    batches : Batches
        Their `lanes` should be a multiple of the workers; otherwise workers read the same windows.
    workers : int
        Processes that load; none loads in this one.
    context : str
        How they start: ``forkserver``, ``spawn`` or ``fork``.
    **options
        Others of :class:`torch.utils.data.DataLoader`, like ``pin_memory`` and ``prefetch_factor``.
    """

    def __init__(self, batches: Batches, workers: int = 0, *, context: str = "forkserver", **options: Any) -> None:
        self.batches = batches
        self._options = {**options, "num_workers": workers, "multiprocessing_context": context if workers else None}
        self._next: int | None = None

    def __iter__(self) -> Iterator[Tensors]:
        batches = self.batches if self._next is None else self.batches.at(self._next)
        for batch in DataLoader(TorchBatches(batches), batch_size=None, **self._options):
            self._next = batch["number"] + batches.every
            yield batch
        self._next = None

    def __len__(self) -> int:
        return len(self.batches)

    def state_dict(self) -> dict[str, Any]:
        """Tell which batch is the next one."""
        return {"next": self.batches.start if self._next is None else self._next, **self._told()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with the next batch of another run.

        Raises
        ------
        UsageError
            If its batches are in another order than these.
        """
        told = self._told()
        for name, value in told.items():
            if state.get(name) != value:
                found = shown(state.get(name))
                msg = f"the state is of other batches: their {name} is {found}, and here {shown(value)}. Make them alike"
                raise UsageError(msg)
        self._next = int(state["next"])

    def _told(self) -> dict[str, Any]:
        return {**asdict(self.batches.order), "every": self.batches.every}
