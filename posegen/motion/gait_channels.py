"""Channels of an actor in gaits: the gait curves, changed by energy, style, person and action, and the height of running.

What standing and other actions add is in :mod:`posegen.motion.channels`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.trigonometry import cos_turns, ease_towards, sin_turns
from posegen.motion import gaits, rows
from posegen.motion.gaits import HARMONICS, RUN_SPEEDS, curve_warp, run_rise, vary_series, warp_phase
from posegen.motion.library_tables import ActionTables
from posegen.motion.workspace import Person, Segment, Workspace, between, leg_length

MOST_RUNNING_SWING = 1.15
"""Largest factor on the arm swing in running: in a fast run the upper arm reaches the end of its range behind."""
WALKING_POSTURE, RUNNING_POSTURE = 0.15, 0.4
"""Shares of the posture of the arms that are left in walking, and in running, which bends all arms."""
WALKING_BEND, MOST_WALKING_BEND = 5.0 / 360, 12.0 / 360
"""Turns by which a swinging arm is bent like a resting one, and by which it is bent at most: walkers do not carry their arms as
they stand, and their elbows differ by some 9 degrees (CGM 2.3 normative data).
"""
TURNED_ASIDE = rows.TRUNK_LATERAL, rows.TRUNK_ROTATION, rows.NECK_LATERAL, rows.NECK_ROTATION
WALKING_ASIDE = 0.35
"""Share of the posture to one side that is left in gaits: walkers look and face where they go."""
FOOT_ROLL, LANDING_ANKLE, LANDING_LEG = 0.22, 0.1, 0.956
"""Fractions of the leg: distance by which a runner lands closer than half the way of a stance; height of the ankle at landing;
length of a leg that lands with its knee bent by 35 degrees.
"""


@kernel
def fill_waves(phase: Array, warp: Array, waves: Array) -> None:
    """Write cosines and sines of the multiples of a warped phase, by the addition theorem.

    Parameters
    ----------
    phase, warp : float32 [frames]
        Turns; see :func:`posegen.motion.gaits.warp_phase`.
    waves : float32 [2 * HARMONICS, frames], written
        Cosines of 1 to HARMONICS times the phase, then sines.
    """
    frames = len(phase)
    cosine, sine = waves[0], waves[HARMONICS]
    for f in range(frames):
        at = warp_phase(phase[f], warp[f]) if warp[f] != 0 else phase[f]
        cosine[f], sine[f] = cos_turns(at), sin_turns(at)
    for k in range(1, HARMONICS):
        c, s, c_next, s_next = waves[k - 1], waves[HARMONICS + k - 1], waves[k], waves[HARMONICS + k]
        for f in range(frames):
            c_next[f] = c[f] * cosine[f] - s[f] * sine[f]
            s_next[f] = s[f] * cosine[f] + c[f] * sine[f]


@kernel
def gait_series(gait: int, speed: Scalar, leg: Scalar, curves: gaits.Gaits, channel: int, series: Array) -> None:
    """Write the Fourier series of one channel at a speed, linear between the published speeds."""
    if gait == gaits.RUN:
        faster = np.float32(min(max((speed - RUN_SPEEDS[0]) / (RUN_SPEEDS[1] - RUN_SPEEDS[0]), -0.15), 1.2))
        for i in range(len(series)):
            series[i] = curves.run[0, channel, i] + faster * (curves.run[1, channel, i] - curves.run[0, channel, i])
        return
    dimensionless = 0.0 if gait == gaits.STEP else speed / np.sqrt(GRAVITY * leg)
    last = len(curves.speeds) - 1
    k = 0
    while k < last - 1 and dimensionless > curves.speeds[k + 1]:
        k += 1
    share = (dimensionless - curves.speeds[k]) / (curves.speeds[k + 1] - curves.speeds[k])
    share = np.float32(min(max(share, 0.0), 1.0))
    for i in range(len(series)):
        series[i] = curves.walk[k, channel, i] + share * (curves.walk[k + 1, channel, i] - curves.walk[k, channel, i])


@kernel
def add_series(
    row: Array, weight: Array, waves: Array, series: Array, neutral: Scalar, first: int, last: int, sums: Array
) -> None:
    """Pull a channel to its gait series by `weight`, which is above 0 between frames `first` and `last` only.

    `sums` is float32 [frames], scratch.
    """
    for f in between(first, last):
        sums[f] = series[0] - np.float32(neutral)
    for k in range(HARMONICS):
        a, b = series[1 + k], series[1 + HARMONICS + k]
        if a != 0 or b != 0:
            cosine, sine = waves[k], waves[HARMONICS + k]
            for f in between(first, last):
                sums[f] += a * cosine[f] + b * sine[f]
    for f in between(first, last):
        row[f] += weight[f] * sums[f]


@kernel
def is_arm(channel: int) -> bool:
    """Return whether a channel belongs to an arm."""
    return channel >= rows.FIRST_LEFT and (channel - rows.FIRST_LEFT) % rows.SIDED >= rows.FIRST_ARM


@kernel
def segment_series(segment: Segment, person: Person, actions: ActionTables, channel: int, series: Array) -> bool:
    """Write the series of one channel in a gait segment: the curve of the gait, changed by energy, style and action.

    Returns whether the segment moves the channel.
    """
    kind, curves = segment.kind, actions.gaits
    swings = curves.moved[channel] and not (actions.held[kind, channel] or segment.gait in (gaits.HOP, gaits.SKIP))
    bouncing = segment.gait == gaits.WALK and gaits.has_bounce(channel, person.style)
    if not (swings or actions.held[kind, channel] or actions.poses.used[kind, channel] or bouncing):
        return False
    if swings:
        speed = segment.speed * abs(actions.stride[kind, gaits.AHEAD])
        gait_series(segment.gait, speed, leg_length(person.offsets), curves, channel, series)
        if is_arm(channel):
            swing = segment.amplitude * (1.0 + 0.15 * person.energy) * person.style[gaits.ARM_SWING]
            swing *= person.swing[0 if channel < rows.FIRST_LEFT + rows.SIDED else 1]
            # Runners swing their arms about as far as the range of the shoulders, in every style.
            size = np.float32(swing if segment.gait == gaits.WALK else min(swing, MOST_RUNNING_SWING))
            for n in range(1, len(series)):
                series[n] *= size
        if segment.gait == gaits.WALK or segment.gait == gaits.RUN:
            vary_series(segment.gait == gaits.RUN, segment.speed, channel, person.habits, person.legs, series)
        posture = person.posture[channel]
        if segment.gait == gaits.WALK and (channel == rows.ELBOW_FLEXION[0] or channel == rows.ELBOW_FLEXION[1]):
            posture = ease_towards(posture, WALKING_BEND, MOST_WALKING_BEND)
        elif is_arm(channel):
            posture *= RUNNING_POSTURE if segment.gait == gaits.RUN else WALKING_POSTURE
        elif channel in TURNED_ASIDE:
            posture *= WALKING_ASIDE
        series[0] += np.float32(posture)
    else:
        series[:] = np.float32(0.0)
        series[0] = np.float32(person.neutral[channel])
    if bouncing:
        gaits.add_bounce(channel, person.style, series, 1 + HARMONICS)
    series[0] += np.float32(actions.poses.pose[kind, channel])
    for i in range(segment.first_series, segment.last_series):
        if actions.series_channel[i] == channel:
            for n in range(actions.series.shape[2]):
                series[1 + n] += np.float32(actions.series[i, 0, n])
                series[1 + HARMONICS + n] += np.float32(actions.series[i, 1, n])
    return True


@kernel
def add_gait(work: Workspace, k: int, segment: Segment, person: Person, actions: ActionTables) -> None:
    """Pull the channels to the curves of gait segment `k` by its weight."""
    series, weight, sums = work.series, work.weights[k], work.root[rows.SUMS]
    first, last = 0, len(weight)
    while first < last and weight[first] <= 0:
        first += 1
    while last > first and weight[last - 1] <= 0:
        last -= 1
    if first == last:
        return
    for c in range(len(work.channels)):
        if segment_series(segment, person, actions, c, series):
            add_series(work.channels[c], weight, work.waves, series, person.neutral[c], first, last, sums)


@kernel
def nominal_height(hip: Scalar, knee: Scalar, ankle: Scalar, tilt: Scalar, person: Person) -> Scalar:
    """Return the height of the pelvis in metres when a leg with these angles (turns) carries the body."""
    thigh, shank, foot = -person.offsets[4, 1], -person.offsets[7, 1], person.foot
    upper = hip - tilt
    lower = upper - knee
    s, c = sin_turns(lower + ankle), cos_turns(lower + ankle)
    down = thigh * cos_turns(upper) + shank * cos_turns(lower)
    depth = max(foot[rows.FOOT_HEEL] * s, -foot[rows.FOOT_BALL] * s)
    return down + foot[rows.FOOT_ANKLE_HEIGHT] * c + depth - person.offsets[1, 1]


@kernel
def standing_height(person: Person) -> Scalar:
    """Return the height of the pelvis in quiet standing, in metres."""
    neutral = person.neutral
    return nominal_height(
        neutral[rows.HIP_FLEXION[0]],
        neutral[rows.KNEE_FLEXION[0]],
        neutral[rows.DORSIFLEXION[0]],
        neutral[rows.PELVIS_TILT],
        person,
    )


@kernel
def run_height(work: Workspace, k: int, segment: Segment, person: Person, actions: ActionTables) -> Scalar:
    """Return the height of the pelvis in the middle of a running stance of the near leg in segment `k`, in metres.

    The angles give one height. The other, lower one is that from which the leg still reaches its footprint at landing, after
    the rise by force and flight. The result is a weighted mean.
    """
    leg, stride, rate = leg_length(person.offsets), actions.stride[segment.kind], work.rates[0, k]
    duty = gaits.stance_share(segment.gait, segment.speed, rate, stride)
    stand = angles_height(work, segment, duty, person, actions)
    period, contact = 1.0 / (rate * stride[gaits.BOUNCES]), duty / rate
    rise = run_rise(0.0, contact, period) - run_rise(0.5 * contact, contact, period)
    ahead = max(0.5 * segment.speed * contact - FOOT_ROLL * leg, 0.0)
    hip = np.sqrt(max(LANDING_LEG * LANDING_LEG * leg * leg - ahead * ahead, 0.25 * leg * leg)) + LANDING_ANKLE * leg
    reach = hip - person.offsets[1, 1] - rise
    return 0.15 * stand + 0.85 * min(stand, reach)


@kernel
def angle_at(series: Array, segment: Segment, person: Person, actions: ActionTables, channel: int, phase: Scalar) -> Scalar:
    """Return a channel in turns at a phase of the stride in a gait segment; `series` is scratch."""
    if not segment_series(segment, person, actions, channel, series):
        return np.float64(person.neutral[channel])
    angle = np.float64(series[0])
    for k in range(HARMONICS):
        at = phase * (k + 1)
        angle += series[1 + k] * cos_turns(at) + series[1 + HARMONICS + k] * sin_turns(at)
    return angle


@kernel
def angles_height(work: Workspace, segment: Segment, duty: Scalar, person: Person, actions: ActionTables) -> Scalar:
    """Return the height of the pelvis when the near leg stands with the angles of a gait segment in the middle
    of its stance.
    """
    side = segment.kind % 2
    warp = curve_warp(duty) if actions.stride[segment.kind, gaits.BOUNCES] == 2 else 0.0
    middle = warp_phase(0.5 * duty, warp) + 0.5 * side
    hip = angle_at(work.series, segment, person, actions, rows.HIP_FLEXION[side], middle)
    knee = angle_at(work.series, segment, person, actions, rows.KNEE_FLEXION[side], middle)
    ankle = angle_at(work.series, segment, person, actions, rows.DORSIFLEXION[side], middle)
    return nominal_height(hip, knee, ankle, angle_at(work.series, segment, person, actions, rows.PELVIS_TILT, middle), person)
