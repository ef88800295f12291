"""Pairs of own texts are mined by sets and by vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("faiss")

from posegen.cli.main import main
from posegen.embedding.encoder import unit_length
from posegen.embedding.own_pairs import mine_table, neighbour_index

ENCODER = "hashing-for-tests"


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    """Write recipes of three kinds, with five to seven of the nine ingredients of their kind."""
    drawn = np.random.default_rng(0)
    sets = [[f"{kind}{i}" for i in np.sort(drawn.permutation(9)[: drawn.integers(5, 8)])] for kind in "abc" for _ in range(60)]
    # A few rows share one ingredient with those of other kinds.
    sets = [[*own, "salt"] if row % 3 == 0 else own for row, own in enumerate(sets)]
    texts = [f"dish {row} {' '.join(own)}" for row, own in enumerate(sets)]
    table = pa.table({"text": texts, "ingredients": [", ".join(own) for own in sets], "listed": sets, "number": range(180)})
    pq.write_table(table, tmp_path / "recipes.parquet")
    return tmp_path / "recipes.parquet"


def jaccard(one: str, other: str) -> float:
    first, second = set(one.split()[2:]), set(other.split()[2:])
    return len(first & second) / len(first | second)


@pytest.mark.parametrize("column", ["ingredients", "listed"])
def test_positives_overlap_and_negatives_do_not(recipes: Path, tmp_path: Path, column: str) -> None:
    result = mine_table(recipes, tmp_path / "out.parquet", ["text"], overlap=column)
    table = pq.read_table(tmp_path / "out.parquet")
    texts = pq.read_table(recipes)["text"].to_pylist()
    assert (result.rows, result.pairs) == (180, len(table))
    assert len(table) > 150
    assert len(set(table["anchor_row"].to_pylist())) == len(table)
    for pair in table.to_pylist():
        assert pair["anchor"] == texts[pair["anchor_row"]] != pair["positive"] == texts[pair["positive_row"]]
        assert pair["negative"] == texts[pair["negative_row"]]
        assert jaccard(pair["anchor"], pair["positive"]) == pytest.approx(pair["score"])
        assert pair["score"] >= 0.4
        assert jaccard(pair["anchor"], pair["negative"]) < 0.2
    # Salt, which a third of the rows share, makes negatives of other kinds near.
    near = [jaccard(pair["anchor"], pair["negative"]) > 0 for pair in table.to_pylist() if "salt" in pair["anchor"]]
    assert np.mean(near) > 0.9


def test_mining_is_repeatable_and_stops_at_the_count(recipes: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        mine_table(recipes, tmp_path / f"{name}.parquet", ["text"], overlap="ingredients", count=30)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert len(pq.read_table(tmp_path / "one.parquet")) == 30


def test_vectors_of_the_table_are_compared(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    centres = drawn.normal(size=(8, 16))
    vectors = np.repeat(centres, 20, axis=0) + 0.3 * drawn.normal(size=(160, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    stored = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 16)
    pq.write_table(pa.table({"text": [f"text {i}" for i in range(160)], "vector": stored}), tmp_path / "in.parquet")
    mine_table(tmp_path / "in.parquet", tmp_path / "out.parquet", ["text"], encoder="no such encoder")
    table = pq.read_table(tmp_path / "out.parquet")
    assert len(table) > 120
    for pair in table.to_pylist():
        row, positive, negative = (pair[f"{name}_row"] for name in ("anchor", "positive", "negative"))
        near = vectors @ vectors[row]
        near[row] = -1
        assert positive == np.argmax(near)
        assert pair["score"] == pytest.approx(near[positive], abs=1e-5)
        assert near[negative] == pytest.approx(near[near < 0.9 * near[positive]].max(), abs=1e-5)


def test_an_inverted_index_finds_nearly_all_neighbours_and_is_deterministic() -> None:
    drawn = np.random.default_rng(5)
    middles = drawn.normal(size=(400, 24))  # clusters of unequal size, like those of captions
    vectors = unit_length(middles[(drawn.random(8000) ** 2 * 400).astype(int)] + 0.4 * drawn.normal(size=(8000, 24)))
    rows = np.arange(0, 8000, 40)
    exact, found, again = (neighbour_index(vectors, exact=most).search(vectors[rows], 20) for most in (8000, 100, 100))
    assert np.mean([np.isin(one, other).mean() for one, other in zip(exact[1], found[1], strict=True)]) > 0.95
    assert [each.tobytes() for each in found] == [each.tobytes() for each in again]


def test_texts_are_embedded_where_there_are_no_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [*(f"a person waves {word}" for word in ("now", "then", "again")), "the dog barks", "", "a person waves now"]
    pq.write_table(pa.table({"text": texts, "note": ["x"] * 6}), tmp_path / "in.parquet")
    command = ["pairs", str(tmp_path / "in.parquet"), "-o", str(tmp_path / "out.parquet"), "--encoder", ENCODER, "--json"]
    assert main([*command, "--text", "text"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 5
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert {pair["negative"] for pair in table} == {"the dog barks"}
    assert main([*command, "--text", "text", "--text", "note"]) == 0
    assert pq.read_table(tmp_path / "out.parquet")["anchor"][0].as_py().startswith("text: a person waves")


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--text", "txt"], "has no column of texts 'txt'; did you mean 'text'?"),
        (["--text", "text", "--overlap", "ingredient"], "has no column 'ingredient'; did you mean 'ingredients'?"),
        (["--text", "text", "--overlap", "number"], "number has the type int64; it must hold lists, or texts separated by"),
        (["--text", "text", "--overlap", "text"], "no two rows with different texts have a Jaccard index of 0.4 or more"),
        (["--text", "text", "--count", "0"], "--count must be at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(
    recipes: Path, options: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pairs", str(recipes), "-o", str(recipes.with_name("out.parquet")), *options]) == 2
    assert reported in capsys.readouterr().err
