"""Feet that stand where they touch: what slides is taken out by moving the body with them, then by bending the legs.

Where the ball of a foot is said to touch, it stays at one place from the first such frame to the last. In between, the foot's
own course is kept and shifted from one place to the next. Legs reach it by two-bone inverse kinematics, so that no bone changes
its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, JOINTS, PROPORTIONS, sole_points

__all__ = ["Planted", "plant", "runs_of"]

Array = NDArray[Any]

SHORTEST = 0.1
"""Seconds: a shorter touch is none, and a shorter gap in one is none either."""
DRIFT_SECONDS = 0.25
"""Over which the body's going along with its feet is averaged."""
ON_FLOOR = 0.06
"""Metres above its place in standing below which the ball of a foot that touches is on the floor, not on a step."""
FAST, CLEAR = 0.2, 0.062
"""Metres a second: a foot that does not touch and goes faster swings; metres above the floor that its ball then is at least."""
LONGEST = 0.9995
"""Share of its length that a leg spans at most."""
YIELD_SECONDS = 0.12
"""How long before it has to the body begins to come down, or to rise."""

_SIDES = (("left", 0), ("right", 2))
_LEG = ("hip", "knee", "ankle", "foot")
_TINY = 1e-9


@dataclass(frozen=True)
class Planted:
    """What came of a motion: joints float64 [frame, 22, 3] in metres, and bool [frame, 4], which points of the soles touch."""

    joints: Array
    contact: Array


def plant(joints: Array, touching: Array, fps: float, stature: float) -> Planted:
    """Plant the feet of a motion.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, the floor at height 0.
    touching : float [frame, 4]
        How surely left heel, left toe, right heel and right toe touch, from 0 to 1.
    fps : float
        Frames a second.
    stature : float
        Metres.
    """
    contact = np.stack([_steady(touching[:, i] > 0.5, max(1, round(SHORTEST * fps))) for i in range(4)], axis=1)
    places = joints.astype(np.float64)
    feet = [JOINTS.index(f"{side}_{part}") for side, _ in _SIDES for part in ("ankle", "foot")]
    # Feet are seen to below.
    places = places + _raised(np.delete(places[..., 1], feet, axis=1), fps)
    places = places + _with_feet(places, contact, fps)[:, None]
    wanted = [_foot_course(places, side, contact[:, i + 1], stature, fps) for side, i in _SIDES]
    places = places - _lack(places, wanted, contact, fps)[:, None]
    for (side, _), course in zip(_SIDES, wanted, strict=True):
        places = _bent(places, side, course)
    # What feet that lean aside or do not reach leave below the floor.
    heights = np.concatenate([sole_points(places), places], axis=1)[..., 1]
    return Planted(places + _raised(heights, fps), contact)


