"""Channels: waves, published gait curves, harmonics, key poses, layers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.channels import add_layer, add_track
from posegen.motion.gait_channels import gait_series
from posegen.motion.gaits import HARMONICS, RUN, STEP, WALK, WALK_SPEEDS, curve_warp, warp_phase
from posegen.motion.library_tables import library_tables
from posegen.motion.workspace import Clock, Workspace, empty_workspace
from tests import naive
from tests.motion.scripted import LIBRARY, person, segment

ACTIONS = library_tables(LIBRARY)
LEG = 0.85
DEGREE = 1 / 360
FREE_KNOT = 3


def series_of(channel: str, gait: int = WALK, dimensionless: float = WALK_SPEEDS[FREE_KNOT]) -> Array:
    series = np.zeros(1 + 2 * HARMONICS, np.float32)
    gait_series(gait, dimensionless * float(np.sqrt(9.81 * LEG)), LEG, ACTIONS.gaits, CHANNELS.index(channel), series)
    return series


def degrees(series: Array, phase: float) -> float:
    return naive.gait_angle(series, phase) / DEGREE


def test_rows_are_those_of_the_channels() -> None:
    pelvis = rows.ROOT_HEIGHT, rows.ROOT_FORWARD, rows.ROOT_LATERAL, rows.PELVIS_TILT, rows.OBLIQUITY, rows.PELVIS_ROTATION
    spine = (
        rows.TRUNK_FLEXION,
        rows.TRUNK_LATERAL,
        rows.TRUNK_ROTATION,
        rows.NECK_FLEXION,
        rows.NECK_LATERAL,
        rows.NECK_ROTATION,
    )
    names = "root_height root_forward root_lateral pelvis_tilt pelvis_obliquity pelvis_rotation trunk_flexion trunk_lateral"
    names += " trunk_rotation neck_flexion neck_lateral neck_rotation"
    assert [CHANNELS[row] for row in (*pelvis, *spine)] == names.split()
    assert [CHANNELS[row] for row in rows.DORSIFLEXION] == ["left_ankle_dorsiflexion", "right_ankle_dorsiflexion"]
    assert CHANNELS[rows.FIRST_LEFT + rows.SIDED] == "right_hip_flexion"
    assert CHANNELS[rows.FIRST_LEFT + rows.FIRST_ARM] == "left_collar_elevation"
    assert CHANNELS[rows.FIRST_HAND] == "left_hand_aside"


@pytest.mark.parametrize(
    ("channel", "phase", "published"),
    [
        ("hip_flexion", 0.90, 36.7),
        ("hip_flexion", 0.52, -5.8),
        ("knee_flexion", 0.12, 19.3),
        ("knee_flexion", 0.40, 6.2),
        ("knee_flexion", 0.72, 59.1),
        ("ankle_dorsiflexion", 0.46, 11.8),
        ("ankle_dorsiflexion", 0.64, -19.8),
    ],
)
def test_gait_passes_through_the_published_peaks(channel: str, phase: float, published: float) -> None:
    assert degrees(series_of(f"left_{channel}"), phase) == pytest.approx(published, abs=0.25)
    assert degrees(series_of(f"right_{channel}"), phase + 0.5) == pytest.approx(published, abs=0.25)


@given(st.floats(0, 1), st.sampled_from(["left_knee_flexion", "right_hip_flexion", "pelvis_rotation"]))
def test_gait_is_linear_between_published_speeds(share: float, channel: str) -> None:
    slower, faster = WALK_SPEEDS[2], WALK_SPEEDS[3]
    between = series_of(channel, dimensionless=slower + share * (faster - slower))
    ends = series_of(channel, dimensionless=slower), series_of(channel, dimensionless=faster)
    np.testing.assert_allclose(between, ends[0] + share * (ends[1] - ends[0]), atol=2e-6)


def test_gait_is_constant_beyond_the_published_speeds() -> None:
    fastest = series_of("left_knee_flexion", dimensionless=WALK_SPEEDS[-1])
    np.testing.assert_array_equal(series_of("left_knee_flexion", dimensionless=2 * WALK_SPEEDS[-1]), fastest)
    np.testing.assert_array_equal(series_of("left_knee_flexion", STEP), series_of("left_knee_flexion", dimensionless=0.0))


def test_running_bends_the_knee_as_published() -> None:
    series = series_of("left_knee_flexion", RUN, 2.5 / float(np.sqrt(9.81 * LEG)))
    assert series[0] / DEGREE == pytest.approx(42.4)
    assert series[1:3] / DEGREE == pytest.approx([-10.9, -17.0])


def test_fast_runs_raise_the_thigh_but_reach_back_hardly_further() -> None:
    phases = np.arange(100) / 100
    slow, fast = (
        np.array([degrees(series_of("left_hip_flexion", RUN, v / float(np.sqrt(9.81 * LEG))), p) for p in phases])
        for v in (2.5, 6.0)
    )
    assert fast.max() - slow.max() > 15
    assert -8 < fast.min() - slow.min() < 4


@given(st.floats(0.2, 0.4))
def test_the_warp_puts_toe_off_where_the_contact_ends(duty: float) -> None:
    warp = float(curve_warp(duty))
    phase = np.linspace(0, 1, 201)
    at = np.array([float(warp_phase(p, warp)) for p in phase])
    np.testing.assert_allclose(at, naive.warp_phase(phase, warp), atol=1e-5)
    assert (np.diff(at) > 0).all()
    if warp < 0.14:
        assert float(warp_phase(duty, warp)) == pytest.approx(0.39, abs=1e-4)


FRAMES, CLOCK = 200, Clock(0.0, 0.04)
SECONDS = CLOCK.step * np.arange(FRAMES)


def layered(below: Array, name: str) -> Array:
    work = empty_workspace(FRAMES, 1)
    work.channels[:] = below
    add_layer(work, segment(name, 1.0, 5.0, repetitions=4), ACTIONS, person(), CLOCK)
    return work.channels


def test_a_layer_changes_only_its_own_channels() -> None:
    below = np.random.default_rng(5).uniform(-0.1, 0.1, (len(CHANNELS), FRAMES)).astype(np.float32)
    after = layered(below, "wave")
    changed = {CHANNELS[c] for c in np.flatnonzero((after != below).any(1))}
    arm = {c for c in CHANNELS if c.startswith("left_") and ("shoulder" in c or "collar" in c or "elbow" in c)}
    body = {"trunk_lateral", "trunk_rotation", "root_height", "root_lateral"}
    assert changed == arm | {"neck_rotation"} | body
    outside = (SECONDS < 1) | (SECONDS >= 5)
    np.testing.assert_array_equal(after[:, outside], below[:, outside])


def tracked(name: str, amplitude: float, repetitions: int) -> Array:
    work: Workspace = empty_workspace(FRAMES, 1)
    doing = segment(name, 1.0, 6.0, amplitude=amplitude, repetitions=repetitions)
    add_track(work, doing, ACTIONS, person(stature=1.7), 1.0, CLOCK)
    return work.channels


@pytest.mark.parametrize("name", [name for name in LIBRARY.actions if LIBRARY.action(name).support != "gait"])
def test_key_poses_start_from_and_return_to_standing(name: str) -> None:
    channels = tracked(name, 1.0, 2 if LIBRARY.action(name).repetitions else 0)
    assert (channels[:, (SECONDS < 1) | (SECONDS >= 6)] == 0).all()
    assert np.abs(channels[:, np.argmax(SECONDS >= 5.95)]).max() < 2 * DEGREE
    moved = np.abs(channels).max(1) > 0
    used = ACTIONS.poses.used[2 * LIBRARY.index(name)]
    assert not (moved & ~used).any()
