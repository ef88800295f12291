"""Heels rise behind runners, and where an ankle would bend too far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.motion.feet.legs import (
    HEEL_FOR_BEND,
    MOST_BEND,
    SOFT_BEND,
    limit_stance_ankles,
    limit_swing_ankles,
    shank_lean,
    solve_knee,
)
from posegen.motion.feet.stances import (
    RETURN_SECONDS,
    TURNS_A_METRE,
    place_stance_foot,
    raise_heels,
    rise_on_toes,
    roll_forward,
)
from posegen.motion.rows import (
    ANKLE_X,
    BEND,
    EARLY,
    FIRST,
    FORWARD,
    HEADING_COS,
    HIP_X,
    KNEE_X,
    LAST,
    LATE,
    LEG_ROWS,
    PATH_Z,
    PITCH,
    PRINT_X,
    PRINT_YAW,
    PRINT_Z,
    ROOT_ROWS,
    RUN_WEIGHT,
    YAW,
)
from tests.naive import about_x, about_y

Array = NDArray[Any]

THIGH, SHANK = 0.42, 0.41
HEEL, BALL, _, ANKLE_HEIGHT = FOOT = np.array([0.06, 0.12, 0.02, 0.066])


def sinking(frames: int, lowest: float, ahead: float, yaw: float = 0.0) -> tuple[Array, Array]:
    """One leg whose hip sinks over its stance foot and rises again, and its stance."""
    leg, stances = np.zeros((LEG_ROWS, frames), np.float32), np.zeros((2, 8))
    stances[0, [FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW]] = 0, frames, 0.3, -0.2, yaw
    place_stance_foot(leg, stances[0], FOOT, np.full(frames, yaw, np.float32), 0.0)
    down = np.sin(np.linspace(0, np.pi, frames))
    forward = np.array([np.sin(2 * np.pi * yaw), np.cos(2 * np.pi * yaw)])
    leg[HIP_X] = 0.3 + ahead * down * forward[0]
    leg[HIP_X + 2] = -0.2 + ahead * down * forward[1]
    leg[HIP_X + 1] = 0.88 + down * (lowest - 0.88)
    return leg, stances


def bending(leg: Array, more: float = 0.0) -> Array:
    """Rows of the root for an ankle range that is wider by `more` degrees."""
    root = np.zeros((ROOT_ROWS, leg.shape[1]), np.float32)
    root[BEND] = more / 360
    return root


def lean(leg: Array) -> Array:
    """Turns by which the shank leans forward along the foot, after the knee is solved."""
    solved = leg.copy()
    solve_knee(0, leg.shape[1], THIGH, SHANK, solved)
    shank = (solved[KNEE_X : KNEE_X + 3] - solved[ANKLE_X : ANKLE_X + 3]).astype(np.float64)
    yaw = 2 * np.pi * leg[YAW].astype(np.float64)
    forward = shank[0] * np.sin(yaw) + shank[2] * np.cos(yaw)
    return np.asarray(np.arctan2(forward, shank[1]) / (2 * np.pi))


@given(st.floats(0.45, 0.8), st.floats(-0.2, 0.2), st.floats(-0.5, 0.5))
def test_the_lean_of_a_shank_equals_that_of_the_solved_knee(lowest: float, ahead: float, yaw: float) -> None:
    leg, _ = sinking(9, lowest, ahead, yaw)
    expected = lean(leg)
    found = [float(shank_lean(leg, f, THIGH, SHANK)[0]) for f in range(9)]
    np.testing.assert_allclose(found, expected, atol=2e-3)  # the bend is perpendicular to the leg, and legs lean out a little


@given(st.floats(0.55, 0.8), st.floats(-0.05, 0.2), st.floats(-0.5, 0.5))
def test_a_heel_rises_before_the_ankle_bends_too_far(lowest: float, ahead: float, yaw: float) -> None:
    leg, stances = sinking(31, lowest, ahead, yaw)
    before = leg.copy()
    limit_stance_ankles(bending(leg), leg, FOOT, stances[:1], THIGH, SHANK, 0.04)
    bent = lean(before) + before[PITCH]
    assert (lean(leg) + leg[PITCH]).max() < 24 / 360
    kept = bent < MOST_BEND - SOFT_BEND - 1e-4
    np.testing.assert_array_equal(leg[:, kept], before[:, kept])
    assert (leg[PITCH][bent > MOST_BEND] < 0).all()
    for f in range(31):  # The foot turns about its ball, which does not move.
        turn = about_y(yaw) @ about_x(-float(leg[PITCH, f]))
        toe = leg[ANKLE_X : ANKLE_X + 3, f] + turn @ [0, -ANKLE_HEIGHT, BALL]
        raised = float(rise_on_toes(np.float32(np.sin(2 * np.pi * leg[PITCH, f]))))
        expected = [0.3 + BALL * np.sin(2 * np.pi * yaw), raised, -0.2 + BALL * np.cos(2 * np.pi * yaw)]
        np.testing.assert_allclose(toe, expected, atol=1e-5)
    # The movement is smooth: second differences are small.
    assert np.abs(np.diff(leg[PITCH], 2)).max() < 0.35 * max(np.ptp(leg[PITCH]), 1e-6)


def test_a_raised_heel_returns_in_the_swing() -> None:
    leg, stances = sinking(40, 0.6, 0.1)
    stances[0, LAST] = 20
    limit_stance_ankles(bending(leg), leg, FOOT, stances[:1], THIGH, SHANK, 0.04)
    at_lift = float(leg[PITCH, 19])
    assert at_lift < -0.02
    share = np.clip((np.arange(20, 40) - 19) * 0.04 / RETURN_SECONDS, 0, 1)
    fading = at_lift * (1 - share**3 * (10 - 15 * share + 6 * share**2))
    np.testing.assert_allclose(leg[PITCH, 20:], fading, atol=1e-6)


def test_toes_of_a_swinging_foot_hang_where_its_ankle_would_bend_too_far() -> None:
    leg, _ = sinking(30, 0.55, 0.1)
    planted = np.zeros(30, np.bool_)
    planted[:16] = True
    before = leg.copy()
    limit_swing_ankles(bending(leg), leg, planted, THIGH, SHANK)
    bent = lean(before) + before[PITCH]
    np.testing.assert_array_equal(leg[PITCH, :16], before[PITCH, :16])
    assert bent[16:].max() > MOST_BEND + 2 * SOFT_BEND
    after = (lean(leg) + leg[PITCH])[16:]
    over = np.maximum(bent[16:] - MOST_BEND, 0)
    expected = bent[16:] - HEEL_FOR_BEND * over
    np.testing.assert_allclose(after, expected, atol=HEEL_FOR_BEND * 0.26 * SOFT_BEND + 2e-3)


@pytest.mark.parametrize("running", [0.0, 1.0])
def test_the_heels_of_runners_rise_with_the_distance_behind(running: float) -> None:
    frames, step = 60, 0.01
    root, leg = np.zeros((ROOT_ROWS, frames), np.float32), np.zeros((LEG_ROWS, frames), np.float32)
    root[RUN_WEIGHT], root[HEADING_COS], root[PATH_Z] = running, 1, 0.03 * np.arange(frames)
    leg[PITCH] = np.where(np.arange(frames) < 20, 0.02, -0.06)
    leg[FORWARD] = 0.3 - 0.025 * np.arange(frames)  # spans less than the body travels
    stances = np.zeros((2, 8))
    stances[0, [FIRST, LAST, PRINT_Z, EARLY, LATE]] = 10, 40, 0.4, 0.5, 0.25
    before = leg.copy()
    raise_heels(root, leg, FOOT, stances[:1], step)
    change = (leg - before)[PITCH].astype(np.float64)
    held = np.arange(20, 40)
    behind = root[PATH_Z, held] - 0.4 + leg[FORWARD, held] - float(roll_forward(np.float32(-0.06), FOOT))
    expected = -running * (held - 9) / 30 * TURNS_A_METRE * np.maximum(behind, 0)
    np.testing.assert_allclose(change[held], expected, atol=1e-6)
    assert (change[:20] == 0).all()
    assert (change[held].min() < -0.01) == bool(running)
    share = np.clip((np.arange(40, 60) - 39.25) * step / RETURN_SECONDS, 0, 1)
    np.testing.assert_allclose(change[40:], change[39] * (1 - share**3 * (10 - 15 * share + 6 * share**2)), atol=1e-6)


def test_heels_rise_later_in_a_wider_ankle_range() -> None:
    leg, stances = sinking(31, 0.45, 0.1)
    before = leg.copy()
    limit_stance_ankles(bending(leg, 16.0), leg, FOOT, stances[:1], THIGH, SHANK, 0.04)
    bent = lean(before) + before[PITCH]
    assert bent.max() > 45 / 360
    # The range is 37 degrees; a second rise of the heel reduces what the first one leaves.
    assert 35 / 360 < (lean(leg) + leg[PITCH]).max() < 38 / 360
    np.testing.assert_array_equal(leg[PITCH, bent < 34 / 360], 0)


def test_the_toes_of_a_swinging_foot_stay_in_their_range() -> None:
    leg, _ = sinking(60, 0.86, 0.0)
    leg[PITCH] = np.linspace(-0.1, -0.33, 60)
    before = leg.copy()
    limit_swing_ankles(bending(leg), leg, np.zeros(60, bool), THIGH, SHANK)
    asked, bent = lean(before) + before[PITCH], lean(leg) + leg[PITCH]
    assert asked.min() < -90 / 360
    assert -62.5 / 360 < bent.min() < -58 / 360
    np.testing.assert_allclose(bent[asked > -49 / 360], asked[asked > -49 / 360], atol=1e-6)
