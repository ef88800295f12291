"""Channels of one actor over the frames: anatomical angles and root offsets.

A channel starts from the neutral posture of the person. Gait segments pull it to the gait curves by their weight, other base
segments add key poses and harmonics, and layered segments replace the channels that they own. Joint positions are computed in
:mod:`posegen.motion.trunk`, :mod:`posegen.motion.arms` and :mod:`posegen.motion.legs`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.randomness import keyed_uniform, keyed_uniforms
from posegen.foundations.scene import Habit
from posegen.foundations.trigonometry import cos_turns, ease_towards, sin_turns, smooth_step
from posegen.motion import gaits, habits, key_poses, rows
from posegen.motion.gait_channels import add_gait, fill_waves, is_arm, run_height
from posegen.motion.habits import habit_lag, habit_offset, habit_size, hanging_offset
from posegen.motion.key_poses import stage_bounds
from posegen.motion.library_tables import FLIGHT, FLOOR, LIMITED, SEAT, ActionTables
from posegen.motion.rests import HIP_DROP, rest_anew
from posegen.motion.workspace import Clock, Person, Role, Segment, Workspace, between, fill_row, frame_window, leg_length

HANGING = 0.05
"""Angle between arm and trunk, in turns, above which an arm counts as raised."""
LEAN_ASIDE, LEAN_BACK = 0.04, 0.03
"""Lean of the trunk for each turn that an arm is raised aside or ahead: 3 degrees for an arm held out."""
LEANING, SHIFTING, SHIFTS = -1.0, 0.5, 0.06
"""Standing on one leg more than on the other: lateral position of the pelvis in leg lengths, constant and changing, for each
stature by which the feet stand before each other; and the changes per second."""
AHEAD = 0.022
"""Standard deviation of the position of the pelvis ahead of the feet, in leg lengths."""
_WEIGHT_AHEAD = int(Habit.AHEAD)
SINKS = rows.ROOT_HEIGHT, rows.ROOT_FORWARD, rows.ROOT_LATERAL, rows.OBLIQUITY
"""Channels of the pelvis that depend on where the feet stand; a gait has its own."""
HIKED, MOST_RAISED, UPRIGHT_TRUNK = 12.5 / 360, 1.2, 0.3
"""Turns by which the hip of a lifted foot rises for each leg length of its height over the other foot: 15 degrees in kicks. The
largest height that counts, and the share of it by which the trunk stays upright.
"""
SEAT_BELOW_PELVIS = 0.058
"""Distance from the pelvis joint of a seated person down to the seat, as a fraction of stature."""
GAZE_LEAD, SHOULDER_LEAD = 0.45, 0.25
"""Seconds by which the head and the shoulders lead a turn of the pelvis."""
SHOULDERS_TURN, MOST_TURNED, MOST_LOOKED = 0.55, 0.07, 0.12
"""Share of the coming turn by which the shoulders are ahead; the largest coming turns that count for them and for the head."""
LEAN_ACCELERATING = 0.8 / 360
"""Turns by which pelvis and spine each lean forward for each m/s^2: half of what people lean (.7 to 1.8 degrees)."""
SOFT = 0.86
"""Share of a limit from which a joint gives way."""
BEYOND = 2.0 / 360
"""Turns beyond the limit that a joint never reaches: less than the tolerance of the check."""
WANDERING = 0.16
"""Share by which the size of harmonics changes slowly."""
TIPPED = ((rows.OBLIQUITY, 1.6 / 360), (rows.TRUNK_LATERAL, 2.0 / 360), (rows.TRUNK_ROTATION, 2.2 / 360))
TIP_SECONDS = 0.3
"""Channels of pelvis and trunk that move to and fro once in each repetition, and the turns: half the least list and twist of
people in even exercises such as squats and jumps. The movement begins and ends within so many seconds at least.
"""
WANDER = 1.3 / 360, 0.13, 0.33
"""Slow changes of the flexion of the trunk in walking and running: turns, and cycles per metre of the way of two sines."""


@kernel
def add_harmonics(row: Array, segment: Segment, tables: tuple[Array, Array], c: int, clock: Clock, sums: Array) -> None:
    """Add the harmonics of the action of a segment in channel `c`; those of trunk, head and arms in the way of the person.

    They fade in before its first stage ends and out after its last stage begins, and their size changes slowly. `tables` are
    the channels and the series of all actions, `sums` is float32 [frames], scratch.
    """
    channel, series = tables
    own = c < rows.FIRST_HAND and not key_poses.is_together(c)
    size, late = (habit_size(segment, c), habit_lag(segment, c, 0.5)) if own else (1.0, 0.0)
    height = np.float32(segment.amplitude * size)
    for i in range(segment.first_series, segment.last_series):
        if channel[i] != c:
            continue
        enter_end, exit_begin = stage_bounds(segment)
        cycle = (exit_begin - enter_end) / max(segment.repetitions, 1)
        fade_in, fade_out = 0.6 * (enter_end - segment.start) + 1e-3, 0.6 * (segment.end - exit_begin) + 1e-3
        f0, f1 = frame_window(clock, segment.start, segment.end, len(row))
        for f in between(f0, f1):
            sums[f] = np.float32(0.0)
        for k in range(series.shape[2]):
            multiple, a, b = np.float32(k + 1), np.float32(series[i, 0, k]), np.float32(series[i, 1, k])
            if a != 0 or b != 0:
                for f in between(f0, f1):
                    turns = multiple * np.float32((clock.first + f * clock.step - enter_end) / cycle - late)
                    sums[f] += a * cos_turns(turns) + b * sin_turns(turns)
        drawn = np.float32(keyed_uniform(segment.beat, habits.WAVERS, i - segment.first_series))
        for f in between(f0, f1):
            t = clock.first + f * clock.step
            x = np.float32((t - enter_end) / cycle - late)
            fade = smooth_step((t - enter_end + fade_in) / fade_in) * smooth_step((exit_begin + fade_out - t) / fade_out)
            wandering = np.float32(1.0) + np.float32(WANDERING) * sin_turns(np.float32(0.37) * x + drawn)
            row[f] += height * fade * wandering * sums[f]


@kernel
def add_track(
    work: Workspace, segment: Segment, actions: ActionTables, person: Person, height_unit: Scalar, clock: Clock
) -> None:
    """Add key poses and harmonics of a base segment to all channels except those of the hands."""
    leg = np.float64(leg_length(person.offsets))
    moved = segment.last_key > segment.first_key  # a person standing quietly has a posture instead
    poses, series = actions.poses, (actions.series_channel, actions.series)
    key_poses.fill_times(work.curve, segment, actions.poses)
    for c in range(rows.FIRST_HAND):
        if key_poses.is_used(segment, actions.poses.used, c) or (moved and habit_offset(segment, c, False) != 0):
            n = key_poses.knots_of_channel(work.curve, segment, poses, leg, c, height_unit)
            if c in SINKS:
                # The last stage may reach into the first steps of a gait.
                row, walking = work.root[rows.TRACK], work.root[rows.GAIT_WEIGHT]
                fill_row(row, np.float32(0.0))
                key_poses.fill_track(row, work.curve.knots, n, clock)
                for f in range(len(row)):
                    work.channels[c, f] += (np.float32(1.0) - walking[f]) * row[f]
            else:
                key_poses.fill_track(work.channels[c], work.curve.knots, n, clock)
    for c in range(rows.FIRST_HAND):
        add_harmonics(work.channels[c], segment, series, c, clock, work.root[rows.SUMS])


@kernel
def tip_trunk(channels: Array, segment: Segment, clock: Clock) -> None:
    """Tip and turn pelvis and trunk once in each repetition, in the way of the person: nobody moves evenly."""
    enter_end, exit_begin = stage_bounds(segment)
    cycle = (exit_begin - enter_end) / max(segment.repetitions, 1)
    rise, fall = max(enter_end - segment.start, TIP_SECONDS), max(segment.end - exit_begin, TIP_SECONDS)
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    for i in range(len(TIPPED)):
        c, size = TIPPED[i]
        more, at, _, _ = keyed_uniforms(segment.way, habits.TIPS, i)
        height, at = np.float32(segment.personal * size * (0.6 + 0.8 * more)), np.float32(at)
        for f in between(f0, f1):
            t = clock.first + f * clock.step
            held = smooth_step((t - segment.start) / rise) * smooth_step((segment.end - t) / fall)
            channels[c, f] += height * held * sin_turns(np.float32((t - enter_end) / cycle) + at)


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
    channels, weight = work.channels, work.root[rows.LAYER_WEIGHT]
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    filled = False
    for c in range(rows.FIRST_HAND):
        less = np.float32(person.posture[c])
        if less == 0 or not (segment.support == FLOOR or (is_arm(c) and key_poses.is_used(segment, actions.poses.used, c))):
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
    half of that.
    """
    kind, channels, weight = segment.kind, work.channels, work.root[rows.LAYER_WEIGHT]
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    if actions.owned[kind, rows.TRUNK_FLEXION] or actions.owned[kind, rows.TRUNK_LATERAL]:
        return
    fill_layer_weight(weight, segment, f0, f1, clock)
    for side in range(2):
        flexion, abduction = channels[rows.SHOULDER_FLEXION[side]], channels[rows.SHOULDER_ABDUCTION[side]]
        if not actions.owned[kind, rows.SHOULDER_FLEXION[side]]:
            continue
        to_left = np.float32(-LEAN_ASIDE if side == 0 else LEAN_ASIDE)
        hanging, most = np.float32(HANGING), np.float32(0.25)
        for f in between(f0, f1):
            aside = min(max(abduction[f] - hanging, np.float32(0.0)), most)
            ahead = min(max(flexion[f] - hanging, np.float32(0.0)), most)
            channels[rows.TRUNK_LATERAL, f] += weight[f] * to_left * aside
            channels[rows.TRUNK_FLEXION, f] -= weight[f] * np.float32(LEAN_BACK) * ahead


