"""The stage: captions are numbered, and then each shard of distinct texts gets its vectors.

A kill loses no more than the shard of texts then running. What a batch holds depends on its shard alone, whoever embeds it:
the tokens that a batch may have are chosen once, when the folder is made, by the memory that is free then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from posegen.dataset.embedding_layout import HEADER_FILE, EmbeddingHeader, OverlayReceipt, embedding_metadata, encoder_folder
from posegen.dataset.embeddings import read_texts
from posegen.dataset.files import remove_temporary_files, write_all_durably, write_durably
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.runs import current_run
from posegen.embedding.cache import VectorCache, vector_cache
from posegen.embedding.clock import Clock, Progress
from posegen.embedding.encoder import Encoder
from posegen.embedding.finding import DEFAULT, Found, find_encoder
from posegen.embedding.header import Asked, begin, precision_there
from posegen.embedding.int8 import SAMPLE, check_agreement
from posegen.embedding.loading import loaded
from posegen.embedding.numbering import Numbered, number_texts
from posegen.embedding.parts import commit, sound_receipt
from posegen.embedding.running import Runner
from posegen.embedding.shard import Task, finish, prepare
from posegen.embedding.threads import workers_of

__all__ = ["EmbeddingResult", "embed"]


@dataclass(frozen=True)
class EmbeddingResult:
    """What there is in the end.

    Attributes
    ----------
    path : Path
        Folder of the vectors.
    encoder, precision : str
    dimension : int
    captions, distinct : int
        How many captions there are, and how many different texts.
    embedded, known : int
        Texts that the encoder was run for by this run, and those whose vectors this run found elsewhere.
    shards, made : int
        Shards of texts, and those of them that this run made.
    agreement : float or None
        Least cosine between vectors in this precision and in float32, on a sample of captions; None for float32.
    seconds : float
        That this run took.
    notes : tuple of str
        What the user was told on the way.
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
    notes: tuple[str, ...] = ()

    @property
    def nothing_to_do(self) -> bool:
        """Whether all was there already."""
        return self.made == 0

    @property
    def texts_per_second(self) -> float:
        """Texts that the encoder was run for, a second."""
        return self.embedded / self.seconds if self.seconds else 0.0


