"""Own texts: embedded tables, which search and training read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from posegen.cli.main import main
from posegen.embedding import load_encoder
from posegen.embedding.own_texts import embed_texts, search_texts
from posegen.foundations.errors import UsageError

TEXTS = ["a person waves", "someone walks", "a person waves", "a dog barks"]
ENCODER = "hashing-for-tests"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    pc.write_csv(pa.table({"id": [4, 5, 6, 7], "text": TEXTS, "note": ["x", "y", "z", ""]}), tmp_path / "texts.csv")
    return tmp_path / "texts.csv"


def test_vectors_are_those_of_the_encoder_beside_the_columns(texts: Path, tmp_path: Path) -> None:
    result = embed_texts(texts, tmp_path / "out.parquet", ENCODER, cached=False)
    assert (result.rows, result.distinct, result.embedded, result.columns) == (4, 3, 3, ("text",))
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["id", "text", "note", "vector"]
    vectors = np.array(table["vector"].to_pylist(), np.float32)
    np.testing.assert_allclose(vectors, load_encoder(ENCODER).encode(TEXTS), atol=1e-6)


def test_several_columns_have_vectors(texts: Path, tmp_path: Path) -> None:
    embed_texts(texts, tmp_path / "out.parquet", ENCODER, columns=["note", "text"], cached=False)
    assert pq.read_table(tmp_path / "out.parquet").column_names[3:] == ["note_vector", "text_vector"]


def test_the_nearest_texts_are_found_once(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.parquet"
    assert main(["embed", str(texts), "-o", str(out), "--encoder", ENCODER, "--no-cache"]) == 0
    assert f"posegen search {out}" in capsys.readouterr().out
    found = search_texts(out, "a person waves", 2)
    assert (found[0].row, found[0].text) == (0, "a person waves")
    assert found[0].score == pytest.approx(1, abs=1e-5)
    assert found[1].text != found[0].text
    assert main(["search", str(out), "someone walks", "--json"]) == 0
    assert [row["row"] for row in json.loads(capsys.readouterr().out)["found"]][0:1] == [1]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--column", "txt"], "has no column of texts 'txt'; did you mean 'text'?"),
        (["--name", "x"], "--name has no effect on a table of texts"),
        (["-o", "out.csv"], "the file name must end in .parquet"),
    ],
)
def test_what_does_not_fit_is_refused(
    texts: Path, arguments: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", str(texts), "--encoder", ENCODER, *arguments]) == 2
    assert reported in capsys.readouterr().err


def test_other_tables_and_datasets_are_refused(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pc.read_csv(texts), tmp_path / "plain.parquet")
    with pytest.raises(UsageError, match=r"is no table of `posegen embed`"):
        search_texts(tmp_path / "plain.parquet", "a", 1)
    assert main(["embed", str(tmp_path), "--column", "text"]) == 2
    assert "--column has no effect on a dataset" in capsys.readouterr().err
