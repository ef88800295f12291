"""Channels of one actor over the frames: anatomical angles and root offsets.

A channel starts from the neutral posture of the person. Gait segments pull it to the gait curves by their weight, other base
segments add key poses and harmonics, and layered segments replace the channels that they own. Joint positions are computed in
:mod:`posegen.motion.trunk`, :mod:`posegen.motion.arms` and :mod:`posegen.motion.feet`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.gait.running import RUN_SPEEDS, warp_phase
from posegen.motion.gait.steps import AHEAD, ARM_SWING, HOP, RUN, SKIP, STEP, WALK, Gaits, add_bounce, has_bounce
from posegen.motion.gait.walking import HARMONICS
from posegen.motion.key_poses import FIRST_HAND, fill_times, fill_track, flatten_ends, knots_of_channel, stage_bounds
from posegen.motion.library_tables import FLOOR, ActionTables
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.workspace import Clock, Person, Segment, Workspace, between, frame_window

Array = NDArray[Any]

FIRST_ARM = CHANNELS.index("left_collar_elevation") - CHANNELS.index("left_hip_flexion")
FIRST_LEFT, FIRST_RIGHT = CHANNELS.index("left_hip_flexion"), CHANNELS.index("right_hip_flexion")
TRUNK_FLEXION, TRUNK_LATERAL = CHANNELS.index("trunk_flexion"), CHANNELS.index("trunk_lateral")
SHOULDER_FLEXION, SHOULDER_ABDUCTION = (
    tuple(CHANNELS.index(f"{side}_shoulder_{c}") for side in ("left", "right")) for c in ("flexion", "abduction")
)
HANGING = 0.05
"""Angle between arm and trunk, in turns, above which an arm counts as raised."""
LEAN_ASIDE, LEAN_BACK = 0.04, 0.03
"""Lean of the trunk for each turn that an arm is raised aside or ahead: 3 degrees for an arm held out."""
MOST_RUNNING_SWING = 1.15
"""Largest factor on the arm swing in running: in a fast run the upper arm reaches the end of its range behind."""
NECK_ROTATION = CHANNELS.index("neck_rotation")


@kernel
def fill_waves(phase: Array, warp: Array, waves: Array) -> None:
    """Write cosines and sines of the multiples of a warped phase, by the addition theorem.

    Parameters
    ----------
    phase, warp : float32 [frames]
        Turns; see :func:`posegen.motion.gait.running.warp_phase`.
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
def gait_series(gait: int, speed: Scalar, leg: Scalar, gaits: Gaits, channel: int, series: Array) -> None:
    """Write the Fourier series of one channel at a speed, linear between the published speeds."""
    if gait == RUN:
        faster = np.float32(min(max((speed - RUN_SPEEDS[0]) / (RUN_SPEEDS[1] - RUN_SPEEDS[0]), -0.15), 1.2))
        for i in range(len(series)):
            series[i] = gaits.run[0, channel, i] + faster * (gaits.run[1, channel, i] - gaits.run[0, channel, i])
        return
    dimensionless = 0.0 if gait == STEP else speed / np.sqrt(GRAVITY * leg)
    last = len(gaits.speeds) - 1
    k = 0
    while k < last - 1 and dimensionless > gaits.speeds[k + 1]:
        k += 1
    share = (dimensionless - gaits.speeds[k]) / (gaits.speeds[k + 1] - gaits.speeds[k])
    share = np.float32(min(max(share, 0.0), 1.0))
    for i in range(len(series)):
        series[i] = gaits.walk[k, channel, i] + share * (gaits.walk[k + 1, channel, i] - gaits.walk[k, channel, i])


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
    return channel >= FIRST_LEFT and (channel - FIRST_LEFT) % (FIRST_RIGHT - FIRST_LEFT) >= FIRST_ARM


@kernel
def segment_series(
    segment: Segment, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits, channel: int, series: Array
) -> bool:
    """Write the series of one channel in a gait segment: the curve of the gait, changed by energy, style and action.

    Returns whether the segment moves the channel.
    """
    kind = segment.kind
    swings = gaits.moved[channel] and not (actions.held[kind, channel] or segment.gait in (HOP, SKIP))
    bouncing = segment.gait == WALK and has_bounce(channel, person.style)
    if not (swings or actions.held[kind, channel] or actions.used[kind, channel] or bouncing):
        return False
    if swings:
        gait_series(segment.gait, segment.speed * abs(actions.stride[kind, AHEAD]), leg, gaits, channel, series)
        if is_arm(channel):
            swing = segment.amplitude * (1.0 + 0.15 * person.energy) * person.style[ARM_SWING]
            # Runners swing their arms about as far as the range of the shoulders, in every style.
            size = np.float32(swing if segment.gait == WALK else min(swing, MOST_RUNNING_SWING))
            for n in range(1, len(series)):
                series[n] *= size
        series[0] += np.float32(person.posture[channel])
    else:
        series[:] = np.float32(0.0)
        series[0] = np.float32(person.neutral[channel])
    if bouncing:
        add_bounce(channel, person.style, series, 1 + HARMONICS)
    series[0] += np.float32(actions.pose[kind, channel])
    for i in range(segment.first_series, segment.last_series):
        if actions.series_channel[i] == channel:
            for n in range(actions.series_cos.shape[1]):
                series[1 + n] += np.float32(actions.series_cos[i, n])
                series[1 + HARMONICS + n] += np.float32(actions.series_sin[i, n])
    return True