def runs_of(marked: Array) -> list[tuple[int, int]]:
    """Find stretches of marked frames, each from its first frame to the one behind its last.

    Examples
    --------
    >>> runs_of(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(first), int(stop)) for first, stop in zip(edges[::2], edges[1::2], strict=True)]


def _steady(marked: Array, shortest: int) -> Array:
    """Close gaps that are too short between stretches, then drop stretches that are too short."""
    steady = marked.copy()
    for first, stop in runs_of(~marked):
        if stop - first < shortest and first > 0 and stop < len(marked):
            steady[first:stop] = True
    for first, stop in runs_of(steady):
        if stop - first < shortest and first > 0 and stop < len(marked):
            steady[first:stop] = False
    return steady


def _raised(heights: Array, fps: float) -> Array:
    """By how much a body is to rise so that none of the given heights [frame, point] is below the floor: [frame, 1, 3]."""
    up = np.zeros((len(heights), 1, 3))
    up[:, 0, 1] = _smooth_cover(np.maximum(-heights.min(axis=1), 0.0), fps)
    return up


def _with_feet(joints: Array, contact: Array, fps: float) -> Array:
    """How a body is to move along so that, on the mean, what touches stands still: [frame, 3]."""
    step = np.diff(sole_points(joints), axis=0) * [1.0, 0.0, 1.0]
    both = (contact[1:] & contact[:-1])[..., None]
    count = both.sum(axis=1)
    slide = np.where(both, step, 0.0).sum(axis=1) / np.maximum(count, 1)
    # A mean over those neighbours that know; who flies or sits with the feet up is let go on.
    radius = round(DRIFT_SECONDS * fps / 2)
    sums = _sums_around(np.concatenate([slide, count > 0], axis=1), radius)
    drift = np.where(count > 0, sums[:, :3] / np.maximum(sums[:, 3:], 1), 0.0)
    return np.concatenate([np.zeros((1, 3)), -np.cumsum(drift, axis=0)])


def _sums_around(values: Array, radius: int) -> Array:
    """Add up each row and so many before and behind it, as far as there are any: [row, number]."""
    total = np.cumsum(np.pad(values, ((radius + 1, radius), (0, 0))), axis=0)
    return np.asarray(total[2 * radius + 1 :] - total[: len(values)])


def _foot_course(joints: Array, side: str, ball_touches: Array, stature: float, fps: float) -> tuple[Array, Array]:
    """Where the ankle and the ball of one foot are to be: two arrays [frame, 3]."""
    ankle, ball = (joints[:, JOINTS.index(f"{side}_{part}")] for part in ("ankle", "foot"))
    flat, shift = BALL_JOINT_HEIGHT * stature, np.zeros_like(ball)
    runs = runs_of(ball_touches)
    for first, stop in runs:
        place = ball[first:stop].mean(axis=0)
        place[1] = flat if place[1] < flat + ON_FLOOR else place[1]
        shift[first:stop] = place - ball[first:stop]
    _bridge(shift, runs)
    ball = ball + shift
    ball[:, 1] = np.maximum(ball[:, 1], _clearance(ball, ball_touches, flat, fps))
    return _with_heel_up(ankle + shift, ball, _length(joints[:, JOINTS.index(f"{side}_foot")] - ankle), stature)


def _clearance(ball: Array, touches: Array, flat: float, fps: float) -> Array:
    """How high the ball of a foot is at least, [frame]: where it swings fast, as high as one that does not scuff."""
    step = np.diff(ball[:, [0, 2]], axis=0, prepend=ball[:1, [0, 2]])
    fast = _length(step) * fps > FAST
    # The step behind a frame counts as well as that before it.
    swings = ~touches & (fast | np.append(fast[1:], False))
    least = np.where(swings, max(CLEAR, flat), flat)
    around = np.pad(least, 1, mode="edge")
    return np.asarray(np.where(touches, flat, (around[:-2] + 2 * least + around[2:]) / 4))


def _bridge(shift: Array, runs: list[tuple[int, int]]) -> None:
    """Lead a shift from the end of one stretch to the begin of the next; before the first and behind the last it is kept."""
    if not runs:
        return
    shift[: runs[0][0]], shift[runs[-1][1] :] = shift[runs[0][0]], shift[runs[-1][1] - 1]
    for (_, stop), (first, _) in pairwise(runs):
        share = np.arange(1, first - stop + 1)[:, None] / (first - stop + 1)
        soft = share * share * (3 - 2 * share)
        shift[stop:first] = shift[stop - 1] * (1 - soft) + shift[first] * soft


def _with_heel_up(ankle: Array, ball: Array, long: Array, stature: float) -> tuple[Array, Array]:
    """Turn a foot about its ball so far that its heel is not below the floor.

    `long` is its length [frame], whatever that of the given places is.
    """
    foot = ball - ankle
    # Seen from the side, the heel lies behind the ball and a little below it, `apart` away.
    behind, below = BALL_BEFORE_ANKLE + HEEL_BEHIND_ANKLE, BALL_JOINT_HEIGHT
    apart = stature * np.hypot(behind, below)
    tilt = np.arcsin(np.clip(ball[:, 1] / apart, -1.0, 1.0)) - np.arctan2(below, behind)
    # Where the sole is level, the ball is lower than the ankle.
    level = np.arctan2(PROPORTIONS["ankle_height"] - BALL_JOINT_HEIGHT, BALL_BEFORE_ANKLE)
    down = np.minimum(foot[:, 1], long * np.sin(tilt - level))
    down = np.maximum(down, -0.999 * long)
    along = np.sqrt(foot[:, 0] ** 2 + foot[:, 2] ** 2)
    fit = np.sqrt(np.maximum(long * long - down * down, 0.0)) / np.maximum(along, _TINY)
    turned = np.stack([foot[:, 0] * fit, down, foot[:, 2] * fit], axis=1)
    return ball - turned, ball


def _lack(joints: Array, wanted: list[tuple[Array, Array]], contact: Array, fps: float) -> Array:
    """By how much a body is to come down so that its legs reach feet that touch: [frame, 3]."""
    lack = np.zeros(len(joints))
    for (side, i), (ankle, _) in zip(_SIDES, wanted, strict=True):
        hip, knee, old = (joints[:, JOINTS.index(f"{side}_{part}")] for part in ("hip", "knee", "ankle"))
        reach = LONGEST * (_length(knee - hip) + _length(old - knee))
        away = ankle - hip
        high = np.sqrt(np.maximum(reach * reach - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0))
        planted = contact[:, i] | contact[:, i + 1]
        lack = np.maximum(lack, np.where(planted, -away[:, 1] - high, 0.0))
    down = np.zeros((len(joints), 3))
    down[:, 1] = _smooth_cover(lack, fps)
    return down


def _bent(joints: Array, side: str, course: tuple[Array, Array]) -> Array:
    """Bend a leg so that its foot is where it is to be; a foot out of reach is drawn in along the line from the hip."""
    hip, knee, ankle, ball = (joints[:, JOINTS.index(f"{side}_{part}")] for part in _LEG)
    wanted, wanted_ball = course
    thigh, shank = _length(knee - hip), _length(ankle - knee)
    away = wanted - hip
    apart = np.maximum(_length(away), _TINY)
    span = np.clip(apart, np.abs(thigh - shank) + 0.05, LONGEST * (thigh + shank))
    line = away / apart[:, None]
    along = (thigh * thigh - shank * shank + span * span) / (2 * span)
    out = np.sqrt(np.maximum(thigh * thigh - along * along, 0.0))
    # The knee bends to where it did, and in a leg that was straight to where the foot points.
    old = (ankle - hip) / np.maximum(_length(ankle - hip), _TINY)[:, None]
    front = _across(knee - hip, old) + 0.02 * (ball - ankle) / np.maximum(_length(ball - ankle), _TINY)[:, None]
    front = _across(front, line)
    front = front / np.maximum(_length(front), _TINY)[:, None]
    moved = joints.copy()
    reached = hip + line * span[:, None]
    moved[:, JOINTS.index(f"{side}_knee")] = hip + line * along[:, None] + front * out[:, None]
    moved[:, JOINTS.index(f"{side}_ankle")] = reached
    moved[:, JOINTS.index(f"{side}_foot")] = reached + (wanted_ball - wanted)
    return moved


def _length(values: Array) -> Array:
    return np.asarray(np.sqrt((values * values).sum(axis=-1)))


def _across(values: Array, axis: Array) -> Array:
    return np.asarray(values - (values * axis).sum(axis=-1, keepdims=True) * axis)


def _smooth_cover(lack: Array, fps: float) -> Array:
    """Cover what lacks by a smooth course that is nowhere below it: a mean over a window of the largest over that window."""
    radius = max(1, round(YIELD_SECONDS * fps))
    padded = np.pad(lack, 2 * radius, mode="edge")
    most = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1).max(axis=1)
    weight = radius + 1.0 - np.abs(np.arange(-radius, radius + 1))
    return np.convolve(most, weight / weight.sum(), "valid")
