"""Numbering texts: each distinct caption gets a row, in the order in which captions first appear.

It is cheap, and done before anything is embedded, so that what is to be done is known. Since the order is that of the dataset,
a dataset that grows only adds rows, and whoever numbers again, after a kill or a damage, finds the same ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from posegen.dataset.embedding_layout import ROWS_SCHEMA, TEXTS_SCHEMA, OverlayReceipt, hash_texts, rows_part, texts_part
from posegen.dataset.embeddings import read_texts
from posegen.dataset.layout import rows_path
from posegen.dataset.read import Dataset
from posegen.dataset.tables import encode_table
from posegen.embedding.parts import commit, sound_receipt

__all__ = ["Numbered", "TextIndex", "number_texts"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Numbered:
    """What numbering found.

    Attributes
    ----------
    captions, distinct : int
        How many captions there are, and how many different texts.
    texts : list of OverlayReceipt
        For each shard of texts.
    changed : bool
        Whether anything had to be written.
    """

    captions: int
    distinct: int
    texts: list[OverlayReceipt]
    changed: bool


class TextIndex:
    """Numbers of texts, by a hash of 128 bits of each."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, texts: Sequence[str]) -> tuple[Array, list[str]]:
        """Look up texts, giving numbers to those that are new.

        Returns
        -------
        rows : int64 [n]
        new : list of str
            In the order of their numbers.
        """
        rows, new, known = np.empty(len(texts), np.int64), [], self._rows
        for position, text in enumerate(texts):
            key = xxhash.xxh3_128_digest(text.encode())
            row = known.get(key)
            if row is None:
                row = known[key] = len(known)
                new.append(text)
            rows[position] = row
        return rows, new


@dataclass
class _Numbering:
    """Texts on their way to their shards."""

    folder: Path
    size: int
    run: str
    index: TextIndex = field(default_factory=TextIndex)
    texts: list[OverlayReceipt] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    changed: bool = False

    def restore(self) -> None:
        """Take up the texts of all leading shards that are sound."""
        while True:
            receipt = sound_receipt(self.folder, "texts", len(self.texts))
            if receipt is None or receipt.count > self.size:
                return
            texts = read_texts(self.folder, receipt)
            self.index.number(texts)
            if receipt.count < self.size:
                self.waiting = texts
                return
            self.texts.append(receipt)

    def add(self, texts: Sequence[str]) -> None:
        """Take new texts, and write down each shard that they fill."""
        self.waiting += texts
        while len(self.waiting) >= self.size:
            self._write(self.waiting[: self.size])
            self.waiting = self.waiting[self.size :]

    def finish(self) -> None:
        """Write down those that fill no shard."""
        if self.waiting:
            self._write(self.waiting)

    def _write(self, texts: Sequence[str]) -> None:
        shard, digest = len(self.texts), hash_texts(texts)
        receipt = sound_receipt(self.folder, "texts", shard)
        if receipt is None or receipt.source != digest:
            first = shard * self.size
            rows = np.arange(first, first + len(texts))
            data = encode_table(pa.table([rows, pa.array(texts, pa.string())], schema=TEXTS_SCHEMA))
            receipt = commit(self.folder, "texts", shard, len(texts), digest, {}, {texts_part(shard): [data]}, self.run)
            self.changed = True
        self.texts.append(receipt)


def number_texts(
    dataset: Dataset, folder: Path, size: int, run: str, tell: Callable[[int, int], None] = lambda done, total: None
) -> Numbered:
    """Give each distinct caption of a dataset its row, and write down which caption has which.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Of the encoder.
    size : int
        Texts in a shard.
    run : str
        Who writes.
    tell : callable, optional
        Told the shards of the dataset that are done, and how many there are.

    Returns
    -------
    Numbered
    """
    state = _Numbering(folder, size, run)
    state.restore()
    shards, captions, distinct = dataset.header.shards(), 0, 0
    for shard in range(shards):
        source, count = dataset.receipt(shard).files[rows_path(shard)].xxh3, dataset.header.count(shard)
        receipt = sound_receipt(folder, "rows", shard)
        same = receipt is not None and (receipt.source, receipt.count) == (source, count)
        if receipt is None or not same or receipt.numbers["distinct"] > len(state.index):
            receipt = _number_shard(dataset, shard, source, state, distinct)
        captions += receipt.numbers["rows"]
        distinct = receipt.numbers["distinct"]
        tell(shard + 1, shards)
    state.finish()
    return Numbered(captions, len(state.index), state.texts, state.changed)


def _number_shard(dataset: Dataset, shard: int, source: str, state: _Numbering, before: int) -> OverlayReceipt:
    """Number the captions of a shard, before which there are `before` distinct texts."""
    start = time.monotonic()
    table = dataset.captions(shard)
    lists = table.column("captions").combine_chunks()
    encoded = lists.flatten().dictionary_encode()
    rows, new = state.index.number(encoded.dictionary.to_pylist())
    state.add(new)
    counts = lists.value_lengths().to_numpy()
    sequence = np.repeat(np.arange(len(table)), counts)
    caption = np.arange(len(sequence)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = [
        table.column("sample").take(pa.array(sequence)),
        table.column("variant").take(pa.array(sequence)),
        pa.array(caption, pa.int32()),
        pa.array(rows[encoded.indices.to_numpy()]),
    ]
    data = encode_table(pa.table(columns, schema=ROWS_SCHEMA))
    numbers = {
        "rows": len(sequence),
        "captions": int(counts.max(initial=0)),
        "distinct": max(before, int(rows.max(initial=-1)) + 1),
    }
    state.changed = True
    files, count = {rows_part(shard): [data]}, dataset.header.count(shard)
    seconds = time.monotonic() - start
    return commit(state.folder, "rows", shard, count, source, numbers, files, state.run, seconds=seconds)
