"""Actions as flat arrays: near and far become left and right, and sided channels change their sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.foundations.skeleton import PARTS
from posegen.library.channels import ANCHORS, CHANNELS
from posegen.library.load import Library
from posegen.library.schema import Action
from posegen.motion.library_tables import CYCLE, ENTER, EXIT, PLANTED, SUPPORTS, ActionTables, library_tables, strategy_tables
from tests.motion.scripted import LIBRARY

Array = NDArray[Any]

SALUTE = {
    "parts": ["near_arm", "head"],
    "sided": True,
    "enter": 0.4,
    "exit": 0.5,
    "cycle": 0.9,
    "repetitions": [1, 3],
    "pose": {
        "near_shoulder_flexion": 90,
        "far_elbow_flexion": 18,
        "both_collar_elevation": 9,
        "neck_rotation": 36,
        "trunk_flexion": 7.2,
        "root_lateral": 0.02,
        "root_height": -0.1,
        "near_hand_aside": 0.4,
        "near_hand_up": 0.05,
        "near_hand_forward": 0.3,
        "near_hand_reach": 1.0,
    },
    "anchors": {"near": "head", "far": "floor"},
    "harmonics": {"near_elbow_flexion": {"sin": [36]}, "neck_rotation": {"cos": [0, 18]}},
    "enter_keys": [{"at": 0.5, "through": True, "pose": {"trunk_lateral": 3.6}}],
    "cycle_keys": [{"at": 0.5, "pose": {"near_shoulder_flexion": 45}}],
    "exit_keys": [{"at": 0.2, "pose": {"pelvis_obliquity": 1.8}}],
}
LEFT, RIGHT = 0, 1


@pytest.fixture(scope="module")
def salute() -> ActionTables:
    entries = {"salute": Action.model_validate(SALUTE)}
    return library_tables(Library(entries=entries, families={"military": ("salute",)}, themes={}, words={}))


def scalar(actions: ActionTables, name: str) -> Array:
    """One number of all actions, for both sides."""
    column: Array = actions.numbers[name]
    return column


def scope(actions: ActionTables, what: str, side: int) -> slice:
    """Range of the keys or series of the action."""
    return slice(int(scalar(actions, f"first_{what}")[side]), int(scalar(actions, f"last_{what}")[side]))


def value(row: Array, channel: str) -> float:
    return float(row[CHANNELS.index(channel)])


def test_near_and_far_are_resolved(salute: ActionTables) -> None:
    for side, near, far in ((LEFT, "left", "right"), (RIGHT, "right", "left")):
        pose = salute.pose[side]
        assert value(pose, f"{near}_shoulder_flexion") == pytest.approx(0.25)
        assert value(pose, f"{far}_shoulder_flexion") == 0
        assert value(pose, f"{far}_elbow_flexion") == pytest.approx(0.05)
        assert value(pose, f"{near}_elbow_flexion") == 0
        assert value(pose, "left_collar_elevation") == value(pose, "right_collar_elevation") == pytest.approx(0.025)


def test_sided_channels_change_their_sign(salute: ActionTables) -> None:
    left, right = salute.pose
    for channel, size in {"neck_rotation": 0.1, "root_lateral": 0.02}.items():
        assert value(left, channel) == pytest.approx(size)
        assert value(right, channel) == pytest.approx(-size)
    for channel, size in {"trunk_flexion": 0.02, "root_height": -0.1}.items():
        assert value(left, channel) == value(right, channel) == pytest.approx(size)


def test_keys_have_stages_and_cycles_close(salute: ActionTables) -> None:
    for side, near, sign in ((LEFT, "left", 1), (RIGHT, "right", -1)):
        keys = scope(salute, "key", side)
        assert salute.keys[keys]["stage"].tolist() == [ENTER, CYCLE, CYCLE, EXIT]
        assert salute.keys[keys]["at"].tolist() == [0.5, 0.5, 1.0, 0.2]
        assert salute.keys[keys]["through"].tolist() == [1, 0, 0, 0]
        enter, half, end, leave = salute.key_pose[keys]
        given = salute.key_given[keys]
        assert value(enter, "trunk_lateral") == pytest.approx(0.01 * sign)
        assert value(leave, "pelvis_obliquity") == pytest.approx(0.005 * sign)
        assert value(half, f"{near}_shoulder_flexion") == pytest.approx(0.125)
        assert [CHANNELS[c] for c in np.flatnonzero(given[1])] == [f"{near}_shoulder_flexion"]
        # The cycle ends in the pose, in every channel that the action moves.
        np.testing.assert_allclose(end[given[2]], salute.pose[side][given[2]])
        assert given[2].tolist() == salute.used[side].tolist()


def test_harmonics_keep_their_channel_and_unit(salute: ActionTables) -> None:
    for side, near, sign in ((LEFT, "left", 1), (RIGHT, "right", -1)):
        series = scope(salute, "series", side)
        channels = [CHANNELS[c] for c in salute.series_channel[series]]
        found = dict(zip(channels, salute.series[series], strict=True))
        assert set(found) == {f"{near}_elbow_flexion", "neck_rotation"}
        assert found[f"{near}_elbow_flexion"][1].tolist() == pytest.approx([0.1, 0, 0, 0])
        assert found["neck_rotation"][0].tolist() == pytest.approx([0, 0.05 * sign, 0, 0])


def test_hand_targets_keep_their_unit_and_mirror_with_their_side(salute: ActionTables) -> None:
    for side, near, far in ((LEFT, "left", "right"), (RIGHT, "right", "left")):
        pose = salute.pose[side]
        found = [value(pose, f"{near}_hand_{c}") for c in ("aside", "up", "forward", "reach")]
        assert found == pytest.approx([0.4, 0.05, 0.3, 1.0])
        assert not any(value(salute.used[side], f"{far}_hand_{c}") for c in ("aside", "up", "forward", "reach"))
        assert ANCHORS[salute.anchors[side][side]] == "head"
        assert ANCHORS[salute.anchors[side][1 - side]] == "floor"


def test_a_layer_owns_the_arm_and_what_it_uses_of_the_head(salute: ActionTables) -> None:
    for side, near in ((LEFT, "left"), (RIGHT, "right")):
        owned = {CHANNELS[c] for c in np.flatnonzero(salute.owned[side])}
        arm = {f"{near}_{c}" for c in ("collar_elevation", "collar_protraction", "elbow_flexion")}
        arm |= {f"{near}_shoulder_{c}" for c in ("flexion", "abduction", "rotation")}
        arm |= {f"{near}_hand_{c}" for c in ("aside", "up", "forward", "reach")}
        assert owned == arm | {"neck_rotation"}
        assert {PARTS[p] for p in np.flatnonzero(salute.parts[side])} == {f"{near}_arm", "head"}


def test_numbers_of_an_action(salute: ActionTables) -> None:
    assert scalar(salute, "support").tolist() == [PLANTED, PLANTED]
    assert scalar(salute, "gait").tolist() == [0, 0]
    assert scalar(salute, "enter").tolist() == [0.4, 0.4]
    assert scalar(salute, "exit").tolist() == [0.5, 0.5]


def test_every_action_of_the_library_has_both_sides() -> None:
    actions = library_tables(LIBRARY)
    assert len(actions.numbers) == 2 * sum(len(LIBRARY.action(name).performances) for name in LIBRARY.actions)
    for name in LIBRARY.actions:
        action, row = LIBRARY.action(name), 2 * LIBRARY.index(name)
        assert scalar(actions, "support")[row : row + 2].tolist() == [SUPPORTS[action.support]] * 2
        if action.flight:
            assert scalar(actions, "flight_seconds")[row] == action.flight[0]
            assert scalar(actions, "flight_begin")[row] == action.flight[1] < scalar(actions, "flight_end")[row] < 1


def test_a_strategy_may_fly_for_another_time() -> None:
    actions, name = library_tables(LIBRARY), "shooting"
    row = int(strategy_tables(LIBRARY).first[LIBRARY.index(name)])
    flights = [strategy.flight for strategy in LIBRARY.action(name).strategies.values()]
    own = LIBRARY.action(name).flight
    assert own is not None
    expected = [(flight or own)[0] for flight in flights]
    assert len(set(expected)) > 1
    assert scalar(actions, "flight_seconds")[row : row + 2 * len(flights) : 2].tolist() == expected


def test_tables_are_cached() -> None:
    assert library_tables(LIBRARY) is library_tables(LIBRARY)
