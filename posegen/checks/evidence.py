"""Evidence: side, count, turn, speed and partners in an interval of frames, measured from the joints, whatever was planned.

A side and a count show in a *signal*: a distance between parts of the body, frame by frame. The signal of one side is that of
the limb on this side, or towards this side; that of both sides is the mean of the two. Which signal an action has is part of
the library (:mod:`posegen.library.stages`). Partners are actors whose hands meet, whose chests are close, or whose hips face
the other. Comparing evidence with statements is done in :mod:`posegen.checks.statements`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posegen.checks.capsules import place_of
from posegen.checks.paths import path_shapes
from posegen.checks.steps import measured_steps, return_of
from posegen.foundations.arrays import Array
from posegen.foundations.constants import AVERAGE_LEG, DEGREES, SHAPES
from posegen.foundations.kernels import Scalar, kernel
from posegen.foundations.scene import BOTH, LEFT, RIGHT
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.vectors import length, minus
from posegen.library.load import Library
from posegen.library.stages import SIGNALS

UNKNOWN = -1
"""Count of an action that has no signal for it."""
PROMINENCE = 0.2
"""A peak must exceed the valleys on both sides by this share of the signal's range."""
MIN_SIDE_DIFFERENCE = 0.01
"""Smallest difference, in metres, between the mean signals of the two sides."""
STRIDE_SECONDS = 0.48
"""Speed is distance over this time, about one step, so that sway of the pelvis does not count."""
HIP_OVER_ANKLE = 0.92
"""Thigh and shank as a share of the height of the hip: the rest is below the ankle (Drillis and Contini)."""


PELVIS, CHEST, HEAD = (JOINTS.index(name) for name in ("pelvis", "spine3", "head"))
HIPS, SHOULDERS, WRISTS, KNEES, ANKLES = (
    (JOINTS.index(f"left_{name}"), JOINTS.index(f"right_{name}")) for name in ("hip", "shoulder", "wrist", "knee", "ankle")
)
PELVIS_HEIGHT, HEAD_HEIGHT, HEAD_ASIDE, TRAVEL_ASIDE, HANDS_APART, FEET_APART = range(6)
HAND_HEIGHT, HAND_AHEAD, HAND_REACH, FOOT_HEIGHT, FOOT_AHEAD, FOOT_STANCE = range(6, len(SIGNALS))
"""Numbers of the signals, in the order of :data:`posegen.library.stages.SIGNALS`."""
STANCE = 0.2
"""Metres that `foot_stance` has in stance."""
SMALLEST = 1e-6


@kernel
def left_of(joints: Array, f: int, pair: tuple[int, int]) -> tuple[Scalar, Scalar]:
    """Return the level unit vector x, z from the right joint of a pair to the left one."""
    x = float(joints[f, pair[0], 0]) - float(joints[f, pair[1], 0])
    z = float(joints[f, pair[0], 2]) - float(joints[f, pair[1], 2])
    size = max(np.sqrt(x * x + z * z), SMALLEST)
    return x / size, z / size


@kernel
def ahead_of(joints: Array, f: int, pair: tuple[int, int]) -> tuple[Scalar, Scalar]:
    """Return the level unit vector x, z in which a pair of joints faces: with the left one at +x, that is +z."""
    x, z = left_of(joints, f, pair)
    return -z, x


@kernel
def offset_along(joints: Array, f: int, joint: int, origin: int, way: tuple[Scalar, Scalar]) -> Scalar:
    """Return the offset of a joint from another one along a level unit vector, metres."""
    x = float(joints[f, joint, 0]) - float(joints[f, origin, 0])
    z = float(joints[f, joint, 2]) - float(joints[f, origin, 2])
    return x * way[0] + z * way[1]


@kernel
def distance(joints: Array, f: int, one: int, other: int) -> Scalar:
    """Return the distance of two joints, metres."""
    return length(minus(place_of(joints[f], one), place_of(joints[f], other)))


