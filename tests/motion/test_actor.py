"""One actor before rounding to the grid: bone lengths, sway, lean and gaze."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.foundations.scene import Scenes
from posegen.foundations.skeleton import PARENTS
from posegen.library.channels import CHANNELS
from posegen.motion.channels import add_sway, lean_into_curves, lean_with_acceleration, look_ahead, turn_shoulders, wander
from posegen.motion.engine import LEG_JOINTS
from posegen.motion.key_poses import flight_begin, flight_seconds, mark_airborne
from posegen.motion.rows import ACCELERATION, GAIT_WEIGHT, HEADING, ODOMETER, ROOT_ROWS, SPEED, TURNING
from posegen.motion.workspace import Clock, Workspace
from tests.motion.acted import MARGIN, acted
from tests.motion.scripted import LIBRARY, SegmentSpec, person, scripted, segment

Array = NDArray[Any]

FRAMES = 250


def joints_of(work: Workspace) -> Array:
    """Joints [22, 3, frames] of the stored frames."""
    joints = work.joints.astype(np.float64)
    for side in range(2):
        for i, row in enumerate(LEG_JOINTS):
            joints[1 + side + 3 * i] = work.legs[side, row : row + 3]
    return np.asarray(joints[..., MARGIN : MARGIN + FRAMES])


SCENES = [
    scripted(
        SegmentSpec("stand", -2, 2), SegmentSpec("walk", 2, 7, speed=1.5, turn=100), SegmentSpec("sit", 7, 13), frames=FRAMES
    ),
    scripted(
        SegmentSpec("run", -3, 4, speed=3.4),
        SegmentSpec("turn", 4, 6, turn=-170),
        SegmentSpec("jump", 6, 9, repetitions=1),
        SegmentSpec("wave", 1, 6, repetitions=5, layered=True),
        frames=FRAMES,
    ),
    scripted(
        SegmentSpec("squat", -3, 4, repetitions=3),
        SegmentSpec("bow", 4, 7, repetitions=1),
        SegmentSpec("walk", 7, 14, speed=0.7),
        frames=FRAMES,
    ),
]


@settings(max_examples=15)
@given(st.sampled_from(SCENES), st.floats(1.45, 2.0), st.integers(0, 2**32 - 1), st.floats(-25, 25), st.floats(-25, 25))
def test_bones_keep_their_length(scenes: Scenes, stature: float, seed: int, x: float, z: float) -> None:
    someone = person(stature, seed)
    joints = joints_of(acted(scenes, LIBRARY, someone, place=(x, z)))
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            lengths = np.sqrt(((joints[joint] - joints[parent]) ** 2).sum(0))
            expected = np.sqrt((someone.offsets[joint].astype(np.float64) ** 2).sum())
            np.testing.assert_allclose(lengths, expected, atol=1e-5)


@pytest.mark.parametrize("scenes", SCENES)
def test_former_content_of_the_workspace_has_no_effect(scenes: Scenes) -> None:
    clean = acted(scenes, LIBRARY, person())
    used = acted(SCENES[1], LIBRARY, person(1.9), place=(3.0, 1.0))
    acted(scenes, LIBRARY, person(), work=used)
    np.testing.assert_array_equal(joints_of(used), joints_of(clean))
    np.testing.assert_array_equal(used.contact, clean.contact)


def test_sway_is_continuous_and_small() -> None:
    someone = person(seed=3)
    channels = np.zeros((len(CHANNELS), 3000), np.float32)
    add_sway(channels, someone.sway, someone.draws, Clock(0.0, 0.04))
    swaying = someone.sway != 0
    assert (channels[~swaying] == 0).all()
    assert (np.abs(channels[swaying]).max(1) <= 1.451 * someone.sway[swaying]).all()
    assert (np.abs(channels[swaying]).max(1) > 0.8 * someone.sway[swaying]).all()
    still = (np.diff(channels[swaying], axis=1) == 0).mean()
    assert still < 0.01


def test_the_trunk_leans_into_curves() -> None:
    root, row = np.zeros((ROOT_ROWS, 2), np.float32), np.zeros(2, np.float32)
    root[SPEED], root[TURNING] = 3.0, [0.1, -0.1]
    lean_into_curves(root, row)
    half = 0.5 * 3.0 * 2 * np.pi * 0.1 / 9.81 / (2 * np.pi)  # radians of balance, to turns
    np.testing.assert_allclose(row, [half, -half], rtol=1e-5)  # a turn to the left leans to the left


def test_the_head_leads_a_turn() -> None:
    root, row = np.zeros((ROOT_ROWS, 100), np.float32), np.zeros(100, np.float32)
    root[HEADING, 50:] = 0.25
    look_ahead(root, row, 11)
    np.testing.assert_array_equal(np.flatnonzero(row), np.arange(39, 50))
    np.testing.assert_allclose(row[39:50], 0.6 * 0.12, rtol=1e-5)


def test_the_shoulders_lead_a_turn_and_the_head_keeps_its_direction() -> None:
    root, trunk, neck = np.zeros((ROOT_ROWS, 100), np.float32), np.zeros(100, np.float32), np.zeros(100, np.float32)
    root[HEADING, 50:] = 0.05
    turn_shoulders(root, trunk, neck, 6)
    np.testing.assert_array_equal(np.flatnonzero(trunk), np.arange(44, 50))
    np.testing.assert_allclose(trunk[44:50], 0.55 * 0.05, rtol=1e-5)
    np.testing.assert_allclose(neck, -0.8 * trunk, rtol=1e-5)


def test_the_body_leans_with_its_acceleration_and_thighs_keep_their_direction() -> None:
    root, channels = np.zeros((ROOT_ROWS, 2), np.float32), np.zeros((len(CHANNELS), 2), np.float32)
    root[ACCELERATION] = [2.0, -3.0]
    lean_with_acceleration(root, channels)
    rows = {name: 360 * channels[CHANNELS.index(name)] for name in ("pelvis_tilt", "trunk_flexion", "left_hip_flexion")}
    np.testing.assert_allclose(rows["pelvis_tilt"] + rows["trunk_flexion"], [3.2, -4.8], rtol=1e-5)  # .7 to 1.8 degrees
    np.testing.assert_array_equal(rows["left_hip_flexion"], rows["pelvis_tilt"])


def test_the_trunk_wanders_in_gaits_alone() -> None:
    root, row, neck = np.zeros((ROOT_ROWS, 400), np.float32), np.zeros(400, np.float32), np.zeros(400, np.float32)
    root[ODOMETER], root[GAIT_WEIGHT, 200:] = 0.05 * np.arange(400), 1.0
    wander(root, row, neck, person(seed=3).draws)
    np.testing.assert_array_equal(neck, -row)
    assert (row[:200] == 0).all()
    assert 1.5 < 360 * np.ptp(row[200:]) < 4.2


def test_airborne_frames_are_those_of_the_flight() -> None:
    someone, clock = person(seed=4), Clock(-1.0, 0.01)
    jump = segment("jump", 1.0, 6.0, repetitions=3)
    airborne = np.zeros(900, np.bool_)
    mark_airborne(jump, someone.draws, clock, airborne)
    seconds = clock.first + clock.step * np.arange(900)
    expected = np.zeros(900, bool)
    for number in range(3):
        lift = flight_begin(jump, someone.draws, number, 0)
        expected |= (seconds > lift) & (seconds < lift + flight_seconds(jump))
    assert expected.sum() > 120
    np.testing.assert_array_equal(airborne, expected)
