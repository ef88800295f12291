"""The embed stage: distinct texts, vectors of sequences, resume, extension, repair, refusals."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import posegen
from posegen.cli.main import main
from posegen.dataset.lock import locked
from posegen.embedding import EmbeddingResult, embed, load_encoder, open_embeddings
from posegen.embedding.models import HASHING
from posegen.foundations.errors import PosegenError, UsageError
from tests.embedding.captioned import Notes, captioned, plain
from tests.faults.injection import Call, inject, needs_compiler

SAMPLES, SHARD = 28, 8

ENCODER = load_encoder(HASHING)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captioned(tmp_path_factory.mktemp("captioned") / "dataset", SAMPLES, plain)


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "dataset"))


def run(path: Path, **options: object) -> EmbeddingResult:
    return embed(path, HASHING, **{"shard": SHARD, "cached": False, **options})  # type: ignore[arg-type]


def texts_of(samples: int = SAMPLES, captions: Callable[[int, int], Sequence[str]] = plain) -> list[str]:
    """Return the distinct texts in the order of first appearance."""
    every = (text for sample in range(samples) for variant in range(2) for text in captions(sample, variant))
    return list(dict.fromkeys(every))


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of all files that do not describe the run."""
    names = [path for path in folder.rglob("*") if path.is_file() and "receipts" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in names if path.name != "embeddings.json"}


def test_each_distinct_text_is_embedded_once_in_the_order_of_the_dataset(dataset: Path) -> None:
    result = run(dataset)
    texts = texts_of()
    embeddings = open_embeddings(dataset)
    assert list(embeddings.texts) == texts
    assert (result.captions, result.distinct, result.embedded) == (
        2 * sum(s % 4 for s in range(SAMPLES)),
        len(texts),
        len(texts),
    )
    np.testing.assert_allclose(embeddings.vectors(), ENCODER.encode(texts), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(embeddings.vectors(), axis=1), 1, atol=1e-6)
    assert embeddings.texts[-1] == texts[-1]
    assert embeddings.texts[3:5] == texts[3:5]


def test_the_table_of_rows_names_the_text_of_each_caption(dataset: Path) -> None:
    run(dataset)
    embeddings = open_embeddings(dataset)
    found = {
        (row["sample"], row["variant"], row["caption"]): embeddings.texts[row["row"]] for row in embeddings.rows.to_pylist()
    }
    assert found == {
        (sample, name, number): text
        for sample in range(SAMPLES)
        for position, name in enumerate(("base", "mirror"))
        for number, text in enumerate(plain(sample, position))
    }


def expected(sample: int, variant: int) -> np.ndarray:
    vectors = np.full((3, 64), np.nan, np.float32)
    texts = plain(sample, variant)
    vectors[: len(texts)] = ENCODER.encode(texts)
    return vectors


def test_vectors_are_joined_to_samples_and_to_batches(dataset: Path) -> None:
    run(dataset)
    opened = posegen.open(dataset)
    for sample in (0, 5, SAMPLES - 1):
        expected_vectors = np.stack([expected(sample, variant) for variant in range(2)])
        np.testing.assert_allclose(opened[sample].text_embedding, expected_vectors, atol=1e-6)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(opened[sample])).text_embedding, opened[sample].text_embedding)
    batches = opened.batches(7, seed=3, fields=["text_embedding", "captions"], variants=["mirror"], window=11)
    for batch in (*batches, pickle.loads(pickle.dumps(batches)).batch(2)):
        assert batch.text_embedding.dtype == np.float32
        np.testing.assert_allclose(batch.text_embedding, np.stack([expected(s, 1) for s in batch.sample]), atol=1e-6)


