"""What the shown frames hold, and so may be told: the facts that rows and captions are made from.

A slot that is cut by the end of the clip is told only as far as it can be seen: a jump that has begun is no jump yet, a
turn that is not complete has no direction, of seven waves those are counted that were finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import AVERAGE_LEG, DEGREES
from posegen.library import Library
from posegen.library.keeping import once_for_each_library
from posegen.library.terms import AROUND, DIRECTIONS, PATHS, SPEED_BOUNDS, SPEEDS
from posegen.planning.population import leg_height
from posegen.planning.repertoire import NO_GAIT, RUN, STEP, WALK, Repertoire, parts_of, repertoire
from posegen.scene import BOTH, LEFT, NOTHING, RIGHT, Scenes

__all__ = ["DIRECTIONS", "PATHS", "SIDES", "SPEEDS", "Told", "tell", "visible_segments"]

Array = NDArray[Any]

SIDES = {LEFT: "left", RIGHT: "right", BOTH: ""}
"""What the numbers in :class:`Told` mean; see also :mod:`posegen.library.terms`."""
_SPEED_BOUNDS = {WALK: SPEED_BOUNDS["walk"], RUN: SPEED_BOUNDS["run"]}
_CURVE = 35.0
_LEAST_GAIT, _LEAST_LEGS, _WALKING_SPEED = 1.0, 1.3, 0.7
"""Seconds of a gait, and legs that it must lead along: less where its steps are shorter than those of a walk this slow, m/s."""
_LEAST_STAND, _LEAST_HOLD, _LEAST_SEATED = 1.0, 0.4, 0.3
_BEGUN = 0.25
_SLACK = 1e-3


@dataclass(frozen=True)
class Told:
    """Told segments, ordered by sample, actor and start; arrays with one entry a segment, but for the first two.

    Attributes
    ----------
    bounds : int64 [samples * actors + 1]
        Where the segments of each actor begin.
    complete : bool [samples * actors]
        Whether nothing begins behind an actor's last told segment, so that this can be said to be the last.
    action : index into the library's actions
    slot : number of the slot among those that the actor has
    layered : whether it lies over the base segment before it
    start, end : frames; the end is not included
    side : LEFT, RIGHT or BOTH; BOTH for actions without a side
    speed, turn : metres a second, degrees (as far as shown, left positive)
    repetitions : how many were completed
    pace, path, direction : index into SPEEDS, PATHS, DIRECTIONS; 0 where nothing can be said
    exact : whether `repetitions` is all that can be seen, with no further one begun
    finished : whether the slot ends within the clip
    covered : whether a layered slot lies over it
    together : whether it is done with the partner
    """

    bounds: Array
    complete: Array
    action: Array
    slot: Array
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
    exact: Array
    finished: Array
    covered: Array
    together: Array

    @property
    def owner(self) -> Array:
        """Whose each segment is, as ``sample * actors + actor``."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


def tell(scenes: Scenes, library: Library, fps: int) -> Told:
    """Find what can be told of each slot, for all samples at once."""
    known = repertoire(library)
    shown = (scenes.length / fps)[:, None, None]
    start, end = scenes.start.astype(np.float64), scenes.end.astype(np.float64)
    used = (scenes.action != NOTHING) & (start < shown)
    seen = np.minimum(end, shown) - start
    finished = end <= shown + _SLACK
    completed, exact = _completed(known, scenes, seen)
    leg = leg_height(scenes.persons)[..., None]
    told = used & _worth_telling(known, scenes, seen, finished, completed, leg)
    turn = scenes.turn * DEGREES * np.where(finished, 1.0, seen / np.where(used, end - start, 1.0))
    gait = known.gait[scenes.action]
    sample, actor, slot = np.nonzero(told)
    order = np.lexsort((scenes.layered[sample, actor, slot], start[sample, actor, slot], sample * told.shape[1] + actor))
    where = (sample[order], actor[order], slot[order])
    owner = where[0] * told.shape[1] + where[1]
    columns = {
        "action": scenes.action,
        "slot": np.cumsum(scenes.action != NOTHING, axis=2) - 1,
        "layered": scenes.layered,
        "start": np.ceil(start * fps - _SLACK).astype(np.int64),
        "end": np.ceil(np.minimum(end, shown) * fps - _SLACK).astype(np.int64),
        "side": np.where(known.sided[scenes.action], scenes.side, BOTH),
        "speed": scenes.speed,
        "turn": turn,
        "repetitions": completed,
        "pace": _pace(gait, scenes.speed, leg),
        "path": _path(gait, scenes.turn, turn),
        "direction": _direction(gait, turn),
        "exact": exact,
        "finished": finished,
        "covered": _covered(scenes, used),
        "together": scenes.together,
    }
    bounds = np.searchsorted(owner, np.arange(told.shape[0] * told.shape[1] + 1))
    last = np.where(told, start, -np.inf).max(-1, keepdims=True)
    complete = ~(used & ~told & (start > last)).any(-1).reshape(-1)
    return Told(bounds=bounds, complete=complete, **{name: values[where] for name, values in columns.items()})


