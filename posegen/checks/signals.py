"""Signals: how far apart parts of the body are, frame by frame, and how often such a distance goes up and down.

A signal of one side is that of the limb of this side, or towards this side; one of both sides is the mean of the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.signs import SIGNALS, Signal
from posegen.scene import BOTH, LEFT
from posegen.skeleton import JOINTS

__all__ = ["STANDS_OUT", "ahead_of", "fill_signal", "left_of", "number_of", "peaks"]

Array = NDArray[Any]

STANDS_OUT = 0.2
"""A peak stands out from the valleys beside it by this share of the signal's whole range, or it is none."""


def number_of(signal: Signal) -> int:
    """Number by which kernels know a signal."""
    return SIGNALS.index(signal)


def _pair(name: str) -> tuple[int, int]:
    return JOINTS.index(f"left_{name}"), JOINTS.index(f"right_{name}")


PELVIS, HEAD = JOINTS.index("pelvis"), JOINTS.index("head")
HIPS, SHOULDERS, WRISTS, ANKLES = _pair("hip"), _pair("shoulder"), _pair("wrist"), _pair("ankle")
PELVIS_HEIGHT, HEAD_HEIGHT = number_of("pelvis_height"), number_of("head_height")
HEAD_ASIDE, TRAVEL_ASIDE = number_of("head_aside"), number_of("travel_aside")
HANDS_APART, FEET_APART = number_of("hands_apart"), number_of("feet_apart")
HAND_HEIGHT, HAND_AHEAD, HAND_REACH = number_of("hand_height"), number_of("hand_ahead"), number_of("hand_reach")
FOOT_HEIGHT, FOOT_AHEAD = number_of("foot_height"), number_of("foot_ahead")
SMALLEST = 1e-6


@kernel
def left_of(joints: Array, f: int, pair: tuple[int, int]) -> tuple[Scalar, Scalar]:
    """Which way is to the left of two joints, the left and the right one: unit vector x, z; seen from above."""
    x = float(joints[f, pair[0], 0]) - float(joints[f, pair[1], 0])
    z = float(joints[f, pair[0], 2]) - float(joints[f, pair[1], 2])
    length = max(np.sqrt(x * x + z * z), SMALLEST)
    return x / length, z / length


@kernel
def ahead_of(joints: Array, f: int, pair: tuple[int, int]) -> tuple[Scalar, Scalar]:
    """Which way two joints face: unit vector x, z. Who has the left at +x faces +z."""
    x, z = left_of(joints, f, pair)
    return -z, x


@kernel
def along(joints: Array, f: int, joint: int, origin: int, way: tuple[Scalar, Scalar]) -> Scalar:
    """How far a joint is from another one along a level way, metres."""
    x = float(joints[f, joint, 0]) - float(joints[f, origin, 0])
    z = float(joints[f, joint, 2]) - float(joints[f, origin, 2])
    return x * way[0] + z * way[1]


@kernel
def distance(joints: Array, f: int, one: int, other: int) -> Scalar:
    """Distance of two joints, metres."""
    x = float(joints[f, one, 0]) - float(joints[f, other, 0])
    y = float(joints[f, one, 1]) - float(joints[f, other, 1])
    z = float(joints[f, one, 2]) - float(joints[f, other, 2])
    return np.sqrt(x * x + y * y + z * z)


@kernel
def hand_signal(joints: Array, f: int, signal: int, side: int) -> Scalar:
    """Where one hand is, metres."""
    wrist = WRISTS[side]
    if signal == HAND_REACH:
        return distance(joints, f, wrist, SHOULDERS[side])
    left, right = SHOULDERS
    if signal == HAND_HEIGHT:
        return float(joints[f, wrist, 1]) - 0.5 * (float(joints[f, left, 1]) + float(joints[f, right, 1]))
    way = ahead_of(joints, f, SHOULDERS)
    return 0.5 * (along(joints, f, wrist, left, way) + along(joints, f, wrist, right, way))


@kernel
def limb_signal(joints: Array, f: int, signal: int, side: int) -> Scalar:
    """Where the limb of one side is, or how far the body is towards this side, metres."""
    if signal == FOOT_HEIGHT:
        return float(joints[f, ANKLES[side], 1])
    if signal == FOOT_AHEAD:
        return along(joints, f, ANKLES[side], PELVIS, ahead_of(joints, f, HIPS))
    if signal == HEAD_ASIDE:
        aside = along(joints, f, HEAD, PELVIS, left_of(joints, f, HIPS))
        return aside if side == LEFT else -aside
    return hand_signal(joints, f, signal, side)


@kernel
def fill_signal(joints: Array, signal: int, side: int, out: Array) -> None:
    """Follow one signal.

    Parameters
    ----------
    joints : float32 [frames, 22, 3]
        Metres.
    signal : int
        See :func:`number_of`.
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
def peaks(values: Array, upright: bool) -> int:
    """Count peaks (or dips) that stand out from what is before and behind them.

    Parameters
    ----------
    values : float64 [frames]
    upright : bool
        Count peaks; else dips.

    Returns
    -------
    int
        Of those inside: to what is at its highest in the first or last frame nothing has led, or from it.
    """
    sign = 1.0 if upright else -1.0
    lowest, highest = np.inf, -np.inf
    for value in values:
        lowest, highest = min(lowest, sign * value), max(highest, sign * value)
    least = STANDS_OUT * (highest - lowest)
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
