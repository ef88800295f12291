"""Statements against joints: decide which statements of captions are true.

A statement is true where the joints show the same, false where they show something else or nothing of it, and open where
posegen has no measurement for it. :func:`check_statement` checks one statement of a row, :func:`false_statements` all
possible statements of many segments at once; both use the same thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from posegen.captions.segments import BEGUN, SIDES, Segments
from posegen.checks.evidence import UNKNOWN, Evidence, Intervals, find_partners, measure_evidence, signs_of
from posegen.foundations.arrays import Array
from posegen.foundations.constants import ANGLES, AROUND, DIRECTIONS, PATHS, RETURNS, SHAPES, SPEED_BOUNDS, SPEEDS
from posegen.foundations.scene import BOTH
from posegen.library.load import Library
from posegen.planning.repertoire import NO_GAIT, RUN, STEP, WALK, repertoire

CURVE = 20.0
"""Degrees from which a path is curved."""
FACING = 15.0
"""Least degrees of a turn to a side."""
NEAR_ANGLE = 22.5
"""Most degrees between a turn and the angle that is stated of it."""
LEAST_TURN = 3.0
"""Least degrees of a turn that has begun."""
MOVING = 0.15
"""Metres per second: an actor with a gait is faster than this most of the time."""
MOST = 0.5
"""Share of the time that decides."""

BOUNDS = np.array([*SPEED_BOUNDS["walk"], *SPEED_BOUNDS["run"], MOVING])
"""Speed bounds that evidence is measured for, metres per second for an average leg."""
KINDS = ("action", "side", "count", "speed", "direction", "path", "degrees")
"""Kinds of the statements that are checked, in the order of the columns of :func:`false_statements`.

Order follows from these: both actions show, and captions state them in the order in which they begin.
"""
MEASURED = ("steps", "return")
"""Kinds of statements that are checked, too, and never planned: segments have what is measured."""
_OPEN = np.array(None)
_STRAIGHT, _LEFT, _RIGHT = (PATHS.index(word) for word in ("straight", "left", "right"))
_FIRST_SHAPE = PATHS.index(SHAPES[0])
_TO_LEFT, _TO_RIGHT, _AROUND = (DIRECTIONS.index(word) for word in ("left", "right", "around"))


Shown = dict[str, Any]
"""What the joints show of one segment: a value for each of :data:`KINDS` and :data:`MEASURED`, or None where it is not known.

The value of `action` is whether it shows. `shapes` are those of the path, in addition to whether it is straight or curved.
"""


class Actor(NamedTuple):
    """An actor whose segments are to be checked.

    `segments` are as rows have them, each with what is `shown` of it. `joints` are those of all actors of the sequence,
    [actors, frames, 22, 3], of whom this is number `number`.
    """

    segments: Sequence[Mapping[str, Any]]
    shown: Sequence[Shown]
    joints: Array
    number: int


def _bound(action: Array, library: Library) -> Array:
    """Return the index of the lower speed bound of each action's gait; -1 where there are no words for its speed."""
    gait = repertoire(library).gait[action]
    return np.where(gait == WALK, 0, np.where(gait == RUN, 2, -1))


def shown_directions(turn: Array) -> Array:
    """Return the direction of turns in degrees, as index into :data:`posegen.foundations.constants.DIRECTIONS`."""
    aside = np.where(turn > FACING, _TO_LEFT, np.where(turn < -FACING, _TO_RIGHT, 0))
    return np.where(np.abs(turn) > AROUND, _AROUND, aside)


def shown_angles(action: Array, turn: Array, library: Library, within: float = NEAR_ANGLE) -> Array:
    """Return which of :data:`foundations.constants.ANGLES` a turn on the spot, in degrees, has within a margin; 0 for none."""
    size, found = np.abs(turn), np.zeros(np.shape(turn), np.int64)
    for angle in ANGLES:
        found = np.where(np.abs(size - angle) < within, angle, found)
    return np.where(repertoire(library).gait[action] == STEP, found, 0)


def shown_paths(turn: Array) -> Array:
    """Return whether a path is straight or curved by the turn in degrees, as index into :data:`foundations.constants.PATHS`."""
    return np.where(turn > CURVE, _LEFT, np.where(turn < -CURVE, _RIGHT, _STRAIGHT))