def test_repeating_a_complete_run_does_nothing_and_reports_it(
    embedded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = Path(shutil.copytree(embedded, tmp_path / "dataset"))
    assert main(["embed", str(dataset), "--encoder", HASHING, "--json"]) == 0  # which also prepares the search
    capsys.readouterr()
    before = {path: path.stat().st_mtime_ns for path in dataset.rglob("*") if path.is_file()}
    assert main(["embed", str(dataset), "--encoder", HASHING, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["nothing_to_do"], document["embedded"], document["made"]) == (True, 0, 0)
    assert {path: path.stat().st_mtime_ns for path in dataset.rglob("*") if path.is_file()} == before
    assert main(["embed", str(dataset), "--encoder", HASHING]) == 0
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.slow
@settings(max_examples=6)
@given(first=st.integers(1, SAMPLES - 1), shard=st.integers(1, 30))
def test_an_extended_dataset_embeds_only_new_texts_and_equals_one_run(
    first: int, shard: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    grown, whole = captioned(folder / "grown", first, plain), captioned(folder / "whole", SAMPLES, plain)
    run(grown, shard=shard)
    captioned(grown, SAMPLES, plain)
    with pytest.raises(PosegenError, match=r"is incomplete|fewer samples"):
        open_embeddings(grown)
    result = run(grown)
    run(whole, shard=shard)
    assert len(texts_of()) - len(texts_of(first)) <= result.embedded < len(texts_of()) - len(texts_of(first)) + shard
    assert files_of(grown / "embeddings") == files_of(whole / "embeddings")


CHILD = "import sys; from posegen.embedding import embed; embed(sys.argv[1], 'hashing-for-tests', shard=8, cached=False)"


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        ("rename", r"/part-00001\.parquet$"),
        ("rename", r"/c\.2\.0$"),
        ("unlink", r"/receipts/.*json$"),
        ("fsync", r"/\.00002\.json~"),
        ("rename", r"/zarr\.json$"),
    ],
)
def test_a_kill_loses_at_most_the_running_shard(made: Path, dataset: Path, call: str, pattern: str) -> None:
    run(dataset)
    expected_files = files_of(dataset / "embeddings")
    shutil.rmtree(dataset / "embeddings")
    environment = os.environ | inject(Call("before", call, pattern))
    code = subprocess.run([sys.executable, "-c", CHILD, dataset], env=environment, capture_output=True, check=False).returncode
    assert code == -signal.SIGKILL
    receipts = dataset / "embeddings" / HASHING / "receipts" / "vectors"
    complete = len(list(receipts.glob("*.json"))) if receipts.exists() else 0
    result = run(dataset)
    assert result.made == result.shards - complete
    assert files_of(dataset / "embeddings") == expected_files


@pytest.mark.parametrize(
    "name", ["vectors.zarr/vector/c.1.0", "texts/part-00001.parquet", "rows/part-00002.parquet", "receipts/vectors/00002.json"]
)
@pytest.mark.parametrize("damage", ["flip", "remove", "cut"])
def test_damage_is_named_and_repaired_by_the_same_command(dataset: Path, name: str, damage: str) -> None:
    run(dataset)
    folder = dataset / "embeddings" / HASHING
    expected_files, file = files_of(folder), folder / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.unlink()
    if damage != "remove":
        file.write_bytes(data if damage == "flip" else data[:-9])
    with pytest.raises(PosegenError, match=Path(name).name) as error:
        _read_all(dataset)
    assert "posegen embed" in str(error.value)
    result = run(dataset)
    assert result.embedded <= SHARD
    assert files_of(folder) == expected_files
    np.testing.assert_allclose(open_embeddings(dataset).vectors(), ENCODER.encode(texts_of()), atol=1e-6)


def _read_all(dataset: Path) -> None:
    opened = open_embeddings(dataset)
    opened.vectors()
    assert len(list(opened.texts)) == opened.rows.num_rows


def test_zarr_and_pyarrow_read_the_files(dataset: Path) -> None:
    run(dataset)
    folder = dataset / "embeddings" / HASHING
    group = zarr.open_group(folder / "vectors.zarr", mode="r")
    embeddings, texts = open_embeddings(dataset), texts_of()
    np.testing.assert_array_equal(group["vector"][:], embeddings.vectors())
    assert pq.read_table(folder / "texts").column("text").to_pylist() == texts


def test_another_encoder_is_stored_beside_the_first(dataset: Path) -> None:
    run(dataset)
    before = files_of(dataset / "embeddings" / HASHING)
    with pytest.raises(UsageError, match=r"holds other vectors \(.*model"):
        run(dataset, max_tokens=2)
    run(dataset, max_tokens=2, name="two words")
    embed(dataset, HASHING, name="third")
    assert files_of(dataset / "embeddings" / HASHING) == before
    with pytest.raises(UsageError, match="several encoders; name one of: hashing-for-tests, third, two-words"):
        _ = posegen.open(dataset).embeddings
    assert open_embeddings(dataset, "two words").count == len(texts_of())
    assert posegen.open(dataset, "third")[3].text_embedding.shape == (2, 3, 64)
    with pytest.raises(UsageError, match="did you mean 'third'"):
        open_embeddings(dataset, "thrd")


def test_missing_embeddings_raise_an_error_with_the_command(dataset: Path) -> None:
    with pytest.raises(UsageError, match=r"has no embeddings\. Run: posegen embed"):
        _ = posegen.open(dataset)[0].text_embedding


def test_embeddings_of_another_dataset_are_refused(dataset: Path, tmp_path: Path) -> None:
    run(dataset)
    other = captioned(tmp_path / "other", SAMPLES, plain, identity="b")
    shutil.copytree(dataset / "embeddings", other / "embeddings")
    with pytest.raises(PosegenError, match="another dataset"):
        open_embeddings(other)
    with pytest.raises(UsageError, match="identity of the dataset"):
        run(other)


def test_the_cache_serves_other_datasets_and_survives_damage(dataset: Path, tmp_path: Path) -> None:
    run(dataset, cached=True)
    other = captioned(tmp_path / "other", SAMPLES, lambda s, v: [*plain(s, v), f"new {s}"], identity="b")
    result = run(other, cached=True)
    assert (result.embedded, result.known) == (SAMPLES, len(texts_of()))
    np.testing.assert_allclose(open_embeddings(other).vectors(), ENCODER.encode(list(open_embeddings(other).texts)), atol=1e-6)
    (file,) = (tmp_path / "cache").glob("*.sqlite")
    with closing(sqlite3.connect(file)) as table, table:
        table.execute("UPDATE vectors SET vector = zeroblob(length(vector))")
    shutil.rmtree(other / "embeddings")
    assert run(other, cached=True).known == 0
    np.testing.assert_allclose(open_embeddings(other).vectors(), ENCODER.encode(list(open_embeddings(other).texts)), atol=1e-6)
    file.write_bytes(b"no table at all" * 500)
    shutil.rmtree(other / "embeddings")
    notes = Notes()
    assert run(other, cached=True, progress=notes).known == 0
    assert "continuing without it" in "".join(notes.texts)


def test_a_cache_of_another_user_is_not_used(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(dataset, cached=True)
    (file,) = (tmp_path / "cache").glob("*.sqlite")
    own = os.getuid()
    for disturb in (
        lambda: monkeypatch.setattr(os, "getuid", lambda: own + 1),
        lambda: (file.rename(file.with_suffix(".moved")), file.symlink_to(file.with_suffix(".moved"))),
    ):
        disturb()
        shutil.rmtree(dataset / "embeddings")
        notes = Notes()
        known = run(dataset, cached=True, progress=notes).known
        monkeypatch.undo()
        monkeypatch.setenv("POSEGEN_EMBEDDING_CACHE", str(tmp_path / "cache"))
        assert known == 0
        assert "other users can change it" in "".join(notes.texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "all-MinLM-L12-v2"], "Did you mean 'all-MiniLM-L12-v2'?"),
        (["--encoder", "BAAI/bge-large-en-v1.5"], "hf download BAAI/bge-large-en-v1.5 --local-dir FOLDER"),
        (["--encoder", "./nowhere"], "there is no such folder"),
        (["--encoder", HASHING, "--workers", "0"], "--workers must be at least 1"),
        (["--encoder", HASHING, "--max-tokens", "0"], "--max-tokens must be at least 1"),
        (["--encoder", HASHING, "--shard", "0"], "--shard must be from 1"),
    ],
)
def test_invalid_arguments_are_refused_with_a_hint(
    dataset: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["embed", str(dataset), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list((dataset / "embeddings").glob("*/receipts")) if (dataset / "embeddings").exists() else True


def test_a_lost_header_is_written_again_and_intact_shards_are_kept(dataset: Path) -> None:
    run(dataset)
    folder = dataset / "embeddings" / HASHING
    expected_files, header = files_of(folder), folder / "embeddings.json"
    header.write_bytes(header.read_bytes()[:-40])
    with pytest.raises(PosegenError, match=r"Delete .*embeddings.json"):
        run(dataset)
    header.unlink()
    assert run(dataset).nothing_to_do
    assert files_of(folder) == expected_files
    header.unlink()
    assert run(dataset, shard=5).embedded > 0
    np.testing.assert_allclose(open_embeddings(dataset).vectors(), ENCODER.encode(texts_of()), atol=1e-6)


def test_parts_embed_what_one_run_embeds(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Path(shutil.copytree(dataset, tmp_path / "whole"))
    shards = run(whole).shards
    assert shards > 3
    second = run(dataset, part="2/3")
    assert (second.made, second.shards, second.part) == (len(range(1, shards, 3)), shards, "2/3")
    assert run(dataset, part="2/3").nothing_to_do
    with pytest.raises(PosegenError, match=r"is incomplete: receipts/vectors/00000\.json is missing"):
        open_embeddings(dataset)
    with locked(second.path, part="1-of-2"):
        with pytest.raises(PosegenError, match="part 1 of 2 is being made by process"):
            run(dataset)
        with pytest.raises(PosegenError, match="part 1 of 2 is being made by process"):
            run(dataset, part="1/2")
    command = ["embed", str(dataset), "--encoder", HASHING, "--shard", str(SHARD), "--no-cache"]
    assert main([*command, "--part=1/2"]) == 0
    assert "and --part all, once all parts are embedded" in capsys.readouterr().out
    run(dataset, part="2/2")
    assert run(dataset).nothing_to_do
    assert files_of(dataset / "embeddings") == files_of(whole / "embeddings")
