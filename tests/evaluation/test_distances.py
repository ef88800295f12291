"""Distances between sets of clips, against known values and naive implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.evaluation.distances import band, diversity, frechet_distance, npss, share_inside
from posegen.evaluation.plausibility import power_spectrum

SEEDS = st.integers(0, 1000)


def test_frechet_distance_of_normal_sets() -> None:
    draws = np.random.default_rng(1)
    one = draws.normal(size=(200, 3))
    one = (one - one.mean(0)) / one.std(0, ddof=1)
    assert frechet_distance(one, one) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(one, one + np.array([3, 4, 0])) == pytest.approx(25)
    # Twice as wide in one feature that is not correlated with others: (2 - 1)^2.
    assert frechet_distance(one[:, :1], 2 * one[:, :1]) == pytest.approx(1)


def test_npss_is_the_shift_of_a_rhythm() -> None:
    times = np.arange(40)[:, None] / 40
    slow, fast, faint = (power_spectrum(height * np.sin(2 * np.pi * f * times)) for height, f in ((1, 3), (1, 8), (0.1, 8)))
    assert npss(slow, slow) == 0
    assert npss(slow, fast) == pytest.approx(5)
    assert npss(slow, faint) == pytest.approx(5)
    assert npss(np.hstack([3 * slow, slow]), np.hstack([slow, fast])) == pytest.approx(5 / 4)


def test_share_inside_the_band() -> None:
    limits = band(np.stack([np.arange(101.0), np.full(101, np.nan)], axis=-1))
    assert limits[:, 0].tolist() == [5, 95]
    share = share_inside([[4.0, 1.0], [5.0, 1.0], [50.0, 1.0], [np.nan, 1.0]], limits)
    assert share[0] == pytest.approx(2 / 3)
    assert share[1] == 0


@given(SEEDS)
@settings(max_examples=20)
def test_diversity_equals_a_naive_loop(seed: int) -> None:
    one = np.random.default_rng(seed).normal(size=(9, 2))
    pairs = [np.sqrt(((one[i] - one[j]) ** 2).sum()) for i in range(9) for j in range(i)]
    assert diversity(one) == pytest.approx(np.mean(pairs))
