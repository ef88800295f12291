"""Channels of one actor over the frames: anatomical angles and root offsets.

A channel starts from the neutral posture of the person. Gait segments pull it to the gait curves by their weight, other base
segments add key poses and harmonics, and layered segments replace the channels that they own. Joint positions are computed in
:mod:`posegen.motion.trunk`, :mod:`posegen.motion.arms` and :mod:`posegen.motion.feet`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.scene import Habit
from posegen.library.channels import CHANNELS, channels_named
from posegen.motion import key_poses, rows
from posegen.motion.gait import steps
from posegen.motion.gait.curves import HARMONICS, RUN_SPEEDS, curve_warp, run_rise, warp_phase
from posegen.motion.gait.personal import vary_series
from posegen.motion.habits import habit_lag, habit_offset, habit_size, hanging_offset
from posegen.motion.joint_ranges import keep_ranges
from posegen.motion.key_poses import FIRST_HAND, FIRST_LEFT, FIRST_RIGHT, stage_bounds
from posegen.motion.library_tables import FLIGHT, FLOOR, SEAT, ActionTables
from posegen.motion.rests import rest_anew
from posegen.motion.trigonometry import cos_turns, ease_towards, sin_turns, smooth_step
from posegen.motion.workspace import Clock, Person, Role, Segment, Workspace, between, fill_row, frame_window, leg_length

FIRST_ARM = CHANNELS.index("left_collar_elevation") - CHANNELS.index("left_hip_flexion")
TRUNK_FLEXION, TRUNK_LATERAL = CHANNELS.index("trunk_flexion"), CHANNELS.index("trunk_lateral")
SHOULDER_FLEXION, SHOULDER_ABDUCTION = (tuple(channels_named(f"shoulder_{c}")) for c in ("flexion", "abduction"))
HANGING = 0.05
"""Angle between arm and trunk, in turns, above which an arm counts as raised."""
LEAN_ASIDE, LEAN_BACK = 0.04, 0.03
"""Lean of the trunk for each turn that an arm is raised aside or ahead: 3 degrees for an arm held out."""
MOST_RUNNING_SWING = 1.15
"""Largest factor on the arm swing in running: in a fast run the upper arm reaches the end of its range behind."""
WALKING_POSTURE, RUNNING_POSTURE = 0.15, 0.4
"""Shares of the posture of the arms that are left in walking, and in running, which bends all arms."""
WALKING_BEND, MOST_WALKING_BEND = 5.0 / 360, 12.0 / 360
"""Turns by which a swinging arm is bent like a resting one, and by which it is bent at most: walkers do not carry their arms as
they stand, and their elbows differ by some 9 degrees (CGM 2.3 normative data).
"""
ELBOW_FLEXION = tuple(channels_named("elbow_flexion"))
TURNED_ASIDE = tuple(CHANNELS.index(f"{part}_{way}") for part in ("trunk", "neck") for way in ("lateral", "rotation"))
WALKING_ASIDE = 0.35
"""Share of the posture to one side that is left in gaits: walkers look and face where they go."""
NECK_ROTATION, NECK_FLEXION = CHANNELS.index("neck_rotation"), CHANNELS.index("neck_flexion")
TRUNK_ROTATION = CHANNELS.index("trunk_rotation")
ROOT_LATERAL, OBLIQUITY = CHANNELS.index("root_lateral"), CHANNELS.index("pelvis_obliquity")
LEANING, SHIFTING, SHIFTS = -1.0, 0.5, 0.06
"""Standing on one leg more than on the other: lateral position of the pelvis in leg lengths, constant and changing, for each
stature by which the feet stand before each other; and the changes per second."""
HIP_DROP = -0.22
"""Turns of obliquity for each leg length that the pelvis stands aside: the hip of the free leg drops by 4 to 9 mm."""
ROOT_FORWARD, AHEAD = CHANNELS.index("root_forward"), 0.022
"""Standard deviation of the position of the pelvis ahead of the feet, in leg lengths."""
_WEIGHT_AHEAD = int(Habit.AHEAD)
SINKS = CHANNELS.index("root_height"), ROOT_FORWARD, ROOT_LATERAL, OBLIQUITY
"""Channels of the pelvis that depend on where the feet stand; a gait has its own."""
HIP_FLEXION, KNEE_FLEXION = tuple(channels_named("hip_flexion")), tuple(channels_named("knee_flexion"))
DORSIFLEXION = tuple(channels_named("ankle_dorsiflexion"))
TILT = CHANNELS.index("pelvis_tilt")
FOOT_ROLL, LANDING_ANKLE, LANDING_LEG = 0.22, 0.1, 0.976
"""Fractions of the leg: distance by which a runner lands closer than half the way of a stance; height of the ankle at landing;
length of a leg that lands with its knee bent by 25 degrees.
"""
SEAT_BELOW_PELVIS = 0.058
"""Distance from the pelvis joint of a seated person down to the seat, as a fraction of stature."""
GAZE_LEAD, SHOULDER_LEAD = 0.45, 0.25
"""Seconds by which the head and the shoulders lead a turn of the pelvis."""
SHOULDERS_TURN, MOST_TURNED = 0.55, 0.07
"""Share of the coming turn by which the shoulders are ahead, and the largest coming turn that counts, in turns."""
LEAN_ACCELERATING = 0.8 / 360
"""Turns by which pelvis and spine each lean forward for each m/s^2: half of what people lean (.7 to 1.8 degrees)."""
WANDERING = 0.16
"""Share by which the size of harmonics changes slowly."""
WANDER = 1.3 / 360, 0.13, 0.33
"""Slow changes of the flexion of the trunk in walking and running: turns, and cycles per metre of the way of two sines."""


@kernel
def fill_waves(phase: Array, warp: Array, waves: Array) -> None:
    """Write cosines and sines of the multiples of a warped phase, by the addition theorem.

    Parameters
    ----------
    phase, warp : float32 [frames]
        Turns; see :func:`posegen.motion.gait.curves.warp_phase`.
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
def gait_series(gait: int, speed: Scalar, leg: Scalar, gaits: steps.Gaits, channel: int, series: Array) -> None:
    """Write the Fourier series of one channel at a speed, linear between the published speeds."""
    if gait == steps.RUN:
        faster = np.float32(min(max((speed - RUN_SPEEDS[0]) / (RUN_SPEEDS[1] - RUN_SPEEDS[0]), -0.15), 1.2))
        for i in range(len(series)):
            series[i] = gaits.run[0, channel, i] + faster * (gaits.run[1, channel, i] - gaits.run[0, channel, i])
        return
    dimensionless = 0.0 if gait == steps.STEP else speed / np.sqrt(GRAVITY * leg)
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
def segment_series(segment: Segment, person: Person, actions: ActionTables, channel: int, series: Array) -> bool:
    """Write the series of one channel in a gait segment: the curve of the gait, changed by energy, style and action.

    Returns whether the segment moves the channel.
    """
    kind, gaits = segment.kind, actions.gaits
    swings = gaits.moved[channel] and not (actions.held[kind, channel] or segment.gait in (steps.HOP, steps.SKIP))
    bouncing = segment.gait == steps.WALK and steps.has_bounce(channel, person.style)
    if not (swings or actions.held[kind, channel] or actions.used[kind, channel] or bouncing):
        return False
    if swings:
        speed = segment.speed * abs(actions.stride[kind, steps.AHEAD])
        gait_series(segment.gait, speed, leg_length(person.offsets), gaits, channel, series)
        if is_arm(channel):
            swing = segment.amplitude * (1.0 + 0.15 * person.energy) * person.style[steps.ARM_SWING]
            swing *= person.swing[0 if channel < FIRST_RIGHT else 1]
            # Runners swing their arms about as far as the range of the shoulders, in every style.
            size = np.float32(swing if segment.gait == steps.WALK else min(swing, MOST_RUNNING_SWING))
            for n in range(1, len(series)):
                series[n] *= size
        if segment.gait == steps.WALK or segment.gait == steps.RUN:
            vary_series(segment.gait, segment.speed, channel, person.habits, person.legs, series)
        posture = person.posture[channel]
        if segment.gait == steps.WALK and (channel == ELBOW_FLEXION[0] or channel == ELBOW_FLEXION[1]):
            posture = ease_towards(posture, WALKING_BEND, MOST_WALKING_BEND)
        elif is_arm(channel):
            posture *= RUNNING_POSTURE if segment.gait == steps.RUN else WALKING_POSTURE
        elif channel in TURNED_ASIDE:
            posture *= WALKING_ASIDE
        series[0] += np.float32(posture)
    else:
        series[:] = np.float32(0.0)
        series[0] = np.float32(person.neutral[channel])
    if bouncing:
        steps.add_bounce(channel, person.style, series, 1 + HARMONICS)
    series[0] += np.float32(actions.pose[kind, channel])
    for i in range(segment.first_series, segment.last_series):
        if actions.series_channel[i] == channel:
            for n in range(actions.series.shape[2]):
                series[1 + n] += np.float32(actions.series[i, 0, n])
                series[1 + HARMONICS + n] += np.float32(actions.series[i, 1, n])
    return True


