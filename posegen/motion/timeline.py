"""Course of the root over the frames: speed, turning, cadence, phase of the stride, heading and path.

The rows follow from the base segments of an actor. Joint angles are computed in :mod:`posegen.motion.channels`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion import gaits, rows
from posegen.motion.gaits import curve_warp
from posegen.motion.key_poses import fill_track, stage_bounds, travel_knots, travels
from posegen.motion.library_tables import ActionTables
from posegen.motion.workspace import Clock, Person, Role, Segment, Workspace, copy_row, fill_row, leg_length

STANDING_PHASE = 0.07
"""Phase of the stride at rest: both feet are in contact, and the left foot landed last."""
STANDING_DUTY = 0.65
MIDSTANCE = 0.32
"""Phase of the stride at which a leg stands under the body."""
WEIGHTED = (rows.ASIDE_SPEED, rows.LIMPING, rows.LONE_FOOT, rows.LIFT, rows.APART, rows.RUN_PERIOD, rows.RUN_CONTACT, rows.WARP)
"""Rows that sum the stride parameters of the segments by their weights."""
FAR_AWAY = 1e6
"""Seconds: the time of a ramp outside every scene."""
MOST_ACCELERATION = 4.0
"""Largest acceleration in m/s^2 in starting and stopping, if the segment lasts long enough."""
RAMP_EDGE = 0.3
"""Share of a ramp in which the acceleration builds up, and in which it ceases; it is constant between them."""
RATE_SECONDS = 0.06
"""Half the window over which the acceleration is taken."""
GLIDE_SECONDS = 0.8
"""Seconds in which a swimming or crawling actor accelerates, and stops."""


@kernel
def pace(x: Scalar) -> Scalar:
    """Return the share of the speed that is reached at the share `x` of a ramp: 0 at 0, 1 at 1."""
    edge, one = np.float32(RAMP_EDGE), np.float32(1.0)
    x = min(max(np.float32(x), np.float32(0.0)), one)
    near = min(x, one - x)
    u = min(near / edge, one)
    part = edge * u * u * u * (one - np.float32(0.5) * u) + max(near - edge, np.float32(0.0))
    part /= one - edge
    return part if x < np.float32(0.5) else one - part


@kernel
def _half_ramp(change: Scalar, rate: Scalar, before: Scalar, after: Scalar) -> Scalar:
    """Return half the time in which speed changes by `change` m/s, between segments of `before` and `after` seconds."""
    gentle = 0.5 * abs(change) / ((1.0 - RAMP_EDGE) * MOST_ACCELERATION)
    half = max(0.10 + 0.24 / max(rate, 0.5), 0.20 + 0.20 * abs(change), gentle)
    return min(half, min(0.23 * before, 0.23 * after))


@kernel
def steps_continue(work: Workspace, role: Role, k: int) -> bool:
    """Return whether the steps of base segment `k` pass into those of the next one; a change of direction stops them."""
    if k + 1 >= role.base or role.segments[k].gait == 0 or role.segments[k + 1].gait == 0:
        return False
    here, there, stride, following = role.segments[k].gait, role.segments[k + 1].gait, work.strides[k], work.strides[k + 1]
    if (here == gaits.RUN and there == gaits.STEP) or (here == gaits.STEP and there == gaits.RUN):
        return False  # a run does not pass into a turn on the spot
    return bool(stride[gaits.AHEAD] == following[gaits.AHEAD] and stride[gaits.ASIDE] == following[gaits.ASIDE])


@kernel
def plan_ramps(work: Workspace, role: Role) -> None:
    """Write when each gait segment fades in and out: the rise and the fall of speed, and those of the steps.

    From standing, the feet begin before the body is at speed and end after it has come to rest. Otherwise the foot beside the
    other one would be too far behind at its first lift-off.
    """
    ramps, rate = work.ramps, work.rates[0]
    for k in range(role.base):
        ramps[k] = FAR_AWAY
        for i in range(2):
            ramps[k, i, rows.RISE_BEGIN] = ramps[k, i, rows.RISE_END] = -FAR_AWAY
    for k in range(role.base - 1):
        segment, following = role.segments[k], role.segments[k + 1]
        here, there = segment.gait, following.gait
        if here == 0 and there == 0:
            continue
        before, after = segment.shown_end - segment.shown_start, following.shown_end - following.shown_start
        at = segment.shown_end
        joined = steps_continue(work, role, k)
        change = following.speed - segment.speed if joined else max(segment.speed, following.speed)
        # A change of speed between two gaits takes place in both segments, a start or a stop in one of them.
        room = 2.0 if joined else 1.0
        half = _half_ramp(change, max(rate[k], rate[k + 1]), room * before, room * after)
        if here == gaits.STEP or there == gaits.STEP:
            half = min(half, 0.3)
        # A stop takes place in the segment before, a start in the segment behind.
        stop, start_half = _half_ramp(change, rate[k], before, before), _half_ramp(change, rate[k + 1], after, after)
        if here == gaits.STEP or there == gaits.STEP:
            stop = stop if here == gaits.RUN else min(stop, 0.3)
            start_half = start_half if there == gaits.RUN else min(start_half, 0.3)
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
            ramps[k, 0, rows.FALL_BEGIN + i], ramps[k, 1, rows.FALL_BEGIN + i] = down[i], step_down[i]
            ramps[k + 1, 0, rows.RISE_BEGIN + i], ramps[k + 1, 1, rows.RISE_BEGIN + i] = up[i], step_up[i]


@kernel
def ramped_seconds(ramp: Array, segment: Segment) -> Scalar:
    """Return the seconds from the middle of the rise to the middle of the fall; without them, from begin to end."""
    begin, end = segment.shown_start, segment.shown_end
    if abs(ramp[rows.RISE_BEGIN]) < FAR_AWAY:
        begin = 0.5 * (ramp[rows.RISE_BEGIN] + ramp[rows.RISE_END])
    if abs(ramp[rows.FALL_BEGIN]) < FAR_AWAY:
        end = 0.5 * (ramp[rows.FALL_BEGIN] + ramp[rows.FALL_END])
    return end - begin


@kernel
def plan_rates(work: Workspace, role: Role) -> Scalar:
    """Adjust each run of steps to a whole number of steps, spread each turn over its segment, and return the initial phase.

    A run of steps that ends in standing must end with both feet in contact. The cadence is changed by the least amount that
    makes the number of steps whole.
    """
    count, segments, stride, rate, phase = role.base, role.segments, work.strides, work.rates[0], role.start[rows.START_PHASE]
    for k in range(count):
        if segments[k].gait:
            work.rates[1, k] = role.turn[k] / max(ramped_seconds(work.ramps[k, 0], segments[k]), 0.1)
    if not segments[0].gait:
        first = 0
        while first < count - 1 and not segments[first].gait:
            first += 1
        # In backward steps, the foot that landed last steps first.
        phase = STANDING_PHASE + (0.5 if role.left_leads != (stride[first, gaits.AHEAD] < 0) else 0.0)
    k, now = 0, phase
    while k < count:
        if not segments[k].gait:
            k += 1
            continue
        first, strides, more = k, 0.0, True
        sense = -1.0 if stride[k, gaits.AHEAD] < 0 else 1.0
        while more:
            strides += rate[k] * ramped_seconds(work.ramps[k, 1], segments[k])
            more = steps_continue(work, role, k)
            k += 1
        if k < count and strides > 0:
            rest = sense * (STANDING_PHASE - now)
            target = rest + 0.5 * np.floor(2.0 * (strides - rest) + 0.5)
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
def fill_ramp(row: Array, ramp: Array, clock: Clock) -> None:
    """Write a weight that rises from 0 to 1 and falls again; the entries of `ramp` are named in :mod:`posegen.motion.rows`."""
    begin, finish, down, down_end = ramp[rows.RISE_BEGIN], ramp[rows.RISE_END], ramp[rows.FALL_BEGIN], ramp[rows.FALL_END]
    for f in range(len(row)):
        t = clock.first + f * clock.step
        if t < finish:
            row[f] = pace((t - begin) / (finish - begin)) if t > begin else np.float32(0.0)
        elif t > down:
            row[f] = np.float32(1.0) - pace((t - down) / (down_end - down)) if t < down_end else np.float32(0.0)
        else:
            row[f] = np.float32(1.0)


@kernel
def fill_speeds(work: Workspace, role: Role, clock: Clock) -> None:
    """Sum speed, turning, cadence and duty of the segments over the frames.

    The stance fraction of walking is 64.2 - 3.5 v per cent (Kirtley 1985).
    """
    root = work.root
    for r in (rows.SPEED, rows.TURNING, rows.RATE, rows.GAIT_WEIGHT, rows.RUN_WEIGHT, rows.STEP_WEIGHT, rows.RISING):
        fill_row(root[r], np.float32(0.0))
    for r in WEIGHTED:
        fill_row(root[r], np.float32(0.0))
    fill_row(root[rows.DUTY], np.float32(STANDING_DUTY))
    fill_row(root[rows.LIFT], np.float32(gaits.STANDING_LIFT))
    fill_row(root[rows.BEATS], np.float32(2.0))
    for k in range(role.base):
        segment, stride, rate, weight = role.segments[k], work.strides[k], work.rates[0, k], work.weights[k]
        if not segment.gait:
            continue
        fill_ramp(weight, work.ramps[k, 1], clock)
        here = np.float32(-rate if stride[gaits.AHEAD] < 0 else rate)
        for f in range(len(weight)):
            root[rows.RATE, f] += weight[f] * here
        fill_ramp(weight, work.ramps[k, 0], clock)
        duty = gaits.stance_share(segment.gait, segment.speed, rate, stride)
        pace, turned = np.float32(segment.speed * stride[gaits.AHEAD]), np.float32(work.rates[1, k])
        more = np.float32(duty - STANDING_DUTY)
        running, stepping = np.float32(stride[gaits.BOUNCES] > 0), np.float32(segment.gait == gaits.STEP)
        for f in range(len(weight)):
            w = weight[f]
            root[rows.SPEED, f] += w * pace
            root[rows.TURNING, f] += w * turned
            root[rows.DUTY, f] += w * more
            root[rows.GAIT_WEIGHT, f] += w
            root[rows.RUN_WEIGHT, f] += w * running
            root[rows.STEP_WEIGHT, f] += w * stepping
        add_stride_parameters(root, weight, stride, segment.speed, rate, duty)


@kernel
def fill_acceleration(root: Array, step: Scalar) -> None:
    """Write the acceleration along the heading from the speed; `step` is seconds per frame."""
    frames = root.shape[1]
    reach = max(1, int(RATE_SECONDS / step + 0.5))
    for f in range(frames):
        last, first = min(f + reach, frames - 1), max(f - reach, 0)
        root[rows.ACCELERATION, f] = (root[rows.SPEED, last] - root[rows.SPEED, first]) / np.float32((last - first) * step)


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
def integrate_path(root: Array, clock: Clock, phase: Scalar, heading: Scalar, x: Scalar, z: Scalar) -> None:
    """Integrate phase, heading and path by the trapezoidal rule, from the given values in the first stored frame.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    clock : Clock
    phase, heading, x, z : float
        Strides, turns, metres.
    """
    frames, margin, step = root.shape[1], clock.margin, clock.step
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
def segment_rates(work: Workspace, role: Role, leg: Scalar) -> None:
    """Write the strides per second of each gait segment, before adjustment; `leg` is the hip height in metres."""
    for k in range(role.base):
        segment, stride = role.segments[k], work.strides[k]
        if segment.gait and stride[gaits.STEP_LENGTH] > 0:
            work.rates[0, k] = 0.5 * segment.speed / stride[gaits.STEP_LENGTH]
        elif segment.gait:
            rate = gaits.stride_rate(segment.gait, segment.speed, leg, role.turn[k], segment.shown_end - segment.shown_start)
            work.rates[0, k] = stride[gaits.CADENCE] * rate


@kernel
def add_stride_parameters(root: Array, weight: Array, stride: Array, speed: Scalar, rate: Scalar, duty: Scalar) -> None:
    """Add the stride parameters of one segment to the root rows by its weight; in m/s, Hz and strides.

    Feet must not cross in sideways steps: each is a quarter of a stride further out, so that they close up to a usual step
    width.
    """
    period = 1.0 / (rate * stride[gaits.BOUNCES]) if stride[gaits.BOUNCES] > 0 else 0.0
    contact = min(duty / rate, 0.96 * period)
    apart = 0.5 * stride[gaits.WIDTH] + 0.25 * abs(stride[gaits.ASIDE]) * speed / rate
    warp = curve_warp(duty) if stride[gaits.BOUNCES] == 2 else 0.0
    lift = stride[gaits.CLEARANCE] - gaits.STANDING_LIFT
    values = (speed * stride[gaits.ASIDE], stride[gaits.LIMP], stride[gaits.LONE_SIDE], lift, apart, period, contact, warp)
    for i in range(len(WEIGHTED)):
        value = np.float32(values[i])
        if value != 0:
            row = root[WEIGHTED[i]]
            for f in range(len(weight)):
                row[f] += weight[f] * value
    # These do not fade from one segment to the next.
    if stride[gaits.RISE] != 0 or (stride[gaits.BOUNCES] > 0 and stride[gaits.BOUNCES] != 2):
        for f in range(len(weight)):
            if weight[f] > 0:
                root[rows.RISING, f] = np.float32(stride[gaits.RISE])
                root[rows.BEATS, f] = np.float32(stride[gaits.BOUNCES])


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
def travel(work: Workspace, segment: Segment, actions: ActionTables, person: Person, clock: Clock) -> None:
    """Add the rates at which an action without a gait travels and turns to the rows of the root."""
    leg, rates = leg_length(person.offsets), work.root[rows.TRACK]
    for column in range(3):
        n = travel_knots(work.curve, segment, actions, 1 + column)
        fill_row(rates, np.float32(0.0))
        fill_track(rates, work.curve.knots, n, clock)
        row = work.root[(rows.SPEED, rows.ASIDE_SPEED, rows.TURNING)[column]]
        unit = np.float32(1.0 if column == 2 else leg)
        for f in range(len(row)):
            row[f] += unit * rates[f]


@kernel
def fill_timeline(work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock) -> None:
    """Write the root rows of speed, phase, heading and path from the base segments.

    Also written: the strides per second of each base segment, in `work.rates[0]`.
    """
    work.rates[:] = 0.0
    for k in range(role.base):
        segment = role.segments[k]
        copy_row(actions.stride[segment.kind], 0, work.strides.shape[1], work.strides[k])
        gaits.step_in_style(work.strides[k], segment.gait, segment.speed, person.style)
    segment_rates(work, role, leg_length(person.offsets) + float(person.foot[rows.FOOT_ANKLE_HEIGHT]))
    plan_ramps(work, role)
    phase = plan_rates(work, role)
    fill_speeds(work, role, clock)
    fill_acceleration(work.root, clock.step)
    for k in range(role.base):
        if role.segments[k].gait == 0 and role.segments[k].speed > 0:
            glide(role.segments[k], clock, work.root[rows.SPEED])
        if travels(role.segments[k]):
            travel(work, role.segments[k], actions, person, clock)
    integrate_path(work.root, clock, phase, role.start[rows.START_HEADING], role.start[rows.START_X], role.start[rows.START_Z])
