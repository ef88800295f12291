"""Mean and standard deviation of a field of a dataset, in one pass over its chunks.

Each chunk is reduced on its own, and chunks are combined in their order, so that threads do not change a bit of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posegen.dataset.splits import in_split
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.wording import shown

if TYPE_CHECKING:
    from posegen.dataset.read import Dataset

_POOLED = ("variant", "actor", "frame")


@dataclass(frozen=True)
class Stats:
    """Statistics of a field.

    Attributes
    ----------
    mean, std : float64 [...]
        Over samples, variants, actors and frames, for each element of the other dimensions: [22, 3] for `joints`. In the units
        of the field; `std` divides by the number of values.
    count : int64 [...]
        Number of values; absent ones (NaN) are not counted.
    """

    mean: Array
    std: Array
    count: Array


def compute_stats(
    dataset: Dataset,
    field: str = "joints",
    *,
    split: str | None = None,
    variants: Sequence[str] | str | None = None,
    threads: int = 2,
) -> Stats:
    """Compute mean and standard deviation of a field; as a method, ``dataset.stats("joints", split="training")``.

    Memory does not depend on the size of the dataset, and the result does not depend on `threads`.

    Parameters
    ----------
    dataset : Dataset
    field : str
        An array of floating-point numbers.
    split : str, optional
        ``training``, ``validation`` or ``test``; all samples unless given.
    variants : sequence of str, or str, optional
        All unless given.
    threads : int
        Chunks that are read at the same time.

    Returns
    -------
    Stats

    Raises
    ------
    UsageError
        If there is no such field, split or variant, or the selection has no values.
    PosegenError
        If data are missing or damaged.

    Examples
    --------
    >>> import posegen, tempfile
    >>> folder = tempfile.mkdtemp() + "/smoke"
    >>> _ = posegen.generate(posegen.load_config("smoke"), samples=20, workers=1, out=folder)
    >>> posegen.open(folder).stats("joints", split="training").mean.shape
    (22, 3)
    """
    known = {entry.name: entry for entry in dataset.header.all_fields if np.dtype(entry.dtype).kind == "f"}
    require_known(f"{dataset.path}: has no field of numbers", field, known)
    found = known[field]
    names = dataset.header.variants if variants is None else (variants,) if isinstance(variants, str) else tuple(variants)
    for name in names:
        require_known(f"{dataset.path}: has no variant", name, dataset.header.variants)
    positions = [dataset.header.variants.index(name) for name in names]
    samples = np.arange(len(dataset))
    if split is not None:
        samples = in_split(dataset.header.seed, samples, split)
    chunk = dataset.header.chunk
    blocks = np.split(samples, np.flatnonzero(np.diff(samples // chunk)) + 1) if len(samples) else []
    pooled = (0, *(1 + axis for axis, dim in enumerate(found.dims) if dim in _POOLED))

    def reduce(block: Array) -> tuple[Array, Array, Array]:
        span = slice(int(block[0]), int(block[-1]) + 1)
        values = dataset.arrays(field, span)[block - span.start].astype(np.float64)
        if found.dims[0] == "variant":
            values = values[:, positions]
        present = ~np.isnan(values)
        count = present.sum(axis=pooled, keepdims=True)
        mean = np.where(present, values, 0.0).sum(axis=pooled, keepdims=True) / np.maximum(count, 1)
        squares = np.where(present, (values - mean) ** 2, 0.0).sum(axis=pooled)
        return np.squeeze(count, pooled), np.squeeze(mean, pooled), squares

    total = (np.zeros((), np.int64), np.zeros(()), np.zeros(()))
    with ThreadPoolExecutor(max(1, threads), "posegen-stats") as pool:
        for part in pool.map(reduce, blocks):
            total = _combined(total, part)
    count, mean, squares = total
    if not count.any():
        raise UsageError(f"{dataset.path}: no value of {field} is in the split {shown(split)}. Choose another split or variant")
    return Stats(np.where(count, mean, np.nan), np.sqrt(squares / np.where(count, count, np.nan)), count)


def _combined(first: tuple[Array, Array, Array], second: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Return count, mean and sum of squared deviations of two sets of values together (Chan, Golub, LeVeque 1979)."""
    count = first[0] + second[0]
    share = second[0] / np.maximum(count, 1)
    apart = second[1] - first[1]
    return count, first[1] + apart * share, first[2] + second[2] + apart * apart * first[0] * share
