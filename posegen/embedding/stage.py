"""Embed a dataset: number its captions, then compute the vectors of each shard of distinct texts.

A kill loses at most the running shard. The content of batches depends on the shard only: the token budget of a batch is chosen
once, from the memory that is free when the folder is created, and stored in its header.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from posegen.dataset import documents, embeddings, layout, lock, parts, runs, shard_codec, tables
from posegen.dataset.files import write_changed, write_durably
from posegen.dataset.overlays import OverlayReceipt, commit_part, intact_receipt, list_differences
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.storage import ConflictError
from posegen.embedding.cache import vector_cache
from posegen.embedding.encoder import Encoder, Runner, resolve_workers
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress

SHARD, CHUNK = 2048, 256
"""Texts in a shard and in a chunk."""
MAX_SHARD = 1 << 16
SECONDS_TO_WAIT = 7 * 24 * 3600.0
"""Time that a part waits for another one that numbers the captions."""


@dataclass
class EmbeddingResult:
    """Result of :func:`embed`.

    Attributes
    ----------
    path : Path
        Folder of the vectors.
    encoder : str
    dimension : int
    captions, distinct : int
        Number of captions, and of distinct texts.
    embedded, known : int
        Texts that this run embedded, and texts whose vectors it found in the cache or in the dataset.
    shards, made : int
        Shards of texts, and those that this run computed.
    part : str or None
        The part that this run embedded, such as ``3/16``.
    seconds : float
        Duration of this run.
    texts_per_second : float
        Rate of embedding, without the time to load the encoder; 0 if nothing was embedded.
    """

    path: AnyPath
    encoder: str
    dimension: int = 0
    captions: int = 0
    distinct: int = 0
    embedded: int = 0
    known: int = 0
    shards: int = 0
    made: int = 0
    part: str | None = None
    seconds: float = 0.0
    texts_per_second: float = 0.0

    @property
    def nothing_to_do(self) -> bool:
        """Whether all vectors, or those of the part, existed before this run."""
        return self.made == 0


def embed(
    path: str | AnyPath,
    encoder: str | Encoder = DEFAULT,
    *,
    workers: int | None = None,
    name: str | None = None,
    max_tokens: int | None = None,
    shard: int | None = None,
    cached: bool = True,
    part: parts.Part | str | None = None,
    progress: Progress | None = None,
) -> EmbeddingResult:
    """Embed the captions of a dataset, each distinct text once.

    Parameters
    ----------
    path : str or Path
        The dataset.
    encoder : str or Encoder
        Its name, its folder, or a loaded encoder.
    workers : int, optional
        Number of batches embedded at the same time; by default one per core.
    name : str, optional
        Name of the vectors; by default that of the encoder. Other names store several versions side by side.
    max_tokens : int, optional
        Most tokens of a text.
    shard : int, optional
        Texts in a shard: the most that a kill loses. Stored vectors keep their shard size.
    cached : bool
        Whether to reuse vectors of other datasets, and to cache these for others.
    part : Part or str, optional
        Embed only this part of the shards of texts, such as ``"3/16"``; other runs may embed the others at the same time. The
        first one numbers the captions, and the others wait for it.
    progress : Progress, optional
        Display of progress and messages; silent by default.

    Raises
    ------
    UsageError
        If there is no such dataset or encoder, or if other vectors are stored under that name.
    PosegenError
        If the dataset is damaged, or another process is embedding.
    """
    start, display = time.monotonic(), progress or Progress()
    dataset, part, threads = open_dataset(path), parts.parse_part(part), resolve_workers(workers)
    found = find_encoder(encoder, max_tokens=max_tokens, notify=display.log)
    folder = embeddings.encoder_folder(dataset.path, name or found.name)
    load = cache(lambda: found.load(threads))
    storage_of(folder).make_folder()
    result = EmbeddingResult(folder, found.name, part=str(part) if part else None)
    with lock.locked(folder, part=part.lock_name if part else ""):
        with _numbering(folder, part, display):
            header = _open_header(folder, _settings(dataset.header.identity, found.name, found.fingerprint), load, shard)
            result.captions, texts = number_texts(dataset, folder, header.shard, display)
        result.distinct, result.shards = sum(receipt.count for receipt in texts), len(texts)
        own = [receipt for receipt in texts if part is None or receipt.shard in part]
        _embed_texts(header, own, lambda: Runner(load(), header.budget, threads, display.log), display, result, cached=cached)
        write_changed({folder / name: data for name, data in embeddings.embedding_metadata(header, result.distinct).items()})
    result.dimension, result.seconds = header.dimension, time.monotonic() - start
    return result


@contextmanager
def _numbering(folder: AnyPath, part: parts.Part | None, progress: Progress) -> Iterator[None]:
    """Hold the lock for numbering texts, for which a part waits."""
    if part:
        progress.wait("wait for the part that numbers the captions")
    with lock.shared_lock(folder, runs.current_run(), is_part=part is not None, wait=SECONDS_TO_WAIT):
        if part:
            progress.wait("")
        yield


def _settings(identity: str, encoder: str, fingerprint: str) -> dict[str, Any]:
    """Return what distinguishes vectors, by name."""
    return {"identity of the dataset": identity, "encoder": encoder, "model": fingerprint}


def _open_header(
    folder: AnyPath, requested: dict[str, Any], load: Callable[[], Encoder], shard: int | None
) -> embeddings.EmbeddingHeader:
    """Return the stored header if it is as requested; write a new one if there are no vectors.

    Raises
    ------
    UsageError
        If other vectors are stored, or the encoder cannot make the requested ones.
    """
    header = embeddings.load_embedding_header(folder)
    is_new = header is None
    if header is not None:
        stored = _settings(header.identity, header.encoder, header.fingerprint)
        if stored == requested:
            return header
        if embeddings.count_embedded(folder)[0]:
            differences = "; ".join(list_differences(stored, requested))
            advice = "Store the new ones under another --name, or delete that folder"
            raise UsageError(f"{folder}: holds other vectors ({differences}). {advice}")
    encoder, shard = load(), SHARD if shard is None else shard
    if not 1 <= shard <= MAX_SHARD:
        raise UsageError(f"--shard must be from 1 to {MAX_SHARD} (got {shard})")
    header = embeddings.EmbeddingHeader(
        format_version=1,
        identity=requested["identity of the dataset"],
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
        details=encoder.description,
        dimension=encoder.dimension,
        positions=0,
        dtype="float32",
        shard=shard,
        chunk=gcd(shard, CHUNK),
        budget=encoder.budget,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        write_durably(folder / embeddings.HEADER_FILE, documents.seal(header, indent=2), expected=b"" if is_new else None)
    except ConflictError:  # of another part that begins in a bucket at the same time
        return _open_header(folder, requested, load, shard)
    return header


def _is_embedded(header: embeddings.EmbeddingHeader, folder: AnyPath, texts: OverlayReceipt) -> bool:
    """Return whether the intact vectors of a shard of texts are stored."""
    receipt = intact_receipt(folder, "vectors", texts.shard)
    return receipt is not None and receipt.source == header.source_of(texts.source)


def _embed_texts(
    header: embeddings.EmbeddingHeader, texts: Sequence[OverlayReceipt], load: Callable[[], Runner], progress: Progress,
    result: EmbeddingResult, *, cached: bool,
) -> None:  # fmt: skip
    """Compute the vectors of those shards of texts that have none."""
    folder = result.path
    pending = [receipt for receipt in texts if not _is_embedded(header, folder, receipt)]
    if not pending:
        return
    total, runner = sum(receipt.count for receipt in texts), load()
    done, start = total - sum(receipt.count for receipt in pending), time.monotonic()
    progress.start("embed", total, unit="texts", done=done)
    with vector_cache(runner.encoder, progress.log, cached=cached) as known:
        for receipt in pending:
            if _is_embedded(header, folder, receipt):  # by another part meanwhile
                continue
            begin = time.monotonic()

            def report(count: int, first: int = done) -> None:
                progress.update(first + count)

            vectors, embedded = known.complete(embeddings.read_texts(folder, receipt), runner, report)
            data = shard_codec.encode_shard(header.field, vectors.astype(header.dtype), header.shard, header.chunk)
            files = {layout.shard_path(header.field, receipt.shard, embeddings.VECTORS): data}
            numbers = {"embedded": embedded, "known": receipt.count - embedded}
            source, seconds = header.source_of(receipt.source), time.monotonic() - begin
            commit_part(folder, "vectors", receipt.shard, receipt.count, source, numbers, files, seconds=seconds)
            done += receipt.count
            result.made += 1
            result.embedded += embedded
            result.known += receipt.count - embedded
    progress.stop()
    result.texts_per_second = result.embedded / max(time.monotonic() - start, 1e-9)


@dataclass
class _TextWriter:
    """Numbers texts by a 128-bit hash of each, and writes the shards that they fill."""

    folder: AnyPath
    size: int
    numbers: dict[bytes, int] = field(default_factory=dict)
    receipts: list[OverlayReceipt] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)

    def restore(self) -> None:
        """Number the texts of all leading intact shards."""
        while not self.pending:
            receipt = intact_receipt(self.folder, "texts", len(self.receipts))
            if receipt is None or receipt.count > self.size:
                return
            self.number(embeddings.read_texts(self.folder, receipt))

    def number(self, texts: Sequence[str]) -> Array:
        """Return the numbers of texts, int64 [n], and write each shard that the new ones fill."""
        found, known = np.empty(len(texts), np.int64), self.numbers
        for position, text in enumerate(texts):
            key = xxhash.xxh3_128_digest(text.encode())
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                self.pending.append(text)
            found[position] = number
        while len(self.pending) >= self.size:
            self._write(self.pending[: self.size])
            self.pending = self.pending[self.size :]
        return found

    def finish(self) -> None:
        """Write the last, partly filled shard."""
        if self.pending:
            self._write(self.pending)

    def _write(self, texts: Sequence[str]) -> None:
        shard, digest = len(self.receipts), embeddings.hash_texts(texts)
        receipt = intact_receipt(self.folder, "texts", shard)
        if receipt is None or receipt.source != digest:
            rows = shard * self.size + np.arange(len(texts))
            data = tables.encode_table(pa.table([rows, pa.array(texts, pa.string())], schema=embeddings.TEXTS_SCHEMA))
            receipt = commit_part(self.folder, "texts", shard, len(texts), digest, {}, {embeddings.texts_part(shard): [data]})
        self.receipts.append(receipt)


def number_texts(dataset: Dataset, folder: AnyPath, size: int, progress: Progress) -> tuple[int, list[OverlayReceipt]]:
    """Number the distinct captions of a dataset, and store the number of each caption.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Folder of the encoder.
    size : int
        Texts in a shard.
    progress : Progress

    Returns
    -------
    captions : int
        Number of captions.
    receipts : list of OverlayReceipt
        One for each shard of distinct texts.
    """
    writer = _TextWriter(folder, size)
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
    start, table = time.monotonic(), dataset.captions(shard)
    lists = table.column("captions").combine_chunks()
    encoded, sequence = lists.flatten().dictionary_encode(), tables.owners(lists)
    rows = writer.number(encoded.dictionary.to_pylist())
    caption = np.arange(len(sequence)) - np.searchsorted(sequence, sequence)
    columns = table.select(["sample", "variant"]).take(sequence)
    columns = columns.append_column("caption", [caption]).append_column("row", [rows[tables.column_numbers(encoded.indices)]])
    numbers = {
        "rows": len(sequence), "captions": int(caption.max(initial=-1)) + 1,
        "distinct": max(distinct, int(rows.max(initial=-1)) + 1),
    }  # fmt: skip
    files = {embeddings.rows_part(shard): [tables.encode_table(columns.cast(embeddings.ROWS_SCHEMA))]}
    seconds = time.monotonic() - start
    return commit_part(writer.folder, "rows", shard, dataset.header.count(shard), source, numbers, files, seconds=seconds)
