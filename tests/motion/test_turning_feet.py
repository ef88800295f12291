"""Feet in turns: they pivot on the ball, swing with the body, and bend their ankles within the range of the action."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.motion.feet.footsteps import heading_changes, swing_foot, to_path_frame, to_world_frame
from posegen.motion.feet.legs import RANGE_SECONDS, widen_ankle_range
from posegen.motion.feet.stances import FREE_PITCH, PIVOT, place_stance_foot, rise_on_toes
from posegen.motion.library_tables import library_tables
from posegen.motion.rows import (
    ANKLE_X,
    ANKLE_Z,
    EARLY,
    FIRST,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    LAST,
    LEG_ROWS,
    PATH_X,
    PATH_Z,
    PITCH,
    PRINT_YAW,
    ROOT_ROWS,
    YAW,
)
from posegen.motion.workspace import Clock
from tests.motion.scripted import LIBRARY, segment
from tests.naive import about_x, about_y

Array = NDArray[Any]

_, BALL, _, ANKLE_HEIGHT = FOOT = np.array([0.06, 0.12, 0.02, 0.066])


def toe_of(leg: Array, f: int) -> Array:
    turn = about_y(float(leg[YAW, f])) @ about_x(-float(leg[PITCH, f]))
    return np.asarray(leg[ANKLE_X : ANKLE_X + 3, f].astype(np.float64) + turn @ [0, -ANKLE_HEIGHT, BALL])


@given(st.floats(-0.5, 0.5), st.floats(-0.2, 0.2))
def test_a_foot_on_its_ball_pivots_after_the_body(yaw: float, turned: float) -> None:
    frames, x, z = 30, 0.4, -0.3
    leg = np.zeros((LEG_ROWS, frames), np.float32)
    leg[PITCH] = np.concatenate([np.linspace(0.06, 0, 15), np.linspace(0, -0.1, 15)])
    heading = np.linspace(yaw, yaw + turned, frames).astype(np.float32)
    stance = np.array([0, frames, x, z, yaw + 0.02, 0, 0, 0])
    place_stance_foot(leg, stance, FOOT, heading, 0.02)
    ball = np.array([x + BALL * np.sin(2 * np.pi * stance[PRINT_YAW]), 0, z + BALL * np.cos(2 * np.pi * stance[PRINT_YAW])])
    for f in range(frames):
        share = np.clip(-float(leg[PITCH, f]) / FREE_PITCH, 0, 1)
        eased = share**3 * (10 - 15 * share + 6 * share**2)
        assert leg[YAW, f] == pytest.approx(yaw + 0.02 + PIVOT * eased * (float(heading[f]) - yaw), abs=1e-5)
        if leg[PITCH, f] <= 0:
            raised = float(rise_on_toes(np.float32(np.sin(2 * np.pi * leg[PITCH, f]))))
            np.testing.assert_allclose(toe_of(leg, f), ball + np.array([0, raised, 0]), atol=1e-5)


def turning_root(frames: int, turned: float) -> Array:
    """Rows of the root for a steady turn on the spot, by `turns` in all."""
    root = np.zeros((ROOT_ROWS, frames), np.float32)
    root[HEADING] = np.linspace(0, turned, frames)
    root[HEADING_SIN], root[HEADING_COS] = np.sin(2 * np.pi * root[HEADING]), np.cos(2 * np.pi * root[HEADING])
    root[PATH_X], root[PATH_Z] = 1.5, -0.7
    return root


@given(st.integers(0, 2**32 - 1))
def test_path_and_world_frames_are_inverse(seed: int) -> None:
    generator, frames = np.random.default_rng(seed), 20
    root, leg = turning_root(frames, 0.4), np.zeros((LEG_ROWS, frames), np.float32)
    leg[ANKLE_X], leg[ANKLE_Z] = generator.uniform(-2, 2, (2, frames))
    nominal = generator.uniform(-2, 2, (4, frames)).astype(np.float32)
    before, nominal_before = leg.copy(), nominal.copy()
    to_path_frame(root, leg, nominal)
    for f in range(frames):
        back = about_y(-float(root[HEADING, f]))
        for now, then in (
            (leg[[ANKLE_X, ANKLE_Z], f], before[[ANKLE_X, ANKLE_Z], f]),
            (nominal[[0, 2], f], nominal_before[[0, 2], f]),
        ):
            expected = back @ [then[0] - root[PATH_X, f], 0, then[1] - root[PATH_Z, f]]
            np.testing.assert_allclose(now, expected[[0, 2]], atol=1e-5)
    np.testing.assert_array_equal(nominal[[1, 3]], nominal_before[[1, 3]])
    planted = generator.random(frames) < 0.5
    to_world_frame(root, leg, planted)
    np.testing.assert_array_equal(leg[:, planted], before[:, planted])
    np.testing.assert_allclose(leg, before, atol=1e-5)


def test_a_swinging_foot_turns_with_the_body() -> None:
    frames, lift, land = 31, 10, 20
    root = turning_root(frames, 0.5)
    assert heading_changes(root[HEADING])
    assert not heading_changes(np.full(5, 0.3, np.float32))
    leg, nominal = np.zeros((LEG_ROWS, frames), np.float32), np.zeros((4, frames), np.float32)
    beside = 0.1  # metres to the left of the body, of both the foot and its nominal course
    nominal[0] = root[PATH_X] + beside * root[HEADING_COS]
    nominal[2] = root[PATH_Z] - beside * root[HEADING_SIN]
    for held, at in ((slice(0, lift + 1), lift // 2), (slice(land, frames), (land + frames) // 2)):
        leg[ANKLE_X, held], leg[ANKLE_Z, held] = nominal[0, at], nominal[2, at]
    stances = np.zeros((2, 8))
    stances[0, [FIRST, LAST]], stances[1, [FIRST, LAST, EARLY]] = (0, lift + 1), (land, frames, 0)
    planted = np.ones(frames, bool)
    planted[lift + 1 : land] = False
    to_path_frame(root, leg, nominal)
    swing_foot(leg, nominal, stances[:2], np.zeros(frames, np.float32), 2.0, 8.0)
    to_world_frame(root, leg, planted)
    away = np.hypot(leg[ANKLE_X] - root[PATH_X], leg[ANKLE_Z] - root[PATH_Z])
    ends = leg[:, [lift, land]].mean(1)
    straight = np.hypot(ends[ANKLE_X] - root[PATH_X, 0], ends[ANKLE_Z] - root[PATH_Z, 0])
    assert straight < 0.8 * beside
    assert (np.abs(away[lift:land] - beside) < 0.15 * beside).all()


def test_ankles_bend_up_to_the_range_of_the_action() -> None:
    actions = library_tables(LIBRARY)
    for i, name in enumerate(LIBRARY.actions):
        range_ = LIBRARY.action(name).ranges.get("ankle_dorsiflexion")
        wider = range_.max - 20 if range_ and range_.max else 0
        assert actions.numbers["bend"][2 * i : 2 * i + 2] * 360 == pytest.approx([0.8 * wider] * 2)
    row, clock = np.zeros(200, np.float32), Clock(0.0, 0.04)
    squat = segment("squat", 1.0, 6.0)
    squat.shown_start, squat.shown_end = 2.0, 5.0  # it overlaps with its neighbours, in which their own range holds
    widen_ankle_range(squat, 0.04, clock, row)
    seconds = 0.04 * np.arange(200)
    assert row[(seconds > 2.01) & (seconds < 4.99)] == pytest.approx(0.04)
    assert (row[(seconds < 2 - RANGE_SECONDS) | (seconds > 5 + RANGE_SECONDS)] == 0).all()
    assert (np.diff(row[:60]) >= 0).all()
