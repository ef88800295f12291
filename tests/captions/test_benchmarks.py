"""Benchmarks of captions and interactions: they must detect what they measure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import posegen
from benchmarks.story.encounters import overlap_of_two, palms
from benchmarks.story.language import faults
from benchmarks.story.meeting import BODY, HANDS, gap, longest_near, meetings
from benchmarks.story.recovered import chance, recovered
from benchmarks.story.truth import Checked, check_batch, false_figures, negations, refused
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.synthesis.synthesize import Batch
from tests.evaluation.figures import standing

Array = NDArray[Any]
SOUND = [
    "a person walks slowly, then sits down for a while and waves once",
    "In an office, an older man turns to his left. He then waits.",
    "an honest man waits an hour in a uniform",
    "two people: the first runs, while the second picks something up with the left hand twice",
]
BROKEN = {
    "a doubled word": "a person turns to the the left",
    "a broken article": "a older man walks",
    "an article without its noun": "a person walks with the, then waves",
    "a hole or a bracket": "a person waves {their} hand",
    "spaces or marks out of place": "a person walks , then waves",
    "one of many, or many of one": "two person are in a park",
    "a beginning in the wrong case": "a person waves. Then he sits.",
}


@pytest.fixture(scope="module")
def batch() -> Batch:
    # On which side somebody limps cannot be measured: the negation would not be refused.
    return posegen.synthesize(posegen.load_config("default", ["variants.position=null", "story.actions={limp: 0}"]), range(24))


@pytest.mark.parametrize("text", SOUND)
def test_sound_english_has_no_fault(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(("fault", "text"), BROKEN.items())
def test_each_fault_of_language_is_found(fault: str, text: str) -> None:
    assert fault in faults(text)


def test_every_way_of_turning_a_statement_round() -> None:
    row = {"actors": [{"segments": [{"action": "walk"}, {"action": "wave"}]}]}
    statement = {"actor": 0, "segment": 1, "action": "wave"}

    def negated(kind: str, value: str) -> set[str]:
        return {false["value"] for false in negations({**statement, "kind": kind, "value": value}, row)}

    assert negated("side", "left") == {"right"}
    assert negated("speed", "normal") == {"slow", "fast"}
    assert negated("direction", "around") == {"left", "right"}
    assert (negated("count", "1"), negated("count", "3")) == ({"2"}, {"2", "4"})
    assert negated("action", "") == set()
    for order in ("after 0", "during 0"):
        (false,) = negations({**statement, "kind": "order", "value": order}, row)
        assert (false["segment"], false["action"], false["value"]) == (0, "walk", "after 1")


def test_a_false_statement_is_found_and_named(batch: Batch) -> None:
    library, clean = load_library(), Checked()
    check_batch(batch, library, 25.0, clean)
    assert (clean.samples, clean.false, sum(n for (_, v), n in clean.stated.items() if v is False)) == (24, [], 0)
    row = next(row for row in batch.rows if any(s["kind"] == "side" for s in row["captions"][1]["statements"]))
    captions = [
        {**caption, "statements": [next(negations(s, row)) if s["kind"] == "side" else s for s in caption["statements"]]}
        for caption in row["captions"]
    ]
    changed = [{**other, "captions": captions} if other is row else other for other in batch.rows]
    found = Checked()
    table = pa.Table.from_pylist(changed, schema=batch.table.schema)
    check_batch(replace(batch, table=table), library, 25.0, found)
    figures = {figure.name: figure for figure in false_figures("default", found)}
    assert found.stated["side", False] >= 1
    assert "left" in found.false[0] or "right" in found.false[0]
    assert figures["false statements in all variants of 24 samples, default"].passed is False
    assert {figure.passed for figure in refused(clean)} == {True, None}
    # The negation of a negated statement is true.
    assert found.negated["side", True] == found.stated["side", False]


def test_a_palm_continues_the_forearm() -> None:
    joints = standing(1).astype(np.float64)
    elbow, wrist = (joints[0, JOINTS.index(f"right_{name}")] for name in ("elbow", "wrist"))
    palm = palms(joints)[0, 1]
    along = (wrist - elbow) / np.linalg.norm(wrist - elbow)
    assert np.cross(palm - wrist, along) == pytest.approx([0, 0, 0], abs=1e-9)
    assert 0.07 < (palm - wrist) @ along < 0.11  # half a hand


def test_hands_that_meet_are_near_and_others_not() -> None:
    pair = np.stack([standing(1), standing(1)]).astype(np.float64)
    pair[1, ..., [0, 2]] *= -1
    pair[1, ..., 2] += 0.8
    for person in pair:
        person[0, JOINTS.index("right_wrist")] = [0.3, 1.1, 0.4]
    assert gap(pair, HANDS) == pytest.approx([0.0], abs=1e-6)
    pair[0, 0, JOINTS.index("right_wrist"), 1] += 0.08
    assert gap(pair, HANDS) == pytest.approx([0.08], abs=1e-6)
    assert gap(pair, BODY)[0] > 0.2
    for one, other in ((0, 1), (1, 0)):
        pair[one, 0, JOINTS.index("left_wrist")] = pair[other, 0, JOINTS.index("spine2")] + [0, 0, 0.16]
    assert gap(pair, BODY) == pytest.approx([0.04], abs=1e-3)  # the line of the trunk is not quite upright
    assert longest_near(np.array([0.1, 0.04, 0.04, 0.06, 0.05, 0.01, 0.02])) == 3


def test_meetings_are_what_both_do_to_the_end() -> None:
    def done(action: str, start: int, end: int) -> dict[str, Any]:
        return {"action": action, "start": start, "end": end}

    one = [done("walk", 0, 20), done("shake_hands", 20, 60)]
    other = [done("shake_hands", 25, 70), done("wave", 70, 90)]
    assert list(meetings([one, other], 100)) == [("handshake", slice(25, 60), HANDS)]
    assert list(meetings([one, other], 60)) == []
    assert list(meetings([one, other[1:]], 100)) == []


def test_depth_of_overlapping_people() -> None:
    one, other = standing(2).astype(np.float64), standing(2).astype(np.float64)
    other[0, :, 2] += 1.0
    found = overlap_of_two(one, other)
    assert found[0] == 0
    assert found[1] > 0.15  # trunk in trunk: twice its radius
    other[1, :, 2] += 0.15
    trunks = overlap_of_two(one, other)[1]
    other[1, :, 2] += 0.01
    assert trunks - overlap_of_two(one, other)[1] == pytest.approx(0.01, abs=0.002)
    assert overlap_of_two(one, other, upper_arms=False)[1] == overlap_of_two(one, other)[1]
    for joint, x in (("right_shoulder", 0.1), ("right_elbow", 0.4), ("right_wrist", 0.7)):  # an arm held out to the side
        one[0, JOINTS.index(joint)] = other[0, JOINTS.index(joint)] = [x, 1.3, 0.5]
    assert overlap_of_two(one, other)[0] > overlap_of_two(one, other, upper_arms=False)[0] > 0.05
    other[1] = np.nan
    assert np.isnan(overlap_of_two(one, other)[1])


def test_actions_are_recovered_from_their_own_words_only() -> None:
    draws = np.random.default_rng(0)
    names = ["walk", "wave", "sit", "jump", "turn", "bow"]
    actions = [frozenset(draws.choice(names, 2, replace=False).tolist()) for _ in range(300)]
    captions = ["a person " + " and ".join(f"{name}s" for name in sorted(done)) for done in actions]
    assert recovered(captions, actions)[0] == 1.0
    assert chance(actions) == pytest.approx(0.5, abs=0.02)  # all six are named, of which two are done
    mixed = [captions[i] for i in draws.permutation(300)]
    assert recovered(mixed, actions)[0] < 0.6
