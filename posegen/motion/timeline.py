"""Course of the root over the frames: speed, turning, cadence, phase of the stride, heading and path.

The rows follow from the base segments of an actor. Joint angles are computed in :mod:`posegen.motion.channels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion import rows
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
from posegen.motion.workspace import FOOT_ANKLE_HEIGHT, Clock, Person, Role, Segment, Workspace, copy_row, fill_row, leg_length

Array = NDArray[Any]

STANDING_PHASE = 0.07
"""Phase of the stride at rest: both feet are in contact, and the left foot landed last."""
STANDING_DUTY = 0.65
MIDSTANCE = 0.32
"""Phase of the stride at which a leg stands under the body."""
UP, UP_END, DOWN, DOWN_END, STEP_UP, STEP_UP_END, STEP_DOWN, STEP_DOWN_END = range(8)
FAR_AWAY = 1e6
"""Seconds: the time of a ramp outside every scene."""
GLIDE_SECONDS = 0.8
"""Seconds in which a swimming or crawling actor accelerates, and stops."""


@kernel
def _half_ramp(change: Scalar, rate: Scalar, before: Scalar, after: Scalar) -> Scalar:
    """Return half the time in which speed changes by `change` m/s, between segments of `before` and `after` seconds."""
    half = max(0.10 + 0.24 / max(rate, 0.5), 0.20 + 0.20 * abs(change))
    return min(half, min(0.23 * before, 0.23 * after))


@kernel
def steps_continue(gait: Array, stride: Array, k: int) -> bool:
    """Return whether the steps of gait segment `k` pass into those of the next one; a change of direction stops them."""
    if k + 1 >= len(gait) or gait[k] == 0 or gait[k + 1] == 0:
        return False
    if (gait[k] == RUN and gait[k + 1] == STEP) or (gait[k] == STEP and gait[k + 1] == RUN):
        return False  # a run does not pass into a turn on the spot
    return bool(stride[k, AHEAD] == stride[k + 1, AHEAD] and stride[k, ASIDE] == stride[k + 1, ASIDE])


@kernel
def plan_ramps(gait: Array, stride: Array, start: Array, end: Array, speed: Array, rate: Array, ramps: Array) -> None:
    """Write when each gait segment fades in and out.

    From standing, the feet begin before the body is at speed and end after it has come to rest. Otherwise the foot beside the
    other one would be too far behind at its first lift-off.

    Parameters
    ----------
    gait : int [segments]
        0 where a base segment is no gait.
    stride : float [segments, STRIDE_PARAMETERS]
    start, end, speed, rate : float [segments]
    ramps : float [segments, 8], written
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
        # A stop takes place in the segment before, a start in the segment behind.
        stop, start_half = _half_ramp(change, rate[k], before, before), _half_ramp(change, rate[k + 1], after, after)
        if here == STEP or there == STEP:
            stop, start_half = stop if here == RUN else min(stop, 0.3), start_half if there == RUN else min(start_half, 0.3)
        early, late = at - 0.05 - 2 * stop, at + 0.05 + 2 * start_half
        down, up = (early, at - 0.05), (at + 0.05, late)
        step_down, step_up = (at - min(0.3, 2 * stop), at), (at, at + min(0.3, 2 * start_half))
        if joined:
            down = up = step_down = step_up = (at - half, at + half)
        elif here and there:
            # The first steps stop shortly before the second steps begin, so that both feet are in contact between them.
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
    """Adjust each run of steps to a whole number of steps, spread each turn over its segment, and return the initial phase.

    A run of steps that ends in standing must end with both feet in contact. The cadence is changed by the least amount that
    makes the number of steps whole.

    Parameters
    ----------
    gait, stride, start, end
        As in :func:`plan_ramps`.
    turn : float [segments]
        Turns.
    phase : float
        Phase in the first frame, if the first segment is a gait.
    left_leads : bool
        Whether the left foot steps first, otherwise.
    ramps : float [segments, 8]
    rate : float [segments], changed
        Strides per second.
    turning : float [segments], written
        Turns per second.

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
        # In backward steps, the foot that landed last steps first.
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
            # Both feet must step; otherwise one would stay behind.
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
    """Sum speed, turning, cadence and duty of the segments over the frames.

    The stance fraction of walking is 64.2 - 3.5 v per cent (Kirtley 1985).
    """
    frames = root.shape[1]
    for r in (rows.SPEED, rows.TURNING, rows.RATE, rows.GAIT_WEIGHT, rows.RUN_WEIGHT, rows.STEP_WEIGHT):
        fill_row(root[r], np.float32(0.0))
    for r in (
        rows.ASIDE_SPEED,
        rows.LIMPING,
        rows.RISING,
        rows.LONE_FOOT,
        rows.APART,
        rows.RUN_PERIOD,
        rows.RUN_CONTACT,
        rows.WARP,
    ):
        fill_row(root[r], np.float32(0.0))
    fill_row(root[rows.DUTY], np.float32(STANDING_DUTY))
    fill_row(root[rows.LIFT], np.float32(STANDING_LIFT))
    fill_row(root[rows.BEATS], np.float32(2.0))
    for k in range(len(gait)):
        if not gait[k]:
            continue
        weight = weights[k]
        fill_ramp(
            weight, ramps[k, STEP_UP], ramps[k, STEP_UP_END], ramps[k, STEP_DOWN], ramps[k, STEP_DOWN_END], first_time, step
        )
        here = np.float32(-rate[k] if stride[k, AHEAD] < 0 else rate[k])
        for f in range(frames):
            root[rows.RATE, f] += weight[f] * here
        fill_ramp(weight, ramps[k, UP], ramps[k, UP_END], ramps[k, DOWN], ramps[k, DOWN_END], first_time, step)
        duty = stance_share(gait[k], speed[k], rate[k], stride[k])
        pace, turned, more = np.float32(speed[k] * stride[k, AHEAD]), np.float32(turning[k]), np.float32(duty - STANDING_DUTY)
        running, stepping = np.float32(stride[k, BOUNCES] > 0), np.float32(gait[k] == STEP)
        for f in range(frames):
            w = weight[f]
            root[rows.SPEED, f] += w * pace
            root[rows.TURNING, f] += w * turned
            root[rows.DUTY, f] += w * more
            root[rows.GAIT_WEIGHT, f] += w
            root[rows.RUN_WEIGHT, f] += w * running
            root[rows.STEP_WEIGHT, f] += w * stepping
        add_stride_parameters(root, weight, stride[k], speed[k], rate[k], duty)


@kernel
def path_increment(root: Array, here: int, there: int, half: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return the path between two frames in x and z, and its length including turning; metres."""
    dx, dz, far = 0.0, 0.0, 0.0
    for f in (here, there):
        s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
        dx += half * (root[rows.SPEED, f] * s + root[rows.ASIDE_SPEED, f] * c)
        dz += half * (root[rows.SPEED, f] * c - root[rows.ASIDE_SPEED, f] * s)
        far += half * (abs(root[rows.SPEED, f]) + abs(root[rows.ASIDE_SPEED, f]) + 1.5 * abs(root[rows.TURNING, f]))
    return dx, dz, far


