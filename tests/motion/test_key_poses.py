"""Key poses: their times, and the quintics between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array
from posegen.motion.key_poses import (
    fill_track,
    flight_seconds,
    knot_speeds,
    repetition_span,
    stage_bounds,
    time_in_cycle,
)
from posegen.motion.library_tables import TURNING_BACK, library_tables
from posegen.motion.workspace import KNOTS, Clock
from tests.motion.scripted import LIBRARY, segment

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


names = st.sampled_from(LIBRARY.actions)
seconds_of_segment = st.floats(0.3, 9)


@given(names, seconds_of_segment, st.integers(1, 9), SEEDS)
def test_repetitions_have_an_irregular_beat(name: str, seconds: float, count: int, seed: int) -> None:
    doing = segment(name, 1.0, 1.0 + seconds, repetitions=count, beat=seed)
    enter_end, exit_begin = stage_bounds(doing)
    begins, lengths = np.transpose([repetition_span(doing, number) for number in range(count)])
    np.testing.assert_allclose(begins[1:], (begins + lengths)[:-1])  # without a gap
    assert begins[0] == pytest.approx(enter_end)
    assert begins[-1] + lengths[-1] == pytest.approx(exit_begin)
    beats = (begins - enter_end) / (exit_begin - enter_end) * count
    assert np.abs(beats - np.arange(count)).max() < 0.0701


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
