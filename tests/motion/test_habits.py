"""The personal way of performing an action, against naive computations, and what it keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.foundations.scene import DRAWS, HABITS
from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS
from posegen.motion import rows
from posegen.motion.habits import habit, habit_lag, habit_offset, habit_size
from posegen.motion.key_poses import (
    fill_times,
    knots_of_channel,
    stage_span,
)
from posegen.motion.library_tables import CYCLE, library_tables
from posegen.motion.workspace import empty_workspace
from tests import naive
from tests.motion.scripted import LIBRARY, leg_length, segment, segment_of_kind

ACTIONS = library_tables(LIBRARY)
SEEDS = st.integers(0, 2**32 - 1)
ROWS = st.integers(0, len(ACTIONS.poses.numbers) // 2 - 1)


def habits_of(seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(HABITS)


@given(SEEDS, ROWS)
def test_an_action_with_the_other_side_is_the_mirror_image(seed: int, row: int) -> None:
    habits = habits_of(seed)
    left, right = (segment_of_kind(ACTIONS, 2 * row + side, 0.0, 3.0) for side in range(2))
    for c, name in enumerate(CHANNELS[: rows.FIRST_HAND]):
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
    fill_times(curve, doing, ACTIONS.poses, draws)
    for c in np.flatnonzero(ACTIONS.poses.used[doing.kind]):
        n = knots_of_channel(curve, doing, ACTIONS.poses, draws, habits, leg_length(1.7), int(c), 1.0)
        assert (np.diff(curve.knots[0, :n]) > -1e-6).all(), CHANNELS[c]


@given(SEEDS)
def test_no_two_repetitions_are_equal(seed: int) -> None:
    habits, draws = habits_of(seed), np.random.default_rng(seed).random(DRAWS)
    doing = segment("squat", 0.0, 14.0, repetitions=4)
    curve = empty_workspace(1, 1).curve
    fill_times(curve, doing, ACTIONS.poses, draws)
    shoulder = CHANNELS.index("left_shoulder_flexion")
    n = knots_of_channel(curve, doing, ACTIONS.poses, draws, habits, leg_length(1.7), shoulder, 1.0)
    times, values = curve.knots[:2, :n]
    spans = [stage_span(doing, CYCLE, k, draws) for k in range(4)]
    repetitions = {tuple(values[(times >= begin) & (times < begin + length)]) for begin, length in spans}
    assert len(repetitions) == 4
    assert len({length for _, length in spans}) == 4
