"""Visible segments: which planned segments the shown frames contain, and what captions may state about each of them.

A planned segment that is cut by the end of the clip counts only as far as it is visible. A jump that has only begun is
described as begun, an incomplete turn has no direction, and of seven waves only the finished ones are counted. Whether the
joints show what a segment states is checked in :mod:`posegen.checks.segments`. Statements are put into words in
:mod:`posegen.captions.grammar`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from posegen.foundations.arrays import Array
from posegen.foundations.bodies import hip_height
from posegen.foundations.constants import AROUND, AVERAGE_LEG, DEGREES, FRAME_SLACK, SPEED_BOUNDS
from posegen.foundations.scene import BOTH, CONTINUED, LEFT, NOTHING, RIGHT, UNUSED, Scenes
from posegen.library.load import Library
from posegen.planning.repertoire import NO_GAIT, RUN, STEP, WALK, Repertoire, parts_of, repertoire

SIDES = ("left", "right", "")
"""Words for :attr:`Segments.side`, LEFT, RIGHT and BOTH; for speed, path and direction see :mod:`foundations.constants`."""
_SPEED_BOUNDS = {WALK: SPEED_BOUNDS["walk"], RUN: SPEED_BOUNDS["run"]}
_CURVE = 35.0
_MIN_GAIT_SECONDS, _MIN_GAIT_LEGS, _WALKING_SPEED = 1.0, 1.3, 0.7
"""Seconds of a visible gait, and leg lengths that it must cover. Gaits slower than this speed in m/s must cover less."""
_MIN_STAND, _MIN_HOLD, _MIN_SEATED = 1.0, 0.4, 0.3
_BEGUN, _SLACK = 0.25, 1e-3
_MIN_BEGUN = 0.3
"""Seconds after which an action that the end of the clip cuts is described as begun."""
NO_CHANGE, BEGUN, STOPS = range(3)
"""Values of :attr:`Segments.change`."""
MOST_SEGMENTS = 1 << 12
"""Exclusive upper bound of the number of segments of an actor."""


def struct_type(**columns: str | pa.DataType) -> pa.StructType:
    """Return a struct type; types are given as such or by name."""
    return pa.struct([(name, pa.type_for_alias(t) if isinstance(t, str) else t) for name, t in columns.items()])


Statement = dict[str, int | str]
"""A claim: actor, kind, segment, action and value; see :mod:`posegen.captions.captions`."""
STATEMENT = struct_type(actor="int32", kind="string", segment="int32", action="string", value="string")
"""Arrow type of a statement."""


@dataclass(frozen=True)
class Segments:
    """Visible segments, ordered by sequence, actor and start. All arrays but the first two have one entry per segment.

    Attributes
    ----------
    bounds : int64 [sequences * actors + 1]
        Where the segments of each actor begin.
    complete : bool [sequences * actors]
        Whether no planned segment begins after an actor's last visible segment, so that this segment is the last one.
    action : index into the library's actions
    planned : number of the planned segment among those of the actor
    layered : whether it overlays the base segment before it
    start, end : frames; the end is not included
    side : LEFT, RIGHT or BOTH; BOTH for actions without a side
    speed, turn : metres per second, degrees (visible part, left positive)
    repetitions : number of completed repetitions
    pace, path, direction : index into SPEEDS, PATHS, DIRECTIONS; 0 for none
    degrees : angle of a turn on the spot, one of :data:`foundations.constants.ANGLES`; 0 for none. Measured, not planned
    steps : steps of a gait; 0 for a number that is not stated. Measured
    foot : LEFT or RIGHT foot that makes the first step of a gait, else BOTH. Measured
    back : index into :data:`foundations.constants.RETURNS`: whether a gait leads back to where the clip began. Measured
    exact : whether `repetitions` is all that is visible, with no further one begun
    finished : whether the planned segment ends within the clip
    covered : whether a layered segment overlays it
    change : BEGUN where the action has only begun when the clip ends; STOPS where standing follows a gait; otherwise NO_CHANGE
    together : whether it is done with the partner
    """

    bounds: Array
    complete: Array
    action: Array
    planned: Array
    layered: Array
    start: Array
    end: Array
    side: Array
    speed: Array
    turn: Array
    repetitions: Array
    pace: Array
    path: Array
    direction: Array
    degrees: Array
    steps: Array
    foot: Array
    back: Array
    exact: Array
    finished: Array
    covered: Array
    change: Array
    together: Array

    @property
    def owner(self) -> Array:
        """Sequence and actor of each segment, as ``sequence * actors + actor``."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def select(self, rows: Array | slice, bounds: Array, complete: Array) -> Segments:
        """Return the segments `rows`, with new `bounds` and `complete`."""
        columns = {field.name: getattr(self, field.name)[rows] for field in fields(self)[2:]}
        return Segments(bounds=bounds, complete=complete, **columns)

    def append(self, other: Segments) -> Segments:
        """Return these segments followed by those of further sequences with the same number of actors."""
        names = [field.name for field in fields(self)[1:]]
        columns = {name: np.concatenate([getattr(each, name) for each in (self, other)]) for name in names}
        return Segments(bounds=np.concatenate([self.bounds, other.bounds[1:] + self.bounds[-1]]), **columns)


