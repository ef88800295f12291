"""Checking captions: each of their statements is held against what the joints show.

A statement is true when the joints show the same, false when they show something else or nothing of it, and open where posegen
does not know how it would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.checks.evidence import UNSEEN, Evidence, Stretches, look
from posegen.checks.partners import with_whom
from posegen.library import Library
from posegen.library.terms import AROUND, SPEED_BOUNDS
from posegen.scene import LEFT, RIGHT

__all__ = ["BOUNDS", "Actor", "check_statement", "direction_seen", "path_seen", "see_actors", "speed_seen", "statements_of"]

Array = NDArray[Any]

CURVE = 20.0
"""Degrees from which a path is no longer straight."""
FACING = 15.0
"""Degrees by which who turns to a side has turned at least."""
MOVING = 0.15
"""Metres a second: who walks is faster than that most of the time."""
MOST = 0.5
"""Share of the time that decides."""

BOUNDS = np.array([*SPEED_BOUNDS["walk"], *SPEED_BOUNDS["run"], MOVING])
"""Speeds that are asked about, metres a second for an average leg."""
_SIDES = {LEFT: "left", RIGHT: "right"}


class Actor(NamedTuple):
    """What is seen of one actor: for each of its told segments the action, first frame and frame behind the last, and evidence.

    Of `evidence`, the rows from `first` on are this actor's. `joints` are those of all actors of the sequence, [actors, frames,
    22, 3], of whom this one is `number`.
    """

    segments: Sequence[Mapping[str, Any]]
    evidence: Evidence
    first: int
    joints: Array
    number: int


def statements_of(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Give all statements of a row: those of its captions, and those of the captions of its segments."""
    for caption in row["captions"]:
        yield from caption["statements"]
    for actor in row["actors"]:
        for segment in actor["segments"]:
            yield from segment["statements"]


def see_actors(joints: Array, cast: Sequence[Sequence[Mapping[str, Any]]], library: Library, fps: float) -> list[list[Actor]]:
    """Look at all told segments of some sequences.

    Parameters
    ----------
    joints : float32 [n, actors, frames, 22, 3]
        Metres.
    cast : sequence, for each sequence, of actors
        As rows of a dataset have them, each with its `segments`.
    library : Library
    fps : float
        Frames a second.

    Returns
    -------
    list, for each sequence, of lists of Actor
    """
    told = [
        (clip, a, segment["start"], segment["end"], library.index(segment["action"]))
        for clip, actors in enumerate(cast)
        for a, actor in enumerate(actors)
        for segment in actor["segments"]
    ]
    stretches = Stretches(*np.array(told, np.int64).reshape(-1, 5).T)
    evidence = look(joints, stretches, library, BOUNDS, fps)
    seen, first = [], 0
    for clip, actors in enumerate(cast):
        of_clip = []
        for number, actor in enumerate(actors):
            of_clip.append(Actor(actor["segments"], evidence, first, joints[clip], number))
            first += len(actor["segments"])
        seen.append(of_clip)
    return seen


def check_statement(statement: Mapping[str, Any], actors: Sequence[Actor], library: Library) -> bool | None:
    """Hold one statement against what is seen of a sequence.

    Parameters
    ----------
    statement : mapping
        actor, kind, segment, action and value; see :mod:`posegen.captions.captions`.
    actors : sequence of Actor
        All actors of the sequence.
    library : Library

    Returns
    -------
    bool or None
        None where it cannot be measured.
    """
    kind, value = statement["kind"], str(statement["value"])
    if kind == "style":
        return None
    if kind == "people":
        return len(actors) == int(value) if statement["actor"] < 0 else None
    if not 0 <= statement["actor"] < len(actors):
        return False
    actor = actors[statement["actor"]]
    if not 0 <= statement["segment"] < len(actor.segments):
        return False
    if actor.segments[statement["segment"]]["action"] != statement["action"]:
        return False
    row = actor.first + statement["segment"]
    action, evidence = library.action(statement["action"]), actor.evidence
    if kind == "side":
        return None if action.signs.side is None else _SIDES.get(int(evidence.side[row])) == value
    if kind == "count":
        return None if evidence.repetitions[row] == UNSEEN else str(evidence.repetitions[row]) == value
    if kind == "direction":
        return direction_seen(evidence.turn[row]) == value
    if kind == "path":
        return path_seen(evidence.turn[row]) == value
    if kind == "speed":
        return None if action.gait not in SPEED_BOUNDS else speed_seen(evidence, row, action.gait) == value
    if kind == "partner":
        segment = actor.segments[statement["segment"]]
        found = with_whom(actor.joints, actor.number, segment["start"], segment["end"], segment["action"], library)
        return value in map(str, found)
    if kind == "order":
        return _in_order(actor, statement["segment"], value, library)
    return _done(actor, statement["segment"], library)


def direction_seen(turn: float) -> str:
    """Word for a turn in degrees: left, right, around, or nothing for hardly any."""
    if abs(turn) > AROUND:
        return "around"
    return "left" if turn > FACING else "right" if turn < -FACING else ""


def path_seen(turn: float) -> str:
    """Word for the path of who turns by so many degrees on the way: straight, left or right."""
    return "left" if turn > CURVE else "right" if turn < -CURVE else "straight"


def speed_seen(evidence: Evidence, row: int, gait: str, share: float = MOST) -> str:
    """Word for the speed that is kept most of the time: slow, normal, fast; nothing where none is kept for such a share."""
    first = 2 * list(SPEED_BOUNDS).index(gait)
    slow, fast = evidence.slower[row, first], evidence.faster[row, first + 1]
    kept = {"slow": slow, "normal": 1.0 - slow - fast, "fast": fast}
    word = max(kept, key=lambda word: kept[word])
    return word if kept[word] > share else ""


def _in_order(actor: Actor, number: int, value: str, library: Library) -> bool:
    """Whether a segment comes after, or during, another one, and both show in their own frames."""
    relation, _, other_number = value.partition(" ")
    other = int(other_number)
    if not 0 <= other < len(actor.segments):
        return False
    here, there = actor.segments[number], actor.segments[other]
    if relation == "after":
        placed = there["start"] < here["start"]
    else:
        placed = here["start"] < there["end"] and there["start"] < here["end"]
    shown = (_done(actor, number, library), _done(actor, other, library))
    return placed and False not in shown


def _done(actor: Actor, number: int, library: Library) -> bool | None:
    """Whether anything of a segment's action shows in its frames; None where nothing is known that would."""
    row, evidence = actor.first + number, actor.evidence
    action = library.action(actor.segments[number]["action"])
    if action.gait is not None and action.gait != "step":
        return bool(evidence.faster[row, -1] > MOST)
    if action.gait == "step":
        return direction_seen(evidence.turn[row]) != ""
    if action.signs.side is not None:
        return int(evidence.side[row]) in _SIDES
    return None if evidence.repetitions[row] == UNSEEN else bool(evidence.repetitions[row] > 0)
