"""The stage: captions are numbered, and then each shard of distinct texts gets its vectors.

A kill loses no more than the shard of texts then running. What a batch holds depends on its shard alone, whoever embeds it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from posegen.embedding.batching import BUDGET
from posegen.embedding.encoder import Encoder
from posegen.embedding.loading import DEFAULT, load_encoder
from posegen.embedding.numbering import number_texts
from posegen.embedding.parts import commit, sound_receipt
from posegen.embedding.shard import embed_shard
from posegen.errors import UsageError
from posegen.store.files import sweep, write_all_durably, write_durably
from posegen.store.lock import locked
from posegen.store.read import Dataset, open_dataset
from posegen.store.runs import current_run
from posegen.store.vectors.layout import HEADER_FILE, VectorHeader, encoder_folder, load_vector_header
from posegen.store.vectors.objects import vector_descriptions
from posegen.wording import shown

__all__ = ["EmbeddingResult", "Progress", "embed"]

SHARD, CHUNK = 2048, 256
"""Texts in a shard and in a chunk."""
SHARD_OF_TOKENS, CHUNK_OF_TOKENS = 512, 32
"""The same where the vectors of tokens are kept, too, which take some thirty times the room."""


@dataclass(frozen=True)
class EmbeddingResult:
    """What there is in the end.

    Attributes
    ----------
    path : Path
        Folder of the vectors.
    encoder : str
    dimension : int
    captions, distinct : int
        How many captions there are, and how many different texts.
    embedded, known : int
        Texts that the encoder was run for by this run, and those whose vectors were known already.
    shards, made : int
        Shards of texts, and those of them that this run made.
    seconds : float
        That this run took.
    notes : tuple of str
        What the user should know.
    """

    path: Path
    encoder: str
    dimension: int
    captions: int
    distinct: int
    embedded: int
    known: int
    shards: int
    made: int
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


@dataclass(frozen=True)
class Progress:
    """How far a run is: `what` it does, how much of `total` is `done`, and texts embedded a second, where that is known."""

    what: str
    done: int
    total: int
    rate: float = 0.0


@dataclass
class _Told:
    """What is told about the run while it goes on."""

    progress: Callable[[Progress], None]
    notes: list[str] = field(default_factory=list)
    start: float = field(default_factory=time.monotonic)


def embed(
    path: str | Path,
    encoder: str | Encoder = DEFAULT,
    *,
    workers: int | None = None,
    name: str | None = None,
    max_tokens: int | None = None,
    tokens: bool = False,
    float16: bool = False,
    progress: Callable[[Progress], None] | None = None,
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
    max_tokens : int, optional
        Look at no more tokens of a text.
    tokens : bool
        Keep the vectors of tokens, too.
    float16 : bool
        Keep vectors in half precision.
    progress : callable, optional
        Told how far it is.

    Returns
    -------
    EmbeddingResult

    Raises
    ------
    UsageError
        If there is no such dataset or encoder, or what lies there already was made otherwise.
    PosegenError
        If the dataset is damaged, or another run is at work.
    """
    told = _Told(progress or (lambda progress: None))
    dataset = open_dataset(path)
    used = load_encoder(encoder, max_tokens=max_tokens) if isinstance(encoder, str) else encoder
    folder, run = encoder_folder(dataset.path, name or used.name), current_run()
    header = _begin(folder, _header(dataset, used, tokens=tokens, float16=float16), run)
    with locked(folder, run):
        sweep(folder)
        return _embed(dataset, folder, header, used, run, told, workers)


def _embed(
    dataset: Dataset, folder: Path, header: VectorHeader, encoder: Encoder, run: str, told: _Told, workers: int | None
) -> EmbeddingResult:
    numbered = number_texts(
        dataset, folder, header.shard, run, lambda done, total: told.progress(Progress("numbering captions", done, total))
    )
    made = embedded = known = done = 0
    for texts in numbered.texts:
        source = f"{header.fingerprint} {texts.source}"
        receipt = sound_receipt(folder, "vectors", texts.shard)
        if receipt is None or receipt.source != source:
            start = time.monotonic()
            found = embed_shard(folder, header, encoder, texts, receipt, workers)
            numbers, seconds = {"embedded": found.embedded, "known": found.known}, time.monotonic() - start
            commit(folder, "vectors", texts.shard, texts.count, source, numbers, found.files, run, seconds=seconds)
            made, embedded, known = made + 1, embedded + found.embedded, known + found.known
        done += texts.count
        rate = embedded / max(time.monotonic() - told.start, 1e-9)
        told.progress(Progress("embedding texts", done, numbered.distinct, rate))
    _describe(folder, header, numbered.distinct, run)
    seconds = time.monotonic() - told.start
    counts = (numbered.captions, numbered.distinct, embedded, known, len(numbered.texts), made)
    return EmbeddingResult(folder, header.encoder, header.dimension, *counts, seconds, tuple(told.notes))


def _header(dataset: Dataset, encoder: Encoder, *, tokens: bool, float16: bool) -> VectorHeader:
    if tokens and not encoder.has_tokens:
        msg = f"{encoder.name}: gives no vectors of tokens, so --tokens cannot be"
        raise UsageError(msg)
    return VectorHeader(
        format_version=1,
        identity=dataset.header.identity,
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
        told=encoder.told,
        dimension=encoder.dimension,
        positions=-(-encoder.limit // 16) * 16 if tokens else 0,
        dtype="float16" if float16 else "float32",
        shard=SHARD_OF_TOKENS if tokens else SHARD,
        chunk=CHUNK_OF_TOKENS if tokens else CHUNK,
        budget=BUDGET,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _begin(folder: Path, wanted: VectorHeader, run: str) -> VectorHeader:
    """Take up the header that is there, which must be of the same vectors, or write the one that is wanted."""
    there = load_vector_header(folder)
    if there is None:
        write_durably(folder / HEADER_FILE, wanted.to_bytes(), run)
        return wanted
    compared = ("identity", "encoder", "fingerprint", "dimension", "positions", "dtype")
    differing = [key for key in compared if getattr(there, key) != getattr(wanted, key)]
    if differing:
        told = "; ".join(f"{key} {_short(getattr(there, key))} there, {_short(getattr(wanted, key))} here" for key in differing)
        msg = f"{folder}: holds other vectors ({told}). Embed beside it with --name, or take that folder away"
        raise UsageError(msg)
    return there


def _short(value: Any) -> str:
    return shown(value[:16] if isinstance(value, str) else value)


def _describe(folder: Path, header: VectorHeader, texts: int, run: str) -> None:
    """Tell Zarr of the arrays, unless it is told so already."""
    wanted = vector_descriptions(header, texts)
    changed = [(folder / name, [data]) for name, data in wanted.items() if not _is(folder / name, data)]
    if changed:
        write_all_durably(changed, run)


def _is(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data