@kernel
def add_layer(work: Workspace, segment: Segment, actions: ActionTables, person: Person, clock: Clock) -> None:
    """Replace the channels that a layered segment owns: fade from the values below to its key poses, and back."""
    a, channels = segment.kind, work.channels
    row, weight, sums = work.root[rows.TRACK], work.root[rows.LAYER_WEIGHT], work.root[rows.SUMS]
    f0, f1 = frame_window(clock, segment.start, segment.end, channels.shape[1])
    fill_layer_weight(weight, segment, f0, f1, clock)
    size = 1.0 + 0.4 * (segment.amplitude - 1.0)
    keyed = segment.last_key > segment.first_key
    poses, series = actions.poses, (actions.series_channel, actions.series)
    if keyed:
        key_poses.fill_times(work.curve, segment, actions.poses)
    for c in range(rows.FIRST_HAND):
        if not actions.owned[a, c]:
            if actions.poses.used[a, c]:
                # A body that stands or sits follows the movement of the layer; a gait has its own rhythm.
                fill_row(row, np.float32(0.0))
                add_harmonics(row, segment, series, c, clock, sums)
                for f in between(f0, f1):
                    channels[c, f] += (np.float32(1.0) - work.root[rows.GAIT_WEIGHT, f]) * row[f]
            continue
        usual = person.neutral[c] - person.posture[c] if is_arm(c) and actions.poses.used[a, c] else person.neutral[c]
        if keyed and actions.poses.used[a, c]:
            row[f0:f1] = np.float32(usual)
            n = key_poses.knots_of_channel(work.curve, segment, poses, 1.0, c, 1.0)
            key_poses.flatten_ends(work.curve, n)
            key_poses.fill_track(row, work.curve.knots, n, clock)
        else:
            pose = actions.poses.pose[a, c] * size * habit_size(segment, c)
            offset = habit_offset(segment, c, actions.poses.used[a, c])
            row[f0:f1] = np.float32(usual + pose + hanging_offset(offset, c, pose))
        add_harmonics(row, segment, series, c, clock, sums)
        for f in between(f0, f1):
            channels[c, f] += weight[f] * (row[f] - channels[c, f])