@kernel
def add_gait(
    work: Workspace, k: int, segment: Segment, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits, sums: Array
) -> None:
    """Pull the channels to the curves of gait segment `k` by its weight; `sums` is float32 [frames], scratch."""
    series, weight = work.series, work.weights[k]
    first, last = 0, len(weight)
    while first < last and weight[first] <= 0:
        first += 1
    while last > first and weight[last - 1] <= 0:
        last -= 1
    if first == last:
        return
    for c in range(len(work.channels)):
        if segment_series(segment, leg, person, actions, gaits, c, series):
            add_series(work.channels[c], weight, work.waves, series, person.neutral[c], first, last, sums)


@kernel
def add_harmonics(row: Array, cosines: Array, sines: Array, segment: Segment, wander: Scalar, clock: Clock) -> None:
    """Add a series over the cycle of a segment, which fades in before its first stage ends and out after its last stage begins.

    `wander` is the phase, in turns, of a slow change of the size by 12 per cent.
    """
    enter_end, exit_begin = stage_bounds(segment)
    cycle = (exit_begin - enter_end) / max(segment.repetitions, 1)
    fade_in, fade_out = 0.6 * (enter_end - segment.start) + 1e-3, 0.6 * (segment.end - exit_begin) + 1e-3
    f0, f1 = frame_window(clock, segment.start, segment.end, len(row))
    for f in range(f0, f1):
        t = clock.first + f * clock.step
        x = np.float32((t - enter_end) / cycle)
        value = np.float32(0.0)
        for k in range(len(cosines)):
            if cosines[k] != 0 or sines[k] != 0:
                turns = np.float32(k + 1) * x
                value += np.float32(cosines[k]) * cos_turns(turns) + np.float32(sines[k]) * sin_turns(turns)
        fade = smooth_step((t - enter_end + fade_in) / fade_in) * smooth_step((exit_begin + fade_out - t) / fade_out)
        wandering = np.float32(1.0) + np.float32(0.12) * sin_turns(np.float32(0.37) * x + np.float32(wander))
        row[f] += np.float32(segment.amplitude) * fade * wandering * value


@kernel
def add_cycle_harmonics(row: Array, segment: Segment, actions: ActionTables, draws: Array, c: int, clock: Clock) -> None:
    """Add the harmonics of the action of a segment in channel `c`."""
    for i in range(segment.first_series, segment.last_series):
        if actions.series_channel[i] == c:
            add_harmonics(row, actions.series_cos[i], actions.series_sin[i], segment, draws[i % len(draws)], clock)


@kernel
def add_track(
    work: Workspace, segment: Segment, actions: ActionTables, draws: Array, leg: Scalar, height_unit: Scalar, clock: Clock
) -> None:
    """Add key poses and harmonics of a base segment to all channels except those of the hands."""
    fill_times(segment, actions, draws, work.times)
    for c in range(FIRST_HAND):
        if actions.used[segment.kind, c]:
            n = knots_of_channel(segment, actions, draws, np.float64(leg), c, height_unit, work.times, work.knots, work.moving)
            fill_track(work.channels[c], work.knots, n, clock)
    for c in range(FIRST_HAND):
        add_cycle_harmonics(work.channels[c], segment, actions, draws, c, clock)


@kernel
def fill_layer_weight(row: Array, segment: Segment, first: int, last: int, clock: Clock) -> None:
    """Write the weight of a layered segment: it rises in the first stage and falls in the last stage."""
    enter_end, exit_begin = stage_bounds(segment)
    begin, rise = (clock.first - segment.start) / (enter_end - segment.start), clock.step / (enter_end - segment.start)
    end, fall = (segment.end - clock.first) / (segment.end - exit_begin), clock.step / (segment.end - exit_begin)
    for f in between(first, last):
        row[f] = smooth_step(begin + f * rise) * smooth_step(end - f * fall)