@kernel
def integrate_path(root: Array, margin: int, step: Scalar, phase: Scalar, heading: Scalar, x: Scalar, z: Scalar) -> None:
    """Integrate phase, heading and path by the trapezoidal rule, from the given values in frame `margin`.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    margin : int
        Frame of the workspace that holds the first stored frame.
    step : float
        Seconds per frame.
    phase, heading, x, z : float
        Strides, turns, metres.
    """
    frames = root.shape[1]
    root[rows.PHASE, margin], root[rows.HEADING, margin] = phase, heading
    for direction in (1, -1):
        half, now, facing = 0.5 * direction * step, phase, heading
        for f in range(margin, frames - 1 if direction > 0 else 0, direction):
            there = f + direction
            now += half * (root[rows.RATE, f] + root[rows.RATE, there])
            facing += half * (root[rows.TURNING, f] + root[rows.TURNING, there])
            root[rows.PHASE, there], root[rows.HEADING, there] = now, facing
    for f in range(frames):
        # A limp shortens the stance of the affected leg and lengthens that of the other leg.
        root[rows.PHASE, f] += root[rows.LIMPING, f] * sin_turns(root[rows.PHASE, f] - np.float32(MIDSTANCE))
        root[rows.HEADING_SIN, f] = sin_turns(root[rows.HEADING, f])
        root[rows.HEADING_COS, f] = cos_turns(root[rows.HEADING, f])
    root[rows.PATH_X, margin], root[rows.PATH_Z, margin], root[rows.ODOMETER, margin] = x, z, 0.0
    for direction in (1, -1):
        here_x, here_z, distance = x, z, 0.0
        for f in range(margin, frames - 1 if direction > 0 else 0, direction):
            there = f + direction
            dx, dz, far = path_increment(root, f, there, 0.5 * direction * step)
            here_x, here_z, distance = here_x + dx, here_z + dz, distance + far
            root[rows.PATH_X, there], root[rows.PATH_Z, there], root[rows.ODOMETER, there] = here_x, here_z, distance


