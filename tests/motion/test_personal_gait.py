"""The personal gait: how the curves of one walker differ from the mean of many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.foundations.scene import HABITS
from posegen.library.channels import CHANNELS
from posegen.motion.gaits import HARMONICS, RUN, WALK, vary_series
from tests import naive

SEEDS = st.integers(0, 2**32 - 1)
PHASES = np.arange(100) / 100
EVEN = np.zeros(3)


def change(channel: str, habits: Array, gait: int = WALK, speed: float = 1.3, legs: Array = EVEN) -> Array:
    """Degrees that a person adds to a channel without a curve, over the stride."""
    series = np.zeros(1 + 2 * HARMONICS, np.float32)
    vary_series(gait == RUN, speed, CHANNELS.index(channel), habits, legs, series)
    return np.array([naive.gait_angle(series, phase) for phase in PHASES]) * 360


@pytest.mark.parametrize(("gait", "speed", "more"), [(WALK, 1.3, 8.0), (RUN, 2.5, 9.0), (RUN, 6.0, 0.9)])
def test_everybody_bends_a_swinging_knee_further_than_the_mean_of_many(gait: int, speed: float, more: float) -> None:
    left, right = (change(f"{side}_knee_flexion", np.zeros(HABITS), gait, speed) for side in ("left", "right"))
    stance = left[:44]
    assert left.max() - stance.mean() == pytest.approx(more, rel=0.01)
    assert PHASES[left.argmax()] == pytest.approx(0.685, abs=0.011)
    assert np.ptp(stance) < 0.06 * more
    np.testing.assert_allclose(right, np.roll(left, 50), atol=1e-3)


@given(SEEDS)
def test_an_offset_keeps_thighs_and_feet_in_their_direction(seed: int) -> None:
    habits = np.random.default_rng(seed).normal(size=HABITS)
    tilt, hip = change("pelvis_tilt", habits), change("left_hip_flexion", habits)
    ankle, knee = change("left_ankle_dorsiflexion", habits), change("left_knee_flexion", habits)
    standing = (PHASES > 0.05) & (PHASES < 0.4)
    bent = np.interp(0.1, PHASES, knee)
    np.testing.assert_allclose((hip - tilt)[standing], ankle[standing], atol=1e-3)
    assert 2 * ankle[0] == pytest.approx(bent, abs=0.6)
    assert knee.min() > -6


def test_people_differ_as_published() -> None:
    people = np.random.default_rng(5).normal(size=(400, HABITS))
    knees = np.array([change("left_knee_flexion", habits) for habits in people])
    assert 3 < knees[:, 73].std() < 6.3  # Schwartz et al. 2008
    assert knees[:, 69].mean() == pytest.approx(8.0, abs=0.6)
    assert knees[:, 20].mean() == pytest.approx(0.0, abs=0.4)
    assert change("left_elbow_flexion", people[0])[0] != change("left_elbow_flexion", people[1])[0]


@pytest.mark.parametrize(("joint", "number", "spread"), [("hip_flexion", 0, 1.2), ("knee_flexion", 1, 2.0)])
def test_the_legs_of_a_person_differ_to_either_side(joint: str, number: int, spread: float) -> None:
    legs = EVEN.copy()
    legs[number] = 1.0
    habits = np.zeros(HABITS)
    left, right = (np.array(change(f"{side}_{joint}", habits, legs=legs)) for side in ("left", "right"))
    right = np.roll(right, 50)
    assert left[69] - right[69] == pytest.approx(2 * spread, rel=0.02)
    np.testing.assert_allclose(left + right, 2 * change(f"left_{joint}", habits), atol=1e-3)
    np.testing.assert_allclose(change(f"left_{joint}", habits, legs=-legs), right, atol=1e-3)
