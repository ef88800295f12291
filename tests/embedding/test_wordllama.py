"""WordLlama: a text has the vector that the package gives it, whatever other texts are embedded with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.embedding import Encoder, load_encoder
from posegen.embedding.models import WORDLLAMA
from posegen.embedding.own_texts import embed_texts

TEXTS = [
    "a person walks",
    "Someone turns left twice, then waves with the right hand and sits down on a chair!",
    "geht zwei Schritte rückwärts, 日本語, \U0001f600",
    "",
    " ",
    " begins with a space",
    "ends with two  ",
    "has  two spaces, and   three",
    "tabs\tand\nlines",
    "\u2581 stands for\u2581 \u2581\u2581a space",
    "walks " * 600,
]


@pytest.fixture(scope="module")
def package() -> Any:
    wordllama = pytest.importorskip("wordllama")
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


@pytest.fixture(scope="module")
def encoder(package: Any) -> Encoder:
    del package
    return load_encoder(WORDLLAMA)


def test_vectors_are_those_of_the_package(encoder: Encoder, package: Any) -> None:
    texts = [text for text in TEXTS if 0 < len(text) < 600]  # the others have no vector in the package, or another limit
    np.testing.assert_allclose(encoder.encode(texts), package.embed(texts, norm=True), rtol=0, atol=1e-6)


def test_a_vector_does_not_depend_on_the_other_texts(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert encoder.encode([text])[0].tolist() == vector.tolist(), text


def test_words_have_the_tokens_that_they_have_in_the_text(encoder: Encoder, package: Any) -> None:
    tokenizer = package.tokenizer
    tokenizer.no_padding()
    prepared = encoder.backend.prepare(TEXTS, as_query=False)
    for text, numbers in zip(TEXTS, prepared.inputs, strict=True):
        assert numbers.tolist() == tokenizer.encode(text, add_special_tokens=False).ids[: encoder.limit]
    assert prepared.lengths.tolist() == list(map(len, prepared.inputs))
    assert prepared.lengths.max() == encoder.limit


def test_vectors_are_not_cached(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "texts.txt"
    path.write_text("a person walks\n", encoding="utf-8")
    for _ in range(2):
        assert embed_texts(path, tmp_path / "texts.parquet", encoder).embedded == 1
        (tmp_path / "texts.parquet").unlink()


def test_names_of_special_tokens_are_words_like_others(encoder: Encoder) -> None:
    assert encoder.backend.prepare(["a <s> b"], as_query=False).lengths[0] > 4
