"""Batches for torch: an iterable dataset, and a loader with safe workers that resumes where it stopped.

Import it explicitly; the rest of posegen runs without torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from posegen.dataset.batches.batches import Batches, SequenceBatch
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import shown

Tensors = dict[str, Any]


def as_tensors(batch: SequenceBatch) -> Tensors:
    """Convert a batch to tensors, which share its memory.

    Parameters
    ----------
    batch : SequenceBatch

    Returns
    -------
    dict of str to Tensor or list
        The content of the batch, and its ``number``; texts stay lists.
    """
    values = {
        name: torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
        for name, value in batch.values.items()
    }
    return {"number": batch.number, **values}


class TorchBatches(IterableDataset[Any]):
    """Batches as an iterable dataset. Its items are whole batches, so a loader needs ``batch_size=None``.

    The workers of a loader share the batches: one of them makes each batch, and a loader returns them in order for any number
    of workers. Whatever the start method, workers inherit nothing: each opens the files that it reads.

    Parameters
    ----------
    batches : Batches
    convert : callable
        Returns the item of a batch; by default its tensors.
    """

    def __init__(self, batches: Batches, convert: Callable[[SequenceBatch], Any] = as_tensors) -> None:
        super().__init__()
        self.batches, self._convert = batches, convert
        self._process = os.getpid()

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        # A fork copies locks that a thread may have held, and that thread does not exist in the worker to release them.
        batches = self.batches if os.getpid() == self._process else deepcopy(self.batches)
        if worker is not None:
            batches = batches.share(worker.id, worker.num_workers)
        return map(self._convert, batches)

    def __len__(self) -> int:
        return len(self.batches)


class TorchLoader:
    """Loads batches in worker processes, with a state from which training resumes.

    The state is the index of the next batch, and the parameters of the order of batches.

    Parameters
    ----------
    batches : Batches
        Their `lanes` should be a multiple of `workers`; otherwise several workers read the same windows.
    workers : int
        Processes that load; with 0, this process loads.
    context : str
        Start method: ``forkserver``, ``spawn`` or ``fork``.
    **options
        Other options of :class:`torch.utils.data.DataLoader`, such as ``pin_memory`` and ``prefetch_factor``.
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
        """Return the index of the next batch and the parameters of the order."""
        return {"next": self.batches.start if self._next is None else self._next, **self._parameters()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume with the next batch of another run.

        Raises
        ------
        UsageError
            If its batches have another order than these.
        """
        for name, value in self._parameters().items():
            if state.get(name) != value:
                msg = (
                    f"the state belongs to other batches: their {name} is {shown(state.get(name))}, here {shown(value)}. "
                    "Use the same options"
                )
                raise UsageError(msg)
        self._next = int(state["next"])

    def _parameters(self) -> dict[str, Any]:
        return {**asdict(self.batches.order), "every": self.batches.every}
