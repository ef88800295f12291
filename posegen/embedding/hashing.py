"""An encoder for tests only: vectors of the words in a text, drawn by a hash. It knows nothing of meaning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.embedding.encoder import Encoded, Encoder, Prepared, unit_length

__all__ = ["HASHING", "hashing_encoder"]

Array = NDArray[Any]

HASHING = "hashing-for-tests"
_DIMENSION = 64
_LIMIT = 256


class _Words:
    """Adds up the vectors of words."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Split texts into words."""
        del as_query
        words = [text.lower().split()[: self._limit] for text in texts]
        return Prepared(np.array([len(some) for some in words], np.int64), words)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Add the vectors of the words of each text."""
        of_words = [[_word_vector(word) for word in prepared.inputs[text]] for text in chosen.tolist()]
        stacked = [np.array(vectors, np.float32).reshape(-1, _DIMENSION) for vectors in of_words]
        pooled = np.array([vectors.sum(axis=0) for vectors in stacked]).reshape(-1, _DIMENSION)
        return Encoded(unit_length(pooled), [unit_length(vectors) for vectors in stacked] if tokens else [])


def hashing_encoder(max_tokens: int | None = None) -> Encoder:
    """Make the encoder for tests: 64 dimensions, words as tokens, the same on every machine."""
    limit = min(_LIMIT, max_tokens or _LIMIT)
    told = {"kind": "hashing, for tests only", "precision": "float32", "source": HASHING}
    return Encoder(HASHING, _DIMENSION, f"{HASHING}-1-{limit}-float32", _Words(limit), limit, has_tokens=True, told=told)


@cache
def _word_vector(word: str) -> Array:
    bits = [xxhash.xxh3_64_intdigest(f"{number} {word}".encode()) for number in range(_DIMENSION)]
    return np.array(bits, np.float64) / 2**63 - 1