@dataclass
class _Run:
    """A run under way: what it works on, whom it tells, and what it counts."""

    folder: Path
    name: str
    workers: int
    load: Callable[[], Encoder]
    cached: bool
    tell: Callable[[Progress], None]
    notify: Callable[[str], None]
    made: int = 0
    embedded: int = 0
    known: int = 0
    notes: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Tell the user something, and keep it."""
        self.notes.append(text)
        self.notify(text)


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
    progress: Callable[[Progress], None] = lambda progress: None,
    notify: Callable[[str], None] = lambda text: None,
) -> EmbeddingResult:
    """Embed the captions of a dataset, each distinct text once.

    Parameters
    ----------
    path : str or Path
        The dataset.
    encoder : str or Encoder
        Its name, the folder that holds it, or an encoder that is loaded already.
    workers : int, optional
        Batches that are embedded at once; as the machine's cores suggest unless given.
    name : str, optional
        Of the vectors, if not that of the encoder: to keep several of one encoder beside each other.
    precision : str, optional
        ``float32``, ``int8`` (CPU) or ``bf16`` (GPU); that of the vectors which are there, or what suits the machine.
    max_tokens : int, optional
        Look at no more tokens of a text.
    tokens : bool
        Keep the vectors of tokens, too.
    float16 : bool
        Keep vectors in half precision.
    shard : int, optional
        Texts in a shard: what a kill loses at most. Chosen once; what is there already has its own.
    cached : bool
        Take vectors from those that were made for other datasets, and keep these for others.
    progress : callable, optional
        Told how far it is.
    notify : callable, optional
        Told what the user should know.

    Returns
    -------
    EmbeddingResult

    Raises
    ------
    UsageError
        If there is no such dataset or encoder, or what lies there already was made otherwise.
    PosegenError
        If the dataset is damaged, int8 comes not near enough, or another run is at work.
    """
    start = time.monotonic()
    dataset, count = open_dataset(path), workers_of(workers)
    found = _found(encoder, max_tokens, notify)
    folder, run = encoder_folder(dataset.path, name or found.name), current_run()
    chosen = precision or precision_there(folder)
    load = cache(lambda: loaded(found, chosen, count))
    if chosen is None:
        chosen = load().fingerprint.rpartition("-")[2]
    asked = Asked(dataset.header.identity, found.name, found.fingerprint, chosen, tokens, float16, shard)
    folder.mkdir(parents=True, exist_ok=True)
    work = _Run(folder, run, count, load, cached, progress, notify)
    with locked(folder, run):
        remove_temporary_files(folder)
        header = begin(folder, asked, load, count, run)
        numbered = _numbered(dataset, header, work)
        header = _embedded(header, numbered, work)
        _describe(folder, header, numbered.distinct, run)
    counts = (numbered.captions, numbered.distinct, work.embedded, work.known, len(numbered.texts), work.made)
    agreement, seconds = header.details.get("agreement"), time.monotonic() - start
    return EmbeddingResult(folder, header.encoder, chosen, header.dimension, *counts, agreement, seconds, tuple(work.notes))


def _found(encoder: str | Encoder, max_tokens: int | None, notify: Callable[[str], None]) -> Found:
    if isinstance(encoder, str):
        return find_encoder(encoder, max_tokens=max_tokens, notify=notify)
    own, _, precision = encoder.fingerprint.rpartition("-")
    return Found(encoder.name, own, encoder.name, lambda precision, workers: encoder, (precision,))


def _numbered(dataset: Dataset, header: EmbeddingHeader, work: _Run) -> Numbered:
    def tell(done: int, total: int) -> None:
        work.tell(Progress("numbering captions, shards", done, total))

    return number_texts(dataset, work.folder, header.shard, work.name, tell)


def _embedded(header: EmbeddingHeader, numbered: Numbered, work: _Run) -> EmbeddingHeader:
    """Give vectors to all shards of texts that have none."""
    there = [sound_receipt(work.folder, "vectors", texts.shard) for texts in numbered.texts]
    pending = [
        (texts, receipt)
        for texts, receipt in zip(numbered.texts, there, strict=True)
        if receipt is None or receipt.source != header.source_of(texts.source)
    ]
    if not pending:
        return header
    encoder = work.load()
    header = _agreeing(header, encoder, numbered.texts, work)
    encoder = replace(encoder, reference=None)  # its memory is wanted for batches
    clock = Clock(numbered.distinct, sum(texts.count for texts, _ in pending), work.tell)
    runner = Runner(encoder, header.budget, work.workers, header.positions > 0, work.say, clock.embedded)
    fingerprint = header.fingerprint if work.cached else None
    with vector_cache(fingerprint, header.dimension, work.say) as known:
        for task, seconds in _ahead(work.folder, header, encoder, pending, known):
            begun = time.monotonic()
            files = finish(task, header, runner, known)
            embedded = len(task.rest)
            numbers = {"embedded": embedded, "known": task.receipt.count - embedded}
            seconds += time.monotonic() - begun
            shard, source = task.receipt.shard, header.source_of(task.receipt.source)
            commit(work.folder, "vectors", shard, task.receipt.count, source, numbers, files, work.name, seconds=seconds)
            clock.finished(task.receipt.count, embedded)
            work.made, work.embedded, work.known = work.made + 1, work.embedded + embedded, work.known + numbers["known"]
    return header


def _ahead(
    folder: Path,
    header: EmbeddingHeader,
    encoder: Encoder,
    pending: Sequence[tuple[OverlayReceipt, OverlayReceipt | None]],
    known: VectorCache,
) -> Iterator[tuple[Task, float]]:
    """Make shards ready, each while the one before it is embedded; tell how long that took."""

    def ready(texts: OverlayReceipt, before: OverlayReceipt | None) -> tuple[Task, float]:
        begun = time.monotonic()
        return prepare(folder, header, encoder, texts, before, known), time.monotonic() - begun

    with ThreadPoolExecutor(1, "tokenising") as thread:
        following = thread.submit(ready, *pending[0])
        for number in range(len(pending)):
            task = following.result()
            if number + 1 < len(pending):
                following = thread.submit(ready, *pending[number + 1])
            yield task


def _agreeing(header: EmbeddingHeader, encoder: Encoder, texts: Sequence[OverlayReceipt], work: _Run) -> EmbeddingHeader:
    """Measure once how near an encoder that is not exact comes, and write it down.

    Raises
    ------
    PosegenError
        If not near enough.
    """
    if encoder.reference is None or "agreement" in header.details:
        return header
    found = check_agreement(encoder, _sample(work.folder, texts))
    measured = replace(header, details=header.details | {"agreement": round(found or 0.0, 5)})
    write_durably(work.folder / HEADER_FILE, measured.to_bytes(), work.name)
    return measured


def _sample(folder: Path, texts: Sequence[OverlayReceipt]) -> list[str]:
    """Take texts at even steps."""
    count = sum(receipt.count for receipt in texts)
    size = texts[0].count
    wanted = np.unique(np.linspace(0, count - 1, SAMPLE).round().astype(np.int64))
    found = []
    for shard in np.unique(wanted // size).tolist():
        own = read_texts(folder, texts[shard])
        found += [own[row % size] for row in wanted[wanted // size == shard].tolist()]
    return found


def _describe(folder: Path, header: EmbeddingHeader, texts: int, run: str) -> None:
    """Tell Zarr of the arrays, unless it is told so already."""
    wanted = embedding_metadata(header, texts)
    changed = [(folder / name, [data]) for name, data in wanted.items() if not _is(folder / name, data)]
    if changed:
        write_all_durably(changed, run)


def _is(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data
