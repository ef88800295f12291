"""Paths of walks and runs that captions name, such as circles and zigzags: which ones are planned, and the segments of each.

A path is a sequence of consecutive segments of one gait with the same speed, each with its own turn. Whether the joints show
it is checked in :mod:`posegen.checks.paths`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.constants import PATHS, RADIANS
from posegen.foundations.randomness import choose
from posegen.foundations.scene import CONTINUED, NOTHING, UNUSED
from posegen.planning.repertoire import Repertoire

SHARE = 0.6
"""Share of the walks and runs that are a path, if there is time for each path."""


class _Path(NamedTuple):
    """A path: its weight, shortest and longest seconds, fastest speed, and for each piece its share of the time and its turn.

    Turns are in degrees. At the fastest speed in m/s, the acceleration to the side is about 4 m/s2. Starts take place within
    the first piece and stops within the last one, which limits the speed too.
    """

    weight: float
    shortest: float
    longest: float
    fastest: float
    pieces: tuple[tuple[float, float], ...]


_BACK_AND_FORTH = ((0.31, 0.0), (0.19, 180.0), (0.31, 0.0), (0.19, 180.0))
_ZIGZAG = ((0.17, 55.0), (0.22, -110.0), (0.22, 110.0), (0.22, -110.0), (0.17, 55.0))
_DIAGONAL = ((0.38, 45.0), (0.62, 0.0))
_SHAPES = {
    "left_circle": _Path(0.25, 5.2, 7.5, 3.3, ((1.0, 360.0),)),
    "right_circle": _Path(0.25, 5.2, 7.5, 3.3, ((1.0, -360.0),)),
    "figure_eight": _Path(0.25, 8.0, 10.0, 2.6, ((0.5, 360.0), (0.5, -360.0))),
    "zigzag": _Path(0.2, 4.8, 6.5, 2.5, _ZIGZAG),
    "back_and_forth": _Path(0.25, 6.8, 9.0, 1.7, _BACK_AND_FORTH),
    "left_diagonal": _Path(0.15, 2.6, 5.5, 3.3, _DIAGONAL),
    "right_diagonal": _Path(0.15, 2.6, 5.5, 3.3, tuple((share, 0.0 - degrees) for share, degrees in _DIAGONAL)),
}
_TO_EITHER_SIDE = ("figure_eight", "zigzag", "back_and_forth")
_NUMBERS = np.array([PATHS.index(name) for name in _SHAPES])
_WEIGHTS, _SHORTEST, _LONGEST, _FASTEST = (
    np.array([path[column] for path in _SHAPES.values()]) for column in range(len(_Path._fields) - 1)
)
_ENDS = np.array([min(path.pieces[0][0], path.pieces[-1][0]) for path in _SHAPES.values()])
"""Share of the time of the shorter one of the first and the last piece."""
SPEED_OF_ROOM = 1.25
"""Largest speed in metres per second for each second of a segment that starts or stops at no more than 4 m/s^2."""


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
    slow = known.slow[action][:, None] < np.minimum(_FASTEST, SPEED_OF_ROOM * _ENDS * lasting)
    possible = np.cumsum(np.where((available >= _SHORTEST) & slow, _WEIGHTS, 0.0), axis=1)
    share = SHARE / float(np.cumsum(_WEIGHTS)[-1]) * possible[:, -1]
    drawn = known.shaped[action] & (action != NOTHING) & (draws < share)
    chosen = choose(np.where(drawn, draws / np.where(drawn, share, 1.0), 0.0), np.where(drawn[:, None], possible, 1.0))
    seconds = lasting[np.arange(len(lasting)), chosen]
    return np.where(drawn, _NUMBERS[chosen], 0), np.where(drawn, seconds, 0.0)


def path_seconds(path: int) -> float:
    """Return the shortest seconds of a path, an index into `constants.PATHS`; 0 for none of several segments."""
    return _SHAPES[PATHS[path]].shortest if PATHS[path] in _SHAPES else 0.0


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


def split_paths(segments: dict[str, Array], mirrored: Array) -> dict[str, Array]:
    """Split the segments that are a path into its pieces.

    Parameters
    ----------
    segments : dict of arrays [n, segments]
        Base segments, by the names of :class:`posegen.foundations.scene.Scenes`.
    mirrored : bool [n, segments]
        Whether a path that may begin to either side begins to the right.

    Returns
    -------
    dict of arrays [n, more segments]
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
