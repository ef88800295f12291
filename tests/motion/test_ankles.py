"""Heels that rise where an ankle would bend too far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.evaluation.limits import joint_angles
from posegen.motion.ankles import ease_ankles, shank_lean
from posegen.motion.legs import place_foot, solve_knee
from posegen.motion.rows import ANKLE_X, BALL_X, HEEL_HEIGHT, HIP_X, KNEE_X, LEG_ROWS, PITCH, TOE_HEIGHT, YAW
from posegen.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, JOINTS, PROPORTIONS

Array = NDArray[Any]

STATURE = 1.7
THIGH, SHANK = PROPORTIONS["thigh"] * STATURE, PROPORTIONS["shank"] * STATURE
HIGH = PROPORTIONS["ankle_height"] * STATURE
FOOT = np.array([HEEL_BEHIND_ANKLE, BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, PROPORTIONS["ankle_height"]]) * STATURE
FRAMES = 60


def squatting(ahead: Array, down: Array, yaw: float = 0.1) -> Array:
    """A flat foot on the floor at the origin, the hip `ahead` of its ankle and above it by `down` lengths of the leg."""
    leg = np.zeros((LEG_ROWS, len(ahead)), np.float32)
    leg[ANKLE_X + 1], leg[YAW] = HIGH, yaw
    length = THIGH + SHANK
    leg[HIP_X] = length * ahead * np.sin(2 * np.pi * yaw)
    leg[HIP_X + 1] = HIGH + length * down
    leg[HIP_X + 2] = length * ahead * np.cos(2 * np.pi * yaw)
    return leg


def solved(leg: Array) -> Array:
    """Dorsiflexion that comes of it, degrees."""
    place_foot(0, leg.shape[1], FOOT, leg)
    solve_knee(0, leg.shape[1], THIGH, SHANK, leg)
    joints = np.random.default_rng(1).normal(size=(leg.shape[1], 22, 3))
    for name, row in (("hip", HIP_X), ("knee", KNEE_X), ("ankle", ANKLE_X), ("foot", BALL_X)):
        joints[:, JOINTS.index(f"left_{name}")] = leg[row : row + 3].T
    return joint_angles(joints)["left_ankle_dorsiflexion"]


@pytest.mark.parametrize("ahead", [-0.1, 0.0, 0.15, 0.3])
def test_the_shank_leans_as_the_law_of_cosines_has_it(ahead: float) -> None:
    down = np.linspace(0.95, 0.4, FRAMES)
    leg = squatting(np.full(FRAMES, ahead), down)
    length = THIGH + SHANK
    ankle = solved(leg)
    at, high = length * ahead, length * down.astype(np.float32)
    leans = [shank_lean(np.float32(at), h, np.float32(at * at + h * h), np.float32(THIGH), np.float32(SHANK)) for h in high]
    # Beyond a right angle, dorsiflexion does not come back from positions.
    reached = (np.hypot(ahead, down) < 0.99) & (np.array(leans) < 0.25)
    assert reached.sum() > 20
    np.testing.assert_allclose(360 * np.array(leans)[reached], ankle[reached], atol=0.1)


@pytest.mark.parametrize("ahead", [0.0, 0.15, 0.3])
def test_a_deep_squat_takes_the_heels_off_and_no_ankle_too_far(ahead: float) -> None:
    down = np.linspace(0.95, 0.35, FRAMES)
    asked = solved(squatting(np.full(FRAMES, ahead), down))
    leg = squatting(np.full(FRAMES, ahead), down)
    before = leg.copy()
    ease_ankles(0, FRAMES, THIGH, SHANK, FOOT, leg)
    bent = solved(leg)
    assert asked.max() > 48
    assert bent.max() < 44
    free = asked < 32.5
    np.testing.assert_array_equal(leg[PITCH, free], 0)
    assert (leg[PITCH, asked > 36] < 0).all()
    # By degrees, about a ball that stays where it is.
    assert np.abs(np.diff(leg[PITCH], 2)).max() < 0.004
    np.testing.assert_allclose(leg[TOE_HEIGHT], 0, atol=1e-5)
    assert leg[HEEL_HEIGHT].min() > -1e-5
    flat = before.copy()
    solved(flat)
    drop = PROPORTIONS["ankle_height"] * STATURE - BALL_JOINT_HEIGHT * STATURE
    shift = np.hypot(leg[BALL_X] - flat[BALL_X], leg[BALL_X + 2] - flat[BALL_X + 2])
    assert shift.max() < 0.5 * drop


def test_who_lies_does_not_stand_on_the_feet() -> None:
    leg = squatting(np.full(4, -0.5), np.array([0.09, 0.0, -0.2, 0.05]))
    ease_ankles(0, 4, THIGH, SHANK, FOOT, leg)
    np.testing.assert_array_equal(leg[PITCH], 0)