def find_segments(scenes: Scenes, library: Library, fps: int) -> Segments:
    """Find the visible segments of all sequences.

    Parameters
    ----------
    scenes : Scenes
    library : Library
    fps : int

    Returns
    -------
    Segments
    """
    actions = repertoire(library)
    shown = (scenes.length / fps)[:, None, None]
    change = _change(actions, scenes)
    scenes = join_paths(scenes)
    start, end = scenes.start.astype(np.float64), scenes.end.astype(np.float64)
    # What began before the first frame, such as lying before getting up, is not described.
    used = (scenes.action != NOTHING) & (start < shown) & (start >= 0)
    seconds = np.minimum(end, shown) - start
    finished = end <= shown + _SLACK
    completed, exact = _completed(actions, scenes, seconds)
    leg = hip_height(scenes.persons)[..., None]
    whole = _is_visible(actions, scenes, seconds, finished, completed, leg)
    continues = _continues(actions, scenes)
    begun = ~whole & ~finished & ~continues & (seconds >= _MIN_BEGUN - _SLACK) & (scenes.action != actions.standing)
    visible = used & (whole | begun)
    turn = scenes.turn * DEGREES * np.where(finished, 1.0, seconds / np.where(used, end - start, 1.0))
    gait = actions.gait[scenes.action]
    seen = np.nonzero(visible)
    order = np.lexsort((scenes.layered[seen], start[seen], seen[0] * visible.shape[1] + seen[1]))
    where = tuple(index[order] for index in seen)
    owner = where[0] * visible.shape[1] + where[1]
    columns = {
        "action": scenes.action,
        "planned": np.cumsum(scenes.action != NOTHING, axis=2) - 1,
        "layered": scenes.layered,
        "start": np.ceil(start * fps - FRAME_SLACK).astype(np.int64),
        "end": np.ceil(np.minimum(end, shown) * fps - FRAME_SLACK).astype(np.int64),
        "side": np.where(actions.sided[scenes.action], scenes.side, BOTH),
        "change": np.where(begun, BEGUN, change),
        "speed": scenes.speed,
        "turn": turn,
        "repetitions": completed,
        "pace": np.where(begun, 0, _pace(gait, scenes.speed, leg)),
        "path": np.where(begun, 0, np.where(scenes.path > 0, scenes.path * finished, _path(gait, scenes.turn, turn))),
        "direction": np.where(begun, 0, _direction(gait, turn)),
        **{name: np.full(gait.shape, none) for name, none in (("degrees", 0), ("steps", 0), ("foot", BOTH), ("back", 0))},
        "exact": exact,
        "finished": finished,
        "covered": _covered(scenes, used),
        "together": scenes.together & ~begun,
    }
    bounds = np.searchsorted(owner, np.arange(visible.shape[0] * visible.shape[1] + 1))
    last = np.where(visible, start, -np.inf).max(-1, keepdims=True)
    complete = ~(used & ~visible & ~continues & (start > last)).any(-1).reshape(-1)
    return Segments(bounds=bounds, complete=complete, **{name: values[where] for name, values in columns.items()})


def join_paths(scenes: Scenes) -> Scenes:
    """Return scenes in which each path is one segment, with the sum of its turns; its other segments are unused."""
    if not (scenes.path == CONTINUED).any():
        return scenes
    end, turn = scenes.end.copy(), scenes.turn.copy()
    for k in range(end.shape[2] - 1, 0, -1):
        continued = scenes.path[..., k] == CONTINUED
        end[..., k - 1] = np.where(continued, end[..., k], end[..., k - 1])
        turn[..., k - 1] += np.where(continued, turn[..., k], np.float32(0.0))
    joined, continued = replace(scenes, end=end, turn=turn), scenes.path == CONTINUED
    unused = {name: np.where(continued, empty, getattr(joined, name)) for name, empty in UNUSED.items()}
    return replace(joined, **{name: values.astype(getattr(joined, name).dtype) for name, values in unused.items()})