@kernel
def add_gait(work: Workspace, k: int, segment: Segment, person: Person, actions: ActionTables) -> None:
    """Pull the channels to the curves of gait segment `k` by its weight."""
    series, weight, sums = work.series, work.weights[k], work.root[rows.WORK]
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
def add_harmonics(
    row: Array,
    cosines: Array,
    sines: Array,
    segment: Segment,
    size: Scalar,
    late: Scalar,
    wander: Scalar,
    clock: Clock,
    sums: Array,
) -> None:
    """Add a series over the cycle of a segment, which fades in before its first stage ends and out after its last stage begins.

    `size` is a factor on it, `late` the share of the cycle by which it is late, and `wander` the phase, in turns, of a slow
    change of its size. `sums` is float32 [frames], scratch.
    """
    enter_end, exit_begin = stage_bounds(segment)
    cycle = (exit_begin - enter_end) / max(segment.repetitions, 1)
    fade_in, fade_out = 0.6 * (enter_end - segment.start) + 1e-3, 0.6 * (segment.end - exit_begin) + 1e-3
    f0, f1 = frame_window(clock, segment.start, segment.end, len(row))
    for f in between(f0, f1):
        sums[f] = np.float32(0.0)
    for k in range(len(cosines)):
        if cosines[k] != 0 or sines[k] != 0:
            multiple, a, b = np.float32(k + 1), np.float32(cosines[k]), np.float32(sines[k])
            for f in between(f0, f1):
                turns = multiple * np.float32((clock.first + f * clock.step - enter_end) / cycle - late)
                sums[f] += a * cos_turns(turns) + b * sin_turns(turns)
    height, drawn = np.float32(segment.amplitude * size), np.float32(wander)
    for f in between(f0, f1):
        t = clock.first + f * clock.step
        x = np.float32((t - enter_end) / cycle - late)
        fade = smooth_step((t - enter_end + fade_in) / fade_in) * smooth_step((exit_begin + fade_out - t) / fade_out)
        wandering = np.float32(1.0) + np.float32(WANDERING) * sin_turns(np.float32(0.37) * x + drawn)
        row[f] += height * fade * wandering * sums[f]


