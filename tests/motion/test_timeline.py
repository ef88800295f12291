"""The course of the root: speed, turning, cadence and phase over time, and the path that follows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.motion.gait.curves import run_contact_seconds
from posegen.motion.gait.steps import (
    AHEAD,
    ASIDE,
    BOUNCES,
    CADENCE,
    CLEARANCE,
    FASTEST_STEPS,
    HOP,
    LIMP,
    LONE_SIDE,
    RUN,
    STANDING_LIFT,
    STEP,
    STEP_LENGTH,
    STRIDE_PARAMETERS,
    WALK,
    stride_rate,
)
from posegen.motion.rows import (
    ACCELERATION,
    APART,
    ASIDE_SPEED,
    DUTY,
    GAIT_WEIGHT,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    LIMPING,
    LONE_FOOT,
    ODOMETER,
    PATH_X,
    PATH_Z,
    PHASE,
    RATE,
    ROOT_ROWS,
    RUN_CONTACT,
    RUN_PERIOD,
    RUN_WEIGHT,
    SPEED,
    STEP_WEIGHT,
    TURNING,
)
from posegen.motion.timeline import (
    STANDING_DUTY,
    STANDING_PHASE,
    fill_acceleration,
    fill_ramp,
    fill_speeds,
    integrate_path,
    pace,
    plan_ramps,
    plan_rates,
    segment_rates,
)
from posegen.motion.workspace import SEGMENT, Clock, Role, empty_workspace

Array = NDArray[Any]

LEG = 0.85
STAND = 0
SEEDS = st.integers(0, 2**32 - 1)


class SegmentSpec(NamedTuple):
    gait: int
    seconds: float
    speed: float = 0.0
    turn: float = 0.0
    manner: tuple[tuple[int, float], ...] = ()


def manners(segments: list[SegmentSpec]) -> Array:
    """Stride parameters of plain steps, changed by the segments."""
    rows = np.zeros((len(segments), STRIDE_PARAMETERS))
    rows[:, AHEAD] = rows[:, CADENCE] = 1
    rows[:, CLEARANCE] = STANDING_LIFT
    rows[:, BOUNCES] = [{RUN: 2, HOP: 1}.get(segment.gait, 0) for segment in segments]
    for row, segment in zip(rows, segments, strict=True):
        for column, value in segment.manner:
            row[column] = value
    return rows


def run_course(segments: list[SegmentSpec], *, fps: int = 25, phase: float = 0.0, left_leads: bool = True) -> Array:
    """Rows of the root from the begin of the first segment to the end of the last one."""
    records = np.zeros(len(segments), SEGMENT)
    records["end"] = np.cumsum([segment.seconds for segment in segments])
    records["start"][1:] = records["end"][:-1]
    records["shown_start"], records["shown_end"] = records["start"], records["end"]
    for name in ("gait", "speed"):
        records[name] = [getattr(segment, name) for segment in segments]
    turn = np.array([segment.turn for segment in segments])
    start = np.array((phase, 0.0, 0.0, 0.0, 0.0))
    role = Role(len(segments), records, turn, left_leads, start, np.zeros((0, 6)))
    frames = int(records["end"][-1] * fps) + 1
    work, clock = empty_workspace(frames, len(segments)), Clock(0.0, 1.0 / fps)
    work.strides[:] = manners(segments)
    segment_rates(work, role, LEG)
    plan_ramps(work, role)
    phase = plan_rates(work, role)
    fill_speeds(work, role, clock)
    root = work.root
    integrate_path(root, clock, phase, 0.0, 0.0, 0.0)
    return root


@st.composite
def stories(draw: st.DrawFn) -> list[SegmentSpec]:
    """From standing through up to three gaits to standing, perhaps twice."""
    segments = [SegmentSpec(STAND, draw(st.floats(1.5, 3)))]
    for _ in range(draw(st.integers(1, 2))):
        for gait in draw(st.lists(st.sampled_from([WALK, RUN, STEP]), min_size=1, max_size=3)):
            low, high = {WALK: (0.6, 2.1), RUN: (2.4, 3.6), STEP: (0, 0)}[gait]
            shortest = 1.6 if gait == RUN else 1.2  # 2 s at a tempo of 1.25
            segments.append(
                SegmentSpec(gait, draw(st.floats(shortest, 6)), draw(st.floats(low, high)), draw(st.floats(-0.5, 0.5)))
            )
        segments.append(SegmentSpec(STAND, draw(st.floats(1.5, 3))))
    return segments


@given(stories(), st.booleans())
def test_a_run_of_steps_ends_with_both_feet_on_the_ground(segments: list[SegmentSpec], left_leads: bool) -> None:
    root = run_course(segments, fps=120, left_leads=left_leads).astype(np.float64)
    resting = (root[GAIT_WEIGHT] == 0) & (root[RATE] == 0)
    halves = 2 * (root[PHASE, resting] - STANDING_PHASE)
    np.testing.assert_allclose(halves, np.rint(halves), atol=5e-3)
    assert root[PHASE, 0] == pytest.approx(STANDING_PHASE + 0.5 * left_leads)
    boundaries = np.flatnonzero(np.diff(resting.astype(int)))
    steps = np.diff(2 * root[PHASE, boundaries])[::2]
    assert (steps > 1.5).all()  # both feet step


@given(stories())
def test_the_heading_turns_as_the_segments_demand(segments: list[SegmentSpec]) -> None:
    root = run_course(segments)
    total = sum(segment.turn for segment in segments)
    assert root[HEADING, -1] - root[HEADING, 0] == pytest.approx(
        total, abs=0.01 * sum(abs(segment.turn) for segment in segments) + 1e-4
    )


@given(st.sampled_from([(WALK, 1.3), (RUN, 3.0), (STEP, 0.0)]), st.floats(-0.5, 0.5), st.floats(1.4, 6))
def test_each_segment_turns_by_its_own_turn(gait: tuple[int, float], turn: float, seconds: float) -> None:
    root = run_course([SegmentSpec(STAND, 2), SegmentSpec(gait[0], seconds, gait[1], turn), SegmentSpec(STAND, 2)])
    assert root[HEADING, -1] == pytest.approx(turn, rel=0.01, abs=1e-5)


@given(stories())
def test_the_path_is_the_integral_of_speed_along_the_heading(segments: list[SegmentSpec]) -> None:
    fps = 50
    root = run_course(segments, fps=fps).astype(np.float64)
    x = integral(root[SPEED] * np.sin(2 * np.pi * root[HEADING]), fps)
    z = integral(root[SPEED] * np.cos(2 * np.pi * root[HEADING]), fps)
    np.testing.assert_allclose(root[PATH_X], x, atol=1e-4)
    np.testing.assert_allclose(root[PATH_Z], z, atol=1e-4)
    np.testing.assert_allclose(root[PHASE] - root[PHASE, 0], integral(root[RATE], fps), atol=1e-4)
    np.testing.assert_allclose(root[ODOMETER], integral(root[SPEED] + 1.5 * np.abs(root[TURNING]), fps), atol=1e-4)
    np.testing.assert_allclose(root[HEADING_SIN], np.sin(2 * np.pi * root[HEADING]), atol=2e-6)
    np.testing.assert_allclose(root[HEADING_COS], np.cos(2 * np.pi * root[HEADING]), atol=2e-6)


def integral(row: Array, fps: int) -> Array:
    return np.concatenate([[0.0], np.cumsum(0.5 * (row[1:] + row[:-1]) / fps)])


@given(st.integers(1, 60), SEEDS)
def test_the_path_is_integrated_backwards_into_the_margin(margin: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    root = np.zeros((ROOT_ROWS, 80), np.float32)
    root[SPEED], root[TURNING], root[RATE] = generator.random(80), generator.uniform(-0.2, 0.2, 80), generator.random(80)
    root[ASIDE_SPEED] = generator.uniform(-1, 1, 80)
    integrate_path(root, Clock(0.0, 0.04, margin), 0.3, 0.1, 5.0, -2.0)
    assert root[PHASE, margin] == pytest.approx(0.3)
    assert root[HEADING, margin] == pytest.approx(0.1)
    assert (root[PATH_X, margin], root[PATH_Z, margin], root[ODOMETER, margin]) == (5, -2, 0)
    whole = root.copy()
    integrate_path(
        whole, Clock(0.0, 0.04), float(root[PHASE, 0]), float(root[HEADING, 0]), float(root[PATH_X, 0]), float(root[PATH_Z, 0])
    )
    for row in (PHASE, HEADING, PATH_X, PATH_Z):
        np.testing.assert_allclose(whole[row], root[row], atol=2e-5)
    np.testing.assert_allclose(np.diff(whole[ODOMETER]), np.diff(root[ODOMETER]), atol=2e-5)


@given(stories())
def test_weights_pass_smoothly_from_segment_to_segment(segments: list[SegmentSpec]) -> None:
    root = run_course(segments, fps=100).astype(np.float64)
    assert root[GAIT_WEIGHT].min() > -1e-5
    assert root[GAIT_WEIGHT].max() < 1 + 1e-5
    assert (root[RUN_WEIGHT] + root[STEP_WEIGHT] <= root[GAIT_WEIGHT] + 1e-5).all()
    assert (root[DUTY][root[GAIT_WEIGHT] == 0] == np.float32(STANDING_DUTY)).all()
    # Acceleration stays below that of a sprinter.
    assert np.abs(np.diff(root[SPEED])).max() * 100 < 12


def test_a_long_segment_reaches_its_speed() -> None:
    root = run_course([SegmentSpec(STAND, 2), SegmentSpec(WALK, 6, 1.3), SegmentSpec(RUN, 4, 3.0), SegmentSpec(STAND, 2)])
    walking, running = 25 * 5, 25 * 10
    assert root[SPEED, walking] == pytest.approx(1.3)
    assert root[DUTY, walking] == pytest.approx(0.642 - 0.035 * 1.3)  # Kirtley 1985
    assert (root[GAIT_WEIGHT, walking], root[RUN_WEIGHT, walking]) == (1, 0)
    assert root[SPEED, running] == pytest.approx(3.0)
    assert root[RUN_WEIGHT, running] == 1
    assert root[DUTY, running] == pytest.approx(0.28 * root[RATE, running], rel=1e-4)
    assert (root[SPEED, [0, 25, -1]] == 0).all()
    period, contact = root[RUN_PERIOD, running], root[RUN_CONTACT, running]
    assert period == pytest.approx(0.5 / root[RATE, running], rel=1e-4)
    assert contact == pytest.approx(0.28, rel=1e-4)


def test_a_scene_may_begin_and_end_in_full_gait() -> None:
    root = run_course([SegmentSpec(WALK, 5, 1.2, 0.1)], phase=0.4)
    np.testing.assert_allclose(root[SPEED], 1.2, rtol=1e-6)
    assert root[PHASE, 0] == pytest.approx(0.4)
    assert root[HEADING, -1] == pytest.approx(0.1, rel=0.01)
    assert root[RATE, 10] == pytest.approx(stride_rate(WALK, 1.2, LEG, 0.1, 5.0))


@pytest.mark.parametrize("speed", [0.7, 1.0, 1.33, 1.7])
def test_walking_cadence_follows_the_walk_ratio(speed: float) -> None:
    cadence = 120 * stride_rate(WALK, speed, 0.9, 0.0, 5.0)
    assert cadence == pytest.approx(np.sqrt(60 * speed / 0.0065))
    assert 60 * speed / cadence / cadence == pytest.approx(0.0065)


def test_cadence_of_a_reference_adult() -> None:
    assert 120 * stride_rate(WALK, 1.33, 0.9, 0.0, 5.0) == pytest.approx(113, abs=3)
    assert 120 * stride_rate(RUN, 2.65, 0.9, 0.0, 5.0) == pytest.approx(153.6)
    assert 120 * stride_rate(RUN, 3.65, 0.9, 0.0, 5.0) == pytest.approx(160.6)


@pytest.mark.parametrize(("speed", "flight"), [(3.0, 0.098), (4.5, 0.143), (6.0, 0.139)])
def test_running_flights_have_the_published_duration(speed: float, flight: float) -> None:
    period = 0.5 / stride_rate(RUN, speed, 0.9, 0.0, 5.0)
    assert period - run_contact_seconds(speed) == pytest.approx(flight, rel=0.15)


BACKWARD = ((AHEAD, -1.0),)
LEFTWARD = ((AHEAD, 0.0), (ASIDE, 1.0))


@given(st.floats(2, 6), st.floats(0.4, 1.0), st.booleans())
def test_backward_steps_reverse_the_stride_and_end_on_both_feet(seconds: float, speed: float, left_leads: bool) -> None:
    root = run_course(
        [SegmentSpec(STAND, 2), SegmentSpec(WALK, seconds, speed, 0.0, BACKWARD), SegmentSpec(STAND, 2)],
        fps=100,
        left_leads=left_leads,
    )
    assert (np.diff(root[PHASE]) <= 1e-6).all()
    assert root[PHASE, 0] == pytest.approx(STANDING_PHASE + 0.5 * (not left_leads))
    halves = 2 * (root[PHASE, -1].astype(np.float64) - STANDING_PHASE)
    assert halves == pytest.approx(np.rint(halves), abs=5e-3)
    assert root[PATH_Z, -1] < -0.5 * speed * (seconds - 1)


def test_side_steps_lead_across_with_wider_feet() -> None:
    root = run_course(
        [SegmentSpec(STAND, 2), SegmentSpec(WALK, 5, 0.4, 0.0, (*LEFTWARD, (CADENCE, 1.6))), SegmentSpec(STAND, 2)]
    )
    middle = 25 * 4
    rate = float(root[RATE, middle])
    assert root[ASIDE_SPEED, middle] == pytest.approx(0.4)
    assert root[APART, middle] == pytest.approx(0.25 * 0.4 / rate, rel=1e-4)
    assert root[PATH_X, -1] > 1.2
    assert abs(root[PATH_Z, -1]) < 1e-6


@pytest.mark.parametrize("then", [BACKWARD, LEFTWARD])
def test_both_feet_are_in_contact_before_a_change_of_direction(then: tuple[tuple[int, float], ...]) -> None:
    root = run_course([SegmentSpec(WALK, 4, 1.1), SegmentSpec(WALK, 4, 0.6, 0.0, then)], fps=100, phase=0.3)
    between = np.flatnonzero(root[RATE] == 0)
    assert between.size > 0
    assert np.abs(between / 100 - 4).max() < 0.2
    halves = 2 * (root[PHASE, between].astype(np.float64) - STANDING_PHASE)
    np.testing.assert_allclose(halves, np.rint(halves), atol=5e-3)


def test_a_limp_shortens_the_stance_of_the_affected_leg() -> None:
    plain, lame = (
        run_course([SegmentSpec(WALK, 6, 0.6, 0.0, manner)], fps=100).astype(np.float64) for manner in ((), ((LIMP, 0.06),))
    )
    np.testing.assert_allclose(lame[PHASE] - plain[PHASE], 0.06 * np.sin(2 * np.pi * (plain[PHASE] - 0.32)), atol=1e-4)
    share = {s: ((lame[PHASE] + s) % 1 < 0.6).mean() for s in (0, 0.5)}  # the left leg is affected
    assert share[0] < 0.56 < 0.64 < share[0.5]
    assert (lame[LIMPING] == np.float32(0.06)).all()


def test_a_step_length_sets_the_cadence() -> None:
    root = run_course([SegmentSpec(WALK, 6, 0.5, 0.0, ((STEP_LENGTH, 0.28),))])
    assert root[RATE, 50] == pytest.approx(0.5 / (2 * 0.28))


def test_hopping_is_on_one_foot() -> None:
    root = run_course([SegmentSpec(STAND, 2), SegmentSpec(HOP, 4, 0.8, 0.0, ((LONE_SIDE, -1.0),)), SegmentSpec(STAND, 2)])
    assert (root[LONE_FOOT, 100], root[RUN_WEIGHT, 100]) == (-1, 1)
    assert (root[LONE_FOOT, 0], root[LONE_FOOT, -1]) == (0, 0)


@given(st.floats(-0.5, 0.5), st.floats(0.8, 3))
def test_turning_takes_a_step_for_each_tenth_of_a_turn_if_time_allows(turn: float, seconds: float) -> None:
    stepping = max(seconds - 0.3, 0.3)
    steps = 2 * stride_rate(STEP, 0.0, LEG, turn, seconds) * stepping
    assert steps <= max(2, FASTEST_STEPS * stepping) + 1e-6
    if np.ceil(abs(turn) * 10) <= np.floor(FASTEST_STEPS * stepping):
        assert steps == pytest.approx(max(2, np.ceil(abs(turn) * 10)), abs=1e-6) or abs(turn) * 10 % 1 < 2e-3


@pytest.mark.parametrize(("speed", "seconds"), [(3.0, 0.280), (4.5, 0.209), (6.0, 0.168)])
def test_contact_of_running(speed: float, seconds: float) -> None:
    assert run_contact_seconds(speed) == pytest.approx(seconds)


@given(st.floats(0, 2), st.floats(0.1, 1), st.floats(0.1, 3), st.floats(0.1, 1))
def test_ramps(begin: float, rise: float, hold: float, fall: float) -> None:
    finish, down = begin + rise, begin + rise + hold
    row = np.zeros(400, np.float32)
    fill_ramp(row, np.array([begin, finish, down, down + fall]), Clock(-0.5, 0.02))
    seconds = -0.5 + 0.02 * np.arange(400)
    expected = [pace((t - begin) / rise) * (1 - pace((t - down) / fall)) for t in seconds]
    np.testing.assert_allclose(row, expected, atol=1e-5)


def test_a_ramp_accelerates_evenly() -> None:
    x = np.linspace(-0.2, 1.2, 1401)
    share = np.array([pace(at) for at in x], np.float64)
    rate = np.gradient(share, x)
    np.testing.assert_array_equal(share[x < 0], 0)
    np.testing.assert_allclose(share[x >= 1], 1, atol=1e-6)
    np.testing.assert_allclose(rate[(x > 0.32) & (x < 0.68)], 1 / 0.7, atol=2e-3)
    assert rate.min() > -1e-3
    assert np.abs(np.diff(rate)).max() < 0.02


@pytest.mark.parametrize(("speed", "seconds"), [(1.3, 2.6), (3.0, 3.0), (5.0, 4.0)])
def test_starts_and_stops_accelerate_by_4_metres_per_second_squared_at_most(speed: float, seconds: float) -> None:
    root = run_course([SegmentSpec(STAND, 2), SegmentSpec(RUN, seconds, speed), SegmentSpec(STAND, 3)])
    fill_acceleration(root, 0.04)
    assert root[SPEED].max() == pytest.approx(speed, rel=1e-3)
    assert 1.4 < np.abs(root[ACCELERATION]).max() <= 4.02
    np.testing.assert_allclose(root[ACCELERATION].max(), -root[ACCELERATION].min(), rtol=0.02)
