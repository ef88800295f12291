"""Splits are a function of the seed and the sample only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.dataset.splits import FEWEST_EVALUATED, SPLITS, in_split, split_groups
from posegen.foundations.errors import UsageError


@given(seed=st.integers(0, 2**63 - 1), samples=st.integers(1, 300), more=st.integers(0, 300))
def test_every_sample_is_in_one_split_and_stays_there_when_the_dataset_grows(seed: int, samples: int, more: int) -> None:
    parts = {split: in_split(seed, np.arange(samples), split) for split in SPLITS}
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(samples))
    for split, part in parts.items():
        grown = in_split(seed, np.arange(samples + more), split)
        assert grown[grown < samples].tolist() == part.tolist()


def test_splits_have_their_shares_and_depend_on_the_seed() -> None:
    for split, (low, high) in SPLITS.items():
        assert len(in_split(3, np.arange(50_000), split)) / 50_000 == pytest.approx(high - low, abs=0.01)
    assert in_split(3, np.arange(100), "test").tolist() != in_split(4, np.arange(100), "test").tolist()


def test_an_unknown_split_raises() -> None:
    with pytest.raises(UsageError, match="training"):
        in_split(0, [1], "trainin")


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), min_size=9, max_size=300), st.integers(0, 5), st.booleans())
def test_a_group_is_in_one_split(rows: list[tuple[int, int]], seed: int, has_categories: bool) -> None:
    groups, categories = (np.array(each) for each in zip(*rows, strict=True))
    splits = split_groups(groups, seed, categories.astype(str) if has_categories else None)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(groups)))
    assert sum(len(np.unique(groups[own])) for own in splits.values()) == len(np.unique(groups))
    if len(np.unique(groups)) >= 3 and not has_categories:
        assert all(len(samples) for samples in splits.values())


def test_few_rows_are_evaluated_on_a_fifth_and_many_on_a_tenth() -> None:
    assert [len(own) for own in split_groups(np.arange(40), 0).values()] == [8, 8, 24]
    many = split_groups(np.arange(400), 0)
    assert FEWEST_EVALUATED < len(many["test"]) < 60


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


def test_persons_are_split_by_their_own_hash() -> None:
    for split, (low, high) in SPLITS.items():
        assert len(in_split(3, np.arange(50_000), split, identities=True)) / 50_000 == pytest.approx(high - low, abs=0.01)
    parts = [in_split(3, np.arange(300), split, identities=True).tolist() for split in SPLITS]
    assert sorted(person for part in parts for person in part) == list(range(300))
    assert parts[0] != in_split(3, np.arange(300), "test").tolist()
    assert parts[0] != in_split(4, np.arange(300), "test", identities=True).tolist()
