"""Compute the vectors of one shard of texts: reuse those already known, embed the others, and encode all as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.embedding_layout import MASK, TOKEN, VECTOR, EmbeddingHeader, OverlayReceipt, hash_texts, object_path
from posegen.dataset.embeddings import read_array, read_texts
from posegen.dataset.shard_codec import encode_shard
from posegen.embedding.cache import VectorCache
from posegen.embedding.encoder import Encoder, Prepared
from posegen.embedding.runner import Runner

Array = NDArray[Any]


@dataclass(frozen=True)
class ShardTask:
    """A shard of texts, ready to be embedded.

    Attributes
    ----------
    receipt : OverlayReceipt
        Receipt of its texts.
    texts : list of str
    arrays : dict of str to ndarray [text, ...]
        Known vectors, and space for the others.
    missing : int64 [n]
        Positions of the texts to embed.
    prepared : Prepared or None
        Those texts, tokenised.
    """

    receipt: OverlayReceipt
    texts: list[str]
    arrays: dict[str, Array]
    missing: Array
    prepared: Prepared | None


def prepare_shard(
    folder: Path,
    header: EmbeddingHeader,
    encoder: Encoder,
    receipt: OverlayReceipt,
    previous: OverlayReceipt | None,
    cache: VectorCache,
) -> ShardTask:
    """Read the texts of a shard, look up known vectors, and tokenise the other texts.

    Parameters
    ----------
    folder : Path
    header : EmbeddingHeader
    encoder : Encoder
    receipt : OverlayReceipt
        Receipt of its texts.
    previous : OverlayReceipt or None
        Receipt of stored, intact vectors: of fewer texts, if the dataset has grown since.
    cache : VectorCache
    """
    texts = read_texts(folder, receipt)
    arrays = {field.name: np.full((len(texts), *field.shape), field.fill, field.dtype) for field in header.fields}
    is_missing = np.ones(len(texts), bool)
    if previous is not None and previous.source == header.source_of(hash_texts(texts[: previous.count])):
        for field in header.fields:
            arrays[field.name][: previous.count] = read_array(folder, header, previous, field)
        is_missing[: previous.count] = False
    if not header.positions:  # the cache contains no vectors of tokens
        candidates = np.flatnonzero(is_missing)
        for position, vector in cache.look_up([texts[row] for row in candidates.tolist()]).items():
            arrays[VECTOR][candidates[position]] = vector
            is_missing[candidates[position]] = False
    missing = np.flatnonzero(is_missing)
    new = [texts[row] for row in missing.tolist()]
    return ShardTask(receipt, texts, arrays, missing, encoder.backend.prepare(new, as_query=False) if new else None)


def compute_shard(
    task: ShardTask, header: EmbeddingHeader, runner: Runner, cache: VectorCache, report: Callable[[int], None]
) -> dict[str, list[bytes]]:
    """Embed the missing texts of a shard, and encode its arrays.

    Parameters
    ----------
    task : ShardTask
    header : EmbeddingHeader
    runner : Runner
    cache : VectorCache
        Receives the new vectors.
    report : callable
        Receives the number of texts of each embedded batch.

    Returns
    -------
    dict of str to list of bytes
        The shard's files in pieces, by their path inside the encoder's folder.
    """
    arrays = task.arrays
    if task.prepared is not None:
        exact = np.empty((len(task.missing), header.dimension), np.float32)
        for chosen, encoded in runner.run(task.prepared):
            rows = task.missing[chosen]
            exact[chosen] = arrays[VECTOR][rows] = encoded.vectors
            for row, token in zip(rows.tolist(), encoded.tokens, strict=False):
                arrays[TOKEN][row, : len(token)] = token
                arrays[MASK][row, : len(token)] = 1
            report(len(chosen))
        cache.store([task.texts[row] for row in task.missing.tolist()], exact)
    shard = task.receipt.shard
    return {
        object_path(field, shard): encode_shard(field, arrays[field.name], header.shard, header.chunk)
        for field in header.fields
    }
