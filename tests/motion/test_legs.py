"""Legs: nominal foot, ball and sole, and the knee between hip and ankle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.library.channels import CHANNELS
from posegen.motion.legs import ease_reach, nominal_leg, place_foot, solve_knee
from posegen.motion.rows import (
    ANKLE_X,
    BALL_X,
    DOWN,
    FORWARD,
    HEEL_HEIGHT,
    HIP_X,
    KNEE_X,
    LEG_ROWS,
    PITCH,
    TOE_HEIGHT,
    YAW,
)
from tests.naive import about_x, about_y

THIGH, SHANK = 0.42, 0.41
_, BALL, BALL_HEIGHT, ANKLE_HEIGHT = FOOT = np.array([0.06, 0.12, 0.02, 0.066])
SEEDS = st.integers(0, 2**32 - 1)


def nominal(hip: float = 0.0, knee: float = 0.0, ankle: float = 0.0, tilt: float = 0.0) -> Array:
    """Rows of one leg in one frame; degrees."""
    leg = np.zeros((LEG_ROWS, 1), np.float32)
    channels, offsets = np.zeros((len(CHANNELS), 1), np.float32), np.zeros((22, 3), np.float32)
    names = "left_hip_flexion", "left_knee_flexion", "left_ankle_dorsiflexion", "pelvis_tilt"
    for name, degrees in zip(names, (hip, knee, ankle, tilt), strict=True):
        channels[CHANNELS.index(name)] = degrees / 360
    offsets[[4, 7], 1] = -THIGH, -SHANK
    nominal_leg(channels, 0, offsets, FOOT, leg)
    return leg[:, 0]


def test_directions_of_positive_leg_angles() -> None:
    straight = nominal()
    assert straight[DOWN] == pytest.approx(THIGH + SHANK)
    assert straight[FORWARD] == pytest.approx(0, abs=1e-6)
    assert nominal(hip=30)[FORWARD] > 0.3
    assert nominal(knee=30)[FORWARD] < -0.15
    assert nominal(ankle=15)[PITCH] == pytest.approx(15 / 360)
    assert nominal(tilt=10)[FORWARD] < -0.1  # the pelvis tips forward and takes the leg back


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
