"""Compare the content of two datasets, regardless of shard size, compression, versions of libraries and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.receipts import split_hashes
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.tables import hash_rows
from posegen.foundations.hashing import canonical, content_hashes


class Difference(NamedTuple):
    """A difference between two datasets.

    Attributes
    ----------
    field : str
        Name of an array field, or `rows`; `samples` if only one dataset has the sample, `variants` if the datasets have
        different variants.
    sample : int or None
        None if all samples differ.
    variant : str or None
        None if all variants differ, or if only the receipts differ.
    """

    field: str
    sample: int | None
    variant: str | None


@dataclass(frozen=True)
class Comparison:
    """Differences between two datasets.

    Attributes
    ----------
    differences : tuple of Difference
        The first differences.
    samples : dict of str to int
        Number of samples that differ, for each field, `rows` and `samples`; empty if the contents are equal. A difference of
        all samples at once, such as a field that only one dataset has, counts as 0.
    """

    differences: tuple[Difference, ...]
    samples: dict[str, int]


def compare(
    first: Dataset | str | AnyPath, second: Dataset | str | AnyPath, *, deep: bool = False, most: int = 20
) -> Comparison:
    """Count all differences between two datasets, and locate some of them.

    Parameters
    ----------
    first, second : Dataset, str, Path or BucketPath
    deep : bool
        Hash the values instead of comparing the hashes in receipts; takes the time of reading both datasets.
    most : int
        Number of differences to locate. Values are decoded only for these.
    """
    one, other = (item if isinstance(item, Dataset) else open_dataset(item) for item in (first, second))
    located: list[Difference] = []
    samples: dict[str, int] = {}
    for difference in _find_differences(one, other, deep):
        samples[difference.field] = samples.get(difference.field, 0) + (difference.sample is not None)
        if len(located) < most:
            located += _locate_variants(one, other, difference)
    return Comparison(tuple(located[:most]), samples)


def _find_differences(first: Dataset, second: Dataset, deep: bool) -> Iterator[Difference]:
    """Yield differences without their variants."""
    if first.header.variants != second.header.variants:
        yield Difference("variants", None, None)
        return
    for name in sorted({*first.fields} ^ {*second.fields}):
        yield Difference(name, None, None)
    names = [name for name in (*first.fields, ROWS) if name in (*second.fields, ROWS)]
    one, other = (_hash_reader(dataset, deep) for dataset in (first, second))
    for sample in range(min(len(first), len(second))):
        for name in names:
            if one(name, sample) != other(name, sample):
                yield Difference(name, sample, None)
    for sample in range(min(len(first), len(second)), max(len(first), len(second))):
        yield Difference("samples", sample, None)


def _hash_reader(dataset: Dataset, deep: bool) -> Callable[[str, int], str]:
    """Return a function of the name of a field and a sample that returns the sample's content hash."""
    hashes = dataset.compute_hashes if deep else dataset.hashes
    contents = lru_cache(1)(lambda shard: {name: split_hashes(text) for name, text in hashes(shard).items()})

    def read(name: str, sample: int) -> str:
        shard, position = divmod(sample, dataset.header.shard)
        return contents(shard)[name][position]

    return read


def _locate_variants(first: Dataset, second: Dataset, difference: Difference) -> Iterator[Difference]:
    """Yield the variants in which a sample differs in a field."""
    name, sample, _ = difference
    if sample is None or name == "samples":
        yield difference
        return
    hashes = [_variant_hashes(dataset, name, sample) for dataset in (first, second)]
    variants = [variant for variant, a, b in zip(first.header.variants, *hashes, strict=True) if a != b]
    yield from (Difference(name, sample, variant) for variant in variants or [None])


def _variant_hashes(dataset: Dataset, name: str, sample: int) -> list[str]:
    variants = len(dataset.header.variants)
    if name == ROWS:
        shard, position = divmod(sample, dataset.header.shard)
        return split_hashes(hash_rows(dataset.table(shard).slice(position * variants, variants), 1))
    values = canonical(dataset.arrays(name, slice(sample, sample + 1))[0])
    if dataset.header.field(name).dims[:1] != ("variant",):
        return [content_hashes(values[np.newaxis])] * variants
    return split_hashes(content_hashes(values))
