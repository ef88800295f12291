"""Readings of inertial sensors: physics of moved bodies, the sensor model, and scenes at the rate of the sensor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posegen.fields.field import Sequences
from posegen.fields.imu import PLACEMENTS, READINGS, clip_readings, ideal_readings, imu_readings, worn_readings
from posegen.fields.scene_joints import scene_joints
from posegen.foundations.constants import GRID
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import AVERAGE, PARENTS
from tests.fields.conftest import computed

RATE, STATURE, GRAVITY = 100, 1.7, 9.81
OFFSETS = AVERAGE * STATURE
TIMES = np.arange(100) / RATE


def standing() -> np.ndarray:
    joints = np.zeros((22, 3))
    for joint, parent in enumerate(PARENTS[1:], 1):
        joints[joint] = joints[parent] + OFFSETS[joint]
    return np.asarray(joints + np.array([0.0, 0.95, 0.0]))


def turned(angle: np.ndarray, axis: int) -> np.ndarray:
    """Return the standing body [time, 22, 3], turned about an axis through the origin."""
    i, j, _ = ((1, 2, 0), (2, 0, 1), (0, 1, 2))[axis]
    body = np.repeat(standing()[None], len(angle), 0)
    s, c, (a, b) = np.sin(angle)[:, None], np.cos(angle)[:, None], np.moveaxis(body[..., [i, j]], -1, 0)
    body[..., i], body[..., j] = a * c - b * s, a * s + b * c
    return body


def test_a_body_at_rest_reads_gravity_along_the_axis_that_is_up() -> None:
    readings = ideal_readings(turned(0 * TIMES, 1), OFFSETS, STATURE, RATE)
    np.testing.assert_allclose(np.linalg.norm(readings[..., :3], axis=-1), GRAVITY, atol=1e-5)
    np.testing.assert_allclose(readings[..., 3:], 0, atol=1e-5)
    up = {name: readings[0, number, :3] for number, name in enumerate(PLACEMENTS)}
    for name in ("left_wrist", "right_thigh", "chest"):
        np.testing.assert_allclose(up[name], [0, GRAVITY, 0], atol=1e-4)
    np.testing.assert_allclose(up["left_foot"], [0, 0, GRAVITY], atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_turning_body_reads_its_angular_velocity_and_centripetal_force(axis: int) -> None:
    omega = 2.0
    readings = ideal_readings(turned(omega * TIMES, axis), OFFSETS, STATURE, RATE, smoothing=0.0)[5:-5]
    np.testing.assert_allclose(np.linalg.norm(readings[..., 3:], axis=-1), omega, rtol=2e-4)
    # Along the axis of rotation: the axes of the sensors are those of the rest pose, in the order of the placement.
    for number, place in enumerate(PLACEMENTS.values()):
        np.testing.assert_allclose(readings[:, number, 3:], np.tile(omega * place.axes[:, axis], (90, 1)), atol=1e-3)
    place, number = PLACEMENTS["right_wrist"], [*PLACEMENTS].index("right_wrist")
    rest = standing()
    at = rest[place.bone] + place.along * (rest[place.end] - rest[place.bone]) + place.skin * STATURE
    if axis == 1:
        expected = place.axes @ [-at[0] * omega**2, GRAVITY, -at[2] * omega**2]
        np.testing.assert_allclose(readings[:, number, :3], np.tile(expected, (90, 1)), atol=2e-3)


def test_a_falling_body_reads_nothing_and_a_clip_is_interpolated() -> None:
    times = np.arange(40) / 25
    body = turned(0 * times, 1) - (GRAVITY / 2 * times**2)[:, None, None] * [0, 1, 0]
    exact = ideal_readings(body, OFFSETS, STATURE, 25, smoothing=0.0)
    np.testing.assert_allclose(exact[..., :3], 0, atol=1e-5)
    readings = clip_readings(body, 25, RATE, OFFSETS, STATURE)
    assert readings.shape == (160, len(PLACEMENTS), 6)
    assert np.abs(readings[40:120, :, :3]).max() < 0.2


def test_errors_of_sensors_are_those_of_the_person_and_within_the_range() -> None:
    ideal = np.zeros((4000, len(PLACEMENTS), 6))
    one, again, other = (worn_readings(ideal, 3, person, clip, 0) for person, clip in ((5, 1), (5, 2), (6, 1)))
    np.testing.assert_allclose(one.mean(0), again.mean(0), atol=3e-3)
    assert np.abs(one.mean(0) - other.mean(0)).max() > 0.1
    assert not np.array_equal(one, again)
    deviation = one.std(0)
    np.testing.assert_allclose(deviation[:, :3], 0.033, rtol=0.05)
    np.testing.assert_allclose(deviation[:, 3:], 0.00071, rtol=0.2)
    fast = worn_readings(ideal[:1] + 1e4, 3, 5, 1, 0)
    assert np.abs(fast[..., :3]).max() <= 156.91
    steps = one[..., :3] / 2**-8
    np.testing.assert_array_equal(steps, np.rint(steps))
    # A turned sensor reads a vector of the same length.
    ideal[..., 1] = GRAVITY
    length = np.linalg.norm(worn_readings(ideal, 3, 5, 1, 0).mean(0)[:, :3] - one.mean(0)[:, :3], axis=-1)
    np.testing.assert_allclose(length, GRAVITY, atol=5e-3)


def test_scenes_are_computed_at_the_rate_and_are_the_stored_motion(sequences: Sequences) -> None:
    fps = sequences.config.fps
    exact = scene_joints(sequences, fps)
    assert np.nanmax(np.abs(exact - sequences.joints)) <= GRID / 2
    assert np.abs(exact - sequences.joints)[sequences.present].max() > 0
    fast = scene_joints(sequences, READINGS * fps)
    apart = np.linalg.norm((fast[:, :, :, ::READINGS] - sequences.joints)[sequences.present], axis=-1)
    assert np.percentile(apart, 99) < 0.04
    held = sequences.slice(0, 2)
    assert imu_readings(held, 40).shape == (2, 5, 2, sequences.shape[3] * 40 // fps, len(PLACEMENTS), 6)
    with pytest.raises(UsageError, match="the rate of sensors is 20 Hz; it must lie between 25 and 480"):
        imu_readings(held, 20)


def test_readings_of_scenes_and_of_recordings_agree_below_the_rate_of_frames(sequences: Sequences) -> None:
    held = sequences.slice(0, 2)
    rows = [{**row, "source": {"clip": "a"}} for row in held.rows]
    planned, recorded = (computed("imu", each)["imu"] for each in (held, replace(held, rows=rows)))
    strength = [np.linalg.norm(each[..., :3], axis=-1)[held.present].mean(axis=1) for each in (planned, recorded)]
    assert np.corrcoef(*(each.ravel() for each in strength))[0, 1] > 0.7
    assert 0.95 < np.median(strength[0]) / GRAVITY < 1.1
