"""Courses: what one actor does in some samples, as base segments and the layers over them, and their place in scenes.

Walks and runs may follow a path that captions name, such as a circle or a zigzag: consecutive segments of one gait with one
speed, each with its own turn. Whether the joints show it is checked in :mod:`posegen.checks.paths`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.constants import PATHS, RADIANS
from posegen.foundations.randomness import choose
from posegen.foundations.scene import CONTINUED, NOTHING, UNUSED, Scenes
from posegen.planning.repertoire import Repertoire
from posegen.planning.rules import RULES

Columns = dict[str, Array]
"""Segments: arrays of equal shape, by the names of :class:`posegen.foundations.scene.Scenes`."""

_SHAPES: dict[str, Any] = vars(RULES.path.shapes)
_TO_EITHER_SIDE = ("figure_eight", "zigzag", "back_and_forth")
_NUMBERS = np.array([PATHS.index(name) for name in _SHAPES])
_WEIGHTS, _SHORTEST, _LONGEST, _FASTEST = (
    np.array([getattr(path, name) for path in _SHAPES.values()]) for name in ("weight", "shortest", "longest", "fastest")
)
_ENDS = np.array([min(path.pieces[0][0], path.pieces[-1][0]) for path in _SHAPES.values()])
"""Share of the time of the shorter one of the first and the last piece."""


class Course(NamedTuple):
    """Segments of one actor in n samples: arrays [n, base segments] and [n, layers]; a column that is missing is unused."""

    base: Columns
    layers: Columns


class Steps(NamedTuple):
    """Segments of one actor in n samples so far, each as arrays [n]; `time` is the end of the last base segment."""

    time: Array
    base: tuple[Columns, ...] = ()
    layers: tuple[Columns, ...] = ()

    def append(self, action: int, span: Array, *, layered: tuple[float, float] | None = None, **more: Any) -> Steps:
        """Append an action of `span` seconds in the samples in which that is above 0.

        Parameters
        ----------
        action : int
        span : float [n]
        layered : (float, float), optional
            Seconds without the action at either end of the span. The action is then a layer and does not advance the time.
        **more
            Columns of the segment, as :class:`posegen.foundations.scene.Scenes` names them.
        """
        used = span > 1e-6
        before, after = layered or (0.0, 0.0)
        more |= {"action": action, "start": self.time + before, "end": self.time + span - after}
        piece = {name: np.where(used, more.get(name, value), value) for name, value in UNUSED.items()}
        if layered is not None:
            return self._replace(layers=(*self.layers, piece))
        return self._replace(time=self.time + np.where(used, span, 0.0), base=(*self.base, piece))

    def course(self) -> Course:
        """Return the course of these segments."""
        return Course(*(stacked(segments) for segments in (self.base, self.layers)))


def stacked(segments: Sequence[Columns]) -> Columns:
    """Return the columns [n, segments] of segments with equal names."""
    return {name: np.stack([columns[name] for columns in segments], axis=1) for name in (segments[0] if segments else ())}


def write_courses(scenes: Scenes, courses: Sequence[tuple[Array, int, Course]]) -> Scenes:
    """Return scenes with these segments only, as many as the longest course has.

    Parameters
    ----------
    scenes : Scenes
    courses : sequence of (int [n], int, Course)
        Samples, actor and course; a later course replaces an earlier one of the same actor and sample.
    """
    bases, layers = (max(_count(segments[part]) for *_, segments in courses) for part in range(2))
    shape = (*scenes.heading.shape, bases + layers)
    arrays: dict[str, Any] = {name: np.full(shape, unused, getattr(scenes, name).dtype) for name, unused in UNUSED.items()}
    for rows, actor, course in courses:
        for name, values in arrays.items():
            values[rows, actor] = UNUSED[name]
            for first, segments in ((0, course.base), (bases, course.layers)):
                if name in segments:
                    values[rows, actor, first : first + _count(segments)] = segments[name]
        arrays["layered"][rows, actor, bases:] = arrays["action"][rows, actor, bases:] >= 0
    return replace(scenes, **arrays)


def _count(segments: Columns) -> int:
    return segments["action"].shape[1] if segments else 0


def path_of(known: Repertoire, action: Array, room: Array, remaining: Array, draws: Array) -> tuple[Array, Array]:
    """Choose the path of each segment.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    room, remaining : float [n]
        Available seconds, and seconds to the end of the clip.
    draws : float [n]
        On [0, 1).

    Returns
    -------
    int [n], float [n]
        Index into :data:`posegen.foundations.constants.PATHS`, and seconds; 0 for a segment without one.
    """
    available = np.where(remaining > 0, np.minimum(room, remaining), 0.0)[:, None]
    lasting = np.minimum(_LONGEST, np.maximum(_SHORTEST, 0.8 * available))
    slow = known.slow[action][:, None] < np.minimum(_FASTEST, RULES.path.room * _ENDS * lasting)
    possible = np.cumsum(np.where((available >= _SHORTEST) & slow, _WEIGHTS, 0.0), axis=1)
    share = RULES.path.share / float(np.cumsum(_WEIGHTS)[-1]) * possible[:, -1]
    drawn = known.shaped[action] & (action != NOTHING) & (draws < share)
    chosen = choose(np.where(drawn, draws / np.where(drawn, share, 1.0), 0.0), np.where(drawn[:, None], possible, 1.0))
    seconds = lasting[np.arange(len(lasting)), chosen]
    return np.where(drawn, _NUMBERS[chosen], 0), np.where(drawn, seconds, 0.0)


def path_seconds(path: int) -> float:
    """Return the shortest seconds of a path, an index into `constants.PATHS`; 0 for none of several segments."""
    return float(_SHAPES[PATHS[path]].shortest) if PATHS[path] in _SHAPES else 0.0


def path_speeds(path: Array, speed: Array) -> Array:
    """Return the speeds of segments, limited where they are a path; both arrays have the same shape."""
    limits = np.full(len(PATHS), np.inf)
    limits[_NUMBERS] = _FASTEST
    return np.asarray(np.minimum(speed, limits[path]))


def seconds_of_ends(path: Array, seconds: Array) -> Array:
    """Return the seconds in which segments start or stop: those of the shorter end piece of a path, else all of `seconds`."""
    ends = np.ones(len(PATHS))
    ends[_NUMBERS] = _ENDS
    return np.asarray(ends[path] * seconds)


def split_paths(segments: Columns, mirrored: Array) -> Columns:
    """Split the segments that are a path into its pieces.

    Parameters
    ----------
    segments : Columns [n, segments]
        Base segments.
    mirrored : bool [n, segments]
        Whether a path that may begin to either side begins to the right.

    Returns
    -------
    Columns [n, more segments]
    """
    path = np.where(segments["action"] == NOTHING, 0, segments["path"])
    if not path.any():
        return segments
    pieces = {PATHS.index(name): shape.pieces for name, shape in _SHAPES.items()}
    counts = np.ones(path.shape, np.int64)
    for number, own in pieces.items():
        counts[path == number] = len(own)
    rows, source = np.divmod(np.repeat(np.arange(path.size), counts.ravel()), path.shape[1])
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts.ravel()) - counts.ravel(), counts.ravel())
    total = counts.sum(axis=1)
    column = np.arange(len(rows)) - np.repeat(np.cumsum(total) - total, total)
    values = {name: array[rows, source] for name, array in segments.items()}
    start, span, here = values["start"], values["end"] - values["start"], path[rows, source]
    before = np.zeros(len(rows))
    share, turn = np.ones(len(rows)), values["turn"].astype(np.float64)
    for number, own in pieces.items():
        to_right = mirrored[rows, source] & (PATHS[number] in _TO_EITHER_SIDE)
        begun = 0.0
        for piece, (part, degrees) in enumerate(own):
            chosen = (here == number) & (within == piece)
            before, share = np.where(chosen, begun, before), np.where(chosen, part, share)
            # Subtracting from 0 rather than negating keeps -0 out of the arrays.
            turn = np.where(chosen, np.where(to_right, 0.0 - degrees, degrees) * RADIANS, turn)
            begun += part
    # The end of one piece is the start of the next one, exactly.
    last = within == counts[rows, source] - 1
    end = np.where(last, values["end"], start + span * (before + share))
    start = np.where(within == 0, start, start + span * before)
    values |= {"start": start, "end": end, "turn": turn, "path": np.where(within > 0, CONTINUED, here)}
    split = {}
    for name, flat in values.items():
        array = np.full((len(path), int(total.max())), UNUSED[name], flat.dtype)
        array[rows, column] = flat
        split[name] = array
    return split
