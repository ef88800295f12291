"""Encoders of queries: the vectors of the model without torch, made once, and never in silence."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from posegen.embedding import embed, load_encoder
from posegen.embedding.query_encoder import ABOUT, MODEL, TOLERANCE, load_query_encoder
from posegen.embedding.search import prepare_search
from tests.embedding import tiny_encoder

SENTENCE = "a person walks runs and turns left right twice quickly waves someone jump of feet slowly then sits down"
WORDS = SENTENCE.split()
TEXTS = [" ".join(WORDS[start : start + length]) for start in range(10) for length in (1, 3, 8)] + [" ".join(WORDS * 2)]
SLOW = {"torch", "transformers", "sentence_transformers", "sklearn", "scipy.sparse", "zarr", "numba", "pandas"}
"""Packages whose import takes from a tenth of a second to several seconds."""


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder.make(tmp_path_factory.mktemp("model"), WORDS)


@pytest.mark.slow
def test_vectors_are_those_of_the_model_and_it_is_exported_once(model: Path, caches: Path) -> None:
    pytest.importorskip("onnxruntime")
    own, notes = load_encoder(str(model)), []
    first = load_query_encoder("tiny", str(model), own.fingerprint, own.limit, notes.append)
    assert notes == ["loading tiny with torch; without it from the next time on"]
    again = load_query_encoder("tiny", str(model), own.fingerprint, own.limit, notes.append)
    assert len(notes) == 1
    for encoder in (first, again):
        assert (encoder.name, encoder.dimension, encoder.limit, encoder.fingerprint) == ("tiny", 32, 16, own.fingerprint)
        for as_query in (True, False):
            expected = own.encode(TEXTS, as_query=as_query)
            np.testing.assert_allclose(encoder.encode(TEXTS, as_query=as_query), expected, rtol=0, atol=TOLERANCE)
    assert np.abs(again.encode(TEXTS, as_query=True) - again.encode(TEXTS)).max() > 100 * TOLERANCE  # the prompt counts
    # A damaged file is noticed, reported and made again.
    (file,) = caches.glob(f"*/{MODEL}")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    load_query_encoder("tiny", str(model), own.fingerprint, own.limit, notes.append)
    assert len(notes) == 2
    assert load_query_encoder("tiny", str(model), own.fingerprint, own.limit, notes.append).encode(TEXTS).shape == (31, 32)
    assert len(notes) == 2


@pytest.mark.slow
def test_an_export_with_other_vectors_is_not_used(model: Path, caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr("posegen.embedding.query_encoder.TOLERANCE", -1.0)
    own, notes = load_encoder(str(model)), []
    found = load_query_encoder("tiny", str(model), own.fingerprint, own.limit, notes.append)
    assert notes[1:] == ["tiny has other vectors without torch, so each search takes some seconds longer"]
    assert found.encode(TEXTS).tolist() == own.encode(TEXTS).tolist()
    assert not list(caches.glob(f"*/{ABOUT}"))


@pytest.mark.slow
def test_a_search_imports_no_torch(model: Path, embedded: Path, caches: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("wordllama")
    dataset = Path(shutil.copytree(embedded, tmp_path / "dataset"))
    for encoder, name in ((str(model), "tiny"), ("wordllama", "wordllama")):
        embed(dataset, encoder, cached=False, precision="float32")
        prepare_search(dataset, name)
        command = ["search", str(dataset), "a person walks", "--encoder", name, "--json"]
        after = "print(); print(json.dumps([code, sorted(sys.modules)]))"
        script = f"import json, sys; from posegen.cli.main import main; code = main({command!r}); {after}"
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        found, _, last = ran.stdout.rstrip().rpartition("\n")
        code, modules = json.loads(last)
        assert code == 0
        assert json.loads(found)["encoder"] == name
        assert not SLOW & set(modules), (name, SLOW & set(modules))
        assert ran.stderr == ""
    del caches
