"""Embed a dataset: number its captions, then compute the vectors of each shard of distinct texts.

A kill loses at most the running shard. The content of batches depends on the shard only: the token budget of a batch is chosen
once, from the memory that is free when the folder is created, and stored in its header.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from posegen.dataset.documents import seal
from posegen.dataset.embeddings import (
    HEADER_FILE,
    MASK,
    POSITIONS_PER_CHUNK,
    ROWS_SCHEMA,
    TEXTS_SCHEMA,
    TOKEN,
    VECTOR,
    VECTORS,
    EmbeddingHeader,
    count_embedded,
    embedding_metadata,
    encoder_folder,
    hash_texts,
    load_embedding_header,
    read_array,
    read_texts,
    rows_part,
    texts_part,
)
from posegen.dataset.files import write_changed, write_durably
from posegen.dataset.layout import shard_path
from posegen.dataset.lock import locked, shared_lock
from posegen.dataset.overlays import OverlayReceipt, commit_part, intact_receipt, list_differences
from posegen.dataset.parts import Part, parse_part
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.runs import current_run
from posegen.dataset.shard_codec import encode_shard
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.storage import ConflictError
from posegen.dataset.tables import column_numbers, encode_table
from posegen.embedding.cache import VectorCache, vector_cache
from posegen.embedding.encoder import Encoder, Prepared, Runner, batch_budget, resolve_workers
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.embedding.transformer import SAMPLE, check_agreement
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress

SHARD, CHUNK = 2048, 256
"""Texts in a shard and in a chunk."""
TOKEN_SHARD, TOKEN_CHUNK = 512, 32
"""The same if vectors of tokens are stored too, which take some thirty times the space."""
MAX_SHARD = 1 << 16
SECONDS_TO_WAIT = 7 * 24 * 3600.0
"""Time that a part waits for another one that numbers the captions."""

_Missing = tuple[OverlayReceipt, OverlayReceipt | None]


@dataclass
class EmbeddingResult:
    """Result of :func:`embed`.

    Attributes
    ----------
    path : Path
        Folder of the vectors.
    encoder, precision : str
    dimension : int
    captions, distinct : int
        Number of captions, and of distinct texts.
    embedded, known : int
        Texts that this run embedded, and texts whose vectors it found in the cache or in the dataset.
    shards, made : int
        Shards of texts, and those that this run computed.
    part : str or None
        The part that this run embedded, such as ``3/16``.
    agreement : float or None
        Least cosine between vectors in this precision and in float32, on a sample of captions; None for float32.
    seconds : float
        Duration of this run.
    texts_per_second : float
        Rate of embedding, without the time to load the encoder; 0 if nothing was embedded.
    notes : list of str
        Messages to the user.
    """

    path: AnyPath
    encoder: str
    precision: str
    dimension: int = 0
    captions: int = 0
    distinct: int = 0
    embedded: int = 0
    known: int = 0
    shards: int = 0
    made: int = 0
    part: str | None = None
    agreement: float | None = None
    seconds: float = 0.0
    texts_per_second: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def nothing_to_do(self) -> bool:
        """Whether all vectors, or those of the part, existed before this run."""
        return self.made == 0


@dataclass(frozen=True)
class _Session:
    """A run of :func:`embed`: what it works on, its display, and its result so far."""

    workers: int
    load: Callable[[], Encoder]
    is_cached: bool
    progress: Progress
    result: EmbeddingResult

    def note(self, text: str) -> None:
        """Log a message, and keep it for the result."""
        self.result.notes.append(text)
        self.progress.log(text)


def embed(
    path: str | AnyPath,
    encoder: str | Encoder = DEFAULT,
    *,
    workers: int | None = None,
    name: str | None = None,
    precision: str | None = None,
    max_tokens: int | None = None,
    tokens: bool = False,
    float16: bool = False,
    shard: int | None = None,
    cached: bool = True,
    part: Part | str | None = None,
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
    precision : str, optional
        ``float32``, ``int8`` (CPU) or ``bf16`` (GPU); by default that of the stored vectors, or the best of this machine.
    max_tokens : int, optional
        Most tokens of a text.
    tokens : bool
        Whether to store the vectors of tokens too.
    float16 : bool
        Whether to store vectors in half precision.
    shard : int, optional
        Texts in a shard: the most that a kill loses. Stored vectors keep their shard size.
    cached : bool
        Whether to reuse vectors of other datasets, and to cache these for others.
    part : Part or str, optional
        Embed only this part of the shards of texts, such as ``"3/16"``; other runs may embed the others at the same time. The
        first one numbers the captions, and the others wait for it.
    progress : Progress, optional
        Display of progress and messages; silent by default.

    Returns
    -------
    EmbeddingResult

    Raises
    ------
    UsageError
        If there is no such dataset or encoder, or if other vectors are stored under that name.
    PosegenError
        If the dataset is damaged, int8 is not accurate enough, or another process is embedding.
    """
    start, display = time.monotonic(), progress or Progress()
    dataset, worker_count = open_dataset(path), resolve_workers(workers)
    found = find_encoder(encoder, max_tokens=max_tokens, notify=display.log)
    folder = encoder_folder(dataset.path, name or found.name)
    stored = load_embedding_header(folder)
    chosen = precision or (stored.fingerprint.rpartition("-")[2] if stored else None)
    load = cache(lambda: found.load(chosen, worker_count))
    if chosen is None:
        chosen = load().fingerprint.rpartition("-")[2]
    requested = _settings(dataset.header.identity, found.name, f"{found.fingerprint}-{chosen}", tokens, float16)
    storage_of(folder).make_folder()
    result = EmbeddingResult(folder, found.name, chosen)
    session = _Session(worker_count, load, cached, display, result)
    part = parse_part(part)
    with locked(folder, part=part.lock_name if part else ""):
        if part:
            display.wait("wait for the part that numbers the captions")
        with shared_lock(folder, current_run(), is_part=part is not None, wait=SECONDS_TO_WAIT):
            if part:
                display.wait("")
            header = _open_header(session, requested, shard)
            result.captions, texts = number_texts(dataset, folder, header.shard, display)
            result.distinct, result.shards = sum(receipt.count for receipt in texts), len(texts)
            own = [receipt for receipt in texts if part is None or receipt.shard in part]
            pending = list(_missing_shards(header, folder, own))
            header = _measure_agreement(header, texts, session) if pending else header
        _embed_texts(header, pending, sum(receipt.count for receipt in own), session)
        write_changed({folder / name: data for name, data in embedding_metadata(header, result.distinct).items()})
    result.part = str(part) if part else None
    result.dimension, result.agreement = header.dimension, header.details.get("agreement")
    result.seconds = time.monotonic() - start
    return result


