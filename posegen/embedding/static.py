"""The static encoder: WordLlama's vectors of words, averaged. Its weights come with its package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.embedding.encoder import Encoded, Encoder, Prepared, unit_length
from posegen.embedding.finding import STATIC, Found
from posegen.errors import UsageError

__all__ = ["find_static"]

Array = NDArray[Any]

_DIMENSION = 256
_LIMIT = 512


class _WordVectors:
    """Averages the vectors of words."""

    def __init__(self, tokenizer: Any, vectors: Array, limit: int) -> None:
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._limit = limit

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Tokenise."""
        del as_query
        numbers = [entry.ids[: self._limit] for entry in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]
        return Prepared(np.array([len(some) for some in numbers], np.int64), numbers)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Look up and average."""
        numbers = [prepared.inputs[text] for text in chosen.tolist()]
        found = [self._vectors[np.array(some, np.int64)] for some in numbers]
        means = np.array([vectors.sum(axis=0, dtype=np.float64) for vectors in found]).reshape(-1, _DIMENSION)
        return Encoded(unit_length(means), [unit_length(vectors) for vectors in found] if tokens else [])


def find_static(max_tokens: int | None) -> Found:
    """Find the encoder.

    Raises
    ------
    UsageError
        If it is not installed.
    """
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        msg = "wordllama is not installed; install it with: pip install 'posegen[embed]'"
        raise UsageError(msg)
    weights = Path(spec.origin).parent / "weights" / "l2_supercat_256.safetensors"
    limit = min(_LIMIT, max_tokens or _LIMIT)
    fingerprint = xxhash.xxh3_128_hexdigest(weights.read_bytes() + f"{limit}".encode())

    def load(precision: str | None, workers: int | None) -> Encoder:
        del precision, workers
        from wordllama import WordLlama

        model = WordLlama.load(cache_dir=Path(weights).parents[1], disable_download=True)
        backend = _WordVectors(model.tokenizer, np.asarray(model.embedding, np.float32), limit)
        told = {"kind": "static vectors of words", "precision": "float32", "source": STATIC}
        return Encoder(STATIC, _DIMENSION, f"{fingerprint}-float32", backend, limit, has_tokens=True, told=told)

    return Found(STATIC, fingerprint, STATIC, load)
