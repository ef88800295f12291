"""Pelvis: vertical movement in running, height over the legs, sway and rotation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.foundations.bodies import body_offsets
from posegen.foundations.constants import GRAVITY
from posegen.foundations.scene import empty_scenes
from posegen.library.channels import CHANNELS
from posegen.motion.gait.curves import run_rise
from posegen.motion.rows import (
    ACCELERATION,
    BEATS,
    DUTY,
    GAIT_WEIGHT,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    HEIGHT,
    HIP_X,
    LEG_ROWS,
    LONE_FOOT,
    LOWERING,
    LOWEST,
    PATH_X,
    PATH_Z,
    PHASE,
    RATE,
    ROOT_ROWS,
    ROOT_X,
    ROOT_Z,
    RUN_CONTACT,
    RUN_HEIGHT,
    RUN_PERIOD,
    RUN_WEIGHT,
    SPEED,
)
from posegen.motion.trunk import fill_pelvis_height, pelvis_path, pelvis_rotation, place_hips, soften_steps
from tests.naive import about_x, about_y, about_z

Array = NDArray[Any]

OFFSETS = body_offsets(empty_scenes(1, 1, 1).persons)[0, 0]
SEEDS = st.integers(0, 2**32 - 1)

periods = st.floats(0.28, 0.45)
shares = st.floats(0.4, 0.95)


def rise(period: float, contact: float, seconds: Array) -> Array:
    return np.array([run_rise(float(t), contact, period) for t in seconds])


@given(periods, shares)
def test_a_run_is_periodic_and_continuous(period: float, share: float) -> None:
    contact = share * period
    assert rise(period, contact, np.array([0.0, period])) == pytest.approx([0, 0], abs=1e-6)
    around = rise(period, contact, np.array([contact - 1e-6, contact + 1e-6]))
    assert around[0] == pytest.approx(around[1], abs=1e-5)
    h = 1e-3
    for before, after in ((contact, contact), (period, 0.0)):  # in speed, too
        left, right = rise(period, contact, before - h * np.arange(3)), rise(period, contact, after + h * np.arange(3))
        slope_before = (3 * left[0] - 4 * left[1] + left[2]) / (2 * h)
        slope_after = (-3 * right[0] + 4 * right[1] - right[2]) / (2 * h)
        assert slope_before == pytest.approx(slope_after, abs=0.02)


@given(periods, st.floats(0.4, 0.85))
def test_a_run_falls_freely_in_the_air(period: float, share: float) -> None:
    contact = share * period
    seconds = np.linspace(contact, period, 21)
    fit = np.polyfit(seconds, rise(period, contact, seconds), 2)
    assert 2 * fit[0] == pytest.approx(-GRAVITY, rel=1e-4)


@given(periods, shares)
def test_the_force_of_a_run_carries_the_weight(period: float, share: float) -> None:
    contact = share * period
    seconds = np.linspace(0, contact, 41)
    height = rise(period, contact, seconds)
    push = np.diff(height, 2) / (seconds[1] - seconds[0]) ** 2 + GRAVITY
    expected = 0.5 * np.pi * GRAVITY * period / contact * np.sin(np.pi * seconds[1:-1] / contact)  # half a sine
    np.testing.assert_allclose(push, expected, atol=0.06 * expected.max())
    mean = push.sum() * (seconds[1] - seconds[0]) / period
    assert mean == pytest.approx(GRAVITY, rel=0.02)
    assert height.min() < 0  # the body sinks over the stance leg


def walking_root(frames: int, generator: np.random.Generator) -> Array:
    root = np.zeros((ROOT_ROWS, frames), np.float32)
    root[PHASE] = np.sort(generator.uniform(0, 3, frames))
    root[DUTY], root[RATE], root[SPEED] = 0.6, 0.95, 1.3
    root[GAIT_WEIGHT] = generator.random(frames)
    return root


@given(SEEDS)
def test_stance_legs_carry_a_walk(seed: int) -> None:
    generator = np.random.default_rng(seed)
    root = walking_root(40, generator)
    legs = generator.uniform(0.7, 0.9, (2, LEG_ROWS, 40)).astype(np.float32)
    tilt = np.full(40, 0.05, np.float32)
    fill_pelvis_height(root, legs, tilt, np.zeros(40, np.float32), 0.08, 0.08, 0.002, 0.95)
    for f in range(40):
        phase = float(root[PHASE, f]) % 1
        left, right = legs[:, LOWEST, f] + 0.08 * np.cos(0.1 * np.pi) - 0.002
        share = float(root[GAIT_WEIGHT, f])
        carried = (float(root[HEIGHT, f]) - (1 - share) * 0.95) / share if share > 0.05 else None
        if carried is None:
            continue
        assert min(left, right) - 1e-4 < carried < max(left, right) + 1e-4
        if 0.1 < phase < 0.5:
            assert carried == pytest.approx(left, abs=1e-4)
        elif phase > 0.6:
            assert carried == pytest.approx(right, abs=1e-4)


@given(SEEDS, st.integers(1, 3))
def test_fast_steps_are_smoothed(seed: int, radius: int) -> None:
    generator = np.random.default_rng(seed)
    root = walking_root(30, generator)
    root[SPEED], root[RUN_WEIGHT] = generator.uniform(1.2, 2.0, 30), 0.3 * root[GAIT_WEIGHT]
    root[HEIGHT] = before = generator.uniform(0.8, 1.0, 30).astype(np.float32)
    soften_steps(root, radius)
    for f in range(30):
        near = [g for g in range(30) if abs(g - f) <= radius]
        mean = np.average(before[near], weights=[radius + 1 - abs(g - f) for g in near])
        x = min(max((float(root[SPEED, f]) - 1.4) / 0.4, 0), 1)
        share = 0.7 * float(root[GAIT_WEIGHT, f]) * (10 * x**3 - 15 * x**4 + 6 * x**5)
        assert root[HEIGHT, f] == pytest.approx(before[f] + share * (mean - before[f]), abs=1e-5)


@pytest.mark.parametrize(("beats", "lone"), [(1, 1), (1, -1), (2, 0), (4, 0)])
def test_running_height_is_a_body_under_its_contacts(beats: int, lone: int) -> None:
    frames = 60
    root = np.zeros((ROOT_ROWS, frames), np.float32)
    root[PHASE] = np.linspace(0, 1, frames)
    period, contact, weight = 0.5 / 1.3, 0.36 / 1.3, 0.75
    root[DUTY], root[RATE], root[GAIT_WEIGHT], root[RUN_WEIGHT], root[BEATS] = 0.36, 0.4, weight, weight, beats
    root[LONE_FOOT] = weight * lone
    root[RUN_PERIOD], root[RUN_CONTACT], root[RUN_HEIGHT] = weight * period, weight * contact, weight * 0.9
    level = np.zeros(frames, np.float32)
    fill_pelvis_height(root, np.zeros((2, LEG_ROWS, frames), np.float32), level, level, 0.08, 0.08, 0.002, 0.95)
    # Of the steady gait, at any rate while it stops.
    contact_begin = 0.5 if lone < 0 else 0.0
    part = (beats * (root[PHASE].astype(np.float64) + contact_begin) % 1) * period
    run = 0.9 + rise(period, contact, part) - run_rise(0.5 * contact, contact, period)
    np.testing.assert_allclose(root[HEIGHT], (1 - weight) * 0.95 + weight * run, atol=1e-4)


@given(SEEDS)
def test_path_and_sway(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frames, leg = 12, 0.85
    root = generator.uniform(-1, 1, (ROOT_ROWS, frames)).astype(np.float32)
    root[SPEED], root[RUN_WEIGHT], root[GAIT_WEIGHT], root[LONE_FOOT] = 1.0, 0, 1, 0
    root[ACCELERATION] *= 6
    turns = root[HEADING].astype(np.float64)
    root[HEADING_SIN], root[HEADING_COS] = np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)
    before = root.astype(np.float64)
    channels = generator.uniform(-0.2, 0.2, (len(CHANNELS), frames)).astype(np.float32)
    pelvis_path(root, channels, leg)
    height, forward, lateral = (leg * channels[CHANNELS.index(f"root_{c}")] for c in ("height", "forward", "lateral"))
    np.testing.assert_allclose(root[HEIGHT], before[HEIGHT] + height, atol=1e-6)
    for f in range(frames):
        moved = np.array([root[ROOT_X, f] - before[PATH_X, f], 0, root[ROOT_Z, f] - before[PATH_Z, f]])
        aside, _, ahead = about_y(turns[f]).T @ moved
        surge = (before[GAIT_WEIGHT, f] - before[RUN_WEIGHT, f]) * 0.0075 * abs(before[SPEED, f])
        surge *= np.cos(4 * np.pi * (before[PHASE, f] - 0.08))
        # Ahead of the feet in starting and behind them in braking, by three tenths of what balance requires.
        lead = leg * np.clip(0.3 * before[ACCELERATION, f] / 9.81, -0.13, 0.13)
        assert ahead == pytest.approx(forward[f] + surge + lead, abs=1e-5)
        assert abs(aside - lateral[f]) < 0.035  # half of the 7 cm of slow walking


def test_the_body_sways_over_the_stance_foot() -> None:
    root = np.zeros((ROOT_ROWS, 3), np.float32)
    root[GAIT_WEIGHT], root[HEADING_COS] = [1, 1, 0], 1
    root[PHASE] = [0.32, 0.82, 0.32]  # the middle of the left stance, then of the right one, then standing
    pelvis_path(root, np.zeros((len(CHANNELS), 3), np.float32), 0.85)
    assert root[ROOT_X, 0] == pytest.approx(0.035, abs=1e-4)
    assert root[ROOT_X, 1] == pytest.approx(-0.035, abs=1e-4)
    assert root[ROOT_X, 2] == 0


@pytest.mark.parametrize("speed", [1.3, -0.8])
def test_a_walking_body_is_fastest_in_double_support(speed: float) -> None:
    frames = 200
    root = np.zeros((ROOT_ROWS, frames), np.float32)
    root[GAIT_WEIGHT], root[HEADING_COS], root[SPEED] = 1, 1, speed
    root[PHASE] = np.arange(frames) / frames
    pelvis_path(root, np.zeros((len(CHANNELS), frames), np.float32), 0.85)
    assert np.ptp(root[ROOT_Z]) == pytest.approx(0.015 * abs(speed), rel=1e-2)
    # About 2 cm in all at a usual speed, twice per stride; in backward steps the stride is reversed.
    fastest = np.arange(frames)[np.diff(root[ROOT_Z], append=root[ROOT_Z, 0]).argmax()] / frames % 0.5
    assert fastest == pytest.approx(0.455, abs=0.02)


def turned(**degrees: float) -> Array:
    root, channels = np.zeros((ROOT_ROWS, 1), np.float32), np.zeros((len(CHANNELS), 1), np.float32)
    root[HEADING] = degrees.pop("heading", 0.0) / 360
    for name, value in degrees.items():
        channels[CHANNELS.index(f"pelvis_{name}")] = value / 360
    out = np.zeros((9, 1), np.float32)
    pelvis_rotation(root, channels, out)
    return out[:, 0].reshape(3, 3)


@given(*[st.floats(-60, 60)] * 4)
def test_pelvis_rotation(heading: float, rotation: float, tilt: float, obliquity: float) -> None:
    expected = about_y((heading + rotation) / 360) @ about_x(tilt / 360) @ about_z(obliquity / 360)
    np.testing.assert_allclose(turned(heading=heading, rotation=rotation, tilt=tilt, obliquity=obliquity), expected, atol=2e-6)


def test_directions_of_positive_pelvis_angles() -> None:
    left_hip, spine = np.array([0.08, 0, 0]), np.array([0, 0.1, 0])
    assert (turned(tilt=10) @ spine)[2] > 0.015
    assert (turned(obliquity=10) @ left_hip)[1] > 0.012
    assert (turned(rotation=10) @ left_hip)[2] < -0.012
    assert (turned(heading=90) @ [0, 0, 1])[0] == pytest.approx(1)  # a positive heading is to the left


@given(SEEDS)
def test_hips_hang_from_the_pelvis(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frames = 5
    root = generator.uniform(-1, 1, (ROOT_ROWS, frames)).astype(np.float32)
    channels = generator.uniform(-0.1, 0.1, (len(CHANNELS), frames)).astype(np.float32)
    pelvis, place = np.zeros((9, frames), np.float32), np.zeros((3, frames), np.float32)
    legs = np.zeros((2, LEG_ROWS, frames), np.float32)
    pelvis_rotation(root, channels, pelvis)
    place_hips(root, pelvis, OFFSETS, place, legs)
    np.testing.assert_allclose(place, [root[ROOT_X], root[HEIGHT] - root[LOWERING], root[ROOT_Z]])
    for side in range(2):
        for f in range(frames):
            hip = place[:, f] + pelvis[:, f].reshape(3, 3) @ OFFSETS[1 + side]
            np.testing.assert_allclose(legs[side, HIP_X : HIP_X + 3, f], hip, atol=1e-6)
