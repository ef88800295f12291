"""Course of the root over the frames: speed, turning, cadence, phase of the stride, heading and path.

The rows follow from the base segments of an actor. Joint angles are computed in :mod:`posegen.motion.channels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.gait.running import curve_warp
from posegen.motion.gait.steps import (
    AHEAD,
    ASIDE,
    BOUNCES,
    CADENCE,
    CLEARANCE,
    LIMP,
    LONE_SIDE,
    RISE,
    RUN,
    STANDING_LIFT,
    STEP,
    STEP_LENGTH,
    WIDTH,
    stance_share,
    step_in_style,
    stride_rate,
)
from posegen.motion.key_poses import stage_bounds
from posegen.motion.library_tables import ActionTables
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.workspace import (
    APART,
    ASIDE_SPEED,
    BEATS,
    DUTY,
    GAIT_WEIGHT,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    LIFT,
    LIMPING,
    LONE_FOOT,
    ODOMETER,
    PATH_X,
    PATH_Z,
    PHASE,
    RATE,
    RISING,
    RUN_CONTACT,
    RUN_PERIOD,
    RUN_WEIGHT,
    SPEED,
    STEP_WEIGHT,
    TURNING,
    WARP,
    Clock,
    Person,
    Role,
    Segment,
    Workspace,
    copy_row,
    fill_row,
    segment_at,
)

Array = NDArray[Any]

STANDING_PHASE = 0.07
"""Where the stride rests: both feet on the ground, the left one having landed last."""
STANDING_DUTY = 0.65
MIDSTANCE = 0.32
"""Where in its stride a leg stands under the body."""
UP, UP_END, DOWN, DOWN_END, STEP_UP, STEP_UP_END, STEP_DOWN, STEP_DOWN_END = range(8)
FAR_AWAY = 1e6
"""Seconds: a ramp that lies outside every scene."""
GLIDE_SECONDS = 0.8
"""In which somebody who swims or crawls comes to speed, and to rest."""


@kernel
def _half_ramp(change: Scalar, rate: Scalar, before: Scalar, after: Scalar) -> Scalar:
    """Half the time that speed takes to change by `change` m/s, between slots that last `before` and `after` seconds."""
    half = max(0.10 + 0.24 / max(rate, 0.5), 0.20 + 0.20 * abs(change))
    return min(half, min(0.23 * before, 0.23 * after))


@kernel
def steps_continue(gait: Array, stride: Array, k: int) -> bool:
    """Whether the steps of gait slot `k` pass into those of the next slot; in another direction they stop and start again."""
    if k + 1 >= len(gait) or gait[k] == 0 or gait[k + 1] == 0:
        return False
    if (gait[k] == RUN and gait[k + 1] == STEP) or (gait[k] == STEP and gait[k + 1] == RUN):
        return False  # Nobody turns on the spot out of a run.
    return bool(stride[k, AHEAD] == stride[k + 1, AHEAD] and stride[k, ASIDE] == stride[k + 1, ASIDE])


@kernel
def plan_ramps(gait: Array, stride: Array, start: Array, end: Array, speed: Array, rate: Array, ramps: Array) -> None:
    """When each gait slot fades in and out.

    From standing, the feet begin before the body is at speed (and go on until after it has come to rest): otherwise the foot
    that stood beside the other would be left too far behind at its first lift.

    Parameters
    ----------
    gait : int [slots]
        0 where a slot is no gait; base slots only.
    manner : float [slots, MANNERS]
        See :mod:`posegen.motion.manner`.
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
        joined = steps_continue(gait, stride, k)
        change = speed[k + 1] - speed[k] if joined else max(speed[k], speed[k + 1])
        half = _half_ramp(change, max(rate[k], rate[k + 1]), before, after)
        if here == STEP or there == STEP:
            half = min(half, 0.3)
        # A stop takes its time from the slot before, a start from the one behind.
        stop, start_half = _half_ramp(change, rate[k], before, before), _half_ramp(change, rate[k + 1], after, after)
        if here == STEP or there == STEP:
            stop, start_half = stop if here == RUN else min(stop, 0.3), start_half if there == RUN else min(start_half, 0.3)
        early, late = at - 0.05 - 2 * stop, at + 0.05 + 2 * start_half
        down, up = (early, at - 0.05), (at + 0.05, late)
        step_down, step_up = (at - min(0.3, 2 * stop), at), (at, at + min(0.3, 2 * start_half))
        if joined:
            down = up = step_down = step_up = (at - half, at + half)
        elif here and there:
            # The steps of the first stop a little before those of the second begin: both feet come to the ground.
            step_down, down = (at - 0.1 - min(0.3, 2 * stop), at - 0.1), (early - 0.1, at - 0.15)
        if not here:
            down = step_down = up
        if not there:
            up = step_up = down
        for i in range(2):
            ramps[k, DOWN + i], ramps[k, STEP_DOWN + i] = down[i], step_down[i]
            ramps[k + 1, UP + i], ramps[k + 1, STEP_UP + i] = up[i], step_up[i]


