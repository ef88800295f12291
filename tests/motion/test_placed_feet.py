"""Feet that actions place themselves: lifts, landings and swings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.foundations.scene import LEFT, RIGHT
from posegen.foundations.skeleton import CONTACTS, JOINTS, MIRROR_JOINTS
from posegen.motion.feet.footsteps import guide_swings
from posegen.motion.feet.stances import guide_footprints, guided_from, moved_foot
from posegen.motion.key_poses import mark_intervals, repetition_span, stage_bounds, time_in_stage
from posegen.motion.library_tables import CYCLE, ENTER, EXIT, LIFTED, PLACED, library_tables
from posegen.motion.rows import (
    FIRST,
    FOOT_ASIDE,
    FOOT_FORWARD,
    GUIDED,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    LAST,
    PATH_X,
    PATH_Z,
    PRINT_HEIGHT,
    PRINT_X,
    PRINT_Z,
    ROOT_ROWS,
)
from posegen.motion.scene_arrays import segment_records
from posegen.motion.timeline import glide
from posegen.motion.workspace import Clock
from tests.motion.scripted import LIBRARY, SegmentSpec, animated, person, scripted, segment

Array = NDArray[Any]

FPS = 25
LEFT_FOOT, RIGHT_FOOT = LIFTED["left"], LIFTED["right"]
FORWARD, ASIDE, UP, PITCHED = range(4)


def test_a_fraction_of_a_stage_is_a_time() -> None:
    someone, lunge = person(seed=3), segment("lunge", 2.0, 8.0, repetitions=2)
    enter_end, exit_begin = stage_bounds(lunge)
    assert time_in_stage(lunge, ENTER, 0.5, 0, someone.draws) == pytest.approx((2.0 + enter_end) / 2)
    assert time_in_stage(lunge, EXIT, 1.0, 0, someone.draws) == pytest.approx(8.0)
    begin, length = repetition_span(lunge, someone.draws, 1)
    assert time_in_stage(lunge, CYCLE, 0.25, 1, someone.draws) == pytest.approx(begin + 0.25 * length)
    held = segment("kneel", 0.0, 10.0)
    enter_end, exit_begin = stage_bounds(held)
    assert time_in_stage(held, CYCLE, 0.5, 0, someone.draws) == pytest.approx((enter_end + exit_begin) / 2)


@given(st.floats(-3, 3), st.sampled_from([1 / 25, 1 / 30, 1 / 120]), st.booleans())
def test_interval_frames_lie_within_the_interval(first: float, step: float, right: bool) -> None:
    someone, known = person(seed=4), library_tables(LIBRARY)
    lunge, clock = segment("lunge", 0.0, 6.0, repetitions=2, right=right), Clock(first, step)
    marks = np.zeros(400, np.bool_)
    mark_intervals(lunge, known, someone.draws, clock, RIGHT_FOOT if right else LEFT_FOOT, marks)
    seconds = first + step * np.arange(400)
    expected = np.zeros(400, np.bool_)
    for number in range(2):
        for lift in LIBRARY.action("lunge").lifts:
            ends = (time_in_stage(lunge, CYCLE, at, number, someone.draws) for at in (lift.begin, lift.end))
            begin, end = ends
            expected |= (seconds >= begin) & (seconds < end)
    differing = np.flatnonzero(marks != expected)
    # A time on a frame may round to either side.
    assert len(differing) <= 1
    other = np.zeros(400, np.bool_)
    mark_intervals(lunge, known, someone.draws, clock, LEFT_FOOT if right else RIGHT_FOOT, other)
    assert not other.any()


def course(frames: int, speed: float = 0.0, heading: float = 0.0) -> Array:
    root = np.zeros((ROOT_ROWS, frames), np.float32)
    root[HEADING], root[HEADING_SIN], root[HEADING_COS] = heading, np.sin(2 * np.pi * heading), np.cos(2 * np.pi * heading)
    far = speed * np.arange(frames) / FPS
    root[PATH_X], root[PATH_Z] = far * root[HEADING_SIN], far * root[HEADING_COS]
    return root


def stances(*bounds: tuple[int, int]) -> Array:
    rows = np.zeros((len(bounds), 6))
    for row, (first, last) in zip(rows, bounds, strict=True):
        row[FIRST], row[LAST] = first, last
    return rows


@pytest.mark.parametrize(("side", "out"), [(0, 1.0), (1, -1.0)])
def test_a_placed_foot_lands_where_its_channels_put_it(side: int, out: float) -> None:
    heading = 0.125
    root, foot = course(100, heading=heading), np.zeros((4, 100), np.float32)
    root[GUIDED, 20:90] = PLACED
    foot[FORWARD, 40:], foot[ASIDE, 40:], foot[UP, 70:] = 0.5, 0.2, 0.3
    rows = stances((0, 30), (40, 60), (70, 100))
    rows[0, [PRINT_X, PRINT_Z]] = 1.0, 2.0
    raised = guide_footprints(root, foot, np.zeros(100, np.float32), side, 0.8, 0.0, rows[:3])
    s, c = np.sin(2 * np.pi * heading), np.cos(2 * np.pi * heading)
    forward, aside = 0.8 * 0.5, 0.8 * 0.2 * out
    assert rows[1, PRINT_X] == pytest.approx(1.0 + forward * s + aside * c, abs=1e-6)
    assert rows[1, PRINT_Z] == pytest.approx(2.0 + forward * c - aside * s, abs=1e-6)
    # Between the second and third landing only the height changes.
    assert rows[2, [PRINT_X, PRINT_Z]] == pytest.approx(rows[1, [PRINT_X, PRINT_Z]])
    assert rows[:, PRINT_HEIGHT] == pytest.approx([0.0, 0.0, 0.8 * 0.3])
    assert raised


def test_footprints_follow_the_path_in_crawling() -> None:
    root, foot = course(100, speed=0.5), np.zeros((4, 100), np.float32)
    root[GUIDED] = PLACED
    rows = stances((0, 30), (40, 60), (70, 100))
    assert not guide_footprints(root, foot, np.zeros(100, np.float32), 0, 0.8, 0.0, rows[:3])
    assert rows[:, PRINT_Z] == pytest.approx(0.5 / FPS * rows[:, FIRST], abs=1e-6)


def test_the_first_footprint_follows_path_and_channels() -> None:
    root, foot = course(50), np.zeros((4, 50), np.float32)
    root[GUIDED] = PLACED
    foot[FORWARD] = 0.4
    rows, ahead = stances((0, 50)), np.full(50, 0.25, np.float32)
    rows[0, PRINT_Z] = 0.25  # planned by the leg angles
    guide_footprints(root, foot, ahead, 0, 0.8, 0.01, rows[:1])
    assert rows[0, PRINT_Z] == pytest.approx(0.8 * 0.4 + 0.01, abs=1e-6)


def test_a_stance_is_guided_from_the_begin_of_the_action() -> None:
    root = course(50)
    root[GUIDED, 20:] = PLACED
    assert guided_from(root, stances((5, 30))[0]) == 20
    assert guided_from(root, stances((25, 30))[0]) == 25
    assert guided_from(root, stances((5, 15))[0]) == 14


def test_a_guided_swing_leads_from_footprint_to_footprint() -> None:
    root, foot = course(60), np.zeros((4, 60), np.float32)
    root[GUIDED] = PLACED
    foot[FORWARD, 20:40], foot[FORWARD, 40:] = np.linspace(0, 0.5, 20), 0.5
    foot[UP, 20:40] = 0.1 * np.sin(np.linspace(0, np.pi, 20))
    rows, nominal = stances((0, 20), (40, 60)), np.full((4, 60), 7.0, np.float32)
    airborne = np.zeros(60, np.bool_)
    airborne[30:32] = True
    guide_footprints(root, foot, np.zeros(60, np.float32), 0, 0.8, 0.0, rows[:2])
    guide_swings(root, foot, 0, 0.8, 0.07, airborne, rows[:2], nominal)
    assert nominal[2] == pytest.approx(0.8 * foot[FORWARD], abs=1e-6)
    assert nominal[1][~airborne] == pytest.approx((0.07 + 0.8 * foot[UP])[~airborne], abs=1e-6)
    # Airborne heights and the yaw are not changed.
    assert (nominal[1][airborne] == 7.0).all()
    assert (nominal[3] == 7.0).all()


def test_gliding_travels_between_the_stages() -> None:
    crawl = segment("crawling", 1.0, 11.0, repetitions=4, speed=0.4)
    enter_end, exit_begin = stage_bounds(crawl)
    speed, seconds = np.zeros(300, np.float32), np.arange(300) / FPS
    glide(crawl, Clock(0.0, 1 / FPS), speed)
    assert not speed[(seconds <= enter_end) | (seconds >= exit_begin)].any()
    assert speed[(seconds > enter_end + 0.8) & (seconds < exit_begin - 0.8)] == pytest.approx(0.4)
    assert speed.max() <= np.float32(0.4)


def clip(action: str, side: int, repetitions: int, seconds: float) -> tuple[Array, Array]:
    """Joints and contacts of an action between two segments of standing."""
    frames = round((seconds + 2) * FPS)
    doing = SegmentSpec(action, 1.0, 1.0 + seconds, side=side, repetitions=repetitions, speed=speed_of(action))
    scenes = scripted(SegmentSpec("stand", -2.0, 1.0), doing, SegmentSpec("stand", 1.0 + seconds, seconds + 4), frames=frames)
    motion = animated(scenes, frames, FPS)
    return motion.joints[0, 0], motion.contact[0, 0]


def speed_of(action: str) -> float:
    speeds = LIBRARY.action(action).speed
    return 0.5 * sum(speeds) if speeds else 0.0


def performed_travels(action: str) -> bool:
    """Whether the strategy that :func:`clip` shows travels without a gait."""
    scenes = scripted(SegmentSpec("stand", -2.0, 1.0), SegmentSpec(action, 1.0, 4.0), frames=100)
    shown = segment_records(scenes, LIBRARY)[0, 0, 1]
    return bool(shown["last_travel"] > shown["first_travel"])


def beside_body(joints: Array) -> Array:
    """Ankles to the left of the pelvis and ahead of it, [frames, 2 ankles, 2]."""
    left = (joints[:, JOINTS.index("left_hip")] - joints[:, JOINTS.index("right_hip")])[:, None, [0, 2]]
    left = left / np.linalg.norm(left, axis=-1, keepdims=True)
    ahead = np.stack([-left[..., 1], left[..., 0]], axis=-1)
    ankles = (joints[:, [JOINTS.index("left_ankle"), JOINTS.index("right_ankle")]] - joints[:, :1])[..., [0, 2]]
    return np.stack([(ankles * left).sum(-1), (ankles * ahead).sum(-1)], axis=-1)


GUIDED_ACTIONS = sorted(name for name in LIBRARY.actions if LIBRARY.action(name).lifts)


@pytest.mark.parametrize("action", GUIDED_ACTIONS)
def test_actions_with_lifts_return_to_standing(action: str) -> None:
    entry = LIBRARY.action(action)
    repetitions = entry.repetitions[0] if entry.repetitions else 0
    seconds = entry.enter + entry.exit + (repetitions * entry.cycle if repetitions else 3.0)
    sides = (LEFT, RIGHT) if entry.sided else (LEFT,)
    clips = [clip(action, side, repetitions, seconds) for side in sides]
    for joints, contact in clips:
        feet = joints[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")]]
        planted = contact[:, [1, 3]] == 1
        # Touching feet do not move, and no foot is below the floor.
        still = planted[1:] & planted[:-1]
        moved = np.linalg.norm(np.diff(feet, axis=0)[..., ::2], axis=-1)
        assert moved[still].max() < 0.012
        assert feet[..., 1].min() > -0.01
        bones = np.linalg.norm(joints[:, JOINTS.index("left_knee")] - joints[:, JOINTS.index("left_ankle")], axis=-1)
        assert bones == pytest.approx(bones[0], abs=1e-3)
        assert planted[-1].all()
        # A body that turned on the way stands as before it.
        assert beside_body(joints)[-1] == pytest.approx(beside_body(joints)[0], abs=0.03)
        gone = joints[-1, 0] - joints[0, 0]
        assert abs(gone[1]) < 0.01
        if not performed_travels(action):
            assert abs(gone[0]) < 0.03
            assert gone[2] == pytest.approx(0.0, abs=0.03) if not entry.speed else gone[2] > 0.3
    if len(clips) == 2:
        mirrored = clips[1][0][:, MIRROR_JOINTS] * np.array([-1.0, 1.0, 1.0])
        assert np.abs(clips[0][0][:, 0, 1] - mirrored[:, 0, 1]).max() < 0.02


@given(st.integers(0, 2**31), st.booleans())
def test_a_foot_keeps_its_place_beside_a_body_that_turns(seed: int, right: bool) -> None:
    draws = np.random.default_rng(seed)
    root, foot = draws.normal(0, 1, (ROOT_ROWS, 2)), draws.normal(0, 0.3, (4, 2))
    root[HEADING_SIN], root[HEADING_COS] = np.sin(2 * np.pi * root[HEADING]), np.cos(2 * np.pi * root[HEADING])
    stance = draws.normal(0, 1, 8)
    at = np.array([stance[[PRINT_X, PRINT_Z]], moved_foot(root, foot, int(right), stance, 0, 1, 0.9)])
    sine, cosine = root[HEADING_SIN], root[HEADING_COS]
    x, z = at[:, 0] - root[PATH_X], at[:, 1] - root[PATH_Z]
    left, ahead = x * cosine - z * sine, x * sine + z * cosine
    moved = 0.9 * np.diff(foot[[FOOT_ASIDE, FOOT_FORWARD]])[:, 0] * [-1 if right else 1, 1]
    assert [left[1] - left[0], ahead[1] - ahead[0]] == pytest.approx(moved, abs=1e-9)


@pytest.mark.parametrize("stature", [1.25, 1.7, 1.95])
def test_knees_that_touch_are_at_the_floor(stature: float) -> None:
    # Shorter legs are slower, as in planned scenes.
    pace = float(np.sqrt(stature / 1.7))
    for action, repetitions, seconds in (("kneel", 0, 6.0), ("crawling", 3, 8.65)):
        frames = round((seconds + 2) * FPS)
        doing = SegmentSpec(action, 1.0, 1.0 + seconds, side=LEFT, repetitions=repetitions, speed=pace * speed_of(action))
        segments = (SegmentSpec("stand", -2.0, 1.0), doing, SegmentSpec("stand", 1.0 + seconds, seconds + 4))
        motion = animated(scripted(*segments, frames=frames, stature=stature), frames, FPS)
        for side in ("left", "right"):
            touching = motion.contact[0, 0, :, CONTACTS.index(f"{side}_knee")] == 1
            height = motion.joints[0, 0, touching, JOINTS.index(f"{side}_knee"), 1]
            assert touching.any()
            assert height.min() > 0.0
            assert height.max() < 0.075 * stature
