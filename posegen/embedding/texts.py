"""Number the distinct captions of a dataset in the order of first appearance, and store which caption has which number.

This is cheap and precedes embedding. A dataset that grows only adds numbers, and numbering again, after a kill or damage, gives
the same ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from posegen.arrays import Array
from posegen.dataset.embeddings import ROWS_SCHEMA, TEXTS_SCHEMA, hash_texts, read_texts, rows_part, texts_part
from posegen.dataset.overlays import OverlayReceipt, commit_part, intact_receipt
from posegen.dataset.read import Dataset
from posegen.dataset.tables import encode_table
from posegen.progress import Progress


@dataclass
class _TextWriter:
    """Numbers texts by a 128-bit hash of each, and writes the shards that they fill."""

    folder: Path
    size: int
    run: str
    numbers: dict[bytes, int] = field(default_factory=dict)
    receipts: list[OverlayReceipt] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)

    def restore(self) -> None:
        """Number the texts of all leading intact shards."""
        while True:
            receipt = intact_receipt(self.folder, "texts", len(self.receipts))
            if receipt is None or receipt.count > self.size:
                return
            texts = read_texts(self.folder, receipt)
            self._look_up(texts)
            if receipt.count < self.size:
                self.pending = texts
                return
            self.receipts.append(receipt)

    def number(self, texts: Sequence[str]) -> Array:
        """Return the numbers of texts, int64 [n], and write each shard that the new ones fill."""
        numbers, new = self._look_up(texts)
        self.pending += new
        while len(self.pending) >= self.size:
            self._write(self.pending[: self.size])
            self.pending = self.pending[self.size :]
        return numbers

    def finish(self) -> None:
        """Write the last, partly filled shard."""
        if self.pending:
            self._write(self.pending)

    def _look_up(self, texts: Sequence[str]) -> tuple[Array, list[str]]:
        """Return the numbers of texts, and the texts that are new, in the order of their numbers."""
        found, new, known = np.empty(len(texts), np.int64), [], self.numbers
        for position, text in enumerate(texts):
            key = xxhash.xxh3_128_digest(text.encode())
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                new.append(text)
            found[position] = number
        return found, new

    def _write(self, texts: Sequence[str]) -> None:
        shard, digest = len(self.receipts), hash_texts(texts)
        receipt = intact_receipt(self.folder, "texts", shard)
        if receipt is None or receipt.source != digest:
            first = shard * self.size
            rows = np.arange(first, first + len(texts))
            data = encode_table(pa.table([rows, pa.array(texts, pa.string())], schema=TEXTS_SCHEMA))
            files = {texts_part(shard): [data]}
            receipt = commit_part(self.folder, "texts", shard, len(texts), digest, {}, files, self.run)
        self.receipts.append(receipt)


def number_texts(dataset: Dataset, folder: Path, size: int, run: str, progress: Progress) -> tuple[int, list[OverlayReceipt]]:
    """Number the distinct captions of a dataset, and store the number of each caption.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Folder of the encoder.
    size : int
        Texts in a shard.
    run : str
        Identifier of this run.
    progress : Progress

    Returns
    -------
    captions : int
        Number of captions.
    receipts : list of OverlayReceipt
        One for each shard of distinct texts.
    """
    writer = _TextWriter(folder, size, run)
    writer.restore()
    shards, captions, distinct = dataset.header.shards(), 0, 0
    progress.start("number captions", shards, unit="shards")
    for shard in range(shards):
        source, count = dataset.rows_hash(shard), dataset.header.count(shard)
        receipt = intact_receipt(folder, "rows", shard)
        is_current = receipt is not None and (receipt.source, receipt.count) == (source, count)
        if receipt is None or not is_current or receipt.numbers["distinct"] > len(writer.numbers):
            receipt = _number_shard(dataset, shard, source, writer, distinct)
        captions += receipt.numbers["rows"]
        distinct = receipt.numbers["distinct"]
        progress.update(shard + 1)
    progress.stop()
    writer.finish()
    return captions, writer.receipts


def _number_shard(dataset: Dataset, shard: int, source: str, writer: _TextWriter, distinct: int) -> OverlayReceipt:
    """Number the captions of a shard; the shards before it contain `distinct` texts."""
    start = time.monotonic()
    table = dataset.captions(shard)
    lists = table.column("captions").combine_chunks()
    encoded = lists.flatten().dictionary_encode()
    rows = writer.number(encoded.dictionary.to_pylist())
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
        "distinct": max(distinct, int(rows.max(initial=-1)) + 1),
    }
    files, count = {rows_part(shard): [data]}, dataset.header.count(shard)
    seconds = time.monotonic() - start
    return commit_part(writer.folder, "rows", shard, count, source, numbers, files, writer.run, seconds=seconds)