@kernel
def segment_rates(
    gait: Array, stride: Array, start: Array, end: Array, speed: Array, turn: Array, leg: Scalar, rate: Array
) -> None:
    """Write the strides per second of each gait segment, before adjustment; `leg` is the hip height in metres."""
    for k in range(len(gait)):
        rate[k] = 0.0
        if gait[k] and stride[k, STEP_LENGTH] > 0:
            rate[k] = 0.5 * speed[k] / stride[k, STEP_LENGTH]
        elif gait[k]:
            rate[k] = stride[k, CADENCE] * stride_rate(gait[k], speed[k], leg, turn[k], end[k] - start[k])


@kernel
def add_stride_parameters(root: Array, weight: Array, stride: Array, speed: Scalar, rate: Scalar, duty: Scalar) -> None:
    """Add the stride parameters of one segment to the root rows by its weight; in m/s, Hz and strides.

    Feet must not cross in sideways steps: each is a quarter of a stride further out, so that they close up to a usual step
    width.
    """
    period = 1.0 / (rate * stride[BOUNCES]) if stride[BOUNCES] > 0 else 0.0
    contact = min(duty / rate, 0.96 * period)
    apart = 0.5 * stride[WIDTH] + 0.25 * abs(stride[ASIDE]) * speed / rate
    warp = curve_warp(duty) if stride[BOUNCES] == 2 else 0.0
    targets = (
        rows.ASIDE_SPEED,
        rows.LIMPING,
        rows.LONE_FOOT,
        rows.LIFT,
        rows.APART,
        rows.RUN_PERIOD,
        rows.RUN_CONTACT,
        rows.WARP,
    )
    lift = stride[CLEARANCE] - STANDING_LIFT
    values = (speed * stride[ASIDE], stride[LIMP], stride[LONE_SIDE], lift, apart, period, contact, warp)
    for i in range(len(targets)):
        value = np.float32(values[i])
        if value != 0:
            row = root[targets[i]]
            for f in range(len(weight)):
                row[f] += weight[f] * value
    # These do not fade from one segment to the next.
    if stride[RISE] != 0 or (stride[BOUNCES] > 0 and stride[BOUNCES] != 2):
        for f in range(len(weight)):
            if weight[f] > 0:
                root[rows.RISING, f] = np.float32(stride[RISE])
                root[rows.BEATS, f] = np.float32(stride[BOUNCES])


@kernel
def glide(segment: Segment, clock: Clock, speed: Array) -> None:
    """Add the speed of a segment that travels without steps, from the end of its first stage to the begin of its last stage.

    `speed` is float32 [frames], m/s.
    """
    enter_end, exit_begin = stage_bounds(segment)
    ramp = min(GLIDE_SECONDS, 0.4 * (exit_begin - enter_end))
    for f in range(len(speed)):
        t = clock.first + f * clock.step
        if enter_end < t < exit_begin:
            speed[f] += np.float32(segment.speed) * smooth_step((t - enter_end) / ramp) * smooth_step((exit_begin - t) / ramp)


@kernel
def fill_timeline(work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock, margin: int) -> None:
    """Write the root rows of speed, phase, heading and path from the base segments.

    Also written: the strides per second of each base segment, in `work.rates[0]`. `margin` is the frame of the workspace that
    holds the first stored frame.
    """
    base, leg = role.base, leg_length(person) + float(person.foot[FOOT_ANKLE_HEIGHT])
    gait, stride, ramps = work.gaits[:base], work.strides[:base], work.ramps[:base]
    rate, turning = work.rates[0, :base], work.rates[1, :base]
    ramps[:] = rate[:] = turning[:] = 0.0
    for k in range(base):
        segment = role.segments[k]
        gait[k] = segment.gait
        copy_row(actions.stride[segment.kind], 0, stride.shape[1], stride[k])
        step_in_style(stride[k], gait[k], segment.speed, person.style)
    start, end, speed = role.segments.start[:base], role.segments.end[:base], role.segments.speed[:base]
    segment_rates(gait, stride, start, end, speed, role.turn, leg, rate)
    plan_ramps(gait, stride, start, end, speed, rate, ramps)
    phase = plan_rates(gait, stride, start, end, role.turn, role.phase, role.left_leads, ramps, rate, turning)
    fill_speeds(gait, stride, speed, rate, turning, ramps, clock.first, clock.step, work.root, work.weights)
    for k in range(base):
        if gait[k] == 0 and speed[k] > 0:
            glide(role.segments[k], clock, work.root[rows.SPEED])
    integrate_path(work.root, margin, clock.step, phase, role.heading, role.x, role.z)
