"""What is told is held against what the joints show: for all variants of some samples at once.

Speeds, paths and directions are told as they are seen, since what is planned falls short where a start or the end of the clip
cuts it. All else is told as planned, and is false where the joints show something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.library import Library
from posegen.scene import BOTH, LEFT, RIGHT
from posegen.story.repertoire import parts_of
from posegen.story.telling import Told
from posegen.synthesis.batch import Row
from posegen.terms import DIRECTIONS, PATHS, SPEEDS
from posegen.truth.check import BOUNDS
from posegen.truth.evidence import Evidence, Stretches, look
from posegen.truth.facts import KINDS, Claims, directions_seen, false_claims, known_signs, paths_seen, speeds_seen
from posegen.truth.partners import with_whom

__all__ = ["Seen", "mirrored", "restore_parts", "see", "without_false"]

Array = NDArray[Any]
STEADY = 0.6
"""Share of its time for which a gait must be slow, or fast, to be told so: half of it makes it true."""
_WHOLE = ("bounds", "complete")
_COLUMNS = tuple(field.name for field in fields(Told) if field.name not in _WHOLE)
_ACTION = KINDS.index("action")
_OTHER_SIDE = np.array([RIGHT, LEFT, BOTH])
_OTHER_PATH = np.array([PATHS.index({"left": "right", "right": "left"}.get(word, word)) for word in PATHS])
_OTHER_DIRECTION = np.array([DIRECTIONS.index({"left": "right", "right": "left"}.get(word, word)) for word in DIRECTIONS])
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
        Which claims are false; see :data:`posegen.truth.facts.KINDS`.
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
    columns = _columns_of(told)
    owner = np.repeat(np.arange(len(told.bounds) - 1), np.diff(told.bounds))
    most = joints.shape[1]
    stretches = Stretches(clips[owner // most], owner % most, columns["start"], columns["end"], columns["action"])
    evidence = look(joints, stretches, library, BOUNDS, fps)
    known = known_signs(library)
    columns |= _as_seen(columns, evidence, known.bound[columns["action"]])
    false = false_claims(_claims(columns), evidence, known)
    false[:, _ACTION] |= _alone(columns, clips[owner // most], owner % most, joints, library)
    return Seen(_told_of(columns, told.bounds, told.complete), most, owner, false, [[] for _ in clips])


def _columns_of(told: Told) -> dict[str, Array]:
    return {name: np.array(getattr(told, name), None if getattr(told, name) else np.int64) for name in _COLUMNS}


def _told_of(columns: Mapping[str, Array], bounds: list[int], complete: list[bool]) -> Told:
    return Told(bounds=bounds, complete=complete, **{name: columns[name].tolist() for name in _COLUMNS})


def _as_seen(columns: Mapping[str, Array], evidence: Evidence, bound: Array) -> dict[str, Array]:
    pace, path, direction = columns["pace"], columns["path"], columns["direction"]
    return {
        "pace": np.where(pace > 0, speeds_seen(evidence, bound, STEADY), 0),
        "path": np.where(path == paths_seen(evidence.turn), path, 0),
        "direction": np.where(direction > 0, directions_seen(evidence.turn), 0),
    }


def _alone(columns: Mapping[str, Array], clips: Array, actors: Array, joints: Array, library: Library) -> Array:
    """Whether something is told to be done with the partner of which the joints show nothing; the first two actors meet."""
    alone = np.zeros(len(clips), bool)
    for row in np.flatnonzero(columns["together"]).tolist():
        stretch = int(columns["start"][row]), int(columns["end"][row])
        found = with_whom(joints[clips[row]], int(actors[row]), *stretch, library.actions[columns["action"][row]], library)
        alone[row] = 1 - actors[row] not in found
    return alone


def _claims(columns: Mapping[str, Array]) -> Claims:
    return Claims(
        action=columns["action"],
        side=columns["side"],
        repetitions=np.where(columns["exact"], columns["repetitions"], 0),
        speed=columns["pace"],
        direction=columns["direction"],
        path=columns["path"],
    )


def mirrored(seen: Seen, sequences: int) -> Seen:
    """What the mirror images of the first sequences show: the same, on the other side.

    `sequences` is how many of them there are.
    """
    actors = sequences * seen.actors
    bounds = seen.told.bounds[: actors + 1]
    rows = slice(0, bounds[-1])
    columns = {name: column[rows] for name, column in _columns_of(seen.told).items()}
    columns |= {
        "side": _OTHER_SIDE[columns["side"]],
        "turn": 0.0 - columns["turn"],
        "path": _OTHER_PATH[columns["path"]],
        "direction": _OTHER_DIRECTION[columns["direction"]],
    }
    told = _told_of(columns, bounds, seen.told.complete[:actors])
    other = {"left": "right", "right": "left"}
    dropped = [[row | {"value": other.get(row["value"], row["value"])} for row in rows] for rows in seen.dropped[:sequences]]
    return Seen(told, seen.actors, seen.owner[rows], seen.false[rows], dropped)


def without_false(seen: Seen, library: Library) -> Seen:
    """Leave untold what is false, and list it; a segment of which nothing shows is not told at all."""
    if not seen.false.any():
        return seen
    columns, told = _columns_of(seen.told), seen.told
    false = dict(zip(KINDS, seen.false.T, strict=True))
    kept = ~false["action"]
    dropped = _statements(seen, columns, np.cumsum(kept) - 1, library)
    columns["side"] = np.where(false["side"], BOTH, columns["side"])
    columns["exact"] = columns["exact"] & ~false["count"]
    for name, kind in (("pace", "speed"), ("direction", "direction"), ("path", "path")):
        columns[name] = np.where(false[kind], 0, columns[name])
    # Who stands and does what does not show is said to stand.
    columns["covered"] = columns["covered"] & ~np.isin(seen.owner, seen.owner[~kept])
    bounds = np.searchsorted(seen.owner[kept], np.arange(len(told.bounds))).tolist()
    complete = np.array(told.complete, bool)
    complete[seen.owner[~kept]] = False
    left = _told_of({name: column[kept] for name, column in columns.items()}, bounds, complete.tolist())
    return replace(seen, told=left, owner=seen.owner[kept], false=seen.false[kept] & False, dropped=dropped)


def _statements(seen: Seen, columns: Mapping[str, Array], place: Array, library: Library) -> list[list[Row]]:
    """List what is dropped, as statements; `place` is where each segment is among those kept, of all sequences."""
    dropped: list[list[Row]] = [list(rows) for rows in seen.dropped]
    first = np.concatenate([[0], place + 1])[np.array(seen.told.bounds)]
    for row, kind in np.argwhere(seen.false).tolist():
        if kind and seen.false[row, 0]:
            continue  # Where nothing of the action shows, nothing else of it is told either.
        owner, action = int(seen.owner[row]), columns["action"][row]
        dropped[owner // seen.actors].append(
            {
                "actor": owner % seen.actors,
                "kind": KINDS[kind],
                "segment": -1 if kind == 0 else int(place[row] - first[owner]),
                "action": library.actions[action],
                "value": _value(KINDS[kind], columns, row),
            }
        )
    return dropped


def _value(kind: str, columns: Mapping[str, Array], row: int) -> str:
    return {
        "action": "",
        "side": _SIDE_WORDS.get(int(columns["side"][row]), ""),
        "count": str(columns["repetitions"][row]),
        "speed": SPEEDS[columns["pace"][row]],
        "direction": DIRECTIONS[columns["direction"][row]],
        "path": PATHS[columns["path"][row]],
    }[kind]


def restore_parts(segments: list[list[Row]], dropped: list[Row], library: Library) -> None:
    """Say of one sequence's segments whose side was dropped which parts of the body move: the labels of its frames say so."""
    sides = {word: side for side, word in _SIDE_WORDS.items()}
    for row in dropped:
        if row["kind"] == "side":
            parts = parts_of(library.action(row["action"]), sides[row["value"]])
            segments[row["actor"]][row["segment"]]["parts"] = list(parts)