@kernel
def limb_signal(joints: Array, f: int, signal: int, side: int) -> Scalar:
    """Return a signal of one side, metres."""
    wrist, left, right = WRISTS[side], SHOULDERS[0], SHOULDERS[1]
    if signal == FOOT_HEIGHT:
        return float(joints[f, ANKLES[side], 1])
    if signal == FOOT_STANCE:
        # In a stance the body passes over the foot.
        before = max(f - 1, 0)
        now, then = (ahead_of(joints, f, HIPS), ahead_of(joints, before, HIPS))
        moved = offset_along(joints, f, ANKLES[side], PELVIS, now) - offset_along(joints, before, ANKLES[side], PELVIS, then)
        return STANCE if moved < 0 else 0.0
    if signal == FOOT_AHEAD:
        return offset_along(joints, f, ANKLES[side], PELVIS, ahead_of(joints, f, HIPS))
    if signal == HEAD_ASIDE:
        aside = offset_along(joints, f, HEAD, PELVIS, left_of(joints, f, HIPS))
        return aside if side == LEFT else -aside
    if signal == HAND_REACH:
        return distance(joints, f, wrist, SHOULDERS[side])
    if signal == HAND_HEIGHT:
        return float(joints[f, wrist, 1]) - 0.5 * (float(joints[f, left, 1]) + float(joints[f, right, 1]))
    way = ahead_of(joints, f, SHOULDERS)
    return 0.5 * (offset_along(joints, f, wrist, left, way) + offset_along(joints, f, wrist, right, way))


@kernel
def fill_signal(joints: Array, signal: int, side: int, out: Array) -> None:
    """Compute one signal.

    Parameters
    ----------
    joints : float32 [frames, 22, 3]
        Metres.
    signal : int
        Index in :data:`posegen.library.stages.SIGNALS`.
    side : int
        LEFT, RIGHT, or BOTH for the mean of the two.
    out : float64 [frames]
        Metres.
    """
    travelled = 0.0
    for f in range(len(joints)):
        if signal == PELVIS_HEIGHT:
            out[f] = joints[f, PELVIS, 1]
        elif signal == HEAD_HEIGHT:
            out[f] = joints[f, HEAD, 1]
        elif signal == HANDS_APART:
            out[f] = distance(joints, f, WRISTS[0], WRISTS[1])
        elif signal == FEET_APART:
            out[f] = distance(joints, f, ANKLES[0], ANKLES[1])
        elif signal == TRAVEL_ASIDE:
            if f > 0:
                way = left_of(joints, f, HIPS)
                x = float(joints[f, PELVIS, 0]) - float(joints[f - 1, PELVIS, 0])
                z = float(joints[f, PELVIS, 2]) - float(joints[f - 1, PELVIS, 2])
                travelled += (x * way[0] + z * way[1]) * (1.0 if side == LEFT else -1.0)
            out[f] = travelled
        elif side == BOTH:
            out[f] = 0.5 * (limb_signal(joints, f, signal, 0) + limb_signal(joints, f, signal, 1))
        else:
            out[f] = limb_signal(joints, f, signal, side)


@kernel
def count_peaks(values: Array, upright: bool) -> int:
    """Count the prominent peaks, or dips, of a signal.

    Parameters
    ----------
    values : float64 [frames]
    upright : bool
        Count peaks; otherwise dips.

    Returns
    -------
    int
        Extremes in the first or last frame do not count.
    """
    sign = 1.0 if upright else -1.0
    lowest, highest = np.inf, -np.inf
    for value in values:
        lowest, highest = min(lowest, sign * value), max(highest, sign * value)
    least = PROMINENCE * (highest - lowest)
    count, rising = 0, False
    turn = np.inf
    for value in values:
        here = sign * value
        if rising:
            turn = max(turn, here)
            if here < turn - least:
                count, rising, turn = count + 1, False, here
        else:
            turn = min(turn, here)
            if here > turn + least:
                rising, turn = True, here
    return count


class Intervals(NamedTuple):
    """Intervals of frames: clip, actor, first frame, frame after the last one, and action of each."""

    clip: Array
    actor: Array
    start: Array
    end: Array
    action: Array