@kernel
def add_cycle_harmonics(
    row: Array, segment: Segment, tables: tuple[Array, Array], draws: Array, habits: Array, c: int, clock: Clock, sums: Array
) -> None:
    """Add the harmonics of the action of a segment in channel `c`; those of trunk, head and arms in the way of the person.

    `tables` are the channels and the series of all actions, `sums` is float32 [frames], scratch.
    """
    channel, series = tables
    own = c < FIRST_HAND and not key_poses.is_together(c)
    size, late = (habit_size(habits, segment, c), habit_lag(habits, segment, c, 0.5)) if own else (1.0, 0.0)
    for i in range(segment.first_series, segment.last_series):
        if channel[i] == c:
            add_harmonics(row, series[i, 0], series[i, 1], segment, size, late, draws[i % len(draws)], clock, sums)


@kernel
def add_track(
    work: Workspace, segment: Segment, actions: ActionTables, person: Person, height_unit: Scalar, clock: Clock
) -> None:
    """Add key poses and harmonics of a base segment to all channels except those of the hands."""
    draws, leg = person.draws, np.float64(leg_length(person.offsets))
    moved = segment.last_key > segment.first_key  # a person standing quietly has a posture instead
    poses, series = key_poses.pose_tables(actions), (actions.series_channel, actions.series)
    key_poses.fill_times(work.curve, segment, actions, draws)
    for c in range(FIRST_HAND):
        if key_poses.is_used(segment, actions.used, c) or (moved and habit_offset(person.habits, segment, c, False) != 0):
            n = key_poses.knots_of_channel(work.curve, segment, poses, draws, person.habits, leg, c, height_unit)
            if c in SINKS:
                # The last stage may reach into the first steps of a gait.
                row, walking = work.root[rows.WORK], work.root[rows.GAIT_WEIGHT]
                fill_row(row, np.float32(0.0))
                key_poses.fill_track(row, work.curve.knots, n, clock)
                for f in range(len(row)):
                    work.channels[c, f] += (np.float32(1.0) - walking[f]) * row[f]
            else:
                key_poses.fill_track(work.channels[c], work.curve.knots, n, clock)
    for c in range(FIRST_HAND):
        add_cycle_harmonics(work.channels[c], segment, series, draws, person.habits, c, clock, work.turns[0, 0])


