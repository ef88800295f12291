"""Splits are a function of the seed and the sample only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.dataset.splits import SPLITS, in_split
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