def _settings(identity: str, encoder: str, fingerprint: str, tokens: bool, float16: bool) -> dict[str, Any]:
    """Return what distinguishes vectors, by name."""
    model, _, precision = fingerprint.rpartition("-")
    return {
        "identity of the dataset": identity,
        "encoder": encoder,
        "model": model,
        "precision": precision,
        "tokens": tokens,
        "float16": float16,
    }


def _open_header(session: _Session, requested: dict[str, Any], shard: int | None) -> EmbeddingHeader:
    """Return the stored header if it is as requested; write a new one if there are no vectors.

    Raises
    ------
    UsageError
        If other vectors are stored, or the encoder cannot make the requested ones.
    """
    folder = session.result.path
    header = load_embedding_header(folder)
    is_new = header is None
    if header is not None:
        stored = _settings(header.identity, header.encoder, header.fingerprint, header.positions > 0, header.dtype == "float16")
        if stored == requested:
            return header
        if count_embedded(folder)[0]:
            differences = "; ".join(list_differences(stored, requested))
            advice = "Store the new ones under another --name, or delete that folder"
            raise UsageError(f"{folder}: holds other vectors ({differences}). {advice}")
    encoder, tokens = session.load(), requested["tokens"]
    if tokens and not encoder.has_tokens:
        raise UsageError(f"{encoder.name}: has no vectors of tokens; leave --tokens out")
    usual, chunk = (TOKEN_SHARD, TOKEN_CHUNK) if tokens else (SHARD, CHUNK)
    shard = usual if shard is None else shard
    if not 1 <= shard <= MAX_SHARD:
        raise UsageError(f"--shard must be from 1 to {MAX_SHARD} (got {shard})")
    header = EmbeddingHeader(
        format_version=1,
        identity=requested["identity of the dataset"],
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
        details=encoder.description,
        dimension=encoder.dimension,
        positions=-(-encoder.limit // POSITIONS_PER_CHUNK) * POSITIONS_PER_CHUNK if tokens else 0,
        dtype="float16" if requested["float16"] else "float32",
        shard=shard,
        chunk=gcd(shard, chunk),
        budget=batch_budget(encoder, session.workers),
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        write_durably(folder / HEADER_FILE, seal(header, indent=2), expected=b"" if is_new else None)
    except ConflictError:  # of another part that begins in a bucket at the same time
        return _open_header(session, requested, shard)
    return header


def _missing_shards(header: EmbeddingHeader, folder: AnyPath, texts: Iterable[OverlayReceipt]) -> Iterator[_Missing]:
    """Yield the shards of texts whose vectors are missing or outdated, with the receipt of intact outdated ones."""
    for receipt in texts:
        previous = intact_receipt(folder, "vectors", receipt.shard)
        if previous is None or previous.source != header.source_of(receipt.source):
            yield receipt, previous


def _embed_texts(header: EmbeddingHeader, pending: Sequence[_Missing], texts: int, session: _Session) -> None:
    """Compute the vectors of shards of texts, which another part may have made meanwhile; `texts` are those of the part."""
    if not pending:
        return
    folder, progress, result = session.result.path, session.progress, session.result
    encoder = replace(session.load(), reference=None)  # frees its memory for batches
    done = texts - sum(receipt.count for receipt, _ in pending)
    start = time.monotonic()
    progress.start("embed", texts, unit="texts", done=done)

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress.update(done)

    with vector_cache(encoder, session.note, cached=session.is_cached) as vectors:
        runner = Runner(encoder, header.budget, session.workers, header.positions > 0, session.note)
        shards = _Shards(folder, header, runner, vectors)
        shard_start = start
        for task in shards.prepare_ahead(_missing_shards(header, folder, (receipt for receipt, _ in pending))):
            receipt = task.receipt
            numbers = {"embedded": len(task.missing), "known": receipt.count - len(task.missing)}
            files = shards.compute(task, report)
            seconds, shard_start = time.monotonic() - shard_start, time.monotonic()
            source = header.source_of(receipt.source)
            commit_part(folder, "vectors", receipt.shard, receipt.count, source, numbers, files, seconds=seconds)
            report(numbers["known"])
            result.made += 1
            result.embedded += numbers["embedded"]
            result.known += numbers["known"]
    progress.stop()
    result.texts_per_second = result.embedded / max(time.monotonic() - start, 1e-9)


@dataclass(frozen=True)
class _Task:
    """A shard of texts, ready to be embedded.

    Attributes
    ----------
    receipt : OverlayReceipt
        Receipt of its texts.
    arrays : dict of str to ndarray [text, ...]
        Known vectors, and space for the others.
    missing : int64 [n]
        Positions of the texts to embed.
    new : list of str
        Those texts.
    prepared : Prepared or None
        The same, tokenised; None if there are none.
    """

    receipt: OverlayReceipt
    arrays: dict[str, Array]
    missing: Array
    new: list[str]
    prepared: Prepared | None


@dataclass(frozen=True)
class _Shards:
    """Computes the vectors of shards of texts: reuses those already known, and embeds the others."""

    folder: AnyPath
    header: EmbeddingHeader
    runner: Runner
    cache: VectorCache

    def prepare_ahead(self, missing: Iterator[_Missing]) -> Iterator[_Task]:
        """Yield prepared shards; each is prepared while the one before it is embedded."""
        with ThreadPoolExecutor(1, "tokenising") as thread:
            tasks = (thread.submit(self.prepare, *shard) for shard in missing)
            following = next(tasks, None)
            while following is not None:
                task, following = following.result(), next(tasks, None)
                yield task

    def prepare(self, receipt: OverlayReceipt, previous: OverlayReceipt | None) -> _Task:
        """Read the texts of a shard, look up known vectors, and tokenise the other texts.

        Parameters
        ----------
        receipt : OverlayReceipt
            Receipt of its texts.
        previous : OverlayReceipt or None
            Receipt of stored, intact vectors: of fewer texts, if the dataset has grown since.
        """
        header = self.header
        texts = read_texts(self.folder, receipt)
        arrays = {field.name: np.full((len(texts), *field.shape), field.fill, field.dtype) for field in header.fields}
        is_missing = np.ones(len(texts), bool)
        if previous is not None and previous.source == header.source_of(hash_texts(texts[: previous.count])):
            for field in header.fields:
                arrays[field.name][: previous.count] = read_array(self.folder, header, previous, field)
            is_missing[: previous.count] = False
        if not header.positions:  # the cache contains no vectors of tokens
            rows = np.flatnonzero(is_missing)
            arrays[VECTOR][rows], is_missing[rows] = self.cache.look_up([texts[row] for row in rows.tolist()])
        missing = np.flatnonzero(is_missing)
        new = [texts[row] for row in missing.tolist()]
        prepared = self.runner.encoder.backend.prepare(new, as_query=False) if new else None
        return _Task(receipt, arrays, missing, new, prepared)

    def compute(self, task: _Task, report: Callable[[int], None]) -> dict[str, list[bytes]]:
        """Embed the missing texts of a shard, and encode its arrays.

        Parameters
        ----------
        task : _Task
        report : callable
            Receives the number of texts of each embedded batch.

        Returns
        -------
        dict of str to list of bytes
            The shard's files in pieces, by their path inside the encoder's folder.
        """
        arrays, header = task.arrays, self.header
        if task.prepared is not None:
            exact = np.empty((len(task.missing), header.dimension), np.float32)
            for chosen, encoded in self.runner.run(task.prepared):
                rows = task.missing[chosen]
                exact[chosen] = arrays[VECTOR][rows] = encoded.vectors
                for row, token in zip(rows.tolist(), encoded.tokens, strict=False):
                    arrays[TOKEN][row, : len(token)] = token
                    arrays[MASK][row, : len(token)] = 1
                report(len(chosen))
            self.cache.store(task.new, exact)
        return {
            shard_path(field, task.receipt.shard, VECTORS): encode_shard(field, arrays[field.name], header.shard, header.chunk)
            for field in header.fields
        }


def _measure_agreement(header: EmbeddingHeader, receipts: Sequence[OverlayReceipt], session: _Session) -> EmbeddingHeader:
    """Measure once how accurate an approximate encoder is on evenly chosen texts, and store it in the header.

    Raises
    ------
    PosegenError
        If it is not accurate enough.
    """
    # Parts do this one after another, so the encoder is loaded only if it may be needed.
    if "agreement" in header.details or header.fingerprint.endswith("-float32"):
        return header
    encoder = session.load()
    if encoder.reference is None:
        return header
    folder, count, size = session.result.path, session.result.distinct, receipts[0].count
    rows = np.unique(np.linspace(0, count - 1, SAMPLE).round().astype(np.int64))
    sample: list[str] = []
    for shard in np.unique(rows // size).tolist():
        texts = read_texts(folder, receipts[shard])
        sample += [texts[row % size] for row in rows[rows // size == shard].tolist()]
    agreement = check_agreement(encoder, replace(encoder, backend=encoder.reference), sample)
    measured = replace(header, details=header.details | {"agreement": round(agreement, 5)})
    write_durably(folder / HEADER_FILE, seal(measured, indent=2))
    return measured


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
            receipt = commit_part(self.folder, "texts", shard, len(texts), digest, {}, files)
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
    start = time.monotonic()
    table = dataset.captions(shard)
    lists = table.column("captions").combine_chunks()
    encoded = lists.flatten().dictionary_encode()
    rows = writer.number(encoded.dictionary.to_pylist())
    counts = column_numbers(lists.value_lengths())
    sequence = np.repeat(np.arange(len(table)), counts)
    caption = np.arange(len(sequence)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = [
        table.column("sample").take(pa.array(sequence)),
        table.column("variant").take(pa.array(sequence)),
        pa.array(caption, pa.int32()),
        pa.array(rows[column_numbers(encoded.indices)]),
    ]
    data = encode_table(pa.table(columns, schema=ROWS_SCHEMA))
    numbers = {
        "rows": len(sequence),
        "captions": int(counts.max(initial=0)),
        "distinct": max(distinct, int(rows.max(initial=-1)) + 1),
    }
    files, count = {rows_part(shard): [data]}, dataset.header.count(shard)
    seconds = time.monotonic() - start
    return commit_part(writer.folder, "rows", shard, count, source, numbers, files, seconds=seconds)