@kernel
def fill_layer_weight(row: Array, segment: Segment, first: int, last: int, clock: Clock) -> None:
    """Write the weight of a layered segment: it rises in the first stage and falls in the last stage."""
    enter_end, exit_begin = stage_bounds(segment)
    begin, rise = (clock.first - segment.start) / (enter_end - segment.start), clock.step / (enter_end - segment.start)
    end, fall = (segment.end - clock.first) / (segment.end - exit_begin), clock.step / (segment.end - exit_begin)
    for f in between(first, last):
        row[f] = smooth_step(begin + f * rise) * smooth_step(end - f * fall)


@kernel
def remove_style_posture(work: Workspace, segment: Segment, actions: ActionTables, person: Person, clock: Clock) -> None:
    """Remove the posture of a style where a base segment has its own: in arms that it moves, and on the floor."""
    channels, weight = work.channels, work.root[rows.WORK]
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    filled = False
    for c in range(FIRST_HAND):
        less = np.float32(person.posture[c])
        if less == 0 or not (segment.support == FLOOR or (is_arm(c) and key_poses.is_used(segment, actions.used, c))):
            continue
        if not filled and segment.enter > 0 and segment.exit > 0:
            fill_layer_weight(weight, segment, f0, f1, clock)
        elif not filled:
            weight[f0:f1] = np.float32(1.0)
        filled = True
        for f in between(f0, f1):
            channels[c, f] -= weight[f] * less


@kernel
def counter_lean(work: Workspace, segment: Segment, actions: ActionTables, clock: Clock) -> None:
    """Lean the trunk away from arms that a layer raises aside or ahead, unless the layer moves the trunk itself.

    An arm has a twentieth of the mass: held out, it moves the centre of mass by nearly 2 cm, and the trunk compensates about
    half of that. The weight of the layer is that written by :func:`add_layer`.
    """
    kind, channels, weight = segment.kind, work.channels, work.root[rows.WORK2]
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
def add_layer(work: Workspace, segment: Segment, actions: ActionTables, person: Person, clock: Clock) -> None:
    """Replace the channels that a layered segment owns: fade from the values below to its key poses, and back."""
    a, channels, draws, row, weight = segment.kind, work.channels, person.draws, work.root[rows.WORK], work.root[rows.WORK2]
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    fill_layer_weight(weight, segment, f0, f1, clock)
    size = 1.0 + 0.4 * (segment.amplitude - 1.0)
    keyed = segment.last_key > segment.first_key
    poses, series, sums = key_poses.pose_tables(actions), (actions.series_channel, actions.series), work.turns[0, 0]
    if keyed:
        key_poses.fill_times(work.curve, segment, actions, draws)
    for c in range(FIRST_HAND):
        if not actions.owned[a, c]:
            if actions.used[a, c]:
                # A body that stands or sits follows the movement of the layer; a gait has its own rhythm.
                fill_row(row, np.float32(0.0))
                add_cycle_harmonics(row, segment, series, draws, person.habits, c, clock, sums)
                for f in between(f0, f1):
                    channels[c, f] += (np.float32(1.0) - work.root[rows.GAIT_WEIGHT, f]) * row[f]
            continue
        usual = person.neutral[c] - person.posture[c] if is_arm(c) and actions.used[a, c] else person.neutral[c]
        if keyed and actions.used[a, c]:
            row[f0:f1] = np.float32(usual)
            n = key_poses.knots_of_channel(work.curve, segment, poses, draws, person.habits, 1.0, c, 1.0)
            key_poses.flatten_ends(work.curve, n)
            key_poses.fill_track(row, work.curve.knots, n, clock)
        else:
            pose = actions.pose[a, c] * size * habit_size(person.habits, segment, c)
            offset = habit_offset(person.habits, segment, c, actions.used[a, c])
            row[f0:f1] = np.float32(usual + pose + hanging_offset(offset, c, pose))
        add_cycle_harmonics(row, segment, series, draws, person.habits, c, clock, sums)
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
def shift_weight(work: Workspace, role: Role, person: Person, clock: Clock) -> None:
    """Move the pelvis of a person who stands over one foot, and slowly from one foot to the other; less beside a partner.

    The foot ahead is the other one in a mirrored person, so that the weight is on the other side too.
    """
    standing, held = work.root[rows.WORK], work.root[rows.WORK2]
    for f in range(len(standing)):
        standing[f] = np.float32(1.0) - work.root[rows.GAIT_WEIGHT, f]
    for k in range(role.base):
        segment = role.segments[k]
        share = np.float32(0.0 if segment.support == SEAT or segment.support == FLOOR else segment.personal)
        if share < 1 and segment.enter > 0 and segment.exit > 0:
            f0, f1 = frame_window(clock, segment.start, segment.end, len(standing))
            fill_layer_weight(held, segment, f0, f1, clock)
            for f in between(f0, f1):
                standing[f] *= np.float32(1.0) - (np.float32(1.0) - share) * held[f]
    # Most weight is on the foot behind.
    here = np.float32(LEANING * person.widths[3] / person.stature)
    change = np.float32(SHIFTING * person.widths[3] / person.stature)
    ahead = np.float32(AHEAD * person.habits[_WEIGHT_AHEAD])
    for f in range(len(standing)):
        at = np.float32(SHIFTS * (clock.first + f * clock.step) + person.draws[7])
        aside = standing[f] * (here + change * sin_turns(at))
        work.channels[ROOT_LATERAL, f] += aside
        work.channels[ROOT_FORWARD, f] += standing[f] * ahead
        work.channels[OBLIQUITY, f] += np.float32(HIP_DROP) * aside
        work.channels[TRUNK_LATERAL, f] += np.float32(HIP_DROP) * aside


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