@kernel
def add_sway(channels: Array, person: Person, clock: Clock) -> None:
    """Add postural sway and breathing: two slow sines for each channel."""
    for c in range(len(channels)):
        if person.sway[c] != 0:
            height, (rate, faster, at, phase) = np.float32(person.sway[c]), keyed_uniforms(person.key, habits.SWAYS, c)
            slow, fast = np.float32(0.09 + 0.1 * rate), np.float32(0.24 + 0.2 * faster)
            here, there = np.float32(at), np.float32(phase)
            for f in range(channels.shape[1]):
                t = np.float32(clock.first + f * clock.step)
                channels[c, f] += height * (sin_turns(slow * t + here) + np.float32(0.45) * sin_turns(fast * t + there))


@kernel
def shift_weight(work: Workspace, role: Role, person: Person, clock: Clock) -> None:
    """Move the pelvis of a person who stands over one foot, and slowly from one foot to the other; less beside a partner.

    The foot ahead is the other one in a mirrored person, so that the weight is on the other side too.
    """
    standing, held = work.root[rows.STANDING], work.root[rows.LAYER_WEIGHT]
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
    begin = keyed_uniform(person.key, habits.WEIGHT, 0)
    for f in range(len(standing)):
        at = np.float32(SHIFTS * (clock.first + f * clock.step) + begin)
        aside = standing[f] * (here + change * sin_turns(at))
        work.channels[rows.ROOT_LATERAL, f] += aside
        work.channels[rows.ROOT_FORWARD, f] += standing[f] * ahead
        work.channels[rows.OBLIQUITY, f] += np.float32(HIP_DROP) * aside
        work.channels[rows.TRUNK_LATERAL, f] += np.float32(HIP_DROP) * aside


