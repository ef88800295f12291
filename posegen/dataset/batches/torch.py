"""Batches for torch: an iterable dataset that the workers of a loader share.

Import it explicitly; the rest of posegen runs without torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from posegen.dataset.batches.batches import Batches, SequenceBatch

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
