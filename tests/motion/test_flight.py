"""Free fall: the centre of mass of an airborne body follows a parabola."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.evaluation.body import centre_of_mass, joint_angles
from posegen.motion.engine import LEG_JOINTS, centre_height, fall_freely, mark_flight
from posegen.motion.rows import GAIT_WEIGHT, HEEL_HEIGHT, LEG_ROWS, ROOT_ROWS, TOE_HEIGHT
from posegen.motion.workspace import Clock
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, scripted

Array = NDArray[Any]

STEP = 0.02
SEEDS = st.integers(0, 2**32 - 1)


def body(seed: int, frames: int) -> tuple[Array, Array]:
    """Joints and legs at random positions."""
    generator = np.random.default_rng(seed)
    return tuple(generator.uniform(0, 2, shape).astype(np.float32) for shape in ((22, 3, frames), (2, LEG_ROWS, frames)))  # type: ignore[return-value]


def whole(joints: Array, legs: Array) -> Array:
    """All joints [frame, 22, 3]."""
    every = joints.astype(np.float64)
    for side in range(2):
        for i, row in enumerate(LEG_JOINTS):
            every[1 + side + 3 * i] = legs[side, row : row + 3]
    return np.asarray(np.moveaxis(every, -1, 0))


@given(SEEDS)
def test_height_of_the_centre_of_mass(seed: int) -> None:
    joints, legs = body(seed, 3)
    expected = centre_of_mass(whole(joints, legs))[:, 1]
    assert [centre_height(joints, legs, f) for f in range(3)] == pytest.approx(expected, abs=1e-5)


@given(SEEDS, st.integers(3, 25))
def test_flights_fall_freely_and_other_frames_are_unchanged(seed: int, seconds: int) -> None:
    joints, legs = body(seed, 40)
    legs[:, [HEEL_HEIGHT, TOE_HEIGHT]] = 9.0  # above the floor
    before, free = whole(joints, legs), np.zeros(40, np.bool_)
    flight = slice(8, 8 + seconds)
    free[flight] = True
    fall_freely(free, Clock(0.0, STEP, 5, 33), joints, legs)
    after = whole(joints, legs)
    height = centre_of_mass(after)[flight, 1]
    np.testing.assert_allclose(np.diff(height, 2) / STEP**2, -9.81, atol=0.03)
    moved = (after - before)[flight]
    np.testing.assert_allclose(
        moved, np.broadcast_to(moved[:, :1], moved.shape), atol=1e-6
    )  # all joints alike, and only vertically
    assert (moved[:, :, [0, 2]] == 0).all()
    still = np.ones(40, bool)
    still[9 : 7 + seconds] = False
    np.testing.assert_array_equal(after[still], before[still])


def test_free_fall_keeps_feet_above_the_floor() -> None:
    joints, legs = body(3, 40)
    legs[:, [HEEL_HEIGHT, TOE_HEIGHT]] = 0.01
    before, free = whole(joints, legs), np.arange(40) % 8 > 0
    fall_freely(free, Clock(0.0, STEP, 0, 40), joints, legs)
    moved = (whole(joints, legs) - before)[..., 1]
    assert moved.min() == pytest.approx(-0.01, abs=1e-6)
    assert moved.max() > 0.1


def test_flight_frames_are_marked() -> None:
    root, planted = np.zeros((ROOT_ROWS, 5), np.float32), np.array([[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]], np.bool_)
    root[GAIT_WEIGHT, :4] = [1, 1, 1, 0.2]
    free = np.array([0, 0, 0, 0, 1], np.bool_)
    mark_flight(root, planted, free)
    assert free.tolist() == [True, False, False, True, True]


@pytest.mark.parametrize("action", ["jump", "shooting"])
def test_jumps_take_off_with_extended_knees(action: str) -> None:
    fps, one = 100, LIBRARY.action(action)
    end = 1 + one.enter + one.cycle + one.exit
    scenes = scripted(
        SegmentSpec("stand", -2, 1), SegmentSpec(action, 1, end, repetitions=1), SegmentSpec("stand", end, end + 3), frames=500
    )
    motion = animated(scenes, 500, fps)
    touching = (motion.contact[0, 0, :, :4] == 1).any(-1)
    last = np.flatnonzero(touching[:-1] & ~touching[1:])[0]
    angles = joint_angles(motion.joints[0, 0].astype(np.float64))
    knees = [angles[f"{side}_knee_flexion"][last] for side in ("left", "right")]
    assert min(knees) < 14
    assert max(knees) < 26  # where one foot stands ahead, its leg need not be straight
    assert angles["left_knee_flexion"][:last].max() > 60
