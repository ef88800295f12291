"""From slots to the course of the root: speed, turning, cadence, phase of the stride, heading and path over the frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.gait import RUN, STEP, run_contact_seconds, stride_rate
from posegen.motion.rows import (
    DUTY,
    GAIT_WEIGHT,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    ODOMETER,
    PATH_X,
    PATH_Z,
    PHASE,
    RATE,
    RUN_WEIGHT,
    SPEED,
    STEP_WEIGHT,
    TURNING,
)
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step

__all__ = ["STANDING_DUTY", "STANDING_PHASE", "fill_ramp", "plan_ramps", "plan_rates", "travel"]

Array = NDArray[Any]

STANDING_PHASE = 0.07
"""Where the stride rests: both feet on the ground, the left one having landed last."""
STANDING_DUTY = 0.65

UP, UP_END, DOWN, DOWN_END, STEP_UP, STEP_UP_END, STEP_DOWN, STEP_DOWN_END = range(8)
FAR_AWAY = 1e6
"""Seconds: a ramp that lies outside every scene."""


@kernel
def _half_ramp(change: Scalar, rate: Scalar, before: Scalar, after: Scalar) -> Scalar:
    """Half the time that speed takes to change by `change` m/s, between slots that last `before` and `after` seconds."""
    half = max(0.10 + 0.24 / max(rate, 0.5), 0.20 + 0.20 * abs(change))
    return min(half, min(0.23 * before, 0.23 * after))


@kernel
def plan_ramps(gait: Array, start: Array, end: Array, speed: Array, rate: Array, ramps: Array) -> None:
    """When each gait slot fades in and out.

    From standing, the feet begin before the body is at speed (and go on until after it has come to rest): otherwise the foot
    that stood beside the other would be left too far behind at its first lift.

    Parameters
    ----------
    gait : int [slots]
        0 where a slot is no gait; base slots only.
    start, end, speed, rate : float [slots]
    ramps : float [slots, 8], written
        Begin and end of the rise and of the fall of speed, then the same of the steps.
    """
    count = len(gait)
    for k in range(count):
        ramps[k, :] = FAR_AWAY
        ramps[k, UP] = ramps[k, UP_END] = ramps[k, STEP_UP] = ramps[k, STEP_UP_END] = -FAR_AWAY
    for k in range(count - 1):
        here, there = gait[k], gait[k + 1]
        if here == 0 and there == 0:
            continue
        before, after = end[k] - start[k], end[k + 1] - start[k + 1]
        at = end[k]
        half = _half_ramp(speed[k + 1] - speed[k], max(rate[k], rate[k + 1]), before, after)
        if here == STEP or there == STEP:
            half = min(half, 0.3)
        if here and there:
            begin, finish, step_begin, step_finish = at - half, at + half, at - half, at + half
        elif there:
            begin, finish, step_begin, step_finish = at + 0.05, at + 0.05 + 2 * half, at, at + min(0.3, 2 * half)
        else:
            begin, finish, step_begin, step_finish = at - 0.05 - 2 * half, at - 0.05, at - min(0.3, 2 * half), at
        ramps[k, DOWN], ramps[k, DOWN_END], ramps[k, STEP_DOWN], ramps[k, STEP_DOWN_END] = (
            begin,
            finish,
            step_begin,
            step_finish,
        )
        k += 1
        ramps[k, UP], ramps[k, UP_END], ramps[k, STEP_UP], ramps[k, STEP_UP_END] = begin, finish, step_begin, step_finish


@kernel
def _middle(begin: Scalar, finish: Scalar, otherwise: Scalar) -> Scalar:
    return otherwise if abs(begin) >= FAR_AWAY else 0.5 * (begin + finish)


@kernel
def plan_rates(
    gait: Array,
    start: Array,
    end: Array,
    turn: Array,
    phase: Scalar,
    left_leads: bool,
    ramps: Array,
    rate: Array,
    turning: Array,
) -> Scalar:
    """Adjust each run of steps to a whole number of them, and spread each turn over its slot.

    A run of steps that ends in standing must end with both feet on the ground, so its cadence is changed by as little as makes
    the number of steps whole.

    Parameters
    ----------
    gait, start, end : as in `plan_ramps`
    turn : float [slots]
        Turns.
    phase : float
        Phase in the first frame, if the first slot is a gait.
    left_leads : bool
        Which foot is to step first otherwise.
    ramps : float [slots, 8]
    rate : float [slots], changed
        Strides a second.
    turning : float [slots], written
        Turns a second.

    Returns
    -------
    float
        Phase in the first frame.
    """
    count = len(gait)
    for k in range(count):
        turning[k] = 0.0
        if gait[k]:
            span = _middle(ramps[k, DOWN], ramps[k, DOWN_END], end[k]) - _middle(ramps[k, UP], ramps[k, UP_END], start[k])
            turning[k] = turn[k] / max(span, 0.1)
    if not gait[0]:
        phase = STANDING_PHASE + (0.5 if left_leads else 0.0)
    k, now = 0, phase
    while k < count:
        if not gait[k]:
            k += 1
            continue
        first, strides = k, 0.0
        while k < count and gait[k]:
            begin = _middle(ramps[k, STEP_UP], ramps[k, STEP_UP_END], start[k])
            strides += rate[k] * (_middle(ramps[k, STEP_DOWN], ramps[k, STEP_DOWN_END], end[k]) - begin)
            k += 1
        if k < count and strides > 0:
            steps = np.floor(2.0 * (now + strides - STANDING_PHASE) + 0.5)
            wanted = STANDING_PHASE + 0.5 * steps - now
            # Both feet must step, or one stays behind.
            while wanted < (0.8 if first > 0 else 0.3):
                wanted += 0.5
            for j in range(first, k):
                rate[j] *= wanted / strides
            now += wanted
    return phase


@kernel
def fill_ramp(
    row: Array, begin: Scalar, finish: Scalar, down: Scalar, down_end: Scalar, first_time: Scalar, step: Scalar
) -> None:
    """Write a weight that rises between `begin` and `finish` and falls between `down` and `down_end` (seconds)."""
    for f in range(len(row)):
        t = first_time + f * step
        if t < finish:
            row[f] = smooth_step((t - begin) / (finish - begin)) if t > begin else np.float32(0.0)
        elif t > down:
            row[f] = np.float32(1.0) - smooth_step((t - down) / (down_end - down)) if t < down_end else np.float32(0.0)
        else:
            row[f] = np.float32(1.0)


@kernel
def course(
    gait: Array,
    speed: Array,
    rate: Array,
    turning: Array,
    ramps: Array,
    first_time: Scalar,
    step: Scalar,
    root: Array,
    weights: Array,
) -> None:
    """Sum the slots' speeds, turning, cadence and duty over the frames.

    Stance share of walking: 64.2 - 3.5 v per cent (Kirtley 1985).
    """
    frames = root.shape[1]
    for r in (SPEED, TURNING, RATE, GAIT_WEIGHT, RUN_WEIGHT, STEP_WEIGHT):
        root[r, :] = np.float32(0.0)
    root[DUTY, :] = np.float32(STANDING_DUTY)
    for k in range(len(gait)):
        if not gait[k]:
            continue
        weight = weights[k]
        fill_ramp(
            weight, ramps[k, STEP_UP], ramps[k, STEP_UP_END], ramps[k, STEP_DOWN], ramps[k, STEP_DOWN_END], first_time, step
        )
        here = np.float32(rate[k])
        for f in range(frames):
            root[RATE, f] += weight[f] * here
        fill_ramp(weight, ramps[k, UP], ramps[k, UP_END], ramps[k, DOWN], ramps[k, DOWN_END], first_time, step)
        duty = 0.66
        if gait[k] == RUN:
            duty = run_contact_seconds(speed[k]) * rate[k]
        elif gait[k] != STEP:
            duty = 0.642 - 0.035 * speed[k]
        pace, turned, more = np.float32(speed[k]), np.float32(turning[k]), np.float32(duty - STANDING_DUTY)
        running, stepping = np.float32(gait[k] == RUN), np.float32(gait[k] == STEP)
        for f in range(frames):
            w = weight[f]
            root[SPEED, f] += w * pace
            root[TURNING, f] += w * turned
            root[DUTY, f] += w * more
            root[GAIT_WEIGHT, f] += w
            root[RUN_WEIGHT, f] += w * running
            root[STEP_WEIGHT, f] += w * stepping


@kernel
def travel(root: Array, margin: int, step: Scalar, phase: Scalar, heading: Scalar, x: Scalar, z: Scalar) -> None:
    """Integrate phase, heading and path, which have the given values in frame `margin`, by the trapezoidal rule.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    margin : int
        Scratch frame that holds the first frame shown.
    step : float
        Seconds a frame.
    phase, heading, x, z : float
        Strides, turns, metres.
    """
    frames = root.shape[1]
    half = 0.5 * step
    root[PHASE, margin], root[HEADING, margin] = phase, heading
    now, facing = phase, heading
    for f in range(margin, frames - 1):
        now += half * (root[RATE, f] + root[RATE, f + 1])
        facing += half * (root[TURNING, f] + root[TURNING, f + 1])
        root[PHASE, f + 1], root[HEADING, f + 1] = now, facing
    now, facing = phase, heading
    for f in range(margin, 0, -1):
        now -= half * (root[RATE, f] + root[RATE, f - 1])
        facing -= half * (root[TURNING, f] + root[TURNING, f - 1])
        root[PHASE, f - 1], root[HEADING, f - 1] = now, facing
    for f in range(frames):
        root[HEADING_SIN, f] = sin_turns(root[HEADING, f])
        root[HEADING_COS, f] = cos_turns(root[HEADING, f])
    root[PATH_X, margin], root[PATH_Z, margin], root[ODOMETER, margin] = x, z, 0.0
    here_x, here_z, far = x, z, 0.0
    for f in range(margin, frames - 1):
        here_x += half * (root[SPEED, f] * root[HEADING_SIN, f] + root[SPEED, f + 1] * root[HEADING_SIN, f + 1])
        here_z += half * (root[SPEED, f] * root[HEADING_COS, f] + root[SPEED, f + 1] * root[HEADING_COS, f + 1])
        far += half * (
            abs(root[SPEED, f]) + abs(root[SPEED, f + 1]) + 1.5 * (abs(root[TURNING, f]) + abs(root[TURNING, f + 1]))
        )
        root[PATH_X, f + 1], root[PATH_Z, f + 1], root[ODOMETER, f + 1] = here_x, here_z, far
    here_x, here_z, far = x, z, 0.0
    for f in range(margin, 0, -1):
        here_x -= half * (root[SPEED, f] * root[HEADING_SIN, f] + root[SPEED, f - 1] * root[HEADING_SIN, f - 1])
        here_z -= half * (root[SPEED, f] * root[HEADING_COS, f] + root[SPEED, f - 1] * root[HEADING_COS, f - 1])
        far -= half * (
            abs(root[SPEED, f]) + abs(root[SPEED, f - 1]) + 1.5 * (abs(root[TURNING, f]) + abs(root[TURNING, f - 1]))
        )
        root[PATH_X, f - 1], root[PATH_Z, f - 1], root[ODOMETER, f - 1] = here_x, here_z, far


@kernel
def slot_rates(gait: Array, start: Array, end: Array, speed: Array, turn: Array, leg: Scalar, rate: Array) -> None:
    """Strides a second of each gait slot, before adjustment."""
    for k in range(len(gait)):
        rate[k] = stride_rate(gait[k], speed[k], leg, turn[k], end[k] - start[k]) if gait[k] else 0.0
