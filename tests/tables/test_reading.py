"""Tables as people have them: delimiters, encodings, numbers that are texts, codes, and columns that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from posegen.dataset import table_files
from posegen.dataset.table_files import decimal_of, parse_numbers, read_table
from posegen.foundations.errors import UsageError
from posegen.tables.columns import choose_columns, read_rows
from posegen.tables.settings import Table


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a;b\nred;1\n", [{"a": "red", "b": 1}]),
        (b"sep=;\na;b\nred, blue;1\n", [{"a": "red, blue", "b": 1}]),
        ("\ufeffa\tb\nred\t1\n".encode(), [{"a": "red", "b": 1}]),
        (b"a|b\nred|1\n", [{"a": "red", "b": 1}]),
        ("a,b\nred,1\n".encode("utf-16"), [{"a": "red", "b": 1}]),
        (b'"a;b",c\nred,1\n', [{"a;b": "red", "c": 1}]),
        (b"text\nred\n", [{"text": "red"}]),
        (b"code,n\n0123,5\n7,6\n", [{"code": "0123", "n": 5}, {"code": "7", "n": 6}]),
    ],
)
def test_delimiters_and_codes_are_seen(tmp_path: Path, content: bytes, rows: list[dict[str, Any]]) -> None:
    (tmp_path / "own.csv").write_bytes(content)
    notes: list[str] = []
    assert read_table(tmp_path / "own.csv", notes.append).to_pylist() == rows
    assert notes == []


@pytest.mark.parametrize("content", ["gr\u00f6\u00dfe,y\nred,1\n", "text,y\ngro\u00dfe,1\n"])
def test_latin_1_is_read_with_a_note(tmp_path: Path, content: str) -> None:
    (tmp_path / "own.csv").write_bytes(content.encode("latin1"))
    notes: list[str] = []
    table = read_table(tmp_path / "own.csv", notes.append)
    assert [table.column_names[0], table[0][0].as_py()] == [part.split(",")[0] for part in content.splitlines()]
    assert "is not UTF-8 and was read as Windows-1252" in notes[0]


def test_long_texts_of_a_csv_file_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.csv").write_text("text,y\n" + "".join(f"{'word ' * 300_000},{i}\n" for i in range(3)))
    assert len(read_table(tmp_path / "own.csv")) == 3
    monkeypatch.setattr(table_files, "_BLOCK_BYTES", 100)
    with pytest.raises(UsageError, match="a row has more than 64 MB, or a quote is not closed"):
        read_table(tmp_path / "own.csv")


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1.50", "", "$1,200.25"], [1.5, np.nan, 1200.25]),
        (["5 \u20ac", "1.234,5 \u20ac"], [5, 1234.5]),
        (["12 %", "3.5%", None, "n/a"], [12, 3.5, np.nan, np.nan]),
        (["1 234,5", "-7"], [1234.5, -7]),
        (["0123", "77"], None),
        (["12", "twelve"], None),
        (["2024-01-31"], None),
    ],
)
def test_the_whole_column_decides_whether_texts_are_numbers(texts: list[str | None], numbers: list[float] | None) -> None:
    decimal = decimal_of(texts)
    assert (decimal is None) == (numbers is None)
    if decimal is not None and numbers is not None:
        np.testing.assert_allclose(parse_numbers(texts, decimal), numbers)


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def chosen(path: Path, **settings: Any) -> tuple[Any, Any, Any, list[str]]:
    notes: list[str] = []
    table = read_table(path, notes.append)
    columns, label = choose_columns(path, table, Table(**settings), notes.append)
    return columns, label, read_rows(table, columns, str(path), notes.append), notes


def test_each_column_is_read_as_what_it_is(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own.parquet",
        title=[f"coat {i}" for i in range(30)], price=[f"${i}.50" for i in range(1, 31)], colour=["red", "blue"] * 15,
        code=[f"{i:03}" for i in range(30)], vector=[[1.0, 2.0]] * 29 + [None], when=pa.array([1] * 30, pa.date32()),
        weight=[1e300, None, *map(float, range(28))],
    )  # fmt: skip
    columns, label, rows, notes = chosen(path, label="price")
    assert (columns.texts, columns.small, columns.numbers) == (("title", "code"), ("colour",), ("weight",))
    assert (columns.vectors, columns.is_ratio, columns.categories) == ({"vector": 2}, True, ())
    assert label[:2].tolist() == [1.5, 2.5]
    assert np.isnan(rows.numbers[:2]).all()
    assert rows.vectors["vector"][[0, 29]].tolist() == [[1, 2], [0, 0]]
    assert notes[:2] == ["column price: read as numbers ($1.50 is 1.5)", "price: numbers"]
    assert "column when is ignored" in notes[2]
    assert "column weight, row 0: 1e+300 is read as missing" in notes[3]


def test_zeros_and_ones_are_categories(tmp_path: Path) -> None:
    path = write(tmp_path / "own.parquet", n=list(range(6)), same=[0, 1] * 3, good=[True, False, None] * 2)
    assert chosen(path, label="same")[0].categories == ("0", "1")
    assert chosen(path, label="same", target="number")[0].categories == ()
    assert chosen(path, label="good")[0].categories == ("False", "True")


def test_two_columns_with_common_words_or_equal_vectors_are_a_pair(tmp_path: Path) -> None:
    texts = [f"word{i} word{i + 1}" for i in range(20)]
    path = write(tmp_path / "own.parquet", a=texts, b=texts[::-1], y=[0, 1] * 10)
    assert chosen(path, label="y")[0].pair == ("a", "b")
    path = write(tmp_path / "vectors.parquet", a=[[1.0, 0.0]] * 20, b=[[0.0, 1.0]] * 20, y=[0, 1] * 10)
    assert chosen(path, label="y")[0].pair == ("a", "b")


@pytest.mark.parametrize(
    ("settings", "columns", "reported"),
    [
        ({"label": "prise"}, {}, r"has no column 'prise'; did you mean 'price'"),
        ({"label": "price", "group": "user"}, {}, "has no column 'user'"),
        ({"label": "price"}, {"price": [1.0, 1.0, None]}, "all rows have the same price"),
        ({"label": "price"}, {"price": [1.0, float("inf"), 2.0]}, "row 1 has inf as price"),
        ({"label": "price"}, {"price": [1.0, 2.0, 1e300]}, r"row 2 has 1e\+300 as price"),
        ({"label": "price", "inputs": ["text", "price"]}, {}, "is the label and cannot be an input"),
        ({"label": "text", "target": "number"}, {}, "the label text has the type string, which is no number"),
        ({"label": "price", "inputs": ["when"]}, {"when": pa.array([1, 2, 3], pa.date32())}, "column when has the type date32"),
        ({"label": "price"}, {"vector": [[1.0], [1.0, 2.0], [1.0]]}, "row 1 has 2 numbers in vector; the others have 1"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path: Path, settings: Any, columns: Any, reported: str) -> None:
    path = write(tmp_path / "own.parquet", **{"text": ["a", "b", "c"], "weight": [1, 2, 3], "price": [1, 2, 3], **columns})
    with pytest.raises(UsageError, match=reported):
        chosen(path, **settings)


def test_control_characters_are_named_with_their_row(tmp_path: Path) -> None:
    pc.write_csv(pa.table({"text": ["a", "b\x07", "c d"], "y": [1, 2, 3]}), tmp_path / "own.csv")
    notes = chosen(tmp_path / "own.csv", label="y")[3]
    assert "warning: column text, row 1: has the character U+0007" in notes[-1]
