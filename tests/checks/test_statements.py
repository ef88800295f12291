"""Statements against joints: those of captions are true, and their negations are false."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import posegen
from posegen.checks.evidence import Intervals, measure_evidence
from posegen.checks.statements import KINDS, MEASURED, check_statement, observe_actors, row_statements
from posegen.foundations.arrays import Array
from posegen.foundations.scene import BOTH, LEFT
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.synthesis.synthesize import Batch

Statement = dict[str, Any]

FPS = 25
REFUSED = 0.99
"""Share of the negated statements that must be false."""
TRUE = 1.0
"""Share of the measurable statements that must be true."""
ANOTHER = {
    "left": "right", "right": "left", "around": "left", "slow": "fast", "fast": "slow", "normal": "fast", "straight": "left",
    "left_circle": "right_circle", "right_circle": "left_circle", "figure_eight": "zigzag", "zigzag": "figure_eight",
    "back_and_forth": "left_circle", "left_diagonal": "right_diagonal", "right_diagonal": "left_diagonal",
    "45": "135", "90": "180", "135": "45", "180": "90",
}  # fmt: skip


@pytest.fixture(scope="module")
def batch() -> Batch:
    return posegen.synthesize(posegen.load_config("default"), range(80))


@pytest.fixture(scope="module")
def verdicts(batch: Batch) -> list[tuple[Statement, bool | None, bool | None]]:
    """Each statement of each caption, its verdict, and that of its negation."""
    library = load_library()
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    seen = observe_actors(joints, [row["actors"] for row in batch.rows], library, FPS)
    found = []
    for row, actors in zip(batch.rows, seen, strict=True):
        for statement in row_statements(row):
            false = negated(statement, row)
            refused = None if false is None else check_statement(false, actors, library)
            found.append((statement, check_statement(statement, actors, library), refused))
    return found


def negated(statement: Statement, row: dict[str, Any]) -> Statement | None:
    kind, value = statement["kind"], statement["value"]
    if kind in ("side", "direction", "speed", "path", "degrees"):
        return statement | {"value": ANOTHER[value]}
    if kind == "count" or (kind == "people" and statement["actor"] < 0):
        return statement | {"value": str(int(value) + 1)}
    if kind == "order" and value.startswith("after"):
        before = int(value.split()[1])
        action = row["actors"][statement["actor"]]["segments"][before]["action"]
        return statement | {"segment": before, "action": action, "value": f"after {statement['segment']}"}
    return None


def of_kind(verdicts: list[tuple[Statement, bool | None, bool | None]]) -> Iterator[tuple[str, Counter[Any], Counter[Any]]]:
    for kind in ("side", "count", "order", "speed", "direction", "path", "degrees", "people"):
        mine = [(true, false) for statement, true, false in verdicts if statement["kind"] == kind]
        yield kind, Counter(true for true, _ in mine), Counter(false for _, false in mine)


def test_statements_of_captions_are_true(verdicts: list[tuple[Statement, bool | None, bool | None]]) -> None:
    for kind, stated, _ in of_kind(verdicts):
        assert stated[True] >= 20, kind
        assert stated[True] >= TRUE * (stated[True] + stated[False]), (kind, stated)


def test_every_kind_of_statement_is_checked(verdicts: list[tuple[Statement, bool | None, bool | None]]) -> None:
    # A new kind of statement must be checked during synthesis; the last three follow from how captions are written.
    assert {statement["kind"] for statement, _, _ in verdicts} <= {*KINDS, *MEASURED, "order", "people", "style"}


def test_negations_of_statements_are_false(verdicts: list[tuple[Statement, bool | None, bool | None]]) -> None:
    for kind, _, negations in of_kind(verdicts):
        assert negations[False] >= 20, kind
        assert negations[False] >= REFUSED * (negations[True] + negations[False]), (kind, negations)


def test_sides_and_counts_in_captions_have_signs() -> None:
    library = load_library()
    for name in library.actions:
        words, signs = library.words["actions"][name], library.action(name).signs
        assert not words.get("count") or signs.count, name
        assert not words.get("side") or signs.side or name == "limp", name
        assert not any("{side}" in verb for verb in words.get("body", ())) or signs.side, name


def walker(speed: float, turn: float, frames: int = 75) -> Array:
    """Hips that move at a speed, in m/s, and turn by some degrees to the left, with legs; all else is zero."""
    joints = np.zeros((1, 1, frames, len(JOINTS), 3), np.float32)
    yaw = np.radians(np.linspace(0, turn, frames))
    ahead = np.stack([np.sin(yaw), 0 * yaw, np.cos(yaw)], -1)
    left = np.stack([np.cos(yaw), 0 * yaw, -np.sin(yaw)], -1)
    way = np.cumsum(ahead * speed / FPS, axis=0)
    for name, aside, height in (("pelvis", 0, 0.9), ("left_hip", 0.1, 0.9), ("right_hip", -0.1, 0.9)):
        joints[0, 0, :, JOINTS.index(name)] = way + aside * left + [0, height, 0]
    for side, aside in (("left", 0.1), ("right", -0.1)):
        for name, height in (("knee", 0.486), ("ankle", 0.072)):
            joints[0, 0, :, JOINTS.index(f"{side}_{name}")] = way + aside * left + [0, height, 0]
    return joints


@pytest.mark.parametrize(("speed", "turn"), [(1.3, 0.0), (0.8, 70.0), (1.7, -170.0), (3.0, 400.0)])
def test_speed_and_turn_are_measured(speed: float, turn: float) -> None:
    library = load_library()
    joints = walker(speed, turn)
    interval = Intervals(*np.array([[0, 0, 0, 75, library.index("walk")]]).T)
    # On a curve the path is a little longer than the straight line over a stride.
    straight = speed * (1 - np.radians(turn / 75 * 12) ** 2 / 24)
    seen = measure_evidence(joints, interval, library, np.array([0.99, 1.01]) * straight, FPS)
    assert abs(seen.turn[0] - turn) < 0.05
    assert seen.faster[0].tolist() == [1.0, 0.0]
    assert seen.slower[0].tolist() == [0.0, 1.0]


def test_a_side_needs_a_difference() -> None:
    library = load_library()
    joints = np.zeros((1, 1, 10, len(JOINTS), 3), np.float32)
    interval = Intervals(*np.array([[0, 0, 0, 10, library.index("wave")]]).T)
    none = np.empty(0)
    assert measure_evidence(joints, interval, library, none, FPS).side[0] == BOTH
    joints[..., JOINTS.index("left_wrist"), 1] = 0.02
    assert measure_evidence(joints, interval, library, none, FPS).side[0] == LEFT


def test_an_interval_must_be_within_its_clip() -> None:
    interval = Intervals(*np.array([[0, 0, 5, 5, 0]]).T)
    with pytest.raises(ValueError, match="frames 5 to 5 are not an interval of a clip of 75 frames"):
        measure_evidence(walker(1, 0), interval, load_library(), np.empty(0), FPS)


def test_statements_about_missing_segments_are_false() -> None:
    library = load_library()
    actors = observe_actors(walker(1.2, 0), [[{"segments": [{"action": "walk", "start": 0, "end": 75}]}]], library, FPS)[0]
    statement = {"actor": 0, "kind": "action", "segment": 0, "action": "walk", "value": ""}
    assert check_statement(statement, actors, library)
    assert check_statement(statement | {"kind": "speed", "value": "normal"}, actors, library)
    for wrong in ({"actor": 1}, {"segment": 1}, {"action": "run"}, {"kind": "order", "value": "after 1"}):
        assert check_statement(statement | wrong, actors, library) is False