class Evidence(NamedTuple):
    """What is measured in each interval.

    Attributes
    ----------
    side : int8 [n]
        LEFT, RIGHT, or BOTH where neither side prevails or the action has no sign for it.
    repetitions : int32 [n]
        Repetitions, UNKNOWN where the action has no sign for them.
    turn : float64 [n]
        Turn of the hips in degrees; left positive.
    slower, faster : float64 [n, k]
        Share of the time in which the pelvis is slower, or faster, than the k-th speed bound.
    shapes : bool [n, len(SHAPES)]
        Which shapes of :data:`posegen.foundations.constants.SHAPES` the path has.
    steps : int32 [n]
        Steps, where both feet stand in the first and in the last frame and no step is unclear; else 0.
    foot : int8 [n]
        LEFT or RIGHT foot that makes the first step, where both feet stand in the first frame; else BOTH.
    back : int8 [n]
        Index into :data:`posegen.foundations.constants.RETURNS`: whether the path leads back to where the clip began.

    Turn, slower, faster, shapes, steps and back are 0 for actions without a gait.
    """

    side: Array
    repetitions: Array
    turn: Array
    slower: Array
    faster: Array
    shapes: Array
    steps: Array
    foot: Array
    back: Array


class Signs(NamedTuple):
    """What to measure, by action.

    Index of the signal of the side and of the count, -1 for none; 1 for `more` and `peaks`, otherwise -1; 1 for a gait,
    otherwise -1.
    """

    side: Array
    side_sign: Array
    counted: Array
    counted_sign: Array
    gait: Array


@kernel
def prevailing_side(joints: Array, signal: int, sign: int, left: Array, right: Array) -> int:
    """Return the side whose mean signal is larger (`sign` 1) or smaller (-1); `left`, `right` are scratch, float64 [frames]."""
    fill_signal(joints, signal, LEFT, left)
    fill_signal(joints, signal, RIGHT, right)
    ahead = 0.0
    for f in range(len(joints)):
        ahead += left[f] - right[f]
    ahead *= sign / max(1, len(joints))
    if ahead > MIN_SIDE_DIFFERENCE:
        return LEFT
    return RIGHT if ahead < -MIN_SIDE_DIFFERENCE else BOTH


@kernel
def turn_angle(joints: Array) -> Scalar:
    """Return the turn of the hips, in radians, from the first frame to the last, left positive, whole turns included."""
    angle = 0.0
    x, z = left_of(joints, 0, HIPS)
    for f in range(1, len(joints)):
        next_x, next_z = left_of(joints, f, HIPS)
        # For an actor who faces +z, left is +x, and turns towards -z. A frame turns by few degrees: arcsine by its series.
        s = x * -next_z + z * next_x
        angle += s + s * s * s / 6.0
        x, z = next_x, next_z
    return angle


@kernel
def hip_height(joints: Array) -> Scalar:
    """Return the hip height in standing, metres, by the bones of both legs, so that the mirror image has exactly the same."""
    limbs = 0.0
    for higher, lower in ((HIPS, KNEES), (KNEES, ANKLES)):
        limbs += distance(joints, 0, higher[0], lower[0]) + distance(joints, 0, higher[1], lower[1])
    return 0.5 * limbs / HIP_OVER_ANKLE


@kernel
def fill_speed_shares(
    joints: Array, stride: int, bounds: Array, stride_seconds: Scalar, squares: Array, slower: Array, faster: Array
) -> None:
    """Compute the share of strides in which the pelvis is slower, and faster, than each bound.

    Parameters
    ----------
    joints : float32 [frames, 22, 3]
        Metres.
    stride : int
        Frames.
    bounds : float64 [k]
        Metres per second.
    stride_seconds : float
        Duration of a stride.
    squares : float64 [frames]
        Scratch.
    slower, faster : float64 [k]
        Filled; 0 where the interval is shorter than a stride.
    """
    strides = max(len(joints) - stride, 0)
    for f in range(strides):
        x = float(joints[f + stride, PELVIS, 0]) - float(joints[f, PELVIS, 0])
        z = float(joints[f + stride, PELVIS, 2]) - float(joints[f, PELVIS, 2])
        squares[f] = x * x + z * z
    for k in range(len(bounds)):
        limit = bounds[k] * stride_seconds
        below, above = 0, 0
        for f in range(strides):
            below += squares[f] < limit * limit
            above += squares[f] > limit * limit
        slower[k], faster[k] = below / max(strides, 1), above / max(strides, 1)


