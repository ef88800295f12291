"""Embed a dataset: number its captions, then compute the vectors of each shard of distinct texts.

A kill loses at most the running shard. The content of batches depends on the shard only: the token budget of a batch is chosen
once, from the memory that is free when the folder is created, and stored in its header.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from math import gcd
from pathlib import Path

import numpy as np

from posegen.dataset.embedding_layout import (
    HEADER_FILE,
    POSITIONS_PER_CHUNK,
    EmbeddingHeader,
    OverlayReceipt,
    embedding_metadata,
    encoder_folder,
    load_embedding_header,
)
from posegen.dataset.embeddings import read_texts
from posegen.dataset.files import remove_temporary_files, write_all_durably, write_durably
from posegen.dataset.lock import locked
from posegen.dataset.read import open_dataset
from posegen.dataset.runs import current_run
from posegen.embedding.cache import VectorCache, vector_cache
from posegen.embedding.encoder import Encoder
from posegen.embedding.int8 import SAMPLE, check_agreement
from posegen.embedding.models import DEFAULT, FoundEncoder, find_encoder
from posegen.embedding.parts import commit_part, intact_receipt
from posegen.embedding.runner import Runner, batch_budget, resolve_workers
from posegen.embedding.shard import ShardTask, compute_shard, prepare_shard
from posegen.embedding.texts import NumberedTexts, number_texts
from posegen.errors import UsageError
from posegen.progress import Progress, SilentProgress
from posegen.wording import shown

SHARD, CHUNK = 2048, 256
"""Texts in a shard and in a chunk."""
TOKEN_SHARD, TOKEN_CHUNK = 512, 32
"""The same if vectors of tokens are stored too, which take some thirty times the space."""
MAX_SHARD = 1 << 16


@dataclass(frozen=True)
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
    agreement : float or None
        Least cosine between vectors in this precision and in float32, on a sample of captions; None for float32.
    seconds : float
        Duration of this run.
    texts_per_second : float
        Rate of embedding, without the time to load the encoder; 0 if nothing was embedded.
    notes : tuple of str
        Messages to the user.
    """

    path: Path
    encoder: str
    precision: str
    dimension: int
    captions: int
    distinct: int
    embedded: int
    known: int
    shards: int
    made: int
    agreement: float | None
    seconds: float
    texts_per_second: float
    notes: tuple[str, ...] = ()

    @property
    def nothing_to_do(self) -> bool:
        """Whether all vectors existed before this run."""
        return self.made == 0


