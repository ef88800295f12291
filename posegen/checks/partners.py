"""Who does something with whom, by the joints of two: hands that meet, chests that are near, faces turned to one another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.library import Library
from posegen.skeleton import JOINTS

__all__ = ["CONTACT", "LEAST_CONTACT", "done_with", "with_whom"]

Array = NDArray[Any]

CONTACT, LEAST_CONTACT = 0.05, 3
"""Metres within which two hands meet, and the fewest frames for which they do."""
NEAR_CHESTS = 0.45
"""Metres within which the chests of two who hug are."""
FACING = 0.819
"""Cosine of 35 degrees: who faces somebody has the hips turned to that one by no more, most of the time."""
CONVERSING = 7.0
"""Metres within which people do something with one another."""
FOLLOWING = (0.5, 3.0)
"""Metres between who walks behind and who walks ahead."""
TRAIL = 0.45
"""Metres from where the one ahead went, within which the one behind goes."""
EVERY = 3
"""Frames between those in which somebody is looked for where the other one has been."""
MOST = 0.6
"""Share of the frames that decides."""

PELVIS, CHEST = JOINTS.index("pelvis"), JOINTS.index("spine3")
HIPS = JOINTS.index("left_hip"), JOINTS.index("right_hip")
WRISTS = JOINTS.index("left_wrist"), JOINTS.index("right_wrist")


def done_with(joints: Array, actor: int, start: int, end: int, seen: str) -> list[int]:
    """Find with whom an actor does something.

    Parameters
    ----------
    joints : float32 [actors, frames, 22, 3]
        Metres, of one sequence; absent actors are NaN.
    actor : int
    start, end : int
        First frame of the stretch, and the frame behind its last.
    seen : str
        By what it is seen; see :data:`posegen.library.interactions.SIGHTS`.

    Returns
    -------
    list of int
        Numbers of the others of whom the joints show it.
    """
    found = []
    for other in range(len(joints)):
        if other != actor and not np.isnan(joints[other, start, PELVIS, 0]):
            one, two = (joints[who].astype(np.float64) for who in (actor, other))
            if _SIGHTS[seen](one, two, start, end):
                found.append(other)
    return found


def with_whom(joints: Array, actor: int, start: int, end: int, action: str, library: Library) -> list[int]:
    """Find with whom an actor does an action, by how any interaction that has it is seen; see :func:`done_with`."""
    sights = {interaction.seen: None for interaction in library.interactions.values() if action in interaction.actions}
    found = {other: None for seen in sights for other in done_with(joints, actor, start, end, seen)}
    return sorted(found)


def _size(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors * vectors).sum(-1)))


def _hands(one: Array, two: Array, start: int, end: int) -> bool:
    gaps = [_size(one[start:end, a] - two[start:end, b]) for a in WRISTS for b in WRISTS]
    return max(int((gap <= CONTACT).sum()) for gap in gaps) >= LEAST_CONTACT


def _chests(one: Array, two: Array, start: int, end: int) -> bool:
    near = _size(one[start:end, CHEST] - two[start:end, CHEST]) <= NEAR_CHESTS
    return int(near.sum()) >= LEAST_CONTACT and _facing(one, two, start, end)


def _facing(one: Array, two: Array, start: int, end: int) -> bool:
    left = one[start:end, HIPS[0]] - one[start:end, HIPS[1]]
    way = two[start:end, PELVIS] - one[start:end, PELVIS]
    # Who has the left at +x faces +z.
    ahead = np.stack([-left[:, 2], left[:, 0]], axis=-1)
    way = way[:, [0, 2]]
    far = _size(way)
    towards = (ahead * way).sum(-1) >= FACING * _size(ahead) * far
    return bool((towards & (far <= CONVERSING)).mean() >= MOST)


def _behind(one: Array, two: Array, start: int, end: int) -> bool:
    here, there = one[start:end:EVERY, PELVIS][:, [0, 2]], two[:end, PELVIS][:, [0, 2]]
    gap = _size(here - there[start:end:EVERY])
    near = (gap >= FOLLOWING[0]) & (gap <= FOLLOWING[1])
    # Where the one behind is, the one ahead has been, or was on the way to from where it began.
    trail = _size(there[None, ::EVERY] - here[:, None]).min(axis=1)
    began = _size(here - there[0]) <= FOLLOWING[1]
    return bool((near & ((trail <= TRAIL) | began)).mean() >= MOST) and _facing(one, two, start, end)


_SIGHTS = {"hands": _hands, "chests": _chests, "facing": _facing, "behind": _behind}
