"""Stances and swings: contact frames, footprints, and the course of a foot between stances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.motion.feet.footsteps import clear_floor, clear_swings, fill_swing, swing_foot
from posegen.motion.feet.legs import add_excess_height, smooth_upper_envelope
from posegen.motion.feet.stances import (
    PRINT_BACK,
    find_stances,
    flatten_stances,
    mark_contact,
    place_stance_foot,
    plan_footprints,
    rise_on_toes,
    separate_footprints,
    time_stances,
)
from posegen.motion.library_tables import PLACED
from posegen.motion.rows import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    APART,
    ASIDE_SPEED,
    BEATS,
    DUTY,
    EARLY,
    FIRST,
    FORWARD,
    GAIT_WEIGHT,
    GUIDED,
    HEADING,
    HIP_X,
    HIP_Y,
    HIP_Z,
    LAST,
    LATE,
    LEG_ROWS,
    LONE_FOOT,
    ODOMETER,
    PATH_Z,
    PHASE,
    PITCH,
    PRINT_X,
    PRINT_YAW,
    PRINT_Z,
    ROOT_ROWS,
    YAW,
)
from tests.naive import about_x, about_y

Array = NDArray[Any]

HEEL, BALL, _, ANKLE_HEIGHT = FOOT = np.array([0.06, 0.12, 0.02, 0.066])
SEEDS = st.integers(0, 2**32 - 1)

masks = st.lists(st.booleans(), min_size=1, max_size=60).map(lambda given_mask: np.array(given_mask, np.bool_))


@given(masks)
def test_stances_are_the_runs_of_frames_in_contact(planted: Array) -> None:
    stances = np.zeros((40, 8))
    count = find_stances(planted, stances)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], planted.astype(int), [0]])))
    assert stances[:count, FIRST].tolist() == edges[::2].tolist()
    assert stances[:count, LAST].tolist() == edges[1::2].tolist()


def test_the_number_of_stances_is_limited_by_the_array() -> None:
    assert find_stances(np.array([True, False] * 5), np.zeros((3, 8))) == 3


def rows(frames: int, **values: float | Array) -> Array:
    names = {"phase": PHASE, "duty": DUTY, "gait": GAIT_WEIGHT, "z": PATH_Z, "odometer": ODOMETER, "heading": HEADING}
    root = np.zeros((ROOT_ROWS, frames), np.float32)
    for name, value in values.items():
        root[names[name]] = value
    return root


def test_contact_follows_the_phase_of_the_stride() -> None:
    phase = np.linspace(0.02, 3, 151)
    root, calm = rows(151, phase=phase, duty=0.6), np.zeros(151, np.bool_)
    for side in range(2):
        planted = np.zeros(151, np.bool_)
        mark_contact(root, side, calm, planted)
        assert planted.tolist() == ((root[PHASE].astype(np.float64) + 0.5 * side) % 1 < np.float32(0.6)).tolist()


@pytest.mark.parametrize(("foot", "spared"), [(1.0, 1), (-1.0, 0)])
def test_hopping_has_contact_of_one_foot(foot: float, spared: int) -> None:
    root, calm = rows(151, phase=np.linspace(0.02, 3, 151), duty=0.6), np.zeros(151, np.bool_)
    root[LONE_FOOT] = foot
    planted = np.zeros((2, 151), np.bool_)
    for side in range(2):
        mark_contact(root, side, calm, planted[side])
    assert not planted[spared].any()
    assert planted[1 - spared].mean() == pytest.approx(0.6, abs=0.02)


def test_skipping_has_two_contacts_of_each_foot_in_a_row() -> None:
    phase = np.linspace(0.001, 1.999, 400)
    root = rows(400, phase=phase, duty=0.14)
    root[BEATS] = 4
    for side in range(2):
        planted, own = np.zeros(400, np.bool_), (phase + 0.5 * side) % 1
        mark_contact(root, side, np.zeros(400, np.bool_), planted)
        assert planted.tolist() == ((own < 0.5) & (own % 0.25 < 0.14)).tolist()


def test_airborne_feet_have_no_contact() -> None:
    airborne = np.zeros(40, np.bool_)
    airborne[10:12] = True
    planted = np.zeros(40, np.bool_)
    mark_contact(rows(40, phase=0.07, duty=0.65), 0, airborne, planted)
    assert planted.tolist() == (~airborne).tolist()


def test_a_gap_of_one_or_two_frames_is_no_step() -> None:
    phase = np.full(60, 0.3)
    phase[20:22], phase[40:46] = 0.8, 0.8
    planted = np.zeros(60, np.bool_)
    mark_contact(rows(60, phase=phase, duty=0.65), 0, np.zeros(60, np.bool_), planted)
    assert np.flatnonzero(~planted).tolist() == [40, 41, 42, 43, 44, 45]


def test_footprints_lie_under_the_passing_body() -> None:
    frames, speed, step = 60, 1.2, 0.04
    seconds = step * np.arange(frames)
    root = rows(frames, phase=seconds, duty=0.6, gait=1.0, z=speed * seconds, odometer=speed * seconds)
    leg, stances = np.zeros((LEG_ROWS, frames), np.float32), np.zeros((4, 8))
    widths = np.array([0.05, 0.09, 0.02])
    leg[FORWARD] = 0.3 - speed * (seconds % 1)  # a nominal foot that stays where it lands
    planted = np.zeros(frames, np.bool_)
    mark_contact(root, 0, np.zeros(frames, np.bool_), planted)
    count = find_stances(planted, stances)
    plan_footprints(root, leg, 0, widths, 0.0, FOOT, stances[:count])
    assert count == 3
    np.testing.assert_allclose(stances[:2, PRINT_Z], np.array([0.3, 0.3 + speed]) - PRINT_BACK * FOOT[1], atol=1e-3)
    np.testing.assert_allclose(stances[:3, PRINT_X], 0.05, atol=1e-6)
    np.testing.assert_allclose(stances[:3, PRINT_YAW], 0.02, atol=1e-6)
    root[APART] = 0.1  # the feet are further out by this
    plan_footprints(root, leg, 1, widths, 0.05, FOOT, stances[:count])
    np.testing.assert_allclose(stances[0, PRINT_Z], 0.35 - PRINT_BACK * FOOT[1], atol=1e-3)  # about the hips
    np.testing.assert_allclose(stances[:3, PRINT_X], -0.15, atol=1e-6)
    np.testing.assert_allclose(stances[:3, PRINT_YAW], -0.02, atol=1e-6)


@pytest.mark.parametrize("standing", [None, 0, 1])
def test_footprints_of_side_steps_are_separate(standing: int | None) -> None:
    root, stances = rows(60, gait=1.0), np.zeros((2, 2, 8))
    root[ASIDE_SPEED] = 0.3
    stances[0, :, FIRST], stances[0, :, LAST] = [0, 30], [20, 60]
    stances[1, :, FIRST], stances[1, :, LAST] = [10, 40], [35, 60]
    stances[0, :, PRINT_X], stances[1, :, PRINT_X] = [0.4, 0.9], [0.1, 0.85]
    before = stances.copy()
    if standing is not None:
        # Only the stance that lasts longer has a frame of rest.
        stances[standing, 1, FIRST], before[standing, 1, FIRST] = 25, 25
        stances[1 - standing, 1, LAST] = before[1 - standing, 1, LAST] = 50
        root[GAIT_WEIGHT, 55] = 0
    separate_footprints(root, stances, np.array([2, 2]), 0.11)
    moved = stances[:, :, PRINT_X] - before[:, :, PRINT_X]
    assert moved[:, 0].tolist() == [0, 0]  # far enough apart
    expected = {None: (0.03, -0.03), 0: (0.0, -0.06), 1: (0.06, 0.0)}[standing]
    assert moved[:, 1] == pytest.approx(expected, abs=1e-6)
    for row, value in ((GUIDED, PLACED), (ASIDE_SPEED, 0)):  # an action places the feet itself; no side steps
        root[row] = value
        again = before.copy()
        separate_footprints(root, again, np.array([2, 2]), 0.11)
        np.testing.assert_array_equal(again, before)
        root[GUIDED] = 0


def hold(leg: Array, stances: Array, rate: float = 1.0) -> None:
    flatten_stances(leg, stances, np.full(leg.shape[1], rate, np.float32), 0.04)
    for stance in stances:
        place_stance_foot(leg, stance, FOOT, np.full(leg.shape[1], stance[PRINT_YAW], np.float32), 0.0)


def sole_points_of(leg: Array, f: int) -> tuple[Array, Array]:
    turn = about_y(float(leg[YAW, f])) @ about_x(-float(leg[PITCH, f]))
    ankle = leg[ANKLE_X : ANKLE_X + 3, f].astype(np.float64)
    return ankle + turn @ [0, -ANKLE_HEIGHT, -HEEL], ankle + turn @ [0, -ANKLE_HEIGHT, BALL]


@given(SEEDS)
def test_a_stance_foot_turns_about_heel_or_ball(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frames, x, z, yaw = 40, *generator.uniform(-2, 2, 2), generator.uniform(-0.5, 0.5)
    leg = np.zeros((LEG_ROWS, frames), np.float32)
    leg[PITCH] = np.linspace(0.07, -0.10, frames)
    stances = np.array([[5, 35, x, z, yaw, 0, 0, 0]])
    hold(leg, stances)
    forward = np.array([np.sin(2 * np.pi * yaw), 0, np.cos(2 * np.pi * yaw)])
    flat = 0
    for f in range(5, 35):
        heel, toe = sole_points_of(leg, f)
        pitch = float(leg[PITCH, f])
        flat += abs(pitch) < 1e-6
        if pitch >= 0:
            np.testing.assert_allclose(heel, np.array([x, 0, z]) - HEEL * forward, atol=2e-6)
            assert toe[1] > -1e-6
        if pitch <= 0:
            np.testing.assert_allclose(toe, np.array([x, 0, z]) + BALL * forward, atol=2e-6)
            assert heel[1] > -1e-6
    assert flat > 10  # between the rolls it lies on the floor
    assert (leg[PITCH, 5] > 0, leg[PITCH, 34] < 0) == (True, True)


def test_backward_steps_exchange_landing_and_lift_off() -> None:
    pitches = []
    for rate in (1.0, -1.0):
        leg = np.zeros((LEG_ROWS, 40), np.float32)
        leg[PITCH] = 0.1
        hold(leg, np.array([[5, 35, *[0.0] * 6]]), rate)
        pitches.append(leg[PITCH, 5:35])
    np.testing.assert_allclose(pitches[1], pitches[0][::-1], atol=1e-6)
    assert np.abs(pitches[1] - pitches[0]).max() > 0.05


def hermite(s: Array, here: float, there: float, v0: float, v1: float) -> Array:
    return np.asarray(
        here * (1 + 2 * s) * (1 - s) ** 2 + there * s**2 * (3 - 2 * s) + v0 * s * (1 - s) ** 2 - v1 * s**2 * (1 - s)
    )


@given(SEEDS)
def test_a_swing_joins_value_and_rate_of_both_stances(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frames = int(generator.integers(40, 400))
    lift, land = frames // 4, 3 * frames // 4
    early, late = generator.random(2)
    times = np.arange(frames, dtype=np.float64)
    held, course = generator.normal(size=(2, 2)), generator.normal(size=2)
    # Both stances and the course between are lines, so that values between frames are exact.
    before = [line[0] + line[1] * times / frames for line in held]
    nominal = (course[0] + course[1] * times / frames).astype(np.float32)
    row = np.where(times <= lift, before[0], before[1]).astype(np.float32)
    kept = row.copy()
    fill_swing(row, nominal, lift, land, early, late, 8.0, float(frames))
    np.testing.assert_array_equal(row[: lift + 1], kept[: lift + 1])
    np.testing.assert_array_equal(row[land:], kept[land:])
    begin, end = lift + late, land - early
    between = np.arange(lift + 1, land)
    extra = (row - nominal)[between].astype(np.float64)
    rates = (held[:, 1] - course[1]) / frames
    ends = [line[0] - course[0] + rate * at for line, rate, at in zip(held, rates, (begin, end), strict=True)]
    # The first value fades within 8 frames and its rate within 2 of them; the second builds up over the whole swing, its rate
    # within two fifths of the given time: halves of cubics.
    away = hermite(np.minimum((between - begin) / 8, 1), ends[0], 0, 0, 0)
    away += hermite(np.minimum((between - begin) / 2, 1), 0, 0, 2 * rates[0], 0)
    coming = hermite((between - begin) / (end - begin), 0, ends[1], 0, 0)
    coming += hermite(1 - np.minimum((end - between) / (0.4 * frames), 1), 0, 0, 0, rates[1] * 0.4 * frames)
    np.testing.assert_allclose(extra, away + coming, atol=1e-4)


def test_a_long_swing_follows_the_nominal_course() -> None:
    row, nominal = np.zeros(100, np.float32), np.sin(np.arange(100) / 9).astype(np.float32)
    row[:11], row[90:] = 0.5 + 0.02 * np.arange(11), 2.0
    fill_swing(row, nominal, 10, 90, 0.0, 0.0, 15, 15)
    np.testing.assert_allclose(row[26:75], nominal[26:75], atol=1e-6)
    assert np.abs(np.diff(row, 2)).max() < 0.08


@pytest.mark.parametrize("forward", [1.0, -1.0])
def test_a_step_has_the_same_duration_at_any_frame_rate(forward: float) -> None:
    for frames in (50, 97, 400):
        phase = forward * np.linspace(0.03, 3.98, frames)
        root, planted, stances = rows(frames, phase=phase, duty=0.62), np.zeros(frames, np.bool_), np.zeros((6, 8))
        mark_contact(root, 1, np.zeros(frames, np.bool_), planted)
        count = find_stances(planted, stances)
        time_stances(root, 1, stances[:count])
        step = 3.95 / (frames - 1)
        begin = (stances[:count, FIRST] - stances[:count, EARLY]) * step
        end = (stances[:count, LAST] - 1 + stances[:count, LATE]) * step
        inner = (stances[:count, FIRST] > 0) & (stances[:count, LAST] < frames)
        assert inner.sum() >= 2
        np.testing.assert_allclose((end - begin)[inner], 0.62, atol=2e-4)
        # The right foot lands at half strides; in backward steps it lands where it otherwise lifts off.
        lands = forward * (0.03 + begin[inner]) + 0.5 - (0.0 if forward > 0 else 0.62)
        np.testing.assert_allclose(lands - np.rint(lands), 0.0, atol=2e-4)


@given(st.floats(-1, 1))
def test_a_foot_rises_over_its_toes_during_contact(s: float) -> None:
    rise = float(rise_on_toes(np.float32(s)))
    share = np.clip((-s - 0.6) / 0.3, 0, 1)
    assert rise == pytest.approx(0.0045 * share**2 * (3 - 2 * share), abs=1e-7)


@given(SEEDS, st.floats(0.005, 0.04))
def test_a_swinging_sole_stays_above_the_floor(seed: int, clearance: float) -> None:
    generator = np.random.default_rng(seed)
    frames = 20
    leg = np.zeros((LEG_ROWS, frames), np.float32)
    leg[ANKLE_Y] = ANKLE_HEIGHT + generator.uniform(-0.05, 0.1, frames)
    leg[PITCH] = generator.uniform(-0.1, 0.06, frames)
    before = leg.copy()
    clear_floor(leg, 3, 16, 0.0, 0.0, FOOT, clearance)
    for f in range(4, 16):
        lowest = min(point[1] for point in sole_points_of(leg, f))
        assert lowest > -1e-6
        x = (f - 3) / 13
        if 8 * x * (1 - x) >= 1:
            assert lowest > 16 * clearance * x**2 * (1 - x) ** 2 - 1e-6
        assert leg[ANKLE_Y, f] >= before[ANKLE_Y, f]
    np.testing.assert_array_equal(leg[:, [0, 3, 16, 19]], before[:, [0, 3, 16, 19]])


@pytest.mark.parametrize("pitch", [0.0, -0.05])
def test_a_swinging_foot_joins_its_stances(pitch: float) -> None:
    frames = 60
    leg = np.zeros((LEG_ROWS, frames), np.float32)
    leg[PITCH] = pitch
    stances = np.array([[0, 20, 0.1, 0.0, 0.02, 0, 0, 0], [40, 60, 0.1, 0.7, 0.02, 0, 0, 0]])
    hold(leg, stances)
    nominal = np.zeros((4, frames), np.float32)
    nominal[0], nominal[1] = 0.12, ANKLE_HEIGHT
    nominal[2] = np.linspace(-0.2, 0.9, frames)
    swing_foot(leg, nominal, stances[:2], np.zeros(frames, np.float32), frames, frames)
    clear_swings(leg, stances[:2], FOOT, np.full(frames, 0.018, np.float32))
    assert np.abs(np.diff(leg[ANKLE_Z])).max() < 0.1
    assert np.abs(np.diff(leg[ANKLE_Y])).max() < 0.02
    np.testing.assert_allclose(leg[YAW], 0.02, atol=1e-6)
    assert leg[ANKLE_Y, 30] > ANKLE_HEIGHT + 0.017


def test_the_correction_fades_before_the_first_and_behind_the_last_stance() -> None:
    frames, passing = 60, 10
    leg = np.zeros((LEG_ROWS, frames), np.float32)
    stances = np.array([[20, 40, 0.3, 0.5, 0.1, 0, 0.4, 0.7]])
    hold(leg, stances)
    nominal = np.zeros((4, frames), np.float32)
    nominal[2] = np.linspace(0, 1, frames)
    # Equal to a swing towards a distant stance, when the foot is already on its nominal course.
    expected = np.zeros((LEG_ROWS, 3 * frames), np.float32)
    expected[:, frames : 2 * frames] = leg
    far = np.zeros((3, 8))
    far[:, :2], far[1, 2:] = [[0, 2], [20 + frames, 40 + frames], [178, 180]], stances[0, 2:]
    long = np.zeros((4, 3 * frames), np.float32)
    long[2] = np.linspace(-1 - 1 / (frames - 1), 2 + 1 / (frames - 1), 3 * frames)
    swing_foot(leg, nominal, stances[:1], np.zeros(frames, np.float32), passing, passing)
    swing_foot(expected, long, far[:3], np.zeros(3 * frames, np.float32), passing, passing)
    rows = [ANKLE_X, ANKLE_Z, YAW]
    np.testing.assert_allclose(leg[rows], expected[rows, frames : 2 * frames], atol=1e-6)
    np.testing.assert_allclose(leg[ANKLE_Z, [0, 9, 50, 59]], nominal[2, [0, 9, 50, 59]], atol=1e-6)
    assert abs(leg[ANKLE_X, 42]) > 0.2


@given(SEEDS)
def test_excess_height_is_what_a_stance_foot_lacks(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frames, reach = 30, 0.8
    # Not farther apart than the leg length, because lowering the hip cannot help a leg that is too short.
    leg = generator.uniform(-0.27, 0.27, (LEG_ROWS, frames)).astype(np.float32)
    leg[HIP_Y] = generator.uniform(0.6, 0.9, frames)
    leg[ANKLE_Y] = generator.uniform(0.05, 0.1, frames)
    planted = generator.random(frames) < 0.6
    lack = np.zeros(frames, np.float32)
    add_excess_height(leg, planted, reach, lack)
    lowered = leg.astype(np.float64)
    lowered[HIP_Y] -= lack
    distance = np.sqrt(sum((lowered[ankle] - lowered[hip]) ** 2 for ankle, hip in (
        (ANKLE_X, HIP_X), (ANKLE_Y, HIP_Y), (ANKLE_Z, HIP_Z))))  # fmt: skip
    assert (distance[planted] < reach + 1e-5).all()
    assert (lack >= 0).all()
    assert (lack[~planted] == 0).all()
    needed = planted & (lack > 1e-5)
    np.testing.assert_allclose(distance[needed], reach, atol=1e-5)  # and no more than that


@given(SEEDS, st.integers(1, 12))
def test_the_upper_envelope_is_smooth_and_nowhere_below(seed: int, radius: int) -> None:
    generator = np.random.default_rng(seed)
    frames = int(generator.integers(1, 80))
    lack = np.where(generator.random(frames) < 0.2, generator.random(frames), 0).astype(np.float32)
    cover = lack.copy()
    smooth_upper_envelope(cover, radius, np.zeros(frames, np.float32))
    assert (cover >= lack - 1e-6).all()
    assert cover.max() <= lack.max() + 1e-6
    window = range(-radius, radius + 1)
    most = np.array([max(lack[g] for d in window if 0 <= (g := f + d) < frames) for f in range(frames)], np.float64)
    weights = {d: radius + 1 - abs(d) for d in window}
    for f in range(frames):
        inside = [d for d in window if 0 <= f + d < frames]
        mean = sum(weights[d] * most[f + d] for d in inside) / sum(weights[d] for d in inside)
        assert cover[f] == pytest.approx(mean, abs=1e-5)
    inner = cover[radius : frames - radius].astype(np.float64)
    if len(inner) > 1:  # a triangle of this width passes no step faster than this
        assert np.abs(np.diff(inner)).max() <= lack.max() / (radius + 1) + 1e-5
