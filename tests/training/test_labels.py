"""Labels of a user's own clips: numbers and categories, splits, and measures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posegen.dataset.splits import FEWEST_EVALUATED, SPLITS, split_groups
from posegen.training.cautions import chance_warning
from posegen.training.data.features import View
from posegen.training.data.labels import Label, decode_label, encode_label, label_notes, parse_labels
from posegen.training.tasks.labels import CATEGORY, NUMBER, label_task


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        (["1,5", "2,5", "3"] * 2, "look like numbers, such as 1,5"),
        (["2024-01-31", "2024-02-01"] * 2, "look like dates, such as 2024-01-31"),
        (["31.1.2024", "1.2.2024"] * 2, "look like dates"),
        (["a", "b", "c", "c"], "2 of the 3 categories of kind occur once"),
        (["no. 1,5", "b"] * 2, None),
    ],
)
def test_numbers_and_dates_as_texts_are_reported(labels: list[str], warned: str | None) -> None:
    numbers, categories = parse_labels(labels, "category")
    first, *others = label_notes("kind", numbers, categories, None)
    assert first == f"kind: {len(set(labels))} categories"
    assert [warned in other for other in others] == [True] if warned else not others


@given(st.lists(st.integers(0, 40), min_size=9, max_size=300), st.integers(0, 5))
def test_a_group_is_in_one_split(groups: list[int], seed: int) -> None:
    own = np.array(groups)
    splits = split_groups(own, seed)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(own)))
    for one in SPLITS:
        others = np.concatenate([samples for split, samples in splits.items() if split != one])
        assert not set(own[splits[one]].tolist()) & set(own[others].tolist())
    if len(set(groups)) >= 3:
        assert all(len(samples) for samples in splits.values())


def test_few_rows_are_evaluated_on_a_fifth_and_many_on_a_tenth() -> None:
    assert [len(own) for own in split_groups(np.arange(40), 0).values()] == [8, 8, 24]
    many = split_groups(np.arange(400), 0)
    assert FEWEST_EVALUATED < len(many["test"]) < 60


@given(st.lists(st.floats(0.01, 1e6), min_size=1), st.floats(-5, 5), st.floats(0.1, 10), st.booleans())
def test_labels_are_decoded(labels: list[float], typical: float, scale: float, is_ratio: bool) -> None:
    label = Label("price", typical=typical, scale=1.0 if is_ratio else scale, is_ratio=is_ratio)
    np.testing.assert_allclose(decode_label(encode_label(np.array(labels), label), label), labels, rtol=1e-6)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), min_size=9, max_size=300), st.integers(0, 5))
def test_a_group_with_several_categories_is_in_one_split(rows: list[tuple[int, int]], seed: int) -> None:
    groups, categories = (np.array(each) for each in zip(*rows, strict=True))
    splits = split_groups(groups, seed, categories.astype(str))
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(groups)))
    assert sum(len(np.unique(groups[own])) for own in splits.values()) == len(np.unique(groups))


@given(st.lists(st.integers(0, 8), min_size=9, max_size=300), st.integers(0, 5))
def test_each_split_has_each_category(labels: list[int], seed: int) -> None:
    categories, groups = np.array(labels).astype(str), np.arange(len(labels))
    splits = split_groups(groups, seed, categories)
    names, counts = np.unique(categories, return_counts=True)
    for own in splits.values():
        assert set(names[counts >= 3].tolist()) <= set(categories[own].tolist())
    usual = split_groups(groups, seed)
    if all(set(categories[own].tolist()) == set(names.tolist()) for own in usual.values()):
        assert {split: own.tolist() for split, own in splits.items()} == {split: own.tolist() for split, own in usual.items()}


def test_chance_counts_the_categories_that_are_tested() -> None:
    tally = label_task("attribute", CATEGORY).tally(View(0, 25, 1, (), answers=("a", "b", "c"), label=Label("y")))
    tally.add(torch.eye(3)[[0, 0, 0, 0]], {"target": torch.tensor([0.0, 0, 2, 2])})
    measures = tally.measures()
    assert (measures["balanced_accuracy"], measures["chance"]) == (0.5, 0.5)


def test_measures_of_equal_numbers_are_undefined() -> None:
    tally = label_task("attribute", NUMBER).tally(View(0, 25, 1, (), label=Label("y")))
    tally.add(torch.ones(2, 1), {"target": torch.full((2,), 3.0)})
    measures = tally.measures()
    assert np.isnan([measures["skill"], measures["r2"]]).all()
    assert measures["mae"] == 2
    warning = chance_warning(label_task("attribute", NUMBER), measures, 2)
    assert warning is not None
    assert "skill is undefined: the answers of all 2 tested are equal" in warning
