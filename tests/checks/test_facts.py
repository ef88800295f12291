"""Facts of all segments at once against the checker of single statements: they find the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.checks.check import BOUNDS, Actor, check_statement, direction_seen, path_seen, speed_seen
from posegen.checks.evidence import UNSEEN, Evidence
from posegen.checks.facts import KINDS, Claims, directions_seen, false_claims, known_signs, paths_seen, speeds_seen
from posegen.library import load_library
from posegen.library.terms import DIRECTIONS, PATHS, SPEEDS
from posegen.scene import BOTH, LEFT, RIGHT

LIBRARY = load_library()
KNOWN = known_signs(LIBRARY)
ROWS = 40


def some_evidence(random: np.random.Generator) -> Evidence:
    slower = np.sort(random.uniform(0, 1, (ROWS, len(BOUNDS))), axis=1)
    return Evidence(
        side=random.integers(0, 3, ROWS).astype(np.int8),
        repetitions=random.integers(UNSEEN, 4, ROWS).astype(np.int32),
        turn=random.choice([0.0, 10.0, 15.0, 20.0, 20.1, 60.0, 150.0, 151.0, 400.0], ROWS) * random.choice([-1, 1], ROWS),
        slower=slower,
        faster=1.0 - slower,
    )


def some_claims(random: np.random.Generator) -> Claims:
    numbers = [
        random.integers(0, most, ROWS) for most in (len(LIBRARY.actions), 3, 4, len(SPEEDS), len(DIRECTIONS), len(PATHS))
    ]
    return Claims(*numbers)


def statements_of(claims: Claims, row: int) -> list[tuple[str, str]]:
    """Kind and value of what is told of a segment, as captions make statements of it."""
    values = {
        "action": "",
        "side": {LEFT: "left", RIGHT: "right", BOTH: ""}[int(claims.side[row])],
        "count": str(claims.repetitions[row]) if claims.repetitions[row] else "",
        "speed": SPEEDS[claims.speed[row]],
        "direction": DIRECTIONS[claims.direction[row]],
        "path": PATHS[claims.path[row]],
    }
    return [(kind, value) for kind, value in values.items() if value or kind == "action"]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_facts_and_statements_are_judged_alike(seed: int) -> None:
    random = np.random.default_rng(seed)
    claims, evidence = some_claims(random), some_evidence(random)
    false = false_claims(claims, evidence, KNOWN)
    names = [LIBRARY.actions[action] for action in claims.action]
    for row, name in enumerate(names):
        segments: list[dict[str, Any]] = [{"action": name, "start": 0, "end": 9}]
        for kind, value in statements_of(claims, row):
            said = {"actor": 0, "kind": kind, "segment": 0, "action": name, "value": value}
            verdict = check_statement(said, [Actor(segments, evidence, row, np.zeros((1, 9, 22, 3)), 0)], LIBRARY)
            assert false[row, KINDS.index(kind)] == (verdict is False), (said, verdict)


def test_what_is_not_told_is_not_false() -> None:
    random = np.random.default_rng(0)
    nothing = np.zeros(ROWS, np.int64)
    claims = Claims(random.integers(0, len(LIBRARY.actions), ROWS), nothing + BOTH, nothing, nothing, nothing, nothing)
    false = false_claims(claims, some_evidence(random), KNOWN)
    assert false[:, 0].any()
    assert not false[:, 1:].any()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_what_is_seen_at_once_is_what_is_seen_of_each(seed: int) -> None:
    evidence = some_evidence(np.random.default_rng(seed))
    for row in range(ROWS):
        assert DIRECTIONS[directions_seen(evidence.turn)[row]] == direction_seen(evidence.turn[row])
        assert PATHS[paths_seen(evidence.turn)[row]] == path_seen(evidence.turn[row])
        for bound, gait in ((0, "walk"), (2, "run")):
            for share in (0.5, 0.6):
                seen = SPEEDS[speeds_seen(evidence, np.full(ROWS, bound), share)[row]]
                assert seen == speed_seen(evidence, row, gait, share)
