"""Statements of many segments at once, against the check of single statements and against plain definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.captions.segments import BEGUN, NO_CHANGE, SIDES, Segments
from posegen.checks.evidence import UNKNOWN, Evidence
from posegen.checks.statements import BOUNDS, FACING, KINDS, Actor, check_statement, false_statements, shown_segments
from posegen.foundations.constants import ANGLES, AROUND, DIRECTIONS, PATHS, RETURNS, SHAPES, SPEEDS
from posegen.foundations.scene import BOTH, LEFT, RIGHT
from posegen.library.load import load_library

LIBRARY = load_library()
ROWS = 40


def some_evidence(random: np.random.Generator) -> Evidence:
    slower = np.sort(random.uniform(0, 1, (ROWS, len(BOUNDS))), axis=1)
    return Evidence(
        side=random.integers(0, 3, ROWS).astype(np.int8),
        repetitions=random.integers(UNKNOWN, 4, ROWS).astype(np.int32),
        turn=random.choice([0.0, 3.0, 10.0, 15.0, 20.1, 60.0, 80.0, 150.0, 151.0, 400.0], ROWS) * random.choice([-1, 1], ROWS),
        slower=slower,
        faster=1.0 - slower,
        shapes=random.random((ROWS, len(SHAPES))) < 0.5,
        steps=random.integers(0, 4, ROWS).astype(np.int32),
        foot=random.integers(0, 3, ROWS).astype(np.int8),
        back=random.integers(0, len(RETURNS), ROWS).astype(np.int8),
    )


def some_segments(**columns: NDArray[Any]) -> Segments:
    """Segments of one actor whose other columns are zero."""
    none = np.zeros(ROWS, np.int64)
    rest = dict.fromkeys(
        ("planned", "start", "end", "speed", "turn", "repetitions", "pace", "path", "direction", "degrees", "steps", "back"),
        none,
    )
    flags = dict.fromkeys(("layered", "finished", "covered", "together"), none.astype(bool))
    own = {"side": none + BOTH, "foot": none + BOTH, "exact": none == 0, "action": none, "change": none}
    return Segments(bounds=np.array([0, ROWS]), complete=np.array([True]), **(rest | flags | own | columns))


def random_segments(random: np.random.Generator) -> Segments:
    most = {"action": len(LIBRARY.actions), "side": 3, "repetitions": 4}
    most |= {"pace": len(SPEEDS), "direction": len(DIRECTIONS), "path": len(PATHS)}
    columns = {name: random.integers(0, count, ROWS) for name, count in most.items()}
    columns["degrees"] = random.choice([0, *ANGLES], ROWS)
    columns["change"] = random.choice([NO_CHANGE, BEGUN], ROWS)
    return some_segments(**columns)


def statements_of(segments: Segments, row: int) -> list[tuple[str, str]]:
    """Kind and value of the statements that captions make of a segment."""
    if segments.change[row] == BEGUN:
        return [("action", "begun")]
    action = LIBRARY.action(LIBRARY.actions[int(segments.action[row])])
    values = {
        "action": "",
        # The side of a gait without one is the foot of the first step, which is measured.
        "side": SIDES[int(segments.side[row])] if action.sided or action.gait is None else "",
        "count": str(segments.repetitions[row]) if segments.repetitions[row] else "",
        "speed": SPEEDS[segments.pace[row]],
        "direction": DIRECTIONS[segments.direction[row]],
        "path": PATHS[segments.path[row]],
        "degrees": str(segments.degrees[row]) if segments.degrees[row] else "",
    }
    return [(kind, value) for kind, value in values.items() if value or kind == "action"]


def naive_direction(turn: float) -> str:
    if abs(turn) > AROUND:
        return "around"
    return "left" if turn > FACING else "right" if turn < -FACING else ""


def naive_action(evidence: Evidence, row: int, name: str, begun: bool) -> bool | None:
    """Whether the action shows, None where nothing is known that would."""
    action = LIBRARY.action(name)
    if begun:
        if action.gait == "step":
            return bool(abs(evidence.turn[row]) > 3)
        if action.gait is None and action.signs.side is None and evidence.repetitions[row] == UNKNOWN:
            return None
        return action.gait is None or bool(evidence.faster[row, -1] > 0 or evidence.slower[row, -1] == 0)
    if action.gait is not None and action.gait != "step":
        return bool(evidence.faster[row, -1] > 0.5)
    if action.gait == "step":
        return naive_direction(evidence.turn[row]) != ""
    if action.signs.side is not None:
        return int(evidence.side[row]) in (LEFT, RIGHT)
    return None if evidence.repetitions[row] == UNKNOWN else bool(evidence.repetitions[row] > 0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_many_segments_and_single_statements_have_the_same_verdicts(seed: int) -> None:
    random = np.random.default_rng(seed)
    segments, evidence = random_segments(random), some_evidence(random)
    false = false_statements(segments, evidence, LIBRARY)
    shown = shown_segments(segments.action, segments.change == BEGUN, evidence, LIBRARY)
    names = [LIBRARY.actions[action] for action in segments.action]
    for row, name in enumerate(names):
        rows: list[dict[str, Any]] = [{"action": name, "start": 0, "end": 9}]
        for kind, value in statements_of(segments, row):
            statement = {"actor": 0, "kind": kind, "segment": 0, "action": name, "value": value}
            verdict = check_statement(statement, [Actor(rows, [shown[row]], np.zeros((1, 9, 22, 3)), 0)], LIBRARY)
            assert false[row, KINDS.index(kind)] == (verdict is False), (statement, verdict)
        assert shown[row]["action"] is naive_action(evidence, row, name, bool(segments.change[row] == BEGUN)), name