def has_path(path: Array, evidence: Evidence) -> Array:
    """Return whether each interval shows a path, given as index into :data:`foundations.constants.PATHS`, by turn or shape."""
    shape = np.take_along_axis(evidence.shapes, np.maximum(path - _FIRST_SHAPE, 0)[:, None], axis=1)[:, 0]
    return np.where(path >= _FIRST_SHAPE, shape, shown_paths(evidence.turn) == path)


def shown_speeds(action: Array, evidence: Evidence, library: Library, share: float = MOST) -> Array:
    """Return the speed kept for more than a share of the time, as index into :data:`foundations.constants.SPEEDS`; 0 for none.

    Parameters
    ----------
    action : int [n]
        Index into the library's actions.
    evidence : Evidence
        Of n intervals, measured for :data:`BOUNDS`.
    library : Library
    share : float

    Returns
    -------
    int [n]
    """
    rows, bound = np.arange(len(action)), _bound(action, library)
    slow, fast = evidence.slower[rows, bound], evidence.faster[rows, bound + 1]
    kept = np.stack([slow, 1.0 - slow - fast, fast])
    word = kept.argmax(axis=0)
    return np.where((bound >= 0) & (kept[word, rows] > share), word + SPEEDS.index("slow"), 0)


def _action_shows(action: Array, begun: Array, evidence: Evidence, library: Library) -> Array:
    """Return True if the joints show the action, or no signal for it exists.

    Of an action that has only begun, no side and no repetition shows yet; a gait or a turn must move.
    """
    gait, sided = repertoire(library).gait[action], signs_of(library).side[action] >= 0
    shows = np.where(sided, evidence.side != BOTH, evidence.repetitions != 0)
    shows = np.where(gait == NO_GAIT, shows, evidence.faster[:, -1] > MOST)
    shows = np.where(gait == STEP, shown_directions(evidence.turn) != 0, shows)
    moves = np.where(gait == NO_GAIT, True, (evidence.faster[:, -1] > 0) | (evidence.slower[:, -1] == 0))
    return np.where(begun, np.where(gait == STEP, np.abs(evidence.turn) > LEAST_TURN, moves), shows)


def false_statements(segments: Segments, evidence: Evidence, library: Library) -> Array:
    """Return which possible statements about segments are false.

    Parameters
    ----------
    segments : Segments
        n segments.
    evidence : Evidence
        Measured in their frames, for :data:`BOUNDS`.
    library : Library

    Returns
    -------
    bool [n, kinds]
        Whether the statement of each of :data:`KINDS` is false; not where there is none or it cannot be measured.
    """
    sided, bound = signs_of(library).side[segments.action] >= 0, _bound(segments.action, library)
    whole = segments.change != BEGUN
    count = np.where(segments.exact & whole, segments.repetitions, 0)
    speeds = shown_speeds(segments.action, evidence, library)
    return np.stack(
        [
            ~_action_shows(segments.action, segments.change == BEGUN, evidence, library),
            sided & whole & (segments.side != BOTH) & (evidence.side != segments.side),
            (count > 0) & (evidence.repetitions != UNKNOWN) & (evidence.repetitions != count),
            (segments.pace > 0) & (bound >= 0) & (speeds != segments.pace),
            (segments.direction > 0) & (shown_directions(evidence.turn) != segments.direction),
            (segments.path > 0) & ~has_path(segments.path, evidence),
            (segments.degrees > 0) & (shown_angles(segments.action, evidence.turn, library) != segments.degrees),
        ],
        axis=1,
    )