@kernel
def turn_shoulders(root: Array, trunk: Array, neck: Array, frames_ahead: int) -> None:
    """Turn the shoulders ahead of the pelvis in a turn; the head, which leads them, keeps most of its direction."""
    frames, most = root.shape[1], np.float32(MOST_TURNED)
    for f in range(frames):
        ahead = root[rows.HEADING, min(f + frames_ahead, frames - 1)] - root[rows.HEADING, f]
        turned = np.float32(SHOULDERS_TURN) * min(max(ahead, -most), most)
        trunk[f] += turned
        neck[f] -= np.float32(0.8) * turned


@kernel
def lean_with_acceleration(root: Array, channels: Array) -> None:
    """Lean forward in starting and back in braking: pelvis and spine, while thighs and head keep their direction."""
    for f in range(root.shape[1]):
        leaning = np.float32(LEAN_ACCELERATING) * root[rows.ACCELERATION, f]
        channels[TILT, f] += leaning
        channels[HIP_FLEXION[0], f] += leaning
        channels[HIP_FLEXION[1], f] += leaning
        channels[TRUNK_FLEXION, f] += leaning
        channels[NECK_FLEXION, f] -= np.float32(1.4) * leaning


@kernel
def wander(root: Array, trunk: Array, neck: Array, draws: Array) -> None:
    """Change the flexion of the trunk slowly along the way, since no two strides are equal; the head keeps its direction."""
    size, slow, quick = np.float32(WANDER[0]), np.float32(WANDER[1]), np.float32(WANDER[2])
    here, there = np.float32(draws[9]), np.float32(draws[13])
    for f in range(root.shape[1]):
        way = root[rows.ODOMETER, f]
        away = sin_turns(slow * way + here) + np.float32(0.6) * sin_turns(quick * way + there)
        flexed = root[rows.GAIT_WEIGHT, f] * size * away
        trunk[f] += flexed
        neck[f] -= flexed


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
def run_height(work: Workspace, k: int, segment: Segment, person: Person, actions: ActionTables) -> Scalar:
    """Return the height of the pelvis in the middle of a running stance of the near leg in segment `k`, in metres.

    The angles give one height. The other, lower one is that from which the leg still reaches its footprint at landing, after
    the rise by force and flight. The result is a weighted mean.
    """
    leg, stride, rate = leg_length(person.offsets), actions.stride[segment.kind], work.rates[0, k]
    duty = steps.stance_share(segment.gait, segment.speed, rate, stride)
    stand = angles_height(work, segment, duty, person, actions)
    period, contact = 1.0 / (rate * stride[steps.BOUNCES]), duty / rate
    rise = run_rise(0.0, contact, period) - run_rise(0.5 * contact, contact, period)
    ahead = max(0.5 * segment.speed * contact - FOOT_ROLL * leg, 0.0)
    hip = np.sqrt(max(LANDING_LEG * LANDING_LEG * leg * leg - ahead * ahead, 0.25 * leg * leg)) + LANDING_ANKLE * leg
    reach = hip - person.offsets[1, 1] - rise
    return 0.15 * stand + 0.85 * min(stand, reach)