def visible_segments(scenes: Scenes, library: Library, fps: int, told: Told | None = None) -> list[list[list[dict[str, Any]]]]:
    """List the told segments of each sequence and each of its actors, as the rows of a dataset hold them.

    Parameters
    ----------
    scenes : Scenes
    library : Library
    fps : int
    told : Told, optional
        What :func:`tell` says of these scenes, if it is known already.

    Returns
    -------
    list, for each sequence, of lists, for each actor, of dicts
        With action, parts, start and end frame (not included), side (empty where there is none), speed in m/s, turn in
        degrees (as far as shown, to the left positive) and completed repetitions. A segment that lies over another one
        comes behind it.
    """
    facts = tell(scenes, library, fps) if told is None else told
    names, parts = library.actions, _parts(library)
    shown = (facts.action, facts.side, facts.start, facts.end, facts.speed, facts.turn, facts.repetitions)
    rows = [
        {
            "action": names[action],
            "parts": parts[action][side],
            "start": start,
            "end": end,
            "side": SIDES[side],
            "speed": speed,
            "turn": turn,
            "repetitions": repetitions,
        }
        for action, side, start, end, speed, turn, repetitions in zip(*(column.tolist() for column in shown), strict=True)
    ]
    most, bounds = scenes.action.shape[1], facts.bounds.tolist()
    return [
        [rows[bounds[i * most + a] : bounds[i * most + a + 1]] for a in range(actors)]
        for i, actors in enumerate(scenes.actors.tolist())
    ]


@once_for_each_library
def _parts(library: Library) -> list[list[list[str]]]:
    return [[list(parts_of(library.action(name), side)) for side in (LEFT, RIGHT, BOTH)] for name in library.actions]


def _completed(known: Repertoire, scenes: Scenes, seen: Array) -> tuple[Array, Array]:
    """Repetitions that were completed, and whether no further one has visibly begun."""
    cycle = known.cycle[scenes.action]
    counted = known.counted[scenes.action]
    cycles = (seen * scenes.tempo - known.enter[scenes.action]) / np.where(cycle > 0, cycle, 1.0) + _SLACK
    done = np.clip(np.floor(cycles), 0, scenes.repetitions)
    exact = (done == scenes.repetitions) | (cycles - done < _BEGUN)
    return np.where(counted, done, 0).astype(np.int64), exact


def _worth_telling(known: Repertoire, scenes: Scenes, seen: Array, finished: Array, completed: Array, leg: Array) -> Array:
    action = scenes.action
    gait, enter = known.gait[action], known.enter[action] / scenes.tempo
    held = seen >= enter + np.where(known.seated[action], _LEAST_SEATED, _LEAST_HOLD)
    least = _LEAST_LEGS * np.minimum(known.slow[action] / _WALKING_SPEED, 1.0) * leg
    walked = (seen >= _LEAST_GAIT) & (seen * scenes.speed >= least)
    plain = np.where(action == known.standing, seen >= _LEAST_STAND, held)
    moved = np.where(gait == NO_GAIT, plain, np.where(gait == STEP, finished, walked))
    return np.where(known.counted[action], completed > 0, moved)


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


def _covered(scenes: Scenes, used: Array) -> Array:
    covered = np.zeros(scenes.action.shape, bool)
    for slot in np.flatnonzero(scenes.layered.any(axis=(0, 1))):
        over = used[..., slot] & scenes.layered[..., slot]
        start = scenes.start[..., slot]
        inside = (scenes.start <= start[..., None]) & (start[..., None] < scenes.end) & ~scenes.layered
        covered |= over[..., None] & inside
    return covered
