"""Legs: nominal foot, ball and sole, and the knee between hip and ankle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.motion.feet.legs import ROUND, ease_reach, nominal_leg, place_foot, solve_knee, turn_knee
from posegen.motion.rows import (
    ANKLE_X,
    BALL_X,
    DOWN,
    FORWARD,
    HEEL_HEIGHT,
    HIP_X,
    KNEE_X,
    LEG_ROWS,
    LOWEST,
    PITCH,
    TOE_HEIGHT,
    YAW,
)
from tests.naive import about_x, about_y

Array = NDArray[Any]

THIGH, SHANK = 0.42, 0.41
HEEL, BALL, BALL_HEIGHT, ANKLE_HEIGHT = FOOT = np.array([0.06, 0.12, 0.02, 0.066])
SEEDS = st.integers(0, 2**32 - 1)


def nominal(hip: float = 0.0, knee: float = 0.0, ankle: float = 0.0, tilt: float = 0.0) -> Array:
    """Rows of one leg in one frame; degrees."""
    leg = np.zeros((LEG_ROWS, 1), np.float32)
    angles = [np.array([a / 360], np.float32) for a in (hip, knee, ankle, tilt)]
    nominal_leg(angles[0], angles[1], angles[2], angles[3], THIGH, SHANK, FOOT, leg)
    return leg[:, 0]


def sole(ankle: Array, pitch: float, yaw: float) -> tuple[Array, Array, Array]:
    """Ball joint, heel point and toe point of a foot; turns."""
    turn = about_y(yaw) @ about_x(-pitch)
    ball = ankle + turn @ [0, BALL_HEIGHT - ANKLE_HEIGHT, BALL]
    return ball, ankle + turn @ [0, -ANKLE_HEIGHT, -HEEL], ankle + turn @ [0, -ANKLE_HEIGHT, BALL]


@given(st.floats(-40, 120), st.floats(0, 140), st.floats(-40, 30), st.floats(-20, 40))
def test_nominal_leg(hip: float, knee: float, ankle: float, tilt: float) -> None:
    leg = nominal(hip, knee, ankle, tilt)
    thigh = about_x((tilt - hip) / 360)
    shank = thigh @ about_x(knee / 360)
    place = thigh @ [0, -THIGH, 0] + shank @ [0, -SHANK, 0]
    pitch = (hip - tilt - knee + ankle) / 360
    assert leg[FORWARD] == pytest.approx(place[2], abs=2e-6)
    assert leg[DOWN] == pytest.approx(-place[1], abs=2e-6)
    assert leg[PITCH] == pytest.approx(pitch, abs=1e-6)
    lowest = min(point[1] for point in sole(place, pitch, 0.0)[1:])
    # The corner between heel and ball is rounded off, by no more than this.
    rounding = 0.5 * (HEEL + BALL) * ROUND
    assert -lowest - rounding - 3e-6 <= leg[LOWEST] <= -lowest + 3e-6


def test_directions_of_positive_leg_angles() -> None:
    straight = nominal()
    assert straight[DOWN] == pytest.approx(THIGH + SHANK)
    assert straight[FORWARD] == pytest.approx(0, abs=1e-6)
    assert nominal(hip=30)[FORWARD] > 0.3
    assert nominal(knee=30)[FORWARD] < -0.15
    assert nominal(ankle=15)[PITCH] == pytest.approx(15 / 360)
    assert nominal(tilt=10)[FORWARD] < -0.1  # the pelvis tips forward and takes the leg back


@given(SEEDS)
def test_place_foot(seed: int) -> None:
    generator = np.random.default_rng(seed)
    leg = generator.uniform(-1, 1, (LEG_ROWS, 6)).astype(np.float32)
    before = leg.copy()
    leg[PITCH] *= 0.25
    place_foot(1, 5, FOOT, leg)
    for f in range(1, 5):
        ankle = leg[ANKLE_X : ANKLE_X + 3, f].astype(np.float64)
        ball, heel, toe = sole(ankle, float(leg[PITCH, f]), float(leg[YAW, f]))
        np.testing.assert_allclose(leg[BALL_X : BALL_X + 3, f], ball, atol=1e-6)
        assert leg[HEEL_HEIGHT, f] == pytest.approx(heel[1], abs=1e-6)
        assert leg[TOE_HEIGHT, f] == pytest.approx(toe[1], abs=1e-6)
    np.testing.assert_array_equal(leg[BALL_X, [0, 5]], before[BALL_X, [0, 5]])


def legs_between(seed: int, shortest: float, longest: float) -> Array:
    """Legs somewhere in a large room, the ankle below the hip at a distance between two shares of the straight leg."""
    generator = np.random.default_rng(seed)
    frames = 16
    leg = np.zeros((LEG_ROWS, frames), np.float32)
    yaw = generator.uniform(-0.5, 0.5, frames)
    lean, aside = generator.uniform(-0.17, 0.2, frames), generator.uniform(-0.08, 0.08, frames)
    hip = generator.uniform(-40, 40, (frames, 3))
    reach = generator.uniform(shortest, longest, frames) * (THIGH + SHANK)
    for f in range(frames):
        down = about_y(yaw[f]) @ about_x(-lean[f]) @ [np.sin(2 * np.pi * aside[f]), -np.cos(2 * np.pi * aside[f]), 0]
        leg[HIP_X : HIP_X + 3, f] = hip[f]
        leg[ANKLE_X : ANKLE_X + 3, f] = hip[f] + reach[f] * down
    leg[YAW] = yaw
    leg[PITCH] = generator.uniform(-0.1, 0.1, frames)
    return leg


def part(leg: Array, row: int) -> Array:
    return leg[row : row + 3].astype(np.float64)


def length(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors * vectors).sum(0)))


@given(SEEDS)
def test_bones_keep_their_length(seed: int) -> None:
    leg = legs_between(seed, 0.1, 1.4)
    place_foot(0, leg.shape[1], FOOT, leg)
    solve_knee(0, leg.shape[1], THIGH, SHANK, leg)
    foot = np.sqrt(BALL**2 + (ANKLE_HEIGHT - BALL_HEIGHT) ** 2)
    np.testing.assert_allclose(length(part(leg, KNEE_X) - part(leg, HIP_X)), THIGH, atol=1e-5)
    np.testing.assert_allclose(length(part(leg, ANKLE_X) - part(leg, KNEE_X)), SHANK, atol=1e-5)
    np.testing.assert_allclose(length(part(leg, BALL_X) - part(leg, ANKLE_X)), foot, atol=1e-5)
    # The whole foot has moved: ball and heights equal those of a foot placed at the new ankle.
    heights = leg[[HEEL_HEIGHT, TOE_HEIGHT]]
    place_foot(0, leg.shape[1], FOOT, leg)
    np.testing.assert_allclose(heights, leg[[HEEL_HEIGHT, TOE_HEIGHT]], atol=1e-5)


@given(SEEDS)
def test_ankles_within_reach_are_unchanged(seed: int) -> None:
    leg = legs_between(seed, 0.4, 0.999)
    expected = part(leg, ANKLE_X)
    solve_knee(0, leg.shape[1], THIGH, SHANK, leg)
    np.testing.assert_allclose(part(leg, ANKLE_X), expected, atol=1e-5)


@given(SEEDS)
def test_ankles_out_of_reach_move_along_the_line_to_the_hip(seed: int) -> None:
    leg = legs_between(seed, 1.02, 1.3)
    before = part(leg, ANKLE_X) - part(leg, HIP_X)
    solve_knee(0, leg.shape[1], THIGH, SHANK, leg)
    after = part(leg, ANKLE_X) - part(leg, HIP_X)
    np.testing.assert_allclose(after / length(after), before / length(before), atol=3e-5)
    np.testing.assert_allclose(length(after), THIGH + SHANK, rtol=1e-3)


@given(SEEDS)
def test_the_knee_bends_towards_the_direction_of_the_foot(seed: int) -> None:
    leg = legs_between(seed, 0.45, 0.98)
    solve_knee(0, leg.shape[1], THIGH, SHANK, leg)
    hip, knee, ankle = (part(leg, row) for row in (HIP_X, KNEE_X, ANKLE_X))
    line = (ankle - hip) / length(ankle - hip)
    out = (knee - hip) - ((knee - hip) * line).sum(0) * line
    turns = 2 * np.pi * leg[YAW].astype(np.float64)
    ahead, up = np.stack([np.sin(turns), np.zeros_like(turns), np.cos(turns)]), np.array([[0.0], [1.0], [0.0]])
    # Perpendicular to the leg in the plane of the foot: forward for a hanging leg, up for one that points forward.
    front = (0.1 - line[1]) * ahead + (line * ahead).sum(0) * up
    front -= (front * line).sum(0) * line
    front /= length(front)
    np.testing.assert_allclose(out - (out * front).sum(0) * front, 0, atol=1e-5)
    assert ((out * front).sum(0) > 0).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_turned_knee_of_a_bent_leg_points_outward(sign: float) -> None:
    leg = np.zeros((LEG_ROWS, 2), np.float32)
    leg[HIP_X + 1] = 0.7
    solve_knee(0, 2, THIGH, SHANK, leg)
    straight = part(leg, KNEE_X)[:, 0]
    turn_knee(0, 1, np.full(2, 30 / 360, np.float32), sign, leg)
    ahead = np.sqrt(3) / 2 * straight[2]
    np.testing.assert_allclose(leg[KNEE_X : KNEE_X + 3, 0], [sign * straight[2] / 2, straight[1], ahead], atol=1e-5)
    np.testing.assert_array_equal(leg[KNEE_X : KNEE_X + 3, 1], straight)


def test_a_knee_gives_way_before_it_is_folded() -> None:
    near = np.linspace(0.0, 0.4, 200)[1:] * (THIGH + SHANK)
    leg = np.zeros((LEG_ROWS, len(near)), np.float32)
    leg[ANKLE_X + 1] = -near
    solve_knee(0, len(near), THIGH, SHANK, leg)
    hip, knee, ankle = (part(leg, row) for row in (HIP_X, KNEE_X, ANKLE_X))
    bend = np.degrees(np.arccos(((knee - hip) * (ankle - knee)).sum(0) / (THIGH * SHANK)))
    assert bend.max() < 157
    assert (np.diff(bend) < 0).all()
    asked = np.degrees(np.arccos(np.clip((THIGH**2 + SHANK**2 - near**2) / (2 * THIGH * SHANK), -1, 1)))
    np.testing.assert_allclose(bend[asked > 26], 180 - asked[asked > 26], atol=0.1)


def test_the_knee_of_a_prone_body_bends_down() -> None:
    leg = np.zeros((LEG_ROWS, 1), np.float32)
    leg[ANKLE_X + 2] = -0.7
    solve_knee(0, 1, THIGH, SHANK, leg)
    assert leg[KNEE_X + 1, 0] < -0.1


def test_an_angle_by_the_law_of_cosines() -> None:
    leg = np.zeros((LEG_ROWS, 1), np.float32)
    leg[HIP_X + 1] = 0.7
    solve_knee(0, 1, THIGH, SHANK, leg)
    inner = np.arccos((THIGH**2 + 0.7**2 - SHANK**2) / (2 * THIGH * 0.7))
    np.testing.assert_allclose(leg[KNEE_X : KNEE_X + 3, 0], [0, 0.7 - THIGH * np.cos(inner), THIGH * np.sin(inner)], atol=1e-5)


def test_a_swinging_foot_gives_way_before_its_leg_is_straight() -> None:
    legs = np.zeros((LEG_ROWS, 4), np.float32)
    legs[HIP_X + 1] = 1.0
    reaches = np.array([0.88, 0.99, 1.005, 1.05]) * (THIGH + SHANK)
    legs[ANKLE_X + 1] = 1.0 - reaches
    legs[BALL_X + 1] = legs[ANKLE_X + 1] - 0.05
    planted = np.array([False, False, False, True])
    ease_reach(0, 4, np.float32(THIGH + SHANK), planted, np.zeros(4, np.float32), legs)
    reached = 1.0 - legs[ANKLE_X + 1]
    length = THIGH + SHANK
    assert reached[0] == pytest.approx(reaches[0], abs=1e-6)  # within reach
    assert reached[1] == pytest.approx(reaches[1], rel=2e-4)  # nearly straight, and hardly bent
    assert reached[1] < reached[2] < 0.9995 * length
    assert reached[3] == pytest.approx(reaches[3], abs=1e-6)  # stance feet do not move
    np.testing.assert_allclose(legs[ANKLE_X + 1] - legs[BALL_X + 1], 0.05, atol=1e-6)
    np.testing.assert_allclose(legs[[HEEL_HEIGHT, TOE_HEIGHT]], np.stack([1.0 - reached - (1.0 - reaches)] * 2), atol=1e-6)
