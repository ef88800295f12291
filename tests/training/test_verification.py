"""Verification measures agree with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from posegen.training.verification import measured_rates, threshold, verify_pairs

scores = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.125, 0.25, 0.5, 2.0]), min_size=1, max_size=30)


def crossing_of_curve(together: list[float], apart: list[float]) -> float:
    """Return where the ROC curve of scikit-learn crosses the line of equal errors, by linear interpolation."""
    false, true, _ = roc_curve([1] * len(together) + [0] * len(apart), together + apart, drop_intermediate=False)
    refused = 1 - true
    for i in range(1, len(false)):
        before, after = false[i - 1] - refused[i - 1], false[i] - refused[i]
        if before <= 0 <= after and after > before:
            share = -before / (after - before)
            return float(false[i - 1] + share * (false[i] - false[i - 1]))
    raise AssertionError("the curve must cross the line")


@given(scores, scores)
def test_the_area_is_the_share_of_pairs_in_order(together: list[float], apart: list[float]) -> None:
    expected = np.mean([(one > other) + (one == other) / 2 for one in together for other in apart])
    assert verify_pairs(together, apart)["auc"] == pytest.approx(expected)


@given(scores, scores)
def test_equal_error_is_where_the_curve_crosses(together: list[float], apart: list[float]) -> None:
    rate = verify_pairs(together, apart)["equal_error"]
    assert rate == pytest.approx(crossing_of_curve(together, apart))
    assert 0 <= rate <= 1


@pytest.mark.parametrize(("together", "apart"), [([], [1.0]), ([1.0], []), ([float("nan")], [1.0])])
def test_missing_and_invalid_scores_are_refused(together: list[float], apart: list[float]) -> None:
    with pytest.raises(ValueError, match="needs scores"):
        verify_pairs(together, apart)


def test_thresholds_are_those_of_one_split_and_rates_those_of_another() -> None:
    drawn = np.random.default_rng(3)
    calibration, same, other, hard = (drawn.normal(mean, 1, 400) for mean in (0, 2, 0, 1))
    rates = measured_rates(calibration, same, other, hard)
    assert [rate["far"] for rate in rates] == [0.005, 0.01, 0.02, 0.05, 0.1]
    for rate in rates:
        assert (calibration > rate["threshold"]).mean() <= rate["far"]
        assert rate["threshold"] == threshold(calibration, np.ones(400), rate["far"])
        shares = {"test_far": other, "test_tar": same, "hard_far": hard}
        assert {name: rate[name] for name in shares} == {
            name: (scores > rate["threshold"]).mean() for name, scores in shares.items()
        }
    assert measured_rates(calibration, same, other, hard[:0])[0]["hard_far"] is None
    assert measured_rates(calibration[:9], same, other, hard) == []
