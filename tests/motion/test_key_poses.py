"""Key poses: their times, and the quintics between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from posegen.foundations.scene import DRAWS
from posegen.library.channels import CHANNELS
from posegen.motion.key_poses import (
    fill_times,
    fill_track,
    flight_begin,
    flight_seconds,
    knot_speeds,
    knots_of_channel,
    passes_on,
    repetition_offset,
    repetition_span,
    root_height_unit,
    stage_bounds,
    time_in_cycle,
)
from posegen.motion.library_tables import TURNING_BACK, library_tables
from posegen.motion.workspace import KNOTS, Clock, empty_workspace
from tests.motion.scripted import LIBRARY, leg_length, person, segment

Array = NDArray[Any]

ACTIONS = library_tables(LIBRARY)
LEG = 0.85
SEEDS = st.integers(0, 2**32 - 1)


def track(times: ArrayLike, values: ArrayLike, speeds: ArrayLike, pushes: ArrayLike, seconds: Array) -> Array:
    knots = np.zeros((4, KNOTS))
    for number, given_values in enumerate((times, values, speeds, pushes)):
        knots[number, : np.size(times)] = given_values
    row = np.zeros(len(seconds), np.float32)
    fill_track(row, knots, np.size(times), Clock(float(seconds[0]), float(seconds[1] - seconds[0])))
    return row


def test_between_two_rests_the_curve_is_minimum_jerk() -> None:
    seconds = np.linspace(-0.5, 2, 251)
    row = track([0.25, 1.75], [0.2, 1.0], [0, 0], [0, 0], seconds)
    s = (seconds - 0.25) / 1.5
    within = (s >= 0) & (s < 1)
    np.testing.assert_allclose(row[within], (0.2 + 0.8 * (10 * s**3 - 15 * s**4 + 6 * s**5))[within], atol=2e-6)
    assert (row[~within] == 0).all()


def test_between_take_off_and_landing_the_curve_is_a_parabola() -> None:
    gravity, air, launch = -9.81 / LEG, 0.46, 2.6
    seconds = np.linspace(0, air, 200)
    landing = launch * air + 0.5 * gravity * air**2
    row = track([0, air], [0.07, 0.07 + landing], [launch, launch + gravity * air], [gravity, gravity], seconds)
    np.testing.assert_allclose(row[:-1], (0.07 + launch * seconds + 0.5 * gravity * seconds**2)[:-1], atol=3e-6)


@given(SEEDS)
def test_curves_pass_through_their_keys_smoothly(seed: int) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 6))
    times = np.cumsum(generator.integers(10, 40, count)) / 50
    values, speeds, pushes = (generator.uniform(-1, 1, count) for _ in range(3))
    step = 1e-3
    seconds = np.arange(times[0], times[-1] - step / 2, step)
    row = track(times, values, speeds, pushes, seconds).astype(np.float64)
    at = np.rint((times[:-1] - times[0]) / step).astype(int)
    np.testing.assert_allclose(row[at], values[:-1], atol=2e-5)
    inner = at[1:]  # where a track passes through a key
    before, after = (row[inner] - row[inner - 1]) / step, (row[inner + 1] - row[inner]) / step
    np.testing.assert_allclose(before, speeds[1:-1], atol=0.02)
    np.testing.assert_allclose(after, speeds[1:-1], atol=0.02)


@given(st.floats(0.2, 2), st.floats(0.2, 2), st.floats(0.1, 1))
def test_a_channel_turns_back_without_rest_and_with_less_jerk(down: float, up: float, depth: float) -> None:
    times, values = [0.0, down, down + up], [0.0, -depth, 0.0]
    knots, step = np.zeros((4, KNOTS)), 1e-3
    knots[0, :3], knots[1, :3] = times, values
    jerks = []
    for passing in (0, TURNING_BACK):
        moving = np.zeros(KNOTS, np.int8)
        moving[1] = passing
        knot_speeds(knots, moving, 3)
        assert knots[2, 1] == 0
        # As far down and up as between two rests, but it is pushed up all the time that it is near the turn.
        assert knots[3, 1] == pytest.approx(20 / 3 * depth / max(down, up) ** 2 if passing else 0.0)
        seconds = np.arange(0, down + up - step / 2, step)
        row = track(times, values, knots[2, :3], knots[3, :3], seconds).astype(np.float64)
        assert row.min() == pytest.approx(-depth, rel=1e-3)
        assert row.max() < 1e-3 * depth
        coarse = row[::20]
        jerks.append(np.square(np.diff(coarse, 3)).mean())
    if 0.8 < down / up < 1.25:
        assert jerks[1] < 0.7 * jerks[0]


def test_only_limbs_and_trunk_pass_directly_from_one_segment_to_the_next() -> None:
    passing = {"trunk_flexion": True, "left_shoulder_flexion": True, "root_height": False, "left_foot_pitch": False}
    for channel, passes in passing.items():
        doing, c = segment("jump", 1.0, 3.0, repetitions=1), CHANNELS.index(channel)
        assert not passes_on(doing, ACTIONS, c, False), channel
        doing.shown_start = 1.3
        assert (passes_on(doing, ACTIONS, c, False), passes_on(doing, ACTIONS, c, True)) == (passes, False), channel
    lying = segment("lie_down", 1.0, 6.0, repetitions=1)
    lying.shown_start, lying.shown_end = 1.3, 5.7
    assert not any(passes_on(lying, ACTIONS, c, at_end) for c in range(len(CHANNELS)) for at_end in (False, True))


names = st.sampled_from(LIBRARY.actions)
seconds_of_segment = st.floats(0.3, 9)


@given(names, seconds_of_segment, st.floats(0.7, 1.5))
def test_stages_fit_into_their_segment(name: str, seconds: float, tempo: float) -> None:
    action = LIBRARY.action(name)
    enter_end, exit_begin = stage_bounds(segment(name, 3.0, 3.0 + seconds, tempo=tempo))
    assert 3 <= enter_end < exit_begin <= 3 + seconds
    if action.enter + action.exit < 0.9 * seconds * tempo:
        assert enter_end - 3 == pytest.approx(action.enter / tempo)
        assert 3 + seconds - exit_begin == pytest.approx(action.exit / tempo)


@given(names, seconds_of_segment, st.integers(1, 9), SEEDS)
def test_repetitions_have_an_irregular_beat(name: str, seconds: float, count: int, seed: int) -> None:
    draws = np.random.default_rng(seed).random(DRAWS)
    doing = segment(name, 1.0, 1.0 + seconds, repetitions=count)
    enter_end, exit_begin = stage_bounds(doing)
    begins, lengths = np.transpose([repetition_span(doing, draws, number) for number in range(count)])
    np.testing.assert_allclose(begins[1:], (begins + lengths)[:-1])  # without a gap
    assert begins[0] == pytest.approx(enter_end)
    assert begins[-1] + lengths[-1] == pytest.approx(exit_begin)
    beats = (begins - enter_end) / (exit_begin - enter_end) * count
    assert np.abs(beats - np.arange(count)).max() < 0.0701


@given(SEEDS, st.integers(0, 5))
def test_offsets_differ_between_repetitions_and_meet_in_between(seed: int, number: int) -> None:
    draws = np.random.default_rng(seed).random(DRAWS)
    doing, elbow = segment("squat", 1.0, 9.0, repetitions=6), CHANNELS.index("left_elbow_flexion")
    here, after = (repetition_offset(doing, draws, elbow, k, 0.5) for k in (number, number + 1))
    assert here != after
    assert repetition_offset(doing, draws, elbow, number, 1.0) == pytest.approx((here + after) / 2)
    assert max(abs(here), abs(after)) <= 1.2 * 16 / 360
    assert repetition_offset(doing, draws, CHANNELS.index("root_height"), number, 0.5) == 0
    assert repetition_offset(segment("crouch", 1.0, 9.0), draws, elbow, 0, 0.5) == 0  # it is held


@given(st.floats(0.8, 4), st.floats(0.5, 1.5))
def test_a_flight_keeps_its_duration_at_any_tempo(length: float, amplitude: float) -> None:
    jump = segment("jump", 0.0, 5.0, amplitude=amplitude, repetitions=2)
    begin, end = jump.flight_begin, jump.flight_end
    shares = (0.0, 0.2, begin, 0.5 * (begin + end), end, 0.9, 1.0)
    at = [time_in_cycle(jump, share, length) for share in shares]
    assert at[0] == 0
    assert at[-1] == pytest.approx(length)
    assert at[4] - at[2] == pytest.approx(flight_seconds(jump))
    assert (np.diff(at) > 0).all()
    assert time_in_cycle(segment("squat", 0.0, 5.0, repetitions=2), 0.3, length) == pytest.approx(0.3 * length)


def test_the_height_of_a_flight_grows_with_the_amplitude() -> None:
    once, larger = (flight_seconds(segment("jump", 0.0, 3.0, amplitude=a)) for a in (1.0, 1.44))
    assert larger == pytest.approx(1.2 * once)  # and height with the square of time


@given(SEEDS, st.integers(1, 4), st.floats(0.8, 1.2))
def test_take_off_and_landing_are_those_of_free_fall(seed: int, count: int, amplitude: float) -> None:
    someone = person(stature=1.8, seed=seed)
    leg, curve = leg_length(1.8), empty_workspace(1, 1).curve
    jump = segment("jump", 1.0, 1.5 + 1.65 * count, amplitude=amplitude, repetitions=count)
    fill_times(curve, jump, ACTIONS, someone.draws)
    n = knots_of_channel(curve, jump, ACTIONS, someone.draws, someone.habits, leg, CHANNELS.index("root_height"), 1.0)
    times, values, speeds, pushes = curve.knots[:, :n]
    assert (np.diff(times) > 0).all()
    assert (times[0], times[-1], values[0], values[-1]) == (jump.start, jump.end, 0, 0)
    flying = np.flatnonzero(pushes).reshape(count, 2)
    for number, (up, down) in enumerate(flying):
        air = times[down] - times[up]
        assert times[up] == pytest.approx(flight_begin(jump, someone.draws, number, 0))
        assert air == pytest.approx(flight_seconds(jump))
        assert pushes[up] == pushes[down] == pytest.approx(-9.81 / leg)
        assert values[down] - values[up] == pytest.approx((speeds[up] - 0.5 * 9.81 / leg * air) * air, abs=1e-6)
        assert speeds[down] == pytest.approx(speeds[up] - 9.81 / leg * air, abs=1e-5)


def test_root_height_is_relative_to_seat_and_floor() -> None:
    assert root_height_unit(segment("sit", 0.0, 5.0), 0.85, 0.6, 0.94) == pytest.approx(0.4)
    assert root_height_unit(segment("kneel", 0.0, 5.0), 0.85, 0.6, 0.94) == pytest.approx(0.94 / 0.85)
    assert root_height_unit(segment("squat", 0.0, 5.0), 0.85, 0.6, 0.94) == 1.0
