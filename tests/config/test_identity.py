"""Canonical text depends on the meaning of data and on nothing else."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from posegen.config.identity import canonical, differences, digest

NUMBERS = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
GROUPS = st.dictionaries(st.sampled_from("abcd"), PLAIN, max_size=4)


def respelled(data: Any) -> Any:
    """The same, in another order of keys, whole numbers as floats and the other way round."""
    if isinstance(data, dict):
        keys = list(data)
        random.Random(0).shuffle(keys)
        return {key: respelled(data[key]) for key in keys}
    if isinstance(data, list):
        return [respelled(value) for value in data]
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return data
    if isinstance(data, int):
        return float(data)
    return int(data) if data.is_integer() and abs(data) < 2**53 else data


@given(PLAIN)
def test_spelling_does_not_count(data: object) -> None:
    assert canonical(respelled(data)) == canonical(data)


@given(PLAIN)
def test_canonical_text_is_json_of_the_data(data: object) -> None:
    assert json.loads(canonical(data)) == data


@given(PLAIN, PLAIN)
def test_other_data_have_another_digest(first: object, second: object) -> None:
    assert (digest(first) == digest(second)) == (canonical(first) == canonical(second))


def test_true_is_not_one() -> None:
    assert digest(True) != digest(1)
    assert digest("1") != digest(1)


@given(GROUPS, GROUPS)
def test_differences_are_all_there_is(first: dict[str, Any], second: dict[str, Any]) -> None:
    found = differences(first, second)
    assert [(key, a, b) for key, b, a in found] == sorted(
        differences(second, first), key=lambda item: [key for key, _, _ in found].index(item[0])
    )
    assert not differences(first, first)


def test_differences_by_hand() -> None:
    first = {"a": 1, "b": {"c": None, "d": [1, 2]}, "e": 5}
    second = {"a": 1.0, "b": {"c": {"x": 1}, "d": [2, 1]}, "f": 0}
    assert differences(first, second) == [("b.c", None, {"x": 1}), ("b.d", [1, 2], [2, 1]), ("e", 5, None), ("f", None, 0)]
