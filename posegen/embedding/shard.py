"""The vectors of a shard of texts: those that are known are taken, the others embedded, and all are encoded as its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.embedding_layout import MASK, TOKEN, VECTOR, EmbeddingHeader, OverlayReceipt, hash_texts, object_path
from posegen.dataset.embeddings import read_array, read_texts
from posegen.dataset.shard_codec import encode_shard
from posegen.embedding.cache import VectorCache
from posegen.embedding.encoder import Encoded, Encoder, Prepared
from posegen.embedding.running import Runner

__all__ = ["Task", "finish", "prepare"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Task:
    """A shard of texts, made ready.

    Attributes
    ----------
    receipt : OverlayReceipt
        Of its texts.
    texts : list of str
    arrays : dict of str to ndarray [text, ...]
        What is known of them, and room for the rest.
    rest : int64 [n]
        Positions of the texts that are to be embedded.
    prepared : Prepared or None
        Those texts, for the encoder.
    """

    receipt: OverlayReceipt
    texts: list[str]
    arrays: dict[str, Array]
    rest: Array
    prepared: Prepared | None


def prepare(
    folder: Path,
    header: EmbeddingHeader,
    encoder: Encoder,
    receipt: OverlayReceipt,
    before: OverlayReceipt | None,
    cache: VectorCache,
) -> Task:
    """Read the texts of a shard, take the vectors that are known, and tokenise the rest.

    Parameters
    ----------
    folder : Path
    header : EmbeddingHeader
    encoder : Encoder
    receipt : OverlayReceipt
        Of its texts.
    before : OverlayReceipt or None
        Of the vectors that are there, if they are sound: of fewer texts, before the dataset grew.
    cache : VectorCache
    """
    texts = read_texts(folder, receipt)
    arrays = {field.name: np.full((len(texts), *field.shape), field.fill, field.dtype) for field in header.fields}
    is_new = np.ones(len(texts), bool)
    is_new[: _take_there(folder, header, texts, before, arrays)] = False
    if not header.positions:  # the cache has no vectors of tokens
        rest = np.flatnonzero(is_new)
        for position, vector in cache.known([texts[row] for row in rest.tolist()]).items():
            arrays[VECTOR][rest[position]] = vector
            is_new[rest[position]] = False
    rest = np.flatnonzero(is_new)
    wanted = [texts[row] for row in rest.tolist()]
    return Task(receipt, texts, arrays, rest, encoder.backend.prepare(wanted, as_query=False) if wanted else None)


def finish(task: Task, header: EmbeddingHeader, runner: Runner, cache: VectorCache) -> dict[str, list[bytes]]:
    """Embed what is to be embedded of a shard.

    Returns
    -------
    dict of str to list of bytes
        The shard's files in pieces, by their path inside the encoder's folder.
    """
    if task.prepared is not None:
        exact = np.empty((len(task.rest), header.dimension), np.float32)
        for chosen, encoded in runner.run(task.prepared):
            exact[chosen] = encoded.vectors
            _place(encoded, task.rest[chosen], task.arrays)
        cache.keep([task.texts[row] for row in task.rest.tolist()], exact)
    fields = {field.name: field for field in header.fields}
    shard = task.receipt.shard
    return {
        object_path(fields[name], shard): encode_shard(fields[name], a, header.shard, header.chunk)
        for name, a in task.arrays.items()
    }


def _take_there(
    folder: Path, header: EmbeddingHeader, texts: Sequence[str], before: OverlayReceipt | None, arrays: dict[str, Array]
) -> int:
    """Take the vectors that are there of the first texts; tell how many they are."""
    if before is None or before.source != header.source_of(hash_texts(texts[: before.count])):
        return 0
    for field in header.fields:
        arrays[field.name][: before.count] = read_array(folder, header, before, field)
    return before.count


def _place(encoded: Encoded, rows: Array, arrays: dict[str, Array]) -> None:
    arrays[VECTOR][rows] = encoded.vectors
    for row, token in zip(rows.tolist(), encoded.tokens, strict=False):
        arrays[TOKEN][row, : len(token)] = token
        arrays[MASK][row, : len(token)] = 1
