from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from posegen.dataset.documents import Document, Origin, read_sealed, seal, unseal
from posegen.foundations.errors import PosegenError

SOURCE = Origin("a.json", "Repair it.")
keys = st.sampled_from(["a", "é", "", "hashes", '\n\\"'])
values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | keys
documents = st.dictionaries(keys, values | st.lists(values, max_size=3) | st.dictionaries(keys, values), min_size=1)


@given(documents, st.sampled_from([None, 2]))
def test_a_document_is_read_back_and_is_plain_json(document: dict[str, object], indent: int | None) -> None:
    data = seal(document, indent=indent)
    assert unseal(data, SOURCE) == document
    plain = json.loads(data)
    assert len(plain.pop("hash")) == 32
    assert plain == document


@given(documents, st.sampled_from([None, 2]), st.data())
def test_every_flipped_bit_is_detected(document: dict[str, object], indent: int | None, data: st.DataObject) -> None:
    sealed = bytearray(seal(document, indent=indent))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(PosegenError, match=r"a\.json: .*Repair it\."):
        unseal(bytes(sealed), SOURCE)


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused_with_a_message(data: bytes) -> None:
    with pytest.raises(PosegenError, match=r"a\.json"):
        unseal(data, SOURCE)


@pytest.mark.parametrize(
    "body",
    [
        '"a":1,"a":2}',
        '"a": 1}',
        '"a":1}\n',
        '"a":1.0e0}',
        '"a":1e999}',
        '"a":"\\ud800"}',
        '"a":"\\u00e9"}',
        '"hash":"x"}',
        '"a":' + "[" * 90_000 + "]" * 90_000 + "}",
        '"a":[' + "[]," * 110_000 + "1]}",
    ],
)
def test_json_in_another_form_is_refused(body: str) -> None:
    data = f'{{"hash":"{xxhash.xxh3_128_hexdigest(body.encode())}",{body}'.encode()
    with pytest.raises(PosegenError, match=r"a\.json: .*Repair it\."):
        unseal(data, SOURCE)


@dataclass(frozen=True)
class Measured(Document):
    """A document of each kind of value."""

    name: str
    seconds: float
    parts: dict[str, list[int]]


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.dictionaries(st.text(), st.lists(st.integers(0, 9))))
def test_a_dataclass_is_read_back(name: str, seconds: float, parts: dict[str, list[int]]) -> None:
    document = Measured(name, seconds, parts)
    data = seal(document)
    assert read_sealed(Measured, data, SOURCE) == document


@pytest.mark.parametrize(
    "body",
    [
        '"name":"a", "seconds":1.0,"parts":{}}',
        '"name":"a","name":"a","seconds":1.0,"parts":{}}',
        '"name":"a","seconds":"1","parts":{}}',
        '"name":"a","seconds":1.0,"parts":{},"more":1}',
        '"name":"a","seconds":1.0}',
        '"name":"\\ud800","seconds":1.0,"parts":{}}',
        '"name":"\\u00e9","seconds":1.0,"parts":{}}',
        '"name":"a","seconds":NaN,"parts":{}}',
        '"name":"a","seconds":1.0,"parts":{"a":[1,true]}}',
    ],
)
def test_other_json_than_a_dataclass_gives_is_refused(body: str) -> None:
    data = f'{{"hash":"{xxhash.xxh3_128_hexdigest(body.encode())}",{body}'.encode()
    with pytest.raises(PosegenError, match=r"a\.json: .*Repair it\."):
        read_sealed(Measured, data, SOURCE)
