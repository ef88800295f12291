"""Comparing two datasets by what they hold: shard size, compression, versions of libraries and runs do not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.receipts import DIGITS
from posegen.dataset.rows import row_hashes
from posegen.hashing import canonical, content_hashes

__all__ = ["Comparison", "Difference", "compare", "contents_equal", "differences", "stored_content"]

Contents = Callable[[int], dict[str, str]]


class Difference(NamedTuple):
    """Where two datasets differ.

    Attributes
    ----------
    field : str
        Name of an array field, or `rows`; `samples` where one dataset has samples that the other has not, `variants` where
        they do not have the same ones.
    sample : int or None
        None if all samples differ.
    variant : str or None
        None if all variants differ, or none does and just the receipts say otherwise.
    """

    field: str
    sample: int | None
    variant: str | None


@dataclass(frozen=True)
class Comparison:
    """How two datasets differ.

    Attributes
    ----------
    differences : tuple of Difference
        The first of them.
    samples : dict of str to int
        For each field that differs, `rows` and `samples` among them, in how many samples; empty if the contents are equal.
        What differs in all samples at once, as a field that one of the datasets does not have, counts as 0.
    """

    differences: tuple[Difference, ...]
    samples: dict[str, int]


def compare(first: Dataset | str | Path, second: Dataset | str | Path, *, deep: bool = False, most: int = 20) -> Comparison:
    """Count all differences of two datasets, and say of some where they are.

    Parameters
    ----------
    first, second : Dataset, str or Path
    deep : bool
        As for :func:`differences`.
    most : int
        How many differences to name. Only for these are values decoded.
    """
    one, other = _opened(first), _opened(second)
    named: list[Difference] = []
    samples: dict[str, int] = {}
    for found in _differing(one, other, deep):
        samples[found.field] = samples.get(found.field, 0) + (found.sample is not None)
        if len(named) < most:
            named += _in_variants(one, other, found)
    return Comparison(tuple(named[:most]), samples)


def contents_equal(first: Dataset | str | Path, second: Dataset | str | Path, *, deep: bool = False) -> bool:
    """Tell whether two datasets hold the same; see :func:`differences`."""
    return not differences(first, second, deep=deep, most=1)


def differences(
    first: Dataset | str | Path, second: Dataset | str | Path, *, deep: bool = False, most: int | None = None
) -> list[Difference]:
    """List where two datasets differ.

    Parameters
    ----------
    first, second : Dataset, str or Path
    deep : bool
        Hash the values anew instead of believing the receipts; takes the time of reading both datasets.
    most : int, optional
        Stop after that many.

    Returns
    -------
    list of Difference
        Empty if the contents are equal.
    """
    one, other = _opened(first), _opened(second)
    return list(islice((place for found in _differing(one, other, deep) for place in _in_variants(one, other, found)), most))


def stored_content(dataset: Dataset, shard: int) -> dict[str, str]:
    """Hash what a shard holds, from its values.

    Parameters
    ----------
    dataset : Dataset
    shard : int

    Returns
    -------
    dict of str to str
        For each field and for `rows`, the content hashes of the visible samples, as in a receipt.
    """
    first = shard * dataset.header.shard
    stop = first + dataset.header.count(shard)
    content = {}
    for name in dataset.fields:
        content[name] = "".join(content_hashes(canonical(block)) for block in dataset.blocks(name, first, stop))
    return content | {ROWS: row_hashes(dataset.table(shard), len(dataset.header.variants))}


def _opened(dataset: Dataset | str | Path) -> Dataset:
    return dataset if isinstance(dataset, Dataset) else open_dataset(dataset)


def _differing(first: Dataset, second: Dataset, deep: bool) -> Iterator[Difference]:
    """Find what differs, not yet saying in which variants."""
    if first.header.variants != second.header.variants:
        yield Difference("variants", None, None)
        return
    for name in sorted({*first.fields} ^ {*second.fields}):
        yield Difference(name, None, None)
    names = [name for name in (*first.fields, ROWS) if name in (*second.fields, ROWS)]
    contents = _contents(first, deep), _contents(second, deep)
    for sample in range(min(len(first), len(second))):
        for name in names:
            if _hash(first, contents[0], name, sample) != _hash(second, contents[1], name, sample):
                yield Difference(name, sample, None)
    for sample in range(min(len(first), len(second)), max(len(first), len(second))):
        yield Difference("samples", sample, None)


def _contents(dataset: Dataset, deep: bool) -> Contents:
    """Look up the content hashes of a shard, keeping those of the last one."""

    @lru_cache(1)
    def contents(shard: int) -> dict[str, str]:
        return stored_content(dataset, shard) if deep else dataset.hashes(shard)

    return contents


def _hash(dataset: Dataset, contents: Contents, name: str, sample: int) -> str:
    shard, position = divmod(sample, dataset.header.shard)
    return contents(shard)[name][position * DIGITS : (position + 1) * DIGITS]


def _in_variants(first: Dataset, second: Dataset, found: Difference) -> Iterator[Difference]:
    """Name the variants in which a sample differs in a field."""
    name, sample, _ = found
    if sample is None or name == "samples":
        yield found
        return
    hashes = [_hashes_of_variants(dataset, name, sample) for dataset in (first, second)]
    variants = [variant for variant, a, b in zip(first.header.variants, *hashes, strict=True) if a != b]
    yield from (Difference(name, sample, variant) for variant in variants or [None])


def _hashes_of_variants(dataset: Dataset, name: str, sample: int) -> list[str]:
    variants = len(dataset.header.variants)
    if name == ROWS:
        shard, position = divmod(sample, dataset.header.shard)
        text = row_hashes(dataset.table(shard).slice(position * variants, variants), 1)
        return [text[start : start + DIGITS] for start in range(0, len(text), DIGITS)]
    values = canonical(dataset.arrays(name, slice(sample, sample + 1))[0])
    if dataset.header.field(name).dims[:1] != ("variant",):
        return [content_hashes(values[np.newaxis])] * variants
    text = content_hashes(values)
    return [text[start : start + DIGITS] for start in range(0, len(text), DIGITS)]
