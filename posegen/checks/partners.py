"""Partners: which actors interact, by hands that meet, chests that are close, and hips that face the other actor."""

from __future__ import annotations

import numpy as np

from posegen.arrays import Array
from posegen.library.load import Library
from posegen.skeleton import JOINTS

CONTACT, LEAST_CONTACT = 0.05, 3
"""Metres within which two hands are in contact, and the least number of frames of it."""
NEAR_CHESTS = 0.45
"""Metres within which the chests of two people who hug are."""
FACING = 0.819
"""Cosine of 35 degrees: the hips of a person who faces another one deviate by no more, most of the time."""
CONVERSING = 7.0
"""Metres within which people interact."""
FOLLOWING = (0.5, 3.0)
"""Metres between the person behind and the person ahead."""
TRAIL = 0.45
"""Metres from the path of the person ahead within which the person behind walks."""
EVERY = 3
"""Every how many frames the path of the person ahead is searched."""
MOST = 0.6
"""Share of the frames that decides."""

PELVIS, CHEST = JOINTS.index("pelvis"), JOINTS.index("spine3")
HIPS = JOINTS.index("left_hip"), JOINTS.index("right_hip")
WRISTS = JOINTS.index("left_wrist"), JOINTS.index("right_wrist")


def partners_by_sight(joints: Array, actor: int, start: int, end: int, sight: str) -> list[int]:
    """Return the partners of an actor, by one criterion.

    Parameters
    ----------
    joints : float32 [actors, frames, 22, 3]
        Metres, of one sequence; absent actors are NaN.
    actor : int
    start, end : int
        First frame of the interval, and the frame after its last one.
    sight : str
        One of :data:`posegen.library.interactions.SIGHTS`.

    Returns
    -------
    list of int
        Numbers of the other actors.
    """
    found = []
    for other in range(len(joints)):
        if other != actor and not np.isnan(joints[other, start, PELVIS, 0]):
            one, two = (joints[who].astype(np.float64) for who in (actor, other))
            if _SIGHTS[sight](one, two, start, end):
                found.append(other)
    return found


def find_partners(joints: Array, actor: int, start: int, end: int, action: str, library: Library) -> list[int]:
    """Return the partners of an actor in an action, by the criterion of any interaction that contains it."""
    sights = {interaction.seen: None for interaction in library.interactions.values() if action in interaction.actions}
    return sorted({other for sight in sights for other in partners_by_sight(joints, actor, start, end, sight)})


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
    # With left at +x, a person faces +z.
    ahead = np.stack([-left[:, 2], left[:, 0]], axis=-1)
    way = way[:, [0, 2]]
    far = _size(way)
    towards = (ahead * way).sum(-1) >= FACING * _size(ahead) * far
    return bool((towards & (far <= CONVERSING)).mean() >= MOST)


def _behind(one: Array, two: Array, start: int, end: int) -> bool:
    here, there = one[start:end:EVERY, PELVIS][:, [0, 2]], two[:end, PELVIS][:, [0, 2]]
    gap = _size(here - there[start:end:EVERY])
    near = (gap >= FOLLOWING[0]) & (gap <= FOLLOWING[1])
    # The person behind is where the person ahead has been, or on the way to where that person began.
    trail = _size(there[None, ::EVERY] - here[:, None]).min(axis=1)
    began = _size(here - there[0]) <= FOLLOWING[1]
    return bool((near & ((trail <= TRAIL) | began)).mean() >= MOST) and _facing(one, two, start, end)


_SIGHTS = {"hands": _hands, "chests": _chests, "facing": _facing, "behind": _behind}
