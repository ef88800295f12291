"""A dataset for :class:`torch.utils.data.DataLoader` whose items are sequences: ``posegen.torch.Dataset``.

:class:`posegen.dataset.batches.torch.TorchBatches` is faster for shuffled batches and resumes; this class is for code that
needs a dataset with a length and an index.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset as TorchDataset

from posegen.dataset.batches import make_batches
from posegen.dataset.read import Dataset as StoredDataset
from posegen.dataset.read import open_dataset
from posegen.foundations.arrays import Array

_CACHED_CHUNKS = 64


class Dataset(TorchDataset[dict[str, Any]]):
    """The sequences of a dataset, each sample in all selected variants one after another.

    An item is a dict with ``sample``, ``variant`` and the selected fields: tensors, and texts for ``captions``. Reading one
    decodes its chunk of samples, of which the last 64 are kept.

    Parameters
    ----------
    dataset : str, Path or posegen dataset
        Folder, or what :func:`posegen.open` returned.
    fields : sequence of str, optional
        Arrays and columns, as of :func:`posegen.dataset.batches.make_batches`.
    variants : sequence of str, or str, optional
        All unless given.
    split : str, optional
        ``training``, ``validation`` or ``test``; all samples unless given.
    where : str
        SQL condition on the columns of the table of sequences (needs DuckDB); all sequences unless given.

    Raises
    ------
    UsageError
        If there is no such field, variant or split.
    PosegenError
        If the dataset is missing or damaged.

    Examples
    --------
    >>> import posegen, posegen.torch, tempfile
    >>> from torch.utils.data import DataLoader
    >>> folder = tempfile.mkdtemp() + "/smoke"
    >>> _ = posegen.generate(posegen.load_config("smoke"), samples=20, workers=1, out=folder)
    >>> training = posegen.torch.Dataset(folder, ["joints", "captions"], variants="base", split="training")
    >>> loader = DataLoader(training, batch_size=4, shuffle=True, collate_fn=posegen.torch.collate)
    >>> next(iter(loader))["joints"].shape
    torch.Size([4, 1, 100, 22, 3])
    """

    def __init__(
        self,
        dataset: str | Path | StoredDataset,
        fields: Sequence[str] | str | None = None,
        *,
        variants: Sequence[str] | str | None = None,
        split: str | None = None,
        where: str = "",
    ) -> None:
        stored = dataset if isinstance(dataset, StoredDataset) else open_dataset(dataset)
        # Batches check the options and hold what is to be read.
        batches = make_batches(stored, 1, fields=fields, variants=variants, split=split, where=where)
        self._source, self._selection, self._sequences = batches.source, batches.selection, batches.order.listed()
        self._process, self._cached = os.getpid(), lru_cache(_CACHED_CHUNKS)(self._load)

    def __getstate__(self) -> dict[str, Any]:
        return {"_source": self._source, "_selection": self._selection, "_sequences": self._sequences}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._process, self._cached = os.getpid(), lru_cache(_CACHED_CHUNKS)(self._load)

    def __len__(self) -> int:
        return len(self._sequences)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self._source.name}: has no sequence {index}, there are {len(self)}")
        if os.getpid() != self._process:
            # A fork copies locks that a thread may have held, and that thread does not exist here to release them.
            self.__setstate__(deepcopy(self.__getstate__()))
        sample, number = divmod(int(self._sequences[index]), len(self._selection.variants))
        variant = self._selection.variants[number]
        chunk, row = divmod(sample, self._source.chunk)
        arrays, rows = self._cached(chunk, variant)
        item: dict[str, Any] = {"sample": sample, "variant": self._source.variants[variant]}
        item |= {name: torch.from_numpy(values[row].copy()) for name, values in arrays.items()}
        return item | (rows[row] if rows else {})

    def _load(self, chunk: int, variant: int) -> tuple[dict[str, Array], list[dict[str, Any]]]:
        """Read the arrays and the selected columns of a variant of a chunk."""
        size, shapes = self._source.chunk, self._selection.arrays
        buffers = {name: np.empty((1, size, *shape.shape), shape.dtype) for name, shape in shapes.items()}
        table = self._source.load(chunk, [variant], buffers, self._selection.columns)
        arrays, every = {name: buffer[0] for name, buffer in buffers.items()}, len(self._source.variants)
        return arrays, [] if table is None else table.to_pylist()[variant::every]


def collate(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a batch of items: tensors are stacked, whole numbers become a tensor, and everything else a list.

    The default of :class:`torch.utils.data.DataLoader` does not take texts of which sequences have different numbers.
    """

    def joined(values: list[Any]) -> Any:
        if isinstance(values[0], torch.Tensor):
            return torch.stack(values)
        return torch.tensor(values) if isinstance(values[0], int) else values

    return {name: joined([item[name] for item in items]) for name in items[0]}