@kernel
def remove_style_posture(
    channels: Array, segment: Segment, actions: ActionTables, person: Person, clock: Clock, weight: Array
) -> None:
    """Remove the posture of a style where a base segment has its own: in arms that it moves, and on the floor.

    `weight` is float32 [frames], scratch.
    """
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    filled = False
    for c in range(FIRST_HAND):
        less = np.float32(person.posture[c])
        if less == 0 or not (segment.support == FLOOR or (is_arm(c) and actions.used[segment.kind, c])):
            continue
        if not filled and segment.enter > 0 and segment.exit > 0:
            fill_layer_weight(weight, segment, f0, f1, clock)
        elif not filled:
            weight[f0:f1] = np.float32(1.0)
        filled = True
        for f in between(f0, f1):
            channels[c, f] -= weight[f] * less


@kernel
def counter_lean(channels: Array, segment: Segment, actions: ActionTables, clock: Clock, weight: Array) -> None:
    """Lean the trunk away from arms that a layer raises aside or ahead, unless the layer moves the trunk itself.

    An arm has a twentieth of the mass: held out, it moves the centre of mass by nearly 2 cm, and the trunk compensates about
    half of that. `weight` is float32 [frames], written by :func:`add_layer`.
    """
    kind = segment.kind
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    if actions.owned[kind, TRUNK_FLEXION] or actions.owned[kind, TRUNK_LATERAL]:
        return
    for side in range(2):
        flexion, abduction = channels[SHOULDER_FLEXION[side]], channels[SHOULDER_ABDUCTION[side]]
        if not actions.owned[kind, SHOULDER_FLEXION[side]]:
            continue
        to_left = np.float32(-LEAN_ASIDE if side == 0 else LEAN_ASIDE)
        hanging, most = np.float32(HANGING), np.float32(0.25)
        for f in between(f0, f1):
            aside = min(max(abduction[f] - hanging, np.float32(0.0)), most)
            ahead = min(max(flexion[f] - hanging, np.float32(0.0)), most)
            channels[TRUNK_LATERAL, f] += weight[f] * to_left * aside
            channels[TRUNK_FLEXION, f] -= weight[f] * np.float32(LEAN_BACK) * ahead


@kernel
def add_layer(
    work: Workspace, segment: Segment, actions: ActionTables, person: Person, clock: Clock, row: Array, weight: Array
) -> None:
    """Replace the channels that a layered segment owns: fade from the values below to its key poses, and back.

    `row` and `weight` are float32 [frames], scratch.
    """
    a, channels, draws = segment.kind, work.channels, person.draws
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    fill_layer_weight(weight, segment, f0, f1, clock)
    size = 1.0 + 0.4 * (segment.amplitude - 1.0)
    keyed = segment.last_key > segment.first_key
    if keyed:
        fill_times(segment, actions, draws, work.times)
    for c in range(FIRST_HAND):
        if not actions.owned[a, c]:
            continue
        usual = person.neutral[c] - person.posture[c] if is_arm(c) and actions.used[a, c] else person.neutral[c]
        if keyed and actions.used[a, c]:
            row[f0:f1] = np.float32(usual)
            n = knots_of_channel(segment, actions, draws, 1.0, c, 1.0, work.times, work.knots, work.moving)
            flatten_ends(work.knots, work.moving, n)
            fill_track(row, work.knots, n, clock)
        else:
            row[f0:f1] = np.float32(usual + actions.pose[a, c] * size)
        add_cycle_harmonics(row, segment, actions, draws, c, clock)
        for f in between(f0, f1):
            channels[c, f] += weight[f] * (row[f] - channels[c, f])


@kernel
def add_sway(channels: Array, sway: Array, draws: Array, clock: Clock) -> None:
    """Add postural sway and breathing: two slow sines for each channel.

    `sway` is float [channels], the amplitudes.
    """
    for c in range(len(channels)):
        if sway[c] != 0:
            height = np.float32(sway[c])
            slow, fast = np.float32(0.09 + 0.1 * draws[c % len(draws)]), np.float32(0.24 + 0.2 * draws[(c + 11) % len(draws)])
            here, there = np.float32(draws[(c + 5) % len(draws)]), np.float32(draws[(c + 17) % len(draws)])
            for f in range(channels.shape[1]):
                t = np.float32(clock.first + f * clock.step)
                channels[c, f] += height * (sin_turns(slow * t + here) + np.float32(0.45) * sin_turns(fast * t + there))


@kernel
def lean_into_curves(root: Array, row: Array) -> None:
    """Lean the trunk to the inside of a curve by half of the angle that balance requires, a = v w."""
    scale = np.float32(0.5 / GRAVITY)
    for f in range(root.shape[1]):
        row[f] += scale * root[rows.SPEED, f] * root[rows.TURNING, f]


@kernel
def look_ahead(root: Array, row: Array, frames_ahead: int) -> None:
    """Turn the neck to the future heading: gaze leads a turn (Grasso 1998)."""
    frames = root.shape[1]
    most = np.float32(0.12)
    for f in range(frames):
        ahead = root[rows.HEADING, min(f + frames_ahead, frames - 1)] - root[rows.HEADING, f]
        row[f] += np.float32(0.6) * min(max(ahead, -most), most)