@kernel
def angles_height(work: Workspace, segment: Segment, duty: Scalar, person: Person, actions: ActionTables) -> Scalar:
    """Return the height of the pelvis when the near leg stands with the angles of a gait segment in the middle
    of its stance.
    """
    side = segment.kind % 2
    warp = curve_warp(duty) if actions.stride[segment.kind, steps.BOUNCES] == 2 else 0.0
    series, angles = work.series, work.angles
    channels = (HIP_FLEXION[side], KNEE_FLEXION[side], DORSIFLEXION[side], TILT)
    for i in range(4):
        angles[i] = person.neutral[channels[i]]
        if not segment_series(segment, person, actions, channels[i], series):
            continue
        angles[i] = series[0]
        for k in range(HARMONICS):
            at = (warp_phase(0.5 * duty, warp) + 0.5 * side) * (k + 1)
            angles[i] += series[1 + k] * cos_turns(at) + series[1 + HARMONICS + k] * sin_turns(at)
    return nominal_height(angles[0], angles[1], angles[2], angles[3], person)


@kernel
def fill_channels(work: Workspace, role: Role, person: Person, actions: ActionTables, stand: Scalar, clock: Clock) -> None:
    """Write the channels from posture, sway and all segments, write the pelvis height of running, and mark jumps.

    `stand` is the height of the pelvis in standing, in metres.
    """
    leg, root = leg_length(person.offsets), work.root
    fill_row(root[rows.RUN_HEIGHT], np.float32(0.0))
    seat = (
        role.start[rows.SEAT_HEIGHT] + SEAT_BELOW_PELVIS * person.stature
        if role.start[rows.SEAT_HEIGHT] > 0
        else stand - 0.5 * leg
    )
    fill_row(work.airborne, False)
    for c in range(len(work.channels)):
        fill_row(work.channels[c], np.float32(person.neutral[c]))
    add_sway(work.channels, person.sway, person.draws, clock)
    shift_weight(work, role, person, clock)
    rest_anew(work, role, person, actions, clock)
    fill_waves(root[rows.PHASE], root[rows.WARP], work.waves)
    for k in range(len(role.segments)):
        segment = role.segments[k]
        if segment.start > clock.first + root.shape[1] * clock.step:
            continue  # only faster variants reach this part of the scene
        if k >= role.base:
            add_layer(work, segment, actions, person, clock)
            counter_lean(work, segment, actions, clock)
        elif segment.gait:
            add_gait(work, k, segment, person, actions)
            if actions.stride[segment.kind, steps.BOUNCES] > 0:
                height = np.float32(run_height(work, k, segment, person, actions))
                for f in range(root.shape[1]):
                    root[rows.RUN_HEIGHT, f] += work.weights[k, f] * height
        else:
            add_track(work, segment, actions, person, key_poses.root_height_unit(segment, leg, seat, stand), clock)
            if segment.support == FLIGHT:
                key_poses.mark_airborne(segment, person.draws, clock, work.airborne)
            remove_style_posture(work, segment, actions, person, clock)
    lean_into_curves(root, work.channels[TRUNK_LATERAL])
    lean_with_acceleration(root, work.channels)
    wander(root, work.channels[TRUNK_FLEXION], work.channels[NECK_FLEXION], person.draws)
    look_ahead(root, work.channels[NECK_ROTATION], int(GAZE_LEAD / clock.step))
    turn_shoulders(root, work.channels[TRUNK_ROTATION], work.channels[NECK_ROTATION], int(SHOULDER_LEAD / clock.step))
    keep_ranges(work, role, actions)
