"""Variety of captions against naive counting."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.evaluation.captions import DistinctCount, VarietyTally, entropy, words_of

SMALL = ["walk", "sits", "a", "the", "left", "then", "waves"]


def row(variant: str, texts: list[str], actions: list[str]) -> dict[str, Any]:
    segments = [{"action": action, "parts": ["legs"] if action != "wave" else ["left_arm"]} for action in actions]
    return {"variant": variant, "captions": [{"text": text} for text in texts], "actors": [{"segments": segments}]}


captions = st.lists(st.sampled_from(SMALL), min_size=1, max_size=12).map(" ".join)
rows = st.builds(
    row,
    st.sampled_from(["base", "mirror"]),
    st.lists(captions, min_size=1, max_size=3),
    st.lists(st.sampled_from(["walk", "sit", "wave", "turn"]), max_size=5),
)


@settings(max_examples=40)
@given(st.lists(rows, min_size=1, max_size=12), st.integers(1, 5))
def test_variety_equals_naive_counting(given_rows: list[dict[str, Any]], at_once: int) -> None:
    tally = VarietyTally("base")
    for first in range(0, len(given_rows), at_once):
        tally.add(given_rows[first : first + at_once])
    found = tally.variety()
    assert found is not None
    texts = [caption["text"] for row in given_rows for caption in row["captions"]]
    split = [text.split() for text in texts]
    assert (found.captions, found.unique, found.exact) == (len(texts), len(set(texts)), True)
    assert found.vocabulary == len({word for words in split for word in words})
    for n, share in enumerate(found.distinct, 1):
        runs = [tuple(words[i : i + n]) for words in split for i in range(len(words) - n + 1)]
        assert share == pytest.approx(len(set(runs)) / max(1, len(runs)))
    lengths = sorted(map(len, split))
    assert found.mean_length == pytest.approx(np.mean(lengths))
    for share, value in ((0.05, found.shortest), (0.95, found.longest)):
        assert value == np.percentile(lengths, 100 * share, method="inverted_cdf")
    of_base = [[s["action"] for s in row["actors"][0]["segments"]] for row in given_rows if row["variant"] == "base"]
    done = Counter(action for actions in of_base for action in actions)
    assert found.actions == len(done)
    assert found.action_entropy == pytest.approx(-sum(n / done.total() * math.log2(n / done.total()) for n in done.values()))
    base = [[action for action in actions if action != "wave"] for actions in of_base]
    pairs = {(a, b) for actions in base for a, b in pairwise(actions)}
    assert found.transitions == len(pairs)


def test_no_caption_has_no_variety() -> None:
    assert VarietyTally("base").variety() is None
    assert entropy([]) == 0


def test_words_are_split() -> None:
    assert words_of("Then, a T-pose; he's turning\u2014left.") == ["then", "a", "t-pose", "he's", "turning", "left"]


@pytest.mark.parametrize("count", [1000, 50_000])
def test_many_distinct_texts_are_counted_in_bounded_memory(count: int) -> None:
    distinct = DistinctCount(most=1 << 13)
    for first in range(0, count, 500):
        distinct.add(f"caption {number}" for number in range(first, first + 500))
        distinct.add(["again", "and again"] * 3)
    assert distinct.is_exact is (count < 1 << 13)
    # The relative standard error is one over the square root of the kept hashes, about 1.1 %; 5 % is practically never reached.
    assert distinct.count == (count + 2 if distinct.is_exact else pytest.approx(count, rel=0.05))
