"""Verification measures agree with counting all pairs and with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from posegen.training.measures import verify_pairs

scores = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.125, 0.25, 0.5, 2.0]), min_size=1, max_size=30)


def counted_area(together: list[float], apart: list[float]) -> float:
    won = sum((one > other) + (one == other) / 2 for one in together for other in apart)
    return won / (len(together) * len(apart))


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
def test_area_is_that_of_counting_and_of_scikit_learn(together: list[float], apart: list[float]) -> None:
    area = verify_pairs(together, apart)["auc"]
    assert area == pytest.approx(counted_area(together, apart))
    assert area == pytest.approx(roc_auc_score([1] * len(together) + [0] * len(apart), together + apart))


@given(scores, scores)
def test_equal_error_is_where_the_curve_crosses(together: list[float], apart: list[float]) -> None:
    rate = verify_pairs(together, apart)["equal_error"]
    assert rate == pytest.approx(crossing_of_curve(together, apart))
    assert 0 <= rate <= 1


@given(scores, scores)
def test_negated_scores_invert_both_measures(together: list[float], apart: list[float]) -> None:
    found, negated = verify_pairs(together, apart), verify_pairs(-np.array(together), -np.array(apart))
    assert negated == pytest.approx({name: 1 - value for name, value in found.items()})


@pytest.mark.parametrize(
    ("together", "apart", "area", "equal_error"),
    [
        ([2.0, 3.0], [0.0, 1.0], 1.0, 0.0),
        ([0.0], [1.0], 0.0, 1.0),
        ([1.0, 1.0], [1.0], 0.5, 0.5),
        # One of four pairs of each kind is on the wrong side.
        ([1.0, 5.0, 6.0, 7.0], [0.0, 0.5, 0.7, 4.0], 15 / 16, 0.25),
    ],
)
def test_cases_computed_by_hand(together: list[float], apart: list[float], area: float, equal_error: float) -> None:
    found = verify_pairs(together, apart)
    assert found == pytest.approx({"auc": area, "equal_error": equal_error})


def test_random_scores_are_at_chance() -> None:
    drawn: NDArray[np.float64] = np.random.default_rng(5).normal(size=20_000)
    found = verify_pairs(drawn[:10_000], drawn[10_000:])
    assert found == pytest.approx({"auc": 0.5, "equal_error": 0.5}, abs=0.02)


@pytest.mark.parametrize(("together", "apart"), [([], [1.0]), ([1.0], []), ([float("nan")], [1.0])])
def test_missing_and_invalid_scores_are_refused(together: list[float], apart: list[float]) -> None:
    with pytest.raises(ValueError, match="needs scores"):
        verify_pairs(together, apart)
