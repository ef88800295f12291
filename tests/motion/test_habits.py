"""The personal way of performing an action, against naive computations, and what it keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posegen.config.load import load_config
from posegen.foundations.randomness import Stream, keyed, stream_keys
from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS
from posegen.library.load import load_library
from posegen.motion import rows
from posegen.motion.engine import animate
from posegen.motion.habits import REST_CHANGE, SIZE, habit, habit_lag, habit_offset, habit_size
from posegen.motion.key_poses import (
    fill_times,
    knots_of_channel,
    stage_span,
)
from posegen.motion.library_tables import CYCLE, action_keys, library_tables
from posegen.motion.scene_arrays import segment_records
from posegen.motion.workspace import empty_workspace
from posegen.planning.scenes import plan_scenes
from tests import naive
from tests.motion.scripted import LIBRARY, leg_length, segment, segment_of_kind

ACTIONS, NAMES = library_tables(LIBRARY), action_keys(LIBRARY)
SEEDS = st.integers(1, 2**32 - 1)
ROWS = st.integers(0, len(ACTIONS.poses.numbers) // 2 - 1)


def keys_of(seed: int) -> dict[str, int]:
    return {"way": seed, "moment": seed + 1, "beat": seed + 2}


@given(SEEDS, ROWS)
def test_an_action_with_the_other_side_is_the_mirror_image(seed: int, row: int) -> None:
    left, right = (segment_of_kind(ACTIONS, 2 * row + side, 0.0, 3.0, way=seed) for side in range(2))
    for c, name in enumerate(CHANNELS[: rows.FIRST_HAND]):
        other = CHANNELS.index(naive.mirror_channel(name))
        sign = -1 if name in CENTRAL_CHANNELS and name.endswith(("_lateral", "_rotation", "_obliquity")) else 1
        assert habit_offset(left, c, True) == sign * habit_offset(right, other, True)
        assert habit_size(left, c) == habit_size(right, other)
        assert habit_lag(left, c, 0.4) == habit_lag(right, other, 0.4)


def test_sides_of_a_person_are_alike_and_persons_are_not() -> None:
    """The numbers are about standard normal, correlate by .8 between the sides, and not between actions or channels."""
    keys = stream_keys(0, range(3000), Stream.WAY)
    near, far, trunk = (CHANNELS.index(name) for name in ("left_elbow_flexion", "right_elbow_flexion", "trunk_flexion"))
    wave, kick = segment("wave", 0.0, 3.0), segment("kick", 0.0, 3.0)
    numbers = np.empty((len(keys), 4))
    for k, key in enumerate(keys):
        for each in (wave, kick):
            each.way, each.moment = key ^ NAMES[each.action], key ^ NAMES[each.action] ^ 2
        numbers[k] = [*(habit(wave, c, SIZE) for c in (near, far, trunk)), habit(kick, near, SIZE)]
    np.testing.assert_allclose(numbers.std(0), 1, atol=0.05)
    np.testing.assert_allclose(np.corrcoef(numbers.T)[0], [1, 0.8, 0, 0], atol=0.06)


@given(SEEDS, ROWS, st.booleans(), st.integers(1, 4), st.floats(-0.6, 0.6))
def test_key_poses_stay_in_order(seed: int, row: int, right: bool, count: int, warp: float) -> None:
    plain = segment_of_kind(ACTIONS, 2 * row + right, 0.0, 3.0)
    if plain.gait:
        return
    cycle = LIBRARY.action(LIBRARY.actions[int(plain.action)]).cycle
    end = float(plain.enter + plain.exit + (cycle * count if cycle else 2.0))
    doing = segment_of_kind(ACTIONS, 2 * row + right, 0.0, end, repetitions=count if cycle else 0, warp=warp, **keys_of(seed))
    curve = empty_workspace(1, 1).curve
    fill_times(curve, doing, ACTIONS.poses)
    for c in np.flatnonzero(ACTIONS.poses.used[doing.kind]):
        n = knots_of_channel(curve, doing, ACTIONS.poses, leg_length(1.7), int(c), 1.0)
        assert (np.diff(curve.knots[0, :n]) > -1e-6).all(), CHANNELS[c]


@given(SEEDS)
def test_no_two_repetitions_are_equal(seed: int) -> None:
    doing = segment("squat", 0.0, 14.0, repetitions=4, **keys_of(seed))
    curve = empty_workspace(1, 1).curve
    fill_times(curve, doing, ACTIONS.poses)
    shoulder = CHANNELS.index("left_shoulder_flexion")
    n = knots_of_channel(curve, doing, ACTIONS.poses, leg_length(1.7), shoulder, 1.0)
    times, values = curve.knots[:2, :n]
    spans = [stage_span(doing, CYCLE, k) for k in range(4)]
    repetitions = {tuple(values[(times >= begin) & (times < begin + length)]) for begin, length in spans}
    assert len(repetitions) == 4
    assert len({length for _, length in spans}) == 4


def test_no_two_purposes_share_a_draw() -> None:
    """Nor do two actions, or a person and its scenes."""
    people, scenes = (stream_keys(0, range(20_000), stream) for stream in (Stream.WAY, Stream.MOMENT))
    keys = np.stack([people ^ NAMES[0], people ^ NAMES[1], scenes])
    numbers = np.concatenate([keyed(keys, purpose, bell=True) for purpose in range(REST_CHANGE + 1)])
    alike = np.corrcoef(numbers) - np.eye(len(numbers))
    assert np.abs(alike).max() < 0.03


def test_an_action_more_changes_no_habit_of_another(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "actions.yaml").write_text("family: odd\nactions: {aback: {parts: [head], duration: [1, 2]}}")
    (tmp_path / "words/en.yaml").write_text("actions: {aback: {verbs: [nudges|nudging|nudged|nudge]}}")
    larger = load_library(tmp_path)
    assert list(larger.actions) != list(LIBRARY.actions)
    scenes = plan_scenes(load_config("default"), LIBRARY, np.arange(30))
    same = np.array([larger.index(name) for name in LIBRARY.actions])
    moved = replace(scenes, action=np.where(scenes.action >= 0, same[scenes.action], -1))
    one, other = segment_records(scenes, LIBRARY), segment_records(moved, larger)
    for name in ("way", "moment", "beat", "warp", "personal"):
        np.testing.assert_array_equal(one[name], other[name])
    one, other = animate(scenes, LIBRARY, 250, 25), animate(moved, larger, 250, 25)
    np.testing.assert_array_equal(one.joints, other.joints)
