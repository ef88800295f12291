"""Actions as flat arrays: near and far become left and right, and sided channels change their sign."""

from __future__ import annotations

import pytest

from posegen.foundations.arrays import Array
from posegen.library.channels import CHANNELS
from posegen.library.load import Library
from posegen.library.schema import Action
from posegen.motion.library_tables import ActionTables, library_tables, strategy_tables
from tests.motion.scripted import LIBRARY

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
    column: Array = actions.poses.numbers[name]
    return column


def value(row: Array, channel: str) -> float:
    return float(row[CHANNELS.index(channel)])


def test_near_and_far_are_resolved(salute: ActionTables) -> None:
    for side, near, far in ((LEFT, "left", "right"), (RIGHT, "right", "left")):
        pose = salute.poses.pose[side]
        assert value(pose, f"{near}_shoulder_flexion") == pytest.approx(0.25)
        assert value(pose, f"{far}_shoulder_flexion") == 0
        assert value(pose, f"{far}_elbow_flexion") == pytest.approx(0.05)
        assert value(pose, f"{near}_elbow_flexion") == 0
        assert value(pose, "left_collar_elevation") == value(pose, "right_collar_elevation") == pytest.approx(0.025)


def test_sided_channels_change_their_sign(salute: ActionTables) -> None:
    left, right = salute.poses.pose
    for channel, size in {"neck_rotation": 0.1, "root_lateral": 0.02}.items():
        assert value(left, channel) == pytest.approx(size)
        assert value(right, channel) == pytest.approx(-size)
    for channel, size in {"trunk_flexion": 0.02, "root_height": -0.1}.items():
        assert value(left, channel) == value(right, channel) == pytest.approx(size)


def test_a_strategy_may_fly_for_another_time() -> None:
    actions, name = library_tables(LIBRARY), "shooting"
    row = int(strategy_tables(LIBRARY).first[LIBRARY.index(name)])
    flights = [strategy.flight for strategy in LIBRARY.action(name).strategies.values()]
    own = LIBRARY.action(name).flight
    assert own is not None
    expected = [(flight or own)[0] for flight in flights]
    assert len(set(expected)) > 1
    assert scalar(actions, "flight_seconds")[row : row + 2 * len(flights) : 2].tolist() == expected
