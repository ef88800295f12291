"""What is told is held against what the joints show: for all variants of some samples at once.

Speeds, paths and directions are told as they are seen, since what is planned falls short where a start or the end of the clip
cuts it. All else is told as planned, and is false where the joints show something else.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.captions.telling import Told
from posegen.checks.check import BOUNDS
from posegen.checks.evidence import Evidence, Stretches, look
from posegen.checks.facts import KINDS, Claims, directions_seen, false_claims, known_signs, paths_seen, speeds_seen
from posegen.checks.partners import with_whom
from posegen.library import Library
from posegen.library.terms import DIRECTIONS, PATHS, SPEEDS
from posegen.planning.repertoire import parts_of
from posegen.scene import BOTH, LEFT, RIGHT
from posegen.skeleton import mirror_name, mirror_order
from posegen.synthesis.batch import Row

__all__ = ["Seen", "joined", "mirrored", "restore_parts", "see", "without_false"]

Array = NDArray[Any]
STEADY = 0.6
"""Share of its time for which a gait must be slow, or fast, to be told so: half of it makes it true."""
_WHOLE = ("bounds", "complete")
_COLUMNS = tuple(field.name for field in fields(Told) if field.name not in _WHOLE)
_ACTION = KINDS.index("action")
_OTHER_SIDE = np.array([RIGHT, LEFT, BOTH])
_OTHER_PATH, _OTHER_DIRECTION = np.array(mirror_order(PATHS)), np.array(mirror_order(DIRECTIONS))
_SIDE_WORDS = {LEFT: "left", RIGHT: "right"}


@dataclass(frozen=True)
class Seen:
    """Told segments of some sequences, as they are seen.

    Attributes
    ----------
    told : Told
    actors : int
        How many each sequence has room for.
    owner : int64 [segments]
        Sequence and actor, as ``sequence * actors + actor``.
    false : bool [segments, kinds]
        Which claims are false; see :data:`posegen.checks.facts.KINDS`.
    dropped : list, for each sequence, of statements
        False ones that are no longer told.
    """

    told: Told
    actors: int
    owner: Array
    false: Array
    dropped: list[list[Row]]


def see(told: Told, joints: Array, clips: Array, library: Library, fps: int) -> Seen:
    """Hold what is told of sequences against their joints.

    Parameters
    ----------
    told : Told
        Of n sequences.
    joints : float32 [clips, actors, frames, 22, 3]
        Metres.
    clips : int64 [n]
        Which clip each sequence is.
    library : Library
    fps : int

    Returns
    -------
    Seen
    """
    owner, most = told.owner, joints.shape[1]
    clip, actor = clips[owner // most], owner % most
    evidence = look(joints, Stretches(clip, actor, told.start, told.end, told.action), library, BOUNDS, fps)
    known = known_signs(library)
    told = _as_seen(told, evidence, known.bound[told.action])
    false = false_claims(_claims(told), evidence, known)
    false[:, _ACTION] |= _alone(told, clip, actor, joints, library)
    return Seen(told, most, owner, false, [[] for _ in clips])


def _as_seen(told: Told, evidence: Evidence, bound: Array) -> Told:
    return replace(
        told,
        pace=np.where(told.pace > 0, speeds_seen(evidence, bound, STEADY), 0),
        path=np.where(told.path == paths_seen(evidence.turn), told.path, 0),
        direction=np.where(told.direction > 0, directions_seen(evidence.turn), 0),
    )


def _alone(told: Told, clips: Array, actors: Array, joints: Array, library: Library) -> Array:
    """Whether something is told to be done with the partner of which the joints show nothing; the first two actors meet."""
    alone = np.zeros(len(clips), bool)
    for row in np.flatnonzero(told.together).tolist():
        stretch = int(told.start[row]), int(told.end[row])
        found = with_whom(joints[clips[row]], int(actors[row]), *stretch, library.actions[told.action[row]], library)
        alone[row] = 1 - actors[row] not in found
    return alone


def _claims(told: Told) -> Claims:
    repetitions = np.where(told.exact, told.repetitions, 0)
    return Claims(told.action, told.side, repetitions, told.pace, told.direction, told.path)


def mirrored(seen: Seen, sequences: int) -> Seen:
    """What the mirror images of the first sequences show: the same, on the other side.

    `sequences` is how many of them there are.
    """
    actors = sequences * seen.actors
    bounds = seen.told.bounds[: actors + 1]
    rows = slice(0, bounds[-1])
    base = Told(bounds, seen.told.complete[:actors], **{name: getattr(seen.told, name)[rows] for name in _COLUMNS})
    told = replace(
        base,
        side=_OTHER_SIDE[base.side],
        turn=0.0 - base.turn,
        path=_OTHER_PATH[base.path],
        direction=_OTHER_DIRECTION[base.direction],
    )
    dropped = [[row | {"value": mirror_name(row["value"])} for row in rows] for rows in seen.dropped[:sequences]]
    return Seen(told, seen.actors, seen.owner[rows], seen.false[rows], dropped)


def joined(one: Seen, other: Seen) -> Seen:
    """What some sequences show, and then what others show that have room for the same actors."""
    columns = {name: np.concatenate([getattr(seen.told, name) for seen in (one, other)]) for name in (*_COLUMNS, "complete")}
    bounds = np.concatenate([one.told.bounds, other.told.bounds[1:] + one.told.bounds[-1]])
    owner = np.concatenate([one.owner, other.owner + len(one.told.complete)])
    false = np.concatenate([one.false, other.false])
    return Seen(Told(bounds=bounds, **columns), one.actors, owner, false, one.dropped + other.dropped)


def without_false(seen: Seen, library: Library) -> Seen:
    """Leave untold what is false, and list it; a segment of which nothing shows is not told at all."""
    if not seen.false.any():
        return seen
    told, false = seen.told, dict(zip(KINDS, seen.false.T, strict=True))
    kept = ~false["action"]
    dropped = _statements(seen, np.cumsum(kept) - 1, library)
    hidden = seen.owner[~kept]
    complete = told.complete.copy()
    complete[hidden] = False
    told = replace(
        told,
        side=np.where(false["side"], BOTH, told.side),
        exact=told.exact & ~false["count"],
        pace=np.where(false["speed"], 0, told.pace),
        direction=np.where(false["direction"], 0, told.direction),
        path=np.where(false["path"], 0, told.path),
        # Who stands and does what does not show is said to stand.
        covered=told.covered & ~np.isin(seen.owner, hidden),
    )
    bounds = np.searchsorted(seen.owner[kept], np.arange(len(told.bounds)))
    left = Told(bounds, complete, **{name: getattr(told, name)[kept] for name in _COLUMNS})
    return replace(seen, told=left, owner=seen.owner[kept], false=seen.false[kept] & False, dropped=dropped)


def _statements(seen: Seen, place: Array, library: Library) -> list[list[Row]]:
    """List what is dropped, as statements; `place` is where each segment is among those kept, of all sequences."""
    dropped: list[list[Row]] = [list(rows) for rows in seen.dropped]
    first = np.concatenate([[0], place + 1])[seen.told.bounds]
    for row, kind in np.argwhere(seen.false).tolist():
        if kind and seen.false[row, 0]:
            continue  # Where nothing of the action shows, nothing else of it is told either.
        owner = int(seen.owner[row])
        dropped[owner // seen.actors].append(
            {
                "actor": owner % seen.actors,
                "kind": KINDS[kind],
                "segment": -1 if kind == 0 else int(place[row] - first[owner]),
                "action": library.actions[seen.told.action[row]],
                "value": _value(KINDS[kind], seen.told, row),
            }
        )
    return dropped


def _value(kind: str, told: Told, row: int) -> str:
    return {
        "action": "",
        "side": _SIDE_WORDS.get(int(told.side[row]), ""),
        "count": str(told.repetitions[row]),
        "speed": SPEEDS[told.pace[row]],
        "direction": DIRECTIONS[told.direction[row]],
        "path": PATHS[told.path[row]],
    }[kind]


def restore_parts(segments: list[list[Row]], dropped: list[Row], library: Library) -> None:
    """Say of one sequence's segments whose side was dropped which parts of the body move: the labels of its frames say so."""
    sides = {word: side for side, word in _SIDE_WORDS.items()}
    for row in dropped:
        if row["kind"] == "side":
            parts = parts_of(library.action(row["action"]), sides[row["value"]])
            segments[row["actor"]][row["segment"]]["parts"] = list(parts)
