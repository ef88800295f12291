"""The personal way of performing an action, against naive computations, and what it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.foundations.scene import DRAWS, HABITS
from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS
from posegen.motion.habits import OFFSETS, habit, habit_lag, habit_offset, habit_size, hanging_offset, near_channel
from posegen.motion.key_poses import (
    FIRST_HAND,
    fill_times,
    key_size,
    knots_of_channel,
    own_key_size,
    stage_bounds,
    stage_span,
    warped,
)
from posegen.motion.library_tables import CYCLE, ENTER, EXIT, FLOOR, library_tables
from posegen.motion.workspace import empty_workspace
from tests import naive
from tests.motion.scripted import LIBRARY, leg_length, segment, segment_of_kind

Array = NDArray[Any]

ACTIONS = library_tables(LIBRARY)
SEEDS = st.integers(0, 2**32 - 1)
ROWS = st.integers(0, len(ACTIONS.numbers) // 2 - 1)
CHANNEL_NUMBERS = st.integers(0, len(CHANNELS) - 1)


def habits_of(seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(HABITS)


@given(CHANNEL_NUMBERS, st.booleans())
def test_near_channels(c: int, right: bool) -> None:
    assert CHANNELS[near_channel(c, right)] == naive.near_channel(CHANNELS[c], right)


@given(SEEDS, ROWS, CHANNEL_NUMBERS, st.booleans(), st.integers(0, 1))
def test_numbers_of_a_channel(seed: int, row: int, c: int, right: bool, which: int) -> None:
    habits, doing = habits_of(seed), segment_of_kind(ACTIONS, 2 * row + right, 0.0, 3.0)
    expected = naive.habit(habits, row, right, CHANNELS[c], which)
    assert habit(habits, doing, c, which) == pytest.approx(expected)
    if which == 0:
        most = 1.06 if CHANNELS[c] in ("pelvis_tilt", "trunk_flexion") else np.inf
        assert habit_size(habits, doing, c) == pytest.approx(min(1 + 0.14 * expected, most))


@given(SEEDS, ROWS, CHANNEL_NUMBERS, st.booleans(), st.booleans())
def test_offsets(seed: int, row: int, c: int, right: bool, used: bool) -> None:
    habits, doing = habits_of(seed), segment_of_kind(ACTIONS, 2 * row + right, 0.0, 3.0)
    expected = naive.habit_offset(habits, row, right, CHANNELS[c], OFFSETS[c], used, doing.support == FLOOR)
    assert habit_offset(habits, doing, c, used) == pytest.approx(expected)


@given(CHANNEL_NUMBERS, st.floats(-0.1, 0.1), st.floats(-0.5, 0.5))
def test_only_arms_that_hang_keep_from_behind(c: int, offset: float, pose: float) -> None:
    kept = hanging_offset(offset, c, pose)
    if offset < 0 and CHANNELS[c].endswith("shoulder_flexion") and pose < 40 / 360:
        assert 0.35 * offset >= kept >= offset
        assert kept == pytest.approx(0.35 * offset if pose <= 0 else offset * (0.35 + 0.65 * pose * 9))
    else:
        assert kept == offset


@given(SEEDS, ROWS, CHANNEL_NUMBERS, st.booleans(), st.floats(0, 1))
def test_lags(seed: int, row: int, c: int, right: bool, at: float) -> None:
    habits, doing = habits_of(seed), segment_of_kind(ACTIONS, 2 * row + right, 0.0, 3.0)
    assert habit_lag(habits, doing, c, at) == pytest.approx(naive.habit_lag(habits, row, right, CHANNELS[c], at), abs=1e-6)


@given(SEEDS, ROWS)
def test_an_action_with_the_other_side_is_the_mirror_image(seed: int, row: int) -> None:
    habits = habits_of(seed)
    left, right = (segment_of_kind(ACTIONS, 2 * row + side, 0.0, 3.0) for side in range(2))
    for c, name in enumerate(CHANNELS[:FIRST_HAND]):
        other = CHANNELS.index(naive.mirror_channel(name))
        sign = -1 if name in CENTRAL_CHANNELS and name.endswith(("_lateral", "_rotation", "_obliquity")) else 1
        assert habit_offset(habits, left, c, True) == sign * habit_offset(habits, right, other, True)
        assert habit_size(habits, left, c) == habit_size(habits, right, other)
        assert habit_lag(habits, left, c, 0.4) == habit_lag(habits, right, other, 0.4)


def test_sides_of_a_person_are_alike_and_persons_are_not() -> None:
    """The numbers are about standard normal, correlate by .8 between the sides, and not between actions or channels."""
    people = [habits_of(seed) for seed in range(3000)]
    wave, kick = segment("wave", 0.0, 3.0), segment("kick", 0.0, 3.0)
    near, far, trunk = (CHANNELS.index(name) for name in ("left_elbow_flexion", "right_elbow_flexion", "trunk_flexion"))
    numbers = np.array(
        [[habit(h, wave, near, 0), habit(h, wave, far, 0), habit(h, wave, trunk, 0), habit(h, kick, near, 0)] for h in people]
    )
    np.testing.assert_allclose(numbers.std(0), 1, atol=0.05)
    np.testing.assert_allclose(np.corrcoef(numbers.T)[0], [1, 0.8, 0, 0], atol=0.06)


@given(st.floats(-0.6, 0.6), st.lists(st.floats(0, 1), min_size=2, max_size=9, unique=True))
def test_an_uneven_pace_keeps_the_order_and_the_ends(warp: float, shares: list[float]) -> None:
    doing = segment("squat", 0.0, 5.0, repetitions=1, warp=warp)
    at = np.sort(shares)
    passed = np.array([warped(doing, share) for share in at])
    np.testing.assert_allclose(passed, [naive.warped(warp, share) for share in at], atol=1e-6)
    far = np.diff(at) > 1e-3
    assert (np.diff(passed)[far] > 0).all()
    assert warped(doing, 0.0) == 0
    assert warped(doing, 1.0) == pytest.approx(1, abs=1e-6)


def test_a_stage_is_one_of_three() -> None:
    draws = np.random.default_rng(1).random(DRAWS)
    doing = segment("squat", 1.0, 9.0, repetitions=3)
    enter_end, exit_begin = stage_bounds(doing)
    assert stage_span(doing, ENTER, 0, draws) == (1.0, enter_end - 1.0)
    assert stage_span(doing, EXIT, 0, draws) == (exit_begin, 9.0 - exit_begin)
    spans = [stage_span(doing, CYCLE, number, draws) for number in range(3)]
    assert sum(length for _, length in spans) == pytest.approx(exit_begin - enter_end)


@given(SEEDS, ROWS, CHANNEL_NUMBERS, st.booleans(), st.sampled_from([ENTER, CYCLE, EXIT]), st.integers(0, 6), st.booleans())
def test_sizes_of_key_poses(seed: int, row: int, c: int, right: bool, stage: int, number: int, last: bool) -> None:
    habits, draws = habits_of(seed), np.random.default_rng(seed).random(DRAWS)
    doing = segment_of_kind(ACTIONS, 2 * row + right, 0.0, 3.0, amplitude=1.2)
    travels = bool(doing.last_travel > doing.first_travel)
    expected = naive.key_size(1.2, int(doing.support), habits, draws, row, right, CHANNELS[c], stage, number, last, travels)
    size = own_key_size(habits, doing, c)
    assert key_size(doing, draws, size, c, stage, number, 1.0 if last else 0.5) == pytest.approx(expected)


@given(SEEDS, ROWS, st.booleans(), st.integers(1, 4), st.floats(-0.6, 0.6))
def test_key_poses_stay_in_order(seed: int, row: int, right: bool, count: int, warp: float) -> None:
    habits, draws = 1.5 * habits_of(seed), np.random.default_rng(seed).random(DRAWS)
    plain = segment_of_kind(ACTIONS, 2 * row + right, 0.0, 3.0)
    if plain.gait:
        return
    cycle = LIBRARY.action(LIBRARY.actions[int(plain.action)]).cycle
    end = float(plain.enter + plain.exit + (cycle * count if cycle else 2.0))
    doing = segment_of_kind(ACTIONS, 2 * row + right, 0.0, end, repetitions=count if cycle else 0, warp=warp)
    curve = empty_workspace(1, 1).curve
    fill_times(curve, doing, ACTIONS, draws)
    for c in np.flatnonzero(ACTIONS.used[doing.kind]):
        n = knots_of_channel(curve, doing, ACTIONS, draws, habits, leg_length(1.7), int(c), 1.0)
        assert (np.diff(curve.knots[0, :n]) > -1e-6).all(), CHANNELS[c]


@given(SEEDS)
def test_no_two_repetitions_are_equal(seed: int) -> None:
    habits, draws = habits_of(seed), np.random.default_rng(seed).random(DRAWS)
    doing = segment("squat", 0.0, 14.0, repetitions=4)
    curve = empty_workspace(1, 1).curve
    fill_times(curve, doing, ACTIONS, draws)
    shoulder = CHANNELS.index("left_shoulder_flexion")
    n = knots_of_channel(curve, doing, ACTIONS, draws, habits, leg_length(1.7), shoulder, 1.0)
    times, values = curve.knots[:2, :n]
    spans = [stage_span(doing, CYCLE, k, draws) for k in range(4)]
    repetitions = {tuple(values[(times >= begin) & (times < begin + length)]) for begin, length in spans}
    assert len(repetitions) == 4
    assert len({length for _, length in spans}) == 4
