"""The vectors of a shard of texts: those that are known are taken, the others embedded, and all are encoded as its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.embedding.batching import plan_batches
from posegen.embedding.encoder import Encoded, Encoder
from posegen.store.vectors.layout import MASK, TOKEN, VECTOR, VectorHeader, object_path
from posegen.store.vectors.objects import encode_object
from posegen.store.vectors.read import read_object, read_texts
from posegen.store.vectors.receipts import OverlayReceipt, digest_of_texts

__all__ = ["Made", "embed_shard"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Made:
    """The files of a shard by their path inside the encoder's folder, and how many vectors were embedded or known."""

    files: dict[str, list[bytes]]
    embedded: int
    known: int


def embed_shard(
    folder: Path,
    header: VectorHeader,
    encoder: Encoder,
    receipt: OverlayReceipt,
    before: OverlayReceipt | None,
    workers: int | None,
) -> Made:
    """Make the vectors of a shard of texts.

    Parameters
    ----------
    folder : Path
    header : VectorHeader
    encoder : Encoder
    receipt : OverlayReceipt
        Of its texts.
    before : OverlayReceipt or None
        Of the vectors that are there, if they are sound: of fewer texts, before the dataset grew.
    workers : int or None

    Returns
    -------
    Made
    """
    del workers
    texts = read_texts(folder, receipt)
    arrays = _empty(header, len(texts))
    known = _take_known(folder, header, texts, before, arrays)
    rest = np.arange(known, len(texts))
    if len(rest):
        prepared = encoder.backend.prepare([texts[row] for row in rest.tolist()], as_query=False)
        for chosen in plan_batches(prepared.lengths, header.budget):
            _place(encoder.backend.run(prepared, chosen, tokens=bool(header.positions)), rest[chosen], arrays)
    fields = {field.name: field for field in header.fields}
    files = {
        object_path(fields[name], receipt.shard): encode_object(header, fields[name], array) for name, array in arrays.items()
    }
    return Made(files, len(rest), known)


def _empty(header: VectorHeader, count: int) -> dict[str, Array]:
    return {field.name: np.full((count, *field.shape), field.fill, field.dtype) for field in header.fields}


def _take_known(
    folder: Path, header: VectorHeader, texts: Sequence[str], before: OverlayReceipt | None, arrays: dict[str, Array]
) -> int:
    """Take the vectors that are there of the first texts; tell how many they are."""
    if before is None or before.source != f"{header.fingerprint} {digest_of_texts(texts[: before.count])}":
        return 0
    for field in header.fields:
        arrays[field.name][: before.count] = read_object(folder, header, before, field)
    return before.count


def _place(encoded: Encoded, rows: Array, arrays: dict[str, Array]) -> None:
    arrays[VECTOR][rows] = encoded.vectors
    for row, token in zip(rows.tolist(), encoded.tokens, strict=False):
        arrays[TOKEN][row, : len(token)] = token
        arrays[MASK][row, : len(token)] = 1
