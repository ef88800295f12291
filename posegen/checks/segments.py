"""Checked segments: what segments state, compared with what the joints show, for all variants of some samples at once.

Speeds, paths and directions are replaced by what the joints show, since the planned ones are not reached where a start, a stop
or the end of the clip interrupts them. Everything else is stated as planned, and is false where the joints show something else.
Quotas are met by the segments that are left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posegen.captions.segments import BEGUN, SIDES, Segments, make_statement
from posegen.checks.evidence import PELVIS, STRIDE_SECONDS, Intervals, find_partners, measure_evidence
from posegen.checks.statements import BOUNDS, KINDS, false_statements, has_path, shown_angles, shown_directions, shown_speeds
from posegen.foundations.arrays import Array
from posegen.foundations.constants import DIRECTIONS, PATHS, SHAPES, SPEEDS
from posegen.foundations.scene import BOTH, LEFT, NOTHING, RIGHT
from posegen.foundations.skeleton import mirror_name, mirror_order
from posegen.library.load import Library
from posegen.planning.quotas import Allotment
from posegen.planning.repertoire import repertoire

Row = dict[str, Any]

STEADY = 0.6
"""Share of its time for which a gait must be slow, or fast, to be described so; the statement is true from one half on."""
EVEN = 10.0
"""Degrees within which a turn must be at an angle to be described so; the statement is true within NEAR_ANGLE."""
_ACTION = KINDS.index("action")
_OTHER_SIDE = np.array([RIGHT, LEFT, BOTH])
_OTHER_PATH, _OTHER_DIRECTION = np.array(mirror_order(PATHS)), np.array(mirror_order(DIRECTIONS))


@dataclass(frozen=True)
class CheckedSegments:
    """Visible segments of some sequences, with which of their statements are false.

    Attributes
    ----------
    segments : Segments
    actors : int
        Actors that each sequence has room for.
    false : bool [segments, kinds]
        Which statements are false; see :data:`posegen.checks.statements.KINDS`.
    dropped : list, for each sequence, of statements
        False statements, and failures of quotas and limits, for the column `dropped`.
    """

    segments: Segments
    actors: int
    false: Array
    dropped: list[list[Row]]

    def select(self, sequences: Array) -> CheckedSegments:
        """Return the segments of the sequences with these indices, int [n]."""
        actors = (sequences[:, None] * self.actors + np.arange(self.actors)).ravel()
        first, counts = self.segments.bounds[actors], np.diff(self.segments.bounds)[actors]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        rows = np.repeat(first - bounds[:-1], counts) + np.arange(bounds[-1])
        segments = self.segments.select(rows, bounds, self.segments.complete[actors])
        return CheckedSegments(segments, self.actors, self.false[rows], [self.dropped[i] for i in sequences.tolist()])

    def add_dropped(self, rows: list[list[Row]]) -> CheckedSegments:
        """Return the same segments with more entries of `dropped` for each sequence."""
        return replace(self, dropped=[[*old, *new] for old, new in zip(self.dropped, rows, strict=True)])

    def mirrored(self, sequences: int) -> CheckedSegments:
        """Return the mirror images of the first `sequences` sequences: the same segments on the other side."""
        base = self.select(np.arange(sequences))
        segments = replace(
            base.segments,
            side=_OTHER_SIDE[base.segments.side],
            foot=_OTHER_SIDE[base.segments.foot],
            turn=0.0 - base.segments.turn,
            path=_OTHER_PATH[base.segments.path],
            direction=_OTHER_DIRECTION[base.segments.direction],
        )
        dropped = [[row | {"value": mirror_name(row["value"])} for row in rows] for rows in base.dropped]
        return replace(base, segments=segments, dropped=dropped)

    def append(self, other: CheckedSegments) -> CheckedSegments:
        """Return these segments followed by those of further sequences with room for the same actors."""
        false = np.concatenate([self.false, other.false])
        return CheckedSegments(self.segments.append(other.segments), self.actors, false, self.dropped + other.dropped)

    def moving_sides(self) -> Array:
        """Return the side of each segment, int [segments], also where it was dropped: the labels of frames have it."""
        sides = self.segments.side.copy()
        for sequence, statements in enumerate(self.dropped):
            for row in statements:
                if row["kind"] == "side":
                    first = self.segments.bounds[sequence * self.actors + row["actor"]]
                    sides[first + row["segment"]] = SIDES.index(row["value"])
        return sides


def check_segments(segments: Segments, joints: Array, clips: Array, library: Library, fps: int) -> CheckedSegments:
    """Check segments against the joints.

    Parameters
    ----------
    segments : Segments
        Of n sequences.
    joints : float32 [clips, actors, frames, 22, 3]
        Metres.
    clips : int64 [n]
        Clip of each sequence.
    library : Library
    fps : int

    Returns
    -------
    CheckedSegments
    """
    owner, most = segments.owner, joints.shape[1]
    clip, actor = clips[owner // most], owner % most
    intervals = Intervals(clip, actor, segments.start, segments.end, segments.action)
    planned = segments.path >= PATHS.index(SHAPES[0])
    evidence = measure_evidence(joints, intervals, library, BOUNDS, fps, planned)
    speeds = shown_speeds(segments.action, evidence, library, STEADY)
    whole = segments.change != BEGUN
    segments = replace(
        segments,
        degrees=np.where(whole, shown_angles(segments.action, evidence.turn, library, EVEN), 0),
        steps=np.where(whole, evidence.steps, 0),
        foot=np.where(whole & ~repertoire(library).sided[segments.action], evidence.foot, BOTH),
        back=np.where(whole, evidence.back, 0),
        pace=np.where(segments.pace > 0, speeds, 0),
        path=np.where(has_path(segments.path, evidence), segments.path, 0),
        direction=np.where(segments.direction > 0, shown_directions(evidence.turn), 0),
    )
    false = false_statements(segments, evidence, library)
    for row in np.flatnonzero(segments.together).tolist():
        interval, action = (int(segments.start[row]), int(segments.end[row])), library.actions[segments.action[row]]
        found = find_partners(joints[clip[row]], int(actor[row]), *interval, action, library)
        false[row, _ACTION] |= 1 - actor[row] not in found
    return CheckedSegments(segments, most, false, [[] for _ in clips])


def remove_false(checked: CheckedSegments, library: Library) -> CheckedSegments:
    """Remove false statements and list them as dropped; a segment whose action does not show is removed as a whole."""
    if not checked.false.any():
        return checked
    segments, false, owner = checked.segments, dict(zip(KINDS, checked.false.T, strict=True)), checked.segments.owner
    kept = ~false["action"]
    dropped = _dropped_statements(checked, np.cumsum(kept) - 1, library)
    hidden = owner[~kept]
    complete = segments.complete.copy()
    complete[hidden] = False
    segments = replace(
        segments,
        side=np.where(false["side"], BOTH, segments.side),
        exact=segments.exact & ~false["count"],
        pace=np.where(false["speed"], 0, segments.pace),
        direction=np.where(false["direction"], 0, segments.direction),
        path=np.where(false["path"], 0, segments.path),
        degrees=np.where(false["degrees"], 0, segments.degrees),
        # An actor who stands, and whose other action does not show, is described as standing.
        covered=segments.covered & ~np.isin(owner, hidden),
    )
    bounds = np.searchsorted(owner[kept], np.arange(len(segments.bounds)))
    left = segments.select(kept, bounds, complete)
    return replace(checked, segments=left, false=checked.false[kept] & False, dropped=dropped)


def _dropped_statements(checked: CheckedSegments, index: Array, library: Library) -> list[list[Row]]:
    """List the false statements of each sequence; `index` numbers the segments that are kept, of all sequences."""
    segments, owners = checked.segments, checked.segments.owner
    dropped: list[list[Row]] = [list(rows) for rows in checked.dropped]
    first = np.concatenate([[0], index + 1])[segments.bounds]
    for row, kind in np.argwhere(checked.false).tolist():
        if kind != _ACTION and checked.false[row, _ACTION]:
            continue  # Where nothing of the action shows, nothing else of it is stated either.
        owner, action = int(owners[row]), library.actions[segments.action[row]]
        segment = -1 if kind == _ACTION else int(index[row] - first[owner])
        values = {
            "action": "",
            "side": SIDES[segments.side[row]],
            "count": str(segments.repetitions[row]),
            "speed": SPEEDS[segments.pace[row]],
            "direction": DIRECTIONS[segments.direction[row]],
            "path": PATHS[segments.path[row]],
            "degrees": str(segments.degrees[row]),
        }
        statement = make_statement(owner % checked.actors, KINDS[kind], segment, action, values[KINDS[kind]])
        dropped[owner // checked.actors].append(statement)
    return dropped


def unmet_quotas(asked: Allotment, checked: CheckedSegments, joints: Array, library: Library, fps: int) -> Array:
    """Return which samples do not show what their quota asks for in the base variant.

    They lack a true segment in which the first actor performs the action with the side and within the speeds that are asked
    for, or one in which either of the first two performs the interaction with the other.

    Parameters
    ----------
    asked : Allotment
        Of n samples.
    checked : CheckedSegments
        Of their bases first, then of other variants.
    joints : float32 [n, frames, 22, 3]
        Of the first actors in the base; metres.
    library : Library
    fps : int

    Returns
    -------
    bool [n]
    """
    n, segments, owner = len(asked.action), checked.segments, checked.segments.owner
    whole = (owner < n * checked.actors) & (segments.change != BEGUN)
    rows = np.flatnonzero(whole & ~checked.false.any(axis=1))
    sample = owner[rows] // checked.actors
    action, side, start, end = (column[rows] for column in (segments.action, segments.side, segments.start, segments.end))
    shown = (owner[rows] % checked.actors == 0) & (action == asked.action[sample])
    shown &= (asked.side[sample] == BOTH) | (side == asked.side[sample])
    for i in np.flatnonzero(shown & (asked.fast[sample] > 0)).tolist():
        speed = _speed(joints[sample[i], start[i] : end[i], PELVIS], fps)
        shown[i] = asked.slow[sample[i]] <= speed <= asked.fast[sample[i]]
    unmet: Array = asked.action != NOTHING
    unmet[sample[shown]] = False
    no_meeting: Array = asked.interaction != NOTHING
    for number, interaction in enumerate(library.interactions.values()):
        own = np.isin(action, [library.index(name) for name in interaction.actions])
        no_meeting[sample[segments.together[rows].astype(bool) & own & (asked.interaction[sample] == number)]] = False
    return unmet | no_meeting


def _speed(pelvis: Array, fps: int) -> float:
    """Return the median speed of a pelvis [frames, 3] over about a step, metres per second; 0 for a shorter interval."""
    stride = int(np.rint(STRIDE_SECONDS * fps))
    if len(pelvis) <= stride:
        return 0.0
    way = pelvis[stride:].astype(np.float64) - pelvis[:-stride]
    return float(np.median(np.sqrt(way[:, 0] * way[:, 0] + way[:, 2] * way[:, 2]))) * fps / stride


def quota_rows(asked: Allotment, unmet: Array, sequences: int, library: Library) -> list[list[Row]]:
    """Return the entries of the column `dropped` for unmet quotas.

    Parameters
    ----------
    asked : Allotment
        Of n samples.
    unmet : bool [n]
    sequences : int
        Of all samples in one variant, then of all in the next one.
    library : Library

    Returns
    -------
    list, for each sequence, of dicts
    """
    rows: list[list[Row]] = [[] for _ in range(sequences)]
    for number in np.flatnonzero(np.resize(unmet, sequences)).tolist():
        sample = number % len(unmet)
        action, meeting = int(asked.action[sample]), int(asked.interaction[sample])
        name = library.actions[action] if meeting == NOTHING else list(library.interactions)[meeting]
        rows[number].append(make_statement(0, "quota", -1, name, ""))
    return rows