@kernel
def fill_evidence(
    joints: Array, intervals: Intervals, signs: Signs, bounds: Array, frame_seconds: Scalar, work: Array, out: Evidence
) -> None:
    """Measure all intervals; see :func:`measure_evidence`. `work` is scratch, float64 [3, frames and bounds]."""
    stride = int(np.rint(STRIDE_SECONDS / frame_seconds))
    limits = work[2, : len(bounds)]
    for i in range(len(intervals.clip)):
        start, end, action = intervals.start[i], intervals.end[i], intervals.action[i]
        seen = joints[intervals.clip[i], intervals.actor[i], start:end]
        left, right = work[0, : end - start], work[1, : end - start]
        side = BOTH
        if signs.side[action] >= 0:
            side = prevailing_side(seen, signs.side[action], signs.side_sign[action], left, right)
        out.side[i] = side
        out.repetitions[i] = UNKNOWN
        if signs.counted[action] >= 0:
            values = right if side == RIGHT else left
            if side == BOTH or signs.counted[action] != signs.side[action]:
                fill_signal(seen, signs.counted[action], side, values)
            out.repetitions[i] = count_peaks(values, signs.counted_sign[action] > 0)
        out.turn[i] = 0.0
        out.slower[i, :] = 0.0
        out.faster[i, :] = 0.0
        out.steps[i], out.foot[i], out.back[i] = 0, BOTH, 0
        if signs.gait[action] > 0:
            out.turn[i] = turn_angle(seen)
            pace = np.sqrt(hip_height(seen) / AVERAGE_LEG)
            for k in range(len(bounds)):
                limits[k] = bounds[k] * pace
            fill_speed_shares(seen, stride, limits, stride * frame_seconds, left, out.slower[i], out.faster[i])
            out.back[i] = return_of(joints[intervals.clip[i], intervals.actor[i]], start, end)
            out.steps[i], out.foot[i] = measured_steps(seen, frame_seconds)


@lru_cache(maxsize=8)
def signs_of(library: Library) -> Signs:
    """Return what to measure of the actions of a library."""
    columns = np.full((5, len(library.actions)), -1, np.int64)
    for i, name in enumerate(library.actions):
        action = library.action(name)
        side, count = action.signs.side, action.signs.count
        columns[4, i] = -1 if action.gait is None else 1
        if side is not None and (signal := side.more or side.less) is not None:
            columns[:2, i] = SIGNALS.index(signal), 1 if side.more else -1
        if count is not None and (signal := count.peaks or count.dips) is not None:
            columns[2:4, i] = SIGNALS.index(signal), 1 if count.peaks else -1
    return Signs(*columns)


def measure_evidence(
    joints: Array, intervals: Intervals, library: Library, bounds: Array, fps: float, searched: Array | None = None
) -> Evidence:
    """Measure what joints show in some intervals.

    Parameters
    ----------
    joints : float32 [clips, actors, frames, 22, 3]
        Metres, y up.
    intervals : Intervals
        int64 [n] each; none is empty.
    library : Library
        Of the actions, which have the signs.
    bounds : float64 [k]
        Speed bounds in metres per second, for a hip height of .9 m.
    fps : float
        Frames per second.
    searched : bool [n], optional
        In which intervals shapes of the path are searched, which takes long; in all by default.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        If an interval is empty or exceeds its clip.
    """
    n, frames = len(intervals.clip), joints.shape[2]
    empty = (intervals.start < 0) | (intervals.end > frames) | (intervals.start >= intervals.end)
    if empty.any():
        i = int(np.argmax(empty))
        raise ValueError(f"frames {intervals.start[i]} to {intervals.end[i]} are not an interval of a clip of {frames} frames")
    slower, faster = np.empty((2, n, len(bounds)))
    shapes = _measure_shapes(joints, intervals, library, fps, searched)
    side, foot, back = (np.empty(n, np.int8) for _ in range(3))
    repetitions, steps = np.empty(n, np.int32), np.empty(n, np.int32)
    found = Evidence(side, repetitions, np.empty(n), slower, faster, shapes, steps, foot, back)
    where, limits = Intervals(*(np.ascontiguousarray(c, np.int64) for c in intervals)), np.asarray(bounds, np.float64)
    work = np.empty((3, max(frames, len(bounds))))
    fill_evidence(joints, where, signs_of(library), limits, 1.0 / fps, work, found)
    return found._replace(turn=found.turn * DEGREES)