@kernel
def _ramp_middle(begin: Scalar, finish: Scalar, otherwise: Scalar) -> Scalar:
    return otherwise if abs(begin) >= FAR_AWAY else 0.5 * (begin + finish)


@kernel
def plan_rates(
    gait: Array,
    stride: Array,
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
    gait, manner, start, end : as in `plan_ramps`
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
            span = _ramp_middle(ramps[k, DOWN], ramps[k, DOWN_END], end[k]) - _ramp_middle(
                ramps[k, UP], ramps[k, UP_END], start[k]
            )
            turning[k] = turn[k] / max(span, 0.1)
    if not gait[0]:
        first = 0
        while first < count - 1 and not gait[first]:
            first += 1
        # Backwards, the foot that landed last is the first to step.
        phase = STANDING_PHASE + (0.5 if left_leads != (stride[first, AHEAD] < 0) else 0.0)
    k, now = 0, phase
    while k < count:
        if not gait[k]:
            k += 1
            continue
        first, strides, more = k, 0.0, True
        sense = -1.0 if stride[k, AHEAD] < 0 else 1.0
        while more:
            begin = _ramp_middle(ramps[k, STEP_UP], ramps[k, STEP_UP_END], start[k])
            strides += rate[k] * (_ramp_middle(ramps[k, STEP_DOWN], ramps[k, STEP_DOWN_END], end[k]) - begin)
            more = steps_continue(gait, stride, k)
            k += 1
        if k < count and strides > 0:
            rest = sense * (STANDING_PHASE - now)
            steps = np.floor(2.0 * (strides - rest) + 0.5)
            target = rest + 0.5 * steps
            # Both feet must step, or one stays behind.
            while target < (0.8 if first > 0 else 0.3):
                target += 0.5
            for j in range(first, k):
                rate[j] *= target / strides
            now += sense * target
        else:
            now += sense * strides
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
def fill_speeds(
    gait: Array,
    stride: Array,
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
        fill_row(root[r], np.float32(0.0))
    for r in (ASIDE_SPEED, LIMPING, RISING, LONE_FOOT, APART, RUN_PERIOD, RUN_CONTACT, WARP):
        fill_row(root[r], np.float32(0.0))
    fill_row(root[DUTY], np.float32(STANDING_DUTY))
    fill_row(root[LIFT], np.float32(STANDING_LIFT))
    fill_row(root[BEATS], np.float32(2.0))
    for k in range(len(gait)):
        if not gait[k]:
            continue
        weight = weights[k]
        fill_ramp(
            weight, ramps[k, STEP_UP], ramps[k, STEP_UP_END], ramps[k, STEP_DOWN], ramps[k, STEP_DOWN_END], first_time, step
        )
        here = np.float32(-rate[k] if stride[k, AHEAD] < 0 else rate[k])
        for f in range(frames):
            root[RATE, f] += weight[f] * here
        fill_ramp(weight, ramps[k, UP], ramps[k, UP_END], ramps[k, DOWN], ramps[k, DOWN_END], first_time, step)
        duty = stance_share(gait[k], speed[k], rate[k], stride[k])
        pace, turned, more = np.float32(speed[k] * stride[k, AHEAD]), np.float32(turning[k]), np.float32(duty - STANDING_DUTY)
        running, stepping = np.float32(stride[k, BOUNCES] > 0), np.float32(gait[k] == STEP)
        for f in range(frames):
            w = weight[f]
            root[SPEED, f] += w * pace
            root[TURNING, f] += w * turned
            root[DUTY, f] += w * more
            root[GAIT_WEIGHT, f] += w
            root[RUN_WEIGHT, f] += w * running
            root[STEP_WEIGHT, f] += w * stepping
        add_stride_parameters(root, weight, stride[k], speed[k], rate[k], duty)


@kernel
def path_increment(root: Array, here: int, there: int, half: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """How far the path leads between two frames in x and z, and how far that is with turning counted in; metres."""
    dx, dz, far = 0.0, 0.0, 0.0
    for f in (here, there):
        s, c = root[HEADING_SIN, f], root[HEADING_COS, f]
        dx += half * (root[SPEED, f] * s + root[ASIDE_SPEED, f] * c)
        dz += half * (root[SPEED, f] * c - root[ASIDE_SPEED, f] * s)
        far += half * (abs(root[SPEED, f]) + abs(root[ASIDE_SPEED, f]) + 1.5 * abs(root[TURNING, f]))
    return dx, dz, far


@kernel
def integrate_path(root: Array, margin: int, step: Scalar, phase: Scalar, heading: Scalar, x: Scalar, z: Scalar) -> None:
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
        # A limp hurries over the stance of the bad leg and tarries over that of the good one.
        root[PHASE, f] += root[LIMPING, f] * sin_turns(root[PHASE, f] - np.float32(MIDSTANCE))
        root[HEADING_SIN, f] = sin_turns(root[HEADING, f])
        root[HEADING_COS, f] = cos_turns(root[HEADING, f])
    root[PATH_X, margin], root[PATH_Z, margin], root[ODOMETER, margin] = x, z, 0.0
    here_x, here_z, gone = x, z, 0.0
    for f in range(margin, frames - 1):
        dx, dz, far = path_increment(root, f, f + 1, half)
        here_x, here_z, gone = here_x + dx, here_z + dz, gone + far
        root[PATH_X, f + 1], root[PATH_Z, f + 1], root[ODOMETER, f + 1] = here_x, here_z, gone
    here_x, here_z, gone = x, z, 0.0
    for f in range(margin, 0, -1):
        dx, dz, far = path_increment(root, f, f - 1, half)
        here_x, here_z, gone = here_x - dx, here_z - dz, gone - far
        root[PATH_X, f - 1], root[PATH_Z, f - 1], root[ODOMETER, f - 1] = here_x, here_z, gone


@kernel
def segment_rates(
    gait: Array, stride: Array, start: Array, end: Array, speed: Array, turn: Array, leg: Scalar, rate: Array
) -> None:
    """Strides a second of each gait slot, before adjustment; `leg` is the height of the hip in metres."""
    for k in range(len(gait)):
        rate[k] = 0.0
        if gait[k] and stride[k, STEP_LENGTH] > 0:
            rate[k] = 0.5 * speed[k] / stride[k, STEP_LENGTH]
        elif gait[k]:
            rate[k] = stride[k, CADENCE] * stride_rate(gait[k], speed[k], leg, turn[k], end[k] - start[k])


@kernel
def add_stride_parameters(root: Array, weight: Array, stride: Array, speed: Scalar, rate: Scalar, duty: Scalar) -> None:
    """Add by its weight how one slot's steps differ from plain ones; rows as in :func:`course`, numbers in m/s, Hz, strides.

    Sideways the feet must not cross: each is a quarter of a stride further out, so that they close up to a usual step width.
    """
    period = 1.0 / (rate * stride[BOUNCES]) if stride[BOUNCES] > 0 else 0.0
    contact = min(duty / rate, 0.96 * period)
    apart = 0.5 * stride[WIDTH] + 0.25 * abs(stride[ASIDE]) * speed / rate
    warp = curve_warp(duty) if stride[BOUNCES] == 2 else 0.0
    rows = (ASIDE_SPEED, LIMPING, LONE_FOOT, LIFT, APART, RUN_PERIOD, RUN_CONTACT, WARP)
    values = (
        speed * stride[ASIDE],
        stride[LIMP],
        stride[LONE_SIDE],
        stride[CLEARANCE] - STANDING_LIFT,
        apart,
        period,
        contact,
        warp,
    )
    for i in range(len(rows)):
        value = np.float32(values[i])
        if value != 0:
            row = root[rows[i]]
            for f in range(len(weight)):
                row[f] += weight[f] * value
    # These do not pass from one slot to the next by degrees.
    if stride[RISE] != 0 or (stride[BOUNCES] > 0 and stride[BOUNCES] != 2):
        for f in range(len(weight)):
            if weight[f] > 0:
                root[RISING, f] = np.float32(stride[RISE])
                root[BEATS, f] = np.float32(stride[BOUNCES])


@kernel
def glide(segment: Segment, clock: Clock, speed: Array) -> None:
    """Add the speed of a slot that travels without steps, from the end of its first stage to the begin of its last.

    `speed` is float32 [frames], m/s.
    """
    enter_end, exit_begin = stage_bounds(segment)
    ramp = min(GLIDE_SECONDS, 0.4 * (exit_begin - enter_end))
    for f in range(len(speed)):
        t = clock.first + f * clock.step
        if enter_end < t < exit_begin:
            speed[f] += np.float32(segment.speed) * smooth_step((t - enter_end) / ramp) * smooth_step((exit_begin - t) / ramp)


@kernel
def fill_timeline(
    work: Workspace, role: Role, person: Person, actions: ActionTables, leg: Scalar, clock: Clock, margin: int
) -> None:
    """Fill the root's rows of speed, phase, heading and path from the base slots; `leg` is the height of the hip in metres.

    `scratch.rates[0]` has the strides a second of each base slot then.
    """
    base = role.base
    gait, stride, ramps = work.gaits[:base], work.strides[:base], work.ramps[:base]
    rate, turning = work.rates[0, :base], work.rates[1, :base]
    ramps[:] = rate[:] = turning[:] = 0.0
    for k in range(base):
        gait[k] = segment_at(role, k).gait
        copy_row(actions.stride[role.kinds[k]], 0, stride.shape[1], stride[k])
        step_in_style(stride[k], gait[k], role.numbers[k, 5], person.style)
    start, end, speed = role.numbers[:base, 0], role.numbers[:base, 1], role.numbers[:base, 5]
    segment_rates(gait, stride, start, end, speed, role.turn, leg, rate)
    plan_ramps(gait, stride, start, end, speed, rate, ramps)
    phase = plan_rates(gait, stride, start, end, role.turn, role.phase, role.left_leads, ramps, rate, turning)
    fill_speeds(gait, stride, speed, rate, turning, ramps, clock.first, clock.step, work.root, work.weights)
    for k in range(base):
        if gait[k] == 0 and speed[k] > 0:
            glide(segment_at(role, k), clock, work.root[SPEED])
    integrate_path(work.root, margin, clock.step, phase, role.heading, role.x, role.z)