def row_statements(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all statements of a row: those of its captions, and those of the captions of its segments."""
    for caption in row["captions"]:
        yield from caption["statements"]
    for actor in row["actors"]:
        for segment in actor["segments"]:
            yield from segment["statements"]


def shown_segments(action: Array, begun: Array, evidence: Evidence, library: Library) -> list[Shown]:
    """Return what the joints show of segments.

    Parameters
    ----------
    action : int [n]
        Index into the library's actions.
    begun : bool [n]
        Whether the action has only begun.
    evidence : Evidence
        Measured in their frames, for :data:`BOUNDS`.
    library : Library

    Returns
    -------
    list of Shown, n
    """
    sided, counted = signs_of(library).side[action] >= 0, evidence.repetitions != UNKNOWN
    gait = repertoire(library).gait[action] != NO_GAIT
    stepping = gait & ~repertoire(library).sided[action]
    known = gait | sided | counted
    speeds = np.array(SPEEDS)[shown_speeds(action, evidence, library)]
    columns = (
        np.where(known, _action_shows(action, begun, evidence, library), _OPEN),
        np.where(sided | stepping, np.array(SIDES)[np.where(sided, evidence.side, evidence.foot)], _OPEN),
        np.where(counted, evidence.repetitions.astype(str), _OPEN),
        np.where(_bound(action, library) >= 0, speeds, _OPEN),
        np.array(DIRECTIONS)[shown_directions(evidence.turn)],
        np.array(PATHS)[shown_paths(evidence.turn)],
        shown_angles(action, evidence.turn, library).astype(str),
        np.where(gait, evidence.steps.astype(str), _OPEN),
        np.where(gait, np.array(RETURNS)[evidence.back], _OPEN),
    )
    kinds = *KINDS, *MEASURED
    rows = [dict(zip(kinds, row, strict=True)) for row in zip(*(column.tolist() for column in columns), strict=True)]
    names = [tuple(SHAPES[i] for i in np.flatnonzero(shapes)) for shapes in evidence.shapes]
    return [row | {"shapes": own} for row, own in zip(rows, names, strict=True)]


def observe_actors(
    joints: Array, cast: Sequence[Sequence[Mapping[str, Any]]], library: Library, fps: float
) -> list[list[Actor]]:
    """Measure what the joints show of all segments of some sequences.

    Parameters
    ----------
    joints : float32 [n, actors, frames, 22, 3]
        Metres.
    cast : sequence, for each sequence, of actors
        As rows of a dataset have them, each with its `segments`.
    library : Library
    fps : float
        Frames per second.

    Returns
    -------
    list, for each sequence, of lists of Actor
    """
    rows = [
        (clip, a, segment["start"], segment["end"], library.index(segment["action"]), _has_only_begun(segment))
        for clip, actors in enumerate(cast)
        for a, actor in enumerate(actors)
        for segment in actor["segments"]
    ]
    *columns, begun = np.array(rows, np.int64).reshape(-1, 6).T
    intervals = Intervals(*columns)
    evidence = measure_evidence(joints, intervals, library, BOUNDS, fps)
    shown = iter(shown_segments(intervals.action, begun > 0, evidence, library))
    return [
        [
            Actor(actor["segments"], [next(shown) for _ in actor["segments"]], joints[clip], number)
            for number, actor in enumerate(actors)
        ]
        for clip, actors in enumerate(cast)
    ]


def _has_only_begun(segment: Mapping[str, Any]) -> bool:
    return any(s["kind"] == "action" and s["value"] == "begun" for s in segment.get("statements", ()))


def check_statement(statement: Mapping[str, Any], actors: Sequence[Actor], library: Library) -> bool | None:
    """Check one statement of a sequence.

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
    who, number = int(statement["actor"]), int(statement["segment"])
    if kind == "style":
        return None
    if kind == "people":
        return len(actors) == int(value) if who < 0 else None
    if not 0 <= who < len(actors):
        return False
    actor = actors[who]
    if not 0 <= number < len(actor.segments) or actor.segments[number]["action"] != statement["action"]:
        return False
    segment, shown = actor.segments[number], actor.shown[number]
    if kind == "path" and value in SHAPES:
        return value in shown["shapes"]
    if kind in KINDS[1:] or kind in MEASURED:
        return None if shown[kind] is None else bool(shown[kind] == value)
    if kind == "partner":
        found = find_partners(actor.joints, actor.number, segment["start"], segment["end"], segment["action"], library)
        return value in map(str, found)
    if kind == "order":
        return _in_order(actor, number, value)
    return cast(bool | None, shown["action"])


def _in_order(actor: Actor, number: int, value: str) -> bool:
    """Return whether a segment is after, or during, another one, and both show in their own frames."""
    relation, _, other_number = value.partition(" ")
    other = int(other_number)
    if not 0 <= other < len(actor.segments):
        return False
    here, there = actor.segments[number], actor.segments[other]
    if relation == "after":
        in_order = there["start"] < here["start"]
    else:
        in_order = here["start"] < there["end"] and there["start"] < here["end"]
    return in_order and False not in (actor.shown[number]["action"], actor.shown[other]["action"])
