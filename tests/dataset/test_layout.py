from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.config.schema import Config
from posegen.dataset.documents import Origin, parse, read_sealed, seal
from posegen.dataset.layout import ArrayField, Header, rows_path
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import Receipt, StoredFile
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from tests.dataset.tiny import FIELDS, fill, make_header

SOURCE = Origin("dataset.json", "Repair it.")
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
plain = st.dictionaries(st.text("aé ", max_size=3), st.none() | st.integers(0, 9) | st.text("xß", max_size=3), max_size=3)
hexes = st.text("0123456789abcdef", min_size=32, max_size=32)


@st.composite
def array_fields(draw: st.DrawFn) -> ArrayField:
    dims = draw(st.lists(names.filter(lambda n: n != "sample"), unique=True, max_size=4))
    chunk = [draw(st.integers(1, 4)) for _ in dims]
    dtype = draw(st.sampled_from(["float32", "float64", "uint8", "int16", "uint16"]))
    kind = np.dtype(dtype)
    fills = st.just(math.nan) | st.integers(-4, 4).map(float) if kind.kind == "f" else st.integers(0, np.iinfo(kind).max)
    return ArrayField(
        name=draw(names.filter(lambda n: n != "rows")),
        dims=tuple(dims),
        shape=tuple(step * draw(st.integers(1, 3)) for step in chunk),
        chunk=tuple(chunk),
        dtype=dtype,
        fill=draw(fills),
        attributes=draw(plain),
    )


@st.composite
def headers(draw: st.DrawFn) -> Header:
    chunk = draw(st.integers(1, 40))
    return make_header(
        chunk=chunk,
        shard=chunk * draw(st.integers(1, 10)),
        samples=draw(st.integers(0, 2**50)),
        seed=draw(st.integers(0, 2**63 - 1)),
        config=draw(plain),
        variants=tuple(draw(st.lists(names, unique=True, min_size=1, max_size=5))),
        fields=tuple(draw(st.lists(array_fields(), min_size=1, max_size=3, unique_by=lambda field: field.name))),
    )


def same(first: Header, second: Header) -> bool:
    """Return whether two headers are equal, NaN being equal to itself."""
    return json.dumps(first.to_json()) == json.dumps(second.to_json())


@given(headers())
def test_a_header_is_read_back_from_json(header: Header) -> None:
    back = parse(Header, json.loads(json.dumps(header.to_json(), allow_nan=False)), SOURCE)
    assert same(back, header)
    assert back.variants == header.variants
    assert [field.shape for field in back.fields] == [field.shape for field in header.fields]


@given(st.integers(0, 10**7), st.integers(0, 50), st.dictionaries(names, hexes), st.integers(0, 2**50))
def test_a_receipt_is_read_back_from_bytes(shard: int, count: int, content: dict[str, str], size: int) -> None:
    files = {rows_path(shard): StoredFile(size, "0" * 32)}
    receipt = Receipt(shard, shard * 50, count + 1, "id", content, files, 2 * count + 2, 0.25, "run")
    assert read_sealed(Receipt, seal(receipt), SOURCE) == receipt


KEYS = sorted(make_header().to_json())


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_is_reported(key: str) -> None:
    data = make_header().to_json()
    del data[key]
    with pytest.raises(PosegenError, match=rf"dataset\.json: .*`{key}`: Field required.*Repair it\."):
        parse(Header, data, SOURCE)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [None, True, -1, 1.5, "5", [3], {"a": 1}, 2**63])
def test_a_value_of_another_type_is_refused(key: str, value: Any) -> None:
    intact = make_header().to_json()
    data = intact | {key: value}
    fits = type(value) is type(intact[key]) and type(value) is not int
    if fits and key not in ("variants", "fields"):
        assert parse(Header, data, SOURCE).to_json() == data
    else:
        with pytest.raises(PosegenError, match=r"dataset\.json: .*(Repair it|newer posegen)\."):
            parse(Header, data, SOURCE)


def test_a_later_format_version_requires_a_newer_posegen() -> None:
    with pytest.raises(PosegenError, match="newer posegen"):
        parse(Header, make_header().to_json() | {"format_version": 2, "what_is_new": 1}, SOURCE)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../joints"},
        {"name": "rows"},
        {"name": "a/b"},
        {"dims": ("variant", "frame", "sample")},
        {"dims": ("variant", "frame", "frame")},
        {"dims": ("variant", "frame")},
        {"chunk": (1, 7, 3)},
        {"chunk": (1, 0, 3)},
        {"shape": (2, 0, 3)},
        {"dtype": "object"},
        {"dtype": "float32 "},
        {"dtype": "uint8"},  # has no NaN
        {"fill": math.inf},
        {"fill": 0.1},  # not exact in 32 bits
    ],
)
def test_a_field_that_cannot_be_stored_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="ArrayField"):
        replace(FIELDS[0], **change)


@pytest.mark.parametrize(
    "change",
    [
        {"shard": 10, "chunk": 3},
        {"variants": ()},
        {"variants": ("base", "base")},
        {"fields": ()},
        {"fields": (FIELDS[0], FIELDS[0])},
        {"chunk": 2**23, "shard": 2**23},
    ],
)
def test_a_header_that_cannot_be_stored_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"shard|variants|fields|chunk"):
        make_header(**change)


@pytest.mark.parametrize("seed", [2**53, 2**63 - 1])
def test_every_seed_that_a_config_accepts_can_be_read(seed: int, tmp_path: Path) -> None:
    assert Config(name="any", seed=seed).seed == seed
    fill(tmp_path / "dataset", 2, seed=seed)
    assert open_dataset(tmp_path / "dataset").header.seed == seed
    assert verify(tmp_path / "dataset") == []
    for make in (lambda: Config(name="any", seed=2**63), lambda: make_header(seed=2**63)):
        with pytest.raises(ValueError, match="seed"):
            make()
