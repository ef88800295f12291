"""Lock the feet of a generated motion: remove the sliding of feet that are in contact with the floor.

First the whole body is moved along with its feet, then the legs are bent. While the ball of a foot is in contact it stays at
one position; between two contacts its own path is kept, shifted from one position to the next. Legs reach the foot by two-bone
inverse kinematics, so that bones keep their lengths. The feet of synthesised samples are not handled here but in
:mod:`posegen.motion`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.linalg import norm

from posegen.evaluation.body import true_intervals
from posegen.foundations import skeleton
from posegen.foundations.arrays import Array
from posegen.foundations.vectors import fill_middle_joints

SHORTEST = 0.1
"""Seconds: shorter contacts and shorter gaps are ignored."""
DRIFT_SECONDS = 0.25
"""Seconds over which the movement of the body with its feet is averaged."""
ON_FLOOR = 0.06
"""Metres above its standing height below which a ball in contact is on the floor, not on a step."""
FAST, CLEAR = 0.2, 0.062
"""A foot without contact that moves faster (m/s) swings; its ball is then at least this high (metres)."""
LONGEST = 0.9995
"""Largest extension of a leg, as a share of its length."""
YIELD_SECONDS = 0.12
"""Seconds before the body must be lower, or higher, at which it begins to move."""

_SIDES = (("left", 0), ("right", 2))
_TINY = 1e-9


def lock_feet(joints: Array, contact: Array, fps: float, stature: float) -> tuple[Array, Array]:
    """Remove the sliding of feet.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, the floor at height 0.
    contact : float [frame, 4]
        Probability of contact of left heel, left toe, right heel and right toe.
    fps : float
        Frames per second.
    stature : float
        Metres.

    Returns
    -------
    joints : float64 [frame, 22, 3]
        Metres.
    contact : bool [frame, 4]
    """
    steady = np.stack([_without_short_runs(contact[:, i] > 0.5, max(1, round(SHORTEST * fps))) for i in range(4)], axis=1)
    moved = joints.astype(np.float64)
    feet = [skeleton.JOINTS.index(f"{side}_{part}") for side, _ in _SIDES for part in ("ankle", "foot")]
    # The feet are raised separately below.
    moved = moved + _lift(np.delete(moved[..., 1], feet, axis=1), fps)
    moved = moved + _displacement_with_feet(moved, steady, fps)[:, None]
    targets = [_foot_path(moved, side, steady[:, i + 1], stature, fps) for side, i in _SIDES]
    moved = moved - _lowering(moved, targets, steady, fps)[:, None]
    for (side, _), target in zip(_SIDES, targets, strict=True):
        moved = _bend_leg(moved, side, target)
    # Feet that tilt sideways or are out of reach may still be below the floor.
    heights = np.concatenate([skeleton.sole_points(moved), moved], axis=1)[..., 1]
    return moved + _lift(heights, fps), steady


def _without_short_runs(marked: Array, shortest: int) -> Array:
    """Close short gaps between runs, then remove short runs."""
    steady = marked.copy()
    for value in (True, False):
        for run in true_intervals(~marked if value else steady):
            if run.stop - run.start < shortest and run.start > 0 and run.stop < len(marked):
                steady[run] = value
    return steady


def _lift(heights: Array, fps: float) -> Array:
    """Return the displacement [frame, 1, 3] that raises all of the heights [frame, point] above the floor."""
    up = np.zeros((len(heights), 1, 3))
    up[:, 0, 1] = _smooth_cover(np.maximum(-heights.min(axis=1), 0.0), fps)
    return up


def _displacement_with_feet(joints: Array, contact: Array, fps: float) -> Array:
    """Return the displacement [frame, 3] of the body after which points in contact are still, on average."""
    step = np.diff(skeleton.sole_points(joints), axis=0) * [1.0, 0.0, 1.0]
    both = (contact[1:] & contact[:-1])[..., None]
    count = both.sum(axis=1)
    slide = np.where(both, step, 0.0).sum(axis=1) / np.maximum(count, 1)
    # A moving average over the frames with contact. Without contact the body keeps its own path.
    radius = round(DRIFT_SECONDS * fps / 2)
    padded = np.pad(np.concatenate([slide, count > 0], axis=1), ((radius + 1, radius), (0, 0)))
    total = np.cumsum(padded, axis=0)
    sums = total[2 * radius + 1 :] - total[: len(slide)]
    drift = np.where(count > 0, sums[:, :3] / np.maximum(sums[:, 3:], 1), 0.0)
    return np.concatenate([np.zeros((1, 3)), -np.cumsum(drift, axis=0)])


def _foot_path(joints: Array, side: str, ball_contact: Array, stature: float, fps: float) -> tuple[Array, Array]:
    """Return the target positions of the ankle and the ball of one foot, each [frame, 3]."""
    ankle, ball = (joints[:, skeleton.JOINTS.index(f"{side}_{part}")] for part in ("ankle", "foot"))
    flat, shift = skeleton.BALL_JOINT_HEIGHT * stature, np.zeros_like(ball)
    runs = true_intervals(ball_contact)
    for run in runs:
        position = ball[run].mean(axis=0)
        position[1] = flat if position[1] < flat + ON_FLOOR else position[1]
        shift[run] = position - ball[run]
    _bridge(shift, runs)
    ball = ball + shift
    ball[:, 1] = np.maximum(ball[:, 1], _clearance(ball, ball_contact, flat, fps))
    return _with_heel_up(ankle + shift, ball, norm(joints[:, skeleton.JOINTS.index(f"{side}_foot")] - ankle, axis=-1), stature)


def _clearance(ball: Array, contact: Array, flat: float, fps: float) -> Array:
    """Return the least height of the ball of a foot, [frame]: a foot that swings must not scuff."""
    step = np.diff(ball[:, [0, 2]], axis=0, prepend=ball[:1, [0, 2]])
    fast = norm(step, axis=-1) * fps > FAST
    # The step after a frame counts as well as that before it.
    swings = ~contact & (fast | np.append(fast[1:], False))
    least = np.where(swings, max(CLEAR, flat), flat)
    around = np.pad(least, 1, mode="edge")
    return np.asarray(np.where(contact, flat, (around[:-2] + 2 * least + around[2:]) / 4))


def _bridge(shift: Array, runs: list[slice]) -> None:
    """Interpolate a shift between runs, in place. Before the first run and after the last it is constant."""
    if not runs:
        return
    shift[: runs[0].start], shift[runs[-1].stop :] = shift[runs[0].start], shift[runs[-1].stop - 1]
    for before, behind in pairwise(runs):
        stop, first = before.stop, behind.start
        share = np.arange(1, first - stop + 1)[:, None] / (first - stop + 1)
        soft = share * share * (3 - 2 * share)
        shift[stop:first] = shift[stop - 1] * (1 - soft) + shift[first] * soft


def _with_heel_up(ankle: Array, ball: Array, foot_length: Array, stature: float) -> tuple[Array, Array]:
    """Rotate a foot of length `foot_length` [frame] about its ball until its heel is not below the floor."""
    foot = ball - ankle
    # In side view, the heel is behind the ball and a little below it, at the distance `apart`.
    behind, below = skeleton.BALL_BEFORE_ANKLE + skeleton.HEEL_BEHIND_ANKLE, skeleton.BALL_JOINT_HEIGHT
    apart = stature * np.hypot(behind, below)
    tilt = np.arcsin(np.clip(ball[:, 1] / apart, -1.0, 1.0)) - np.arctan2(below, behind)
    # With a level sole, the ball is lower than the ankle.
    level = np.arctan2(skeleton.PROPORTIONS["ankle_height"] - skeleton.BALL_JOINT_HEIGHT, skeleton.BALL_BEFORE_ANKLE)
    down = np.minimum(foot[:, 1], foot_length * np.sin(tilt - level))
    down = np.maximum(down, -0.999 * foot_length)
    along = np.sqrt(foot[:, 0] ** 2 + foot[:, 2] ** 2)
    fit = np.sqrt(np.maximum(foot_length * foot_length - down * down, 0.0)) / np.maximum(along, _TINY)
    rotated = np.stack([foot[:, 0] * fit, down, foot[:, 2] * fit], axis=1)
    return ball - rotated, ball


def _lowering(joints: Array, targets: list[tuple[Array, Array]], contact: Array, fps: float) -> Array:
    """Return by how much the body must be lowered so that its legs reach the feet in contact: [frame, 3]."""
    excess = np.zeros(len(joints))
    for (side, i), (ankle, _) in zip(_SIDES, targets, strict=True):
        hip, knee, old = (joints[:, skeleton.JOINTS.index(f"{side}_{part}")] for part in ("hip", "knee", "ankle"))
        reach = LONGEST * (norm(knee - hip, axis=-1) + norm(old - knee, axis=-1))
        away = ankle - hip
        high = np.sqrt(np.maximum(reach * reach - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0))
        stands = contact[:, i] | contact[:, i + 1]
        excess = np.maximum(excess, np.where(stands, -away[:, 1] - high, 0.0))
    down = np.zeros((len(joints), 3))
    down[:, 1] = _smooth_cover(excess, fps)
    return down


def _bend_leg(joints: Array, side: str, target: tuple[Array, Array]) -> Array:
    """Bend a leg so that its foot reaches its target, or the nearest point on the line from the hip."""
    hip, knee, ankle, ball = (joints[:, skeleton.JOINTS.index(f"{side}_{part}")] for part in ("hip", "knee", "ankle", "foot"))
    target_ankle, target_ball = target
    thigh, shank = norm(knee - hip, axis=-1), norm(ankle - knee, axis=-1)
    away = target_ankle - hip
    apart = np.maximum(norm(away, axis=-1), _TINY)
    span = np.clip(apart, np.abs(thigh - shank) + 0.05, LONGEST * (thigh + shank))
    line = away / apart[:, None]
    # The knee keeps its direction; in a straight leg it bends towards the toes.
    old = (ankle - hip) / np.maximum(norm(ankle - hip, axis=-1), _TINY)[:, None]
    front = _orthogonal(knee - hip, old) + 0.02 * (ball - ankle) / np.maximum(norm(ball - ankle, axis=-1), _TINY)[:, None]
    front = _orthogonal(front, line)
    front = front / np.maximum(norm(front, axis=-1), _TINY)[:, None]
    moved, bent = joints.copy(), np.empty_like(hip)
    fill_middle_joints(hip, line, front, thigh, shank, span, bent)
    reached = hip + line * span[:, None]
    moved[:, skeleton.JOINTS.index(f"{side}_knee")] = bent
    moved[:, skeleton.JOINTS.index(f"{side}_ankle")] = reached
    moved[:, skeleton.JOINTS.index(f"{side}_foot")] = reached + (target_ball - target_ankle)
    return moved


def _orthogonal(values: Array, axis: Array) -> Array:
    """Return the component of vectors orthogonal to unit axes."""
    return np.asarray(values - (values * axis).sum(axis=-1, keepdims=True) * axis)


def _smooth_cover(values: Array, fps: float) -> Array:
    """Return a smooth curve that is nowhere below the values: a weighted mean over a window of the maximum over that window."""
    radius = max(1, round(YIELD_SECONDS * fps))
    padded = np.pad(values, 2 * radius, mode="edge")
    most = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1).max(axis=1)
    weight = radius + 1.0 - np.abs(np.arange(-radius, radius + 1))
    return np.convolve(most, weight / weight.sum(), "valid")