@kernel
def hike_hips(work: Workspace) -> None:
    """Raise the hip of a foot that an action lifts and lean the trunk to the other side, beside what the key poses say."""
    channels, standing = work.channels, work.root[rows.GAIT_WEIGHT]
    left, right = channels[rows.FOOT_CHANNELS[0] + rows.FOOT_UP], channels[rows.FOOT_CHANNELS[1] + rows.FOOT_UP]
    for f in range(len(standing)):
        raised = min(max(left[f] - right[f], -np.float32(MOST_RAISED)), np.float32(MOST_RAISED))
        hiked = np.float32(HIKED) * (np.float32(1.0) - standing[f]) * raised
        channels[rows.OBLIQUITY, f] += hiked
        channels[rows.TRUNK_LATERAL, f] += np.float32(UPRIGHT_TRUNK) * hiked


@kernel
def turn_ahead(root: Array, trunk: Array, neck: Array, step: Scalar) -> None:
    """Turn head and shoulders ahead of the pelvis in a turn: gaze leads it (Grasso 1998), and keeps most of its direction.

    `trunk` and `neck` are the channels of rotation, and `step` is seconds per frame.
    """
    last, gaze, shoulders = root.shape[1] - 1, int(GAZE_LEAD / step), int(SHOULDER_LEAD / step)
    for f in range(len(neck)):
        ahead = root[rows.HEADING, min(f + gaze, last)] - root[rows.HEADING, f]
        neck[f] += np.float32(0.6) * min(max(ahead, -np.float32(MOST_LOOKED)), np.float32(MOST_LOOKED))
    for f in range(len(neck)):
        ahead = root[rows.HEADING, min(f + shoulders, last)] - root[rows.HEADING, f]
        turned = np.float32(SHOULDERS_TURN) * min(max(ahead, -np.float32(MOST_TURNED)), np.float32(MOST_TURNED))
        trunk[f] += turned
        neck[f] -= np.float32(0.8) * turned