def _measure_shapes(joints: Array, intervals: Intervals, library: Library, fps: float, searched: Array | None) -> Array:
    """Return which shapes the path in each interval has, bool [n, len(SHAPES)]."""
    shapes = np.zeros((len(intervals.clip), len(SHAPES)), bool)
    walks = np.array([entry.gait in ("walk", "run") for entry in library.entries.values()])
    travels = walks[intervals.action]
    for i in np.flatnonzero(travels if searched is None else travels & searched).tolist():
        frames = slice(intervals.start[i], intervals.end[i])
        seen = joints[intervals.clip[i], intervals.actor[i], frames][:, [*HIPS, PELVIS]][..., [0, 2]].astype(np.float64)
        shapes[i] = path_shapes(seen[:, 0] - seen[:, 1], seen[:, 2], fps)
    return shapes


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


def partners_by_criterion(joints: Array, actor: int, start: int, end: int, criterion: str) -> list[int]:
    """Return the partners of an actor, by one criterion.

    Parameters
    ----------
    joints : float32 [actors, frames, 22, 3]
        Metres, of one sequence; absent actors are NaN.
    actor : int
    start, end : int
        First frame of the interval, and the frame after its last one.
    criterion : str
        `checked_by` of an :class:`posegen.library.schema.Interaction`.

    Returns
    -------
    list of int
        Numbers of the other actors.
    """
    bodies, meets = joints.astype(np.float64), _CRITERIA[criterion]
    others = np.flatnonzero(~np.isnan(joints[:, start, PELVIS, 0])).tolist()
    return [other for other in others if other != actor and meets(bodies[actor], bodies[other], start, end)]


def find_partners(joints: Array, actor: int, start: int, end: int, action: str, library: Library) -> list[int]:
    """Return the partners of an actor in an action, by the criterion of any interaction that contains it."""
    criteria = {interaction.checked_by: None for interaction in library.interactions.values() if action in interaction.actions}
    return sorted({other for criterion in criteria for other in partners_by_criterion(joints, actor, start, end, criterion)})


def _size(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors * vectors).sum(-1)))


def _hands(one: Array, two: Array, start: int, end: int) -> bool:
    gaps = np.stack([_size(one[start:end, a] - two[start:end, b]) for a in WRISTS for b in WRISTS])
    return int((gaps <= CONTACT).sum(axis=1).max()) >= LEAST_CONTACT


def _chests(one: Array, two: Array, start: int, end: int) -> bool:
    near = _size(one[start:end, CHEST] - two[start:end, CHEST]) <= NEAR_CHESTS
    return int(near.sum()) >= LEAST_CONTACT and _facing(one, two, start, end)


def _facing(one: Array, two: Array, start: int, end: int) -> bool:
    left = one[start:end, HIPS[0]] - one[start:end, HIPS[1]]
    way = (two[start:end, PELVIS] - one[start:end, PELVIS])[:, [0, 2]]
    # With left at +x, a person faces +z.
    ahead, far = np.stack([-left[:, 2], left[:, 0]], axis=-1), _size(way)
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


_CRITERIA = {"hands": _hands, "chests": _chests, "facing": _facing, "behind": _behind}