def segment_columns(library: Library, segments: Segments, moving: Array | None = None) -> dict[str, pa.Array]:
    """Return columns of segments, as the table of sequences has them.

    Parameters
    ----------
    library : Library
    segments : Segments
    moving : int [segments], optional
        Side of the parts that move; the side of the segment unless given.

    Returns
    -------
    dict of str to pyarrow.Array [segments]
        Action, parts, start and end frame (not included), side (empty for none), speed in m/s, turn in degrees (visible part,
        left positive) and completed repetitions.
    """
    side = segments.side if moving is None else moving
    return {
        "action": pa.array(library.actions).take(pa.array(segments.action)),
        "parts": _parts(library).take(pa.array(segments.action * len(SIDES) + side)),
        "start": pa.array(segments.start.astype(np.int32)),
        "end": pa.array(segments.end.astype(np.int32)),
        "side": pa.array(SIDES).take(pa.array(segments.side)),
        "speed": pa.array(segments.speed),
        "turn": pa.array(segments.turn),
        "repetitions": pa.array(segments.repetitions.astype(np.int32)),
    }


@lru_cache(maxsize=8)
def _parts(library: Library) -> pa.ListArray:
    """Return the parts that move in each action on each of :data:`SIDES`."""
    return pa.array([parts_of(library.action(name), side) for name in library.actions for side in (LEFT, RIGHT, BOTH)])


def _completed(actions: Repertoire, scenes: Scenes, seconds: Array) -> tuple[Array, Array]:
    """Count the completed repetitions, and decide whether no further one has visibly begun."""
    cycle = actions.cycle[scenes.action]
    counted = actions.counted[scenes.action]
    cycles = (seconds * scenes.tempo - actions.enter[scenes.action]) / np.where(cycle > 0, cycle, 1.0) + _SLACK
    done = np.clip(np.floor(cycles), 0, scenes.repetitions)
    exact = (done == scenes.repetitions) | (cycles - done < _BEGUN)
    return np.where(counted, done, 0).astype(np.int64), exact


def _is_visible(actions: Repertoire, scenes: Scenes, seconds: Array, finished: Array, completed: Array, leg: Array) -> Array:
    """Decide whether enough of each planned segment is visible for it to be described."""
    action = scenes.action
    gait, enter = actions.gait[action], actions.enter[action] / scenes.tempo
    held = seconds >= enter + np.where(actions.seated[action], _MIN_SEATED, _MIN_HOLD)
    distance = _MIN_GAIT_LEGS * np.minimum(actions.slow[action] / _WALKING_SPEED, 1.0) * leg
    travelled = (seconds >= _MIN_GAIT_SECONDS) & (seconds * scenes.speed >= distance)
    plain = np.where(action == actions.standing, seconds >= _MIN_STAND, held)
    moved = np.where(gait == NO_GAIT, plain, np.where(gait == STEP, finished, travelled))
    return np.where(actions.counted[action], completed > 0, moved)


def _pace(gait: Array, speed: Array, leg: Array) -> Array:
    pace = np.zeros(gait.shape, np.int64)
    for kind, (slow, fast) in _SPEED_BOUNDS.items():
        relative = speed / np.sqrt(leg / AVERAGE_LEG)
        pace = np.where(gait == kind, 2 - (relative < slow) + (relative > fast), pace)
    return pace


def _path(gait: Array, planned: Array, turn: Array) -> Array:
    travelling = (gait == WALK) | (gait == RUN)
    curved = np.where(turn > _CURVE, 2, np.where(turn < -_CURVE, 3, 0))
    return np.where(travelling, np.where(planned == 0, 1, curved), 0)


def _direction(gait: Array, turn: Array) -> Array:
    direction = np.where(np.abs(turn) > AROUND, 3, np.where(turn > 0, 1, 2))
    return np.where(gait == STEP, direction, 0)