@kernel
def lean_on_the_way(root: Array, channels: Array, key: Scalar) -> None:
    """Lean the trunk into curves, forward in starting and back in braking, and slowly to and fro along the way.

    In a curve it leans by half of the angle that balance requires, a = v w. Pelvis and spine lean in starting and braking,
    while thighs and head keep their direction. Along the way its flexion changes, since no two strides are equal.
    """
    scale, size = np.float32(0.5 / GRAVITY), np.float32(WANDER[0])
    begin, quick_begin, _, _ = keyed_uniforms(key, habits.WANDERS, 0)
    slow, quick, here, there = np.float32(WANDER[1]), np.float32(WANDER[2]), np.float32(begin), np.float32(quick_begin)
    for f in range(root.shape[1]):
        channels[rows.TRUNK_LATERAL, f] += scale * root[rows.SPEED, f] * root[rows.TURNING, f]
        leaning = np.float32(LEAN_ACCELERATING) * root[rows.ACCELERATION, f]
        channels[rows.PELVIS_TILT, f] += leaning
        channels[rows.HIP_FLEXION[0], f] += leaning
        channels[rows.HIP_FLEXION[1], f] += leaning
        channels[rows.TRUNK_FLEXION, f] += leaning
        channels[rows.NECK_FLEXION, f] -= np.float32(1.4) * leaning
    for f in range(root.shape[1]):
        way = root[rows.ODOMETER, f]
        flexed = (
            root[rows.GAIT_WEIGHT, f] * size * (sin_turns(slow * way + here) + np.float32(0.6) * sin_turns(quick * way + there))
        )
        channels[rows.TRUNK_FLEXION, f] += flexed
        channels[rows.NECK_FLEXION, f] -= flexed


@kernel
def ease_range(row: Array, low: Scalar, high: Scalar) -> None:
    """Ease the values of a channel into a range around 0; all are turns."""
    soft, beyond = np.float32(SOFT), np.float32(BEYOND)
    least, most = np.float32(low), np.float32(high)
    # With a count of frames the compiler takes several at once, unlike with a least and a largest value.
    above, below = 0, 0
    for f in between(0, len(row)):
        above += row[f] > soft * most
        below += row[f] < soft * least
    if above > 0:
        for f in between(0, len(row)):
            row[f] = ease_towards(row[f], soft * most, most + beyond)
    if below > 0:
        for f in between(0, len(row)):
            row[f] = ease_towards(row[f], soft * least, least - beyond)


@kernel
def keep_ranges(work: Workspace, role: Role, actions: ActionTables) -> None:
    """Ease trunk, neck and shoulders into their ranges, or into the widest range of the actions of the scene."""
    for i in range(len(LIMITED)):
        low, high = np.inf, -np.inf
        for k in range(len(role.segments)):
            low = min(low, actions.limits[role.segments[k].kind, i, 0])
            high = max(high, actions.limits[role.segments[k].kind, i, 1])
        ease_range(work.channels[LIMITED[i]], low, high)


@kernel
def fill_channels(work: Workspace, role: Role, person: Person, actions: ActionTables, stand: Scalar, clock: Clock) -> None:
    """Write the channels from posture, sway and all segments, write the pelvis height of running, and mark jumps.

    `stand` is the height of the pelvis in standing, in metres.
    """
    leg, root = leg_length(person.offsets), work.root
    fill_row(root[rows.RUN_HEIGHT], np.float32(0.0))
    seated = role.start[rows.SEAT_HEIGHT]
    seat = seated + SEAT_BELOW_PELVIS * person.stature if seated > 0 else stand - 0.5 * leg
    fill_row(work.airborne, False)
    for c in range(len(work.channels)):
        fill_row(work.channels[c], np.float32(person.neutral[c]))
    add_sway(work.channels, person, clock)
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
            if actions.stride[segment.kind, gaits.BOUNCES] > 0:
                height = np.float32(run_height(work, k, segment, person, actions))
                for f in range(root.shape[1]):
                    root[rows.RUN_HEIGHT, f] += work.weights[k, f] * height
        else:
            add_track(work, segment, actions, person, key_poses.root_height_unit(segment, leg, seat, stand), clock)
            if segment.last_key > segment.first_key and segment.support != SEAT and segment.support != FLOOR:
                tip_trunk(work.channels, segment, clock)
            if segment.support == FLIGHT:
                key_poses.mark_airborne(segment, clock, work.airborne)
            remove_style_posture(work, segment, actions, person, clock)
    hike_hips(work)
    lean_on_the_way(root, work.channels, person.key)
    turn_ahead(root, work.channels[rows.TRUNK_ROTATION], work.channels[rows.NECK_ROTATION], clock.step)
    keep_ranges(work, role, actions)