@dataclass
class _Session:
    """A run of :func:`embed`: what it works on, its display, and its counts."""

    folder: Path
    run: str
    workers: int
    load: Callable[[], Encoder]
    is_cached: bool
    progress: Progress
    made: int = 0
    embedded: int = 0
    known: int = 0
    rate: float = 0.0
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Log a message, and keep it for the result."""
        self.notes.append(text)
        self.progress.log(text)


def embed(
    path: str | Path,
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
    start, display = time.monotonic(), progress or SilentProgress()
    dataset, worker_count = open_dataset(path), resolve_workers(workers)
    if isinstance(encoder, str):
        found = find_encoder(encoder, max_tokens=max_tokens, notify=display.log)
    else:
        loaded, (own, _, only) = encoder, encoder.fingerprint.rpartition("-")
        found = FoundEncoder(encoder.name, own, encoder.name, lambda precision, workers: loaded, (only,))
    folder, run = encoder_folder(dataset.path, name or found.name), current_run()
    stored = load_embedding_header(folder)
    chosen = precision or (stored.fingerprint.rpartition("-")[2] if stored else None)
    load = cache(lambda: found.load(chosen, worker_count))
    if chosen is None:
        chosen = load().fingerprint.rpartition("-")[2]
    request = _Request(dataset.header.identity, found.name, found.fingerprint, chosen, tokens, float16, shard)
    folder.mkdir(parents=True, exist_ok=True)
    session = _Session(folder, run, worker_count, load, cached, display)
    with locked(folder, run):
        remove_temporary_files(folder)
        header = _open_header(request, session)
        texts = number_texts(dataset, folder, header.shard, run, display)
        header = _embed_texts(header, texts, session)
        documents = {folder / name: data for name, data in embedding_metadata(header, texts.distinct).items()}
        changed = [(file, [data]) for file, data in documents.items() if not file.is_file() or file.read_bytes() != data]
        if changed:
            write_all_durably(changed, run)
    return EmbeddingResult(
        path=folder,
        encoder=header.encoder,
        precision=chosen,
        dimension=header.dimension,
        captions=texts.captions,
        distinct=texts.distinct,
        embedded=session.embedded,
        known=session.known,
        shards=len(texts.receipts),
        made=session.made,
        agreement=header.details.get("agreement"),
        seconds=time.monotonic() - start,
        texts_per_second=session.rate,
        notes=tuple(session.notes),
    )


@dataclass(frozen=True)
class _Request:
    """Requested vectors: `identity` is that of the dataset, `fingerprint` excludes the precision."""

    identity: str
    encoder: str
    fingerprint: str
    precision: str
    tokens: bool
    float16: bool
    shard: int | None

    def differences(self, stored: EmbeddingHeader) -> list[str]:
        """Return how stored vectors differ from this request."""
        model, _, precision = stored.fingerprint.rpartition("-")
        pairs = {
            "identity of the dataset": (stored.identity, self.identity),
            "encoder": (stored.encoder, self.encoder),
            "model": (model, self.fingerprint),
            "precision": (precision, self.precision),
            "tokens": (stored.positions > 0, self.tokens),
            "float16": (stored.dtype == "float16", self.float16),
        }
        return [f"{key} {_short(old)} stored, {_short(new)} requested" for key, (old, new) in pairs.items() if old != new]


def _short(value: object) -> str:
    return shown(value[:24] if isinstance(value, str) else value)


def _open_header(request: _Request, session: _Session) -> EmbeddingHeader:
    """Return the stored header if it matches the request, or write a new one.

    Raises
    ------
    UsageError
        If other vectors are stored.
    """
    stored = load_embedding_header(session.folder)
    if stored is not None:
        differences = request.differences(stored)
        if not differences:
            return stored
        if any((session.folder / "receipts" / "vectors").glob("*.json")):
            msg = (
                f"{session.folder}: holds other vectors ({'; '.join(differences)}). Store the new ones under another --name, "
                "or delete that folder"
            )
            raise UsageError(msg)
    header = _new_header(request, session.load(), session.workers)
    write_durably(session.folder / HEADER_FILE, header.to_bytes(), session.run)
    return header


def _new_header(request: _Request, encoder: Encoder, workers: int) -> EmbeddingHeader:
    if request.tokens and not encoder.has_tokens:
        msg = f"{encoder.name}: has no vectors of tokens; leave --tokens out"
        raise UsageError(msg)
    usual, chunk = (TOKEN_SHARD, TOKEN_CHUNK) if request.tokens else (SHARD, CHUNK)
    shard = usual if request.shard is None else request.shard
    if not 1 <= shard <= MAX_SHARD:
        msg = f"--shard must be from 1 to {MAX_SHARD} (got {shard})"
        raise UsageError(msg)
    positions = -(-encoder.limit // POSITIONS_PER_CHUNK) * POSITIONS_PER_CHUNK
    return EmbeddingHeader(
        format_version=1,
        identity=request.identity,
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
        details=encoder.description,
        dimension=encoder.dimension,
        positions=positions if request.tokens else 0,
        dtype="float16" if request.float16 else "float32",
        shard=shard,
        chunk=gcd(shard, chunk),
        budget=batch_budget(encoder, workers),
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _embed_texts(header: EmbeddingHeader, texts: NumberedTexts, session: _Session) -> EmbeddingHeader:
    """Compute the vectors of all shards of texts that have none, and return the header."""
    folder, progress = session.folder, session.progress
    stored = [intact_receipt(folder, "vectors", receipt.shard) for receipt in texts.receipts]
    pending = [
        (receipt, previous)
        for receipt, previous in zip(texts.receipts, stored, strict=True)
        if previous is None or previous.source != header.source_of(receipt.source)
    ]
    if not pending:
        return header
    encoder = session.load()
    header = _measure_agreement(header, encoder, texts.receipts, session)
    encoder = replace(encoder, reference=None)  # frees its memory for batches
    runner = Runner(encoder, header.budget, session.workers, header.positions > 0, session.note)
    done = texts.distinct - sum(receipt.count for receipt, _ in pending)
    start = time.monotonic()
    progress.start("embed", texts.distinct, unit="texts", done=done)

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress.update(done)

    with vector_cache(header.fingerprint if session.is_cached else None, header.dimension, session.note) as vectors:
        for task, prepare_seconds in _prepare_ahead(folder, header, encoder, pending, vectors):
            shard_start, receipt = time.monotonic(), task.receipt
            numbers = {"embedded": len(task.missing), "known": receipt.count - len(task.missing)}
            files = compute_shard(task, header, runner, vectors, report)
            seconds = prepare_seconds + time.monotonic() - shard_start
            source = header.source_of(receipt.source)
            commit_part(folder, "vectors", receipt.shard, receipt.count, source, numbers, files, session.run, seconds=seconds)
            report(numbers["known"])
            session.made += 1
            session.embedded += numbers["embedded"]
            session.known += numbers["known"]
    progress.stop()
    session.rate = session.embedded / max(time.monotonic() - start, 1e-9)
    return header


def _prepare_ahead(
    folder: Path,
    header: EmbeddingHeader,
    encoder: Encoder,
    pending: Sequence[tuple[OverlayReceipt, OverlayReceipt | None]],
    known: VectorCache,
) -> Iterator[tuple[ShardTask, float]]:
    """Yield prepared shards with the seconds that preparing took; each is prepared while the one before it is embedded."""

    def prepare(receipt: OverlayReceipt, previous: OverlayReceipt | None) -> tuple[ShardTask, float]:
        start = time.monotonic()
        return prepare_shard(folder, header, encoder, receipt, previous, known), time.monotonic() - start

    with ThreadPoolExecutor(1, "tokenising") as thread:
        following = thread.submit(prepare, *pending[0])
        for number in range(len(pending)):
            task = following.result()
            if number + 1 < len(pending):
                following = thread.submit(prepare, *pending[number + 1])
            yield task


def _measure_agreement(
    header: EmbeddingHeader, encoder: Encoder, receipts: Sequence[OverlayReceipt], session: _Session
) -> EmbeddingHeader:
    """Measure once how accurate an approximate encoder is on evenly chosen texts, and store it in the header.

    Raises
    ------
    PosegenError
        If it is not accurate enough.
    """
    if encoder.reference is None or "agreement" in header.details:
        return header
    count, size = sum(receipt.count for receipt in receipts), receipts[0].count
    rows = np.unique(np.linspace(0, count - 1, SAMPLE).round().astype(np.int64))
    sample: list[str] = []
    for shard in np.unique(rows // size).tolist():
        texts = read_texts(session.folder, receipts[shard])
        sample += [texts[row % size] for row in rows[rows // size == shard].tolist()]
    agreement = check_agreement(encoder, sample)
    measured = replace(header, details=header.details | {"agreement": round(agreement or 0.0, 5)})
    write_durably(session.folder / HEADER_FILE, measured.to_bytes(), session.run)
    return measured