def _change(actions: Repertoire, scenes: Scenes) -> Array:
    """Return STOPS for base segments that stand after a gait."""
    gait = actions.gait[scenes.action]
    travels, base = (gait != NO_GAIT) & (gait != STEP), (scenes.action != NOTHING) & ~scenes.layered
    # The base segments come first, in the order of time.
    before, follows = np.zeros_like(travels), np.zeros_like(base)
    before[..., 1:], follows[..., 1:] = travels[..., :-1], base[..., :-1] & base[..., 1:]
    return np.where(follows & before & (scenes.action == actions.standing), STOPS, NO_CHANGE)


def _continues(actions: Repertoire, scenes: Scenes) -> Array:
    """Return which segments continue the walk or run of the base segment before them."""
    equal = np.zeros(scenes.action.shape, bool)
    equal[..., 1:] = (scenes.action[..., 1:] == scenes.action[..., :-1]) & ~scenes.layered[..., 1:]
    gait = actions.gait[scenes.action]
    return np.asarray(equal & ((gait == WALK) | (gait == RUN)) & (scenes.action != NOTHING))


def _covered(scenes: Scenes, used: Array) -> Array:
    covered = np.zeros(scenes.action.shape, bool)
    for layer in np.flatnonzero(scenes.layered.any(axis=(0, 1))):
        over = used[..., layer] & scenes.layered[..., layer]
        start = scenes.start[..., layer]
        inside = (scenes.start <= start[..., None]) & (start[..., None] < scenes.end) & ~scenes.layered
        covered |= over[..., None] & inside
    return covered


class Facts(NamedTuple):
    """What a caption may state about one segment; see :class:`posegen.captions.segments.Segments`.

    `times` is 0 where repetitions are not counted, `degrees` and `steps` are 0 where none are stated, `side` is also that of
    the first step of a gait, `together` is whether it is done with the partner, and `style` is empty where no style is stated.
    """

    action: int
    side: int = BOTH
    times: int = 0
    pace: int = 0
    path: int = 0
    direction: int = 0
    degrees: int = 0
    steps: int = 0
    back: int = 0
    change: int = NO_CHANGE
    finished: bool = False
    together: bool = False
    style: str = ""


class SegmentFacts(NamedTuple):
    """The facts of some segments: the `distinct` ones, which are few, and for each segment its `number` among them."""

    distinct: list[Facts]
    number: Array

    def at(self, rows: Array) -> SegmentFacts:
        """Return the facts of the segments at some indices."""
        return SegmentFacts(self.distinct, self.number[rows])


def segment_facts(segments: Segments, library: Library, unfinished: Array | None = None) -> SegmentFacts:
    """Collect the facts of each segment.

    Parameters
    ----------
    segments : Segments
    library : Library
    unfinished : bool [segments], optional
        Segments whose end is not stated.

    Returns
    -------
    SegmentFacts
    """
    ended = segments.finished & repertoire(library).seated[segments.action]
    if unfinished is not None:
        ended &= ~unfinished
    begun = segments.change == BEGUN
    times = np.where(segments.exact & ~begun, segments.repetitions, 0)
    columns = [
        segments.action,
        np.where(begun, BOTH, np.where(segments.foot != BOTH, segments.foot, segments.side)),
        times,
        segments.pace,
        segments.path,
        segments.direction,
        segments.degrees,
        segments.steps,
        segments.back,
        segments.change,
        ended,
        segments.together,
    ]
    code = np.zeros(len(ended), np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return SegmentFacts([Facts(*row) for row in rows], number)


def segment_keys(segments: Segments, owner: Array, most: int) -> Array:
    """Return ``actor * MOST_SEGMENTS + segment`` for each segment; `most` is the number of actors of a sequence."""
    return owner % most * MOST_SEGMENTS + np.arange(len(owner)) - segments.bounds[owner]


@lru_cache(maxsize=1 << 12)
def order_statement(actor: int, segment: int, action: str, relation: str, other: int) -> Statement:
    """Return the statement that a segment is `after` or `during` another one."""
    return make_statement(actor, "order", segment, action, f"{relation} {other}")


@lru_cache(maxsize=1 << 14)
def make_statement(actor: int, kind: str, segment: int, action: str, value: str) -> Statement:
    """Return a statement. Equal statements share one object, which must not be changed: a dataset has millions of them."""
    return {"actor": actor, "kind": kind, "segment": segment, "action": action, "value": value}


def statement_lists(lists: Sequence[Sequence[Statement]]) -> pa.ListArray:
    """Return lists of statements as an Arrow array."""
    flat = [statement for own in lists for statement in own]
    columns = [pa.array([*map(itemgetter(field.name), flat)], field.type) for field in STATEMENT]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=list(STATEMENT)))
