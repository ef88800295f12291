"""Key poses: their times, and the curve of a channel through them.

The key poses of a segment are spread over its three stages, those of the cycle once for each repetition. Between key poses a
channel follows a quintic: the minimum-jerk movement of Flash and Hogan (1985) from rest to rest, a parabola in free fall.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.randomness import keyed_normal, keyed_uniform
from posegen.foundations.trigonometry import sin_turns
from posegen.library.channels import CHANNELS
from posegen.motion import habits, rows
from posegen.motion.habits import OFFSETS, drawn_offset, habit_offset, habit_size, hanging_offset, most_lag
from posegen.motion.library_tables import CYCLE, ENTER, EXIT, FLOOR, SEAT, TURNING_BACK, ActionTables, Poses
from posegen.motion.workspace import Clock, Curve, Segment, between, frame_window

TIME, VALUE, SLOPE, PUSH = range(4)
"""Rows of the key poses of a channel: seconds, value, its first and its second derivative."""
LEAST_JERK = 20.0 / 3.0
"""Second derivative at a key where a channel turns back, as a multiple of the mean slope divided by the seconds: with it, the
quintic between a rest and a turn has no jerk at the turn, and the least in all.
"""
Own: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]
UNEVEN = 0.14
"""Width of the distribution of begin and end of a repetition, as a share of its duration."""
RESIZED, RESIZED_TOGETHER, SHIFTED = 0.45, 0.3, 0.49
"""Widths of the distributions of a repetition's size, of that of root and feet, and the deviation of its offset, in offsets of
persons."""
_CHANNELS = len(CHANNELS)


@kernel
def flight_seconds(segment: Segment) -> Scalar:
    """Return the seconds of a flight: the height of a jump grows with the amplitude, and with the square of the time."""
    return segment.flight_seconds * np.sqrt(segment.amplitude)


@kernel
def flight_count(segment: Segment) -> int:
    """Return the number of flights in a cycle."""
    if segment.flight_seconds <= 0:
        return 0
    return 2 if segment.flight_again > 0 else 1


@kernel
def takeoff_share(segment: Segment, which: int) -> Scalar:
    """Return the fraction of the cycle at which flight number `which` begins."""
    return segment.flight_again if which else segment.flight_begin


@kernel
def stage_bounds(segment: Segment) -> tuple[Scalar, Scalar]:
    """Return the end of the first stage and the begin of the last stage of a segment, in seconds."""
    enter, leave = segment.enter / segment.tempo, segment.exit / segment.tempo
    fit = min(1.0, 0.98 * (segment.end - segment.start) / max(enter + leave, 1e-6))
    return segment.start + enter * fit, segment.end - leave * fit


@kernel
def repetition_span(segment: Segment, number: int) -> tuple[Scalar, Scalar]:
    """Return begin and duration of a repetition in seconds; they vary by 7 per cent, so that no two are equal."""
    enter_end, exit_begin = stage_bounds(segment)
    cycle = (exit_begin - enter_end) / max(segment.repetitions, 1)
    begin, end = float(number), number + 1.0
    if number > 0:
        begin += UNEVEN * (keyed_uniform(segment.beat, habits.UNEVEN, number) - 0.5)
    if number + 1 < segment.repetitions:
        end += UNEVEN * (keyed_uniform(segment.beat, habits.UNEVEN, number + 1) - 0.5)
    return enter_end + cycle * begin, cycle * (end - begin)


@kernel
def time_in_cycle(segment: Segment, at: Scalar, length: Scalar) -> Scalar:
    """Return the time of key `at` in a repetition of `length` seconds; flights keep their duration at any tempo."""
    flight = flight_seconds(segment)
    if flight <= 0:
        return warped(segment, at) * length
    share = segment.flight_end - segment.flight_begin
    ground = (length - flight_count(segment) * flight) / (1.0 - flight_count(segment) * share)
    air = 0.0
    for which in range(flight_count(segment)):
        air += min(max(at - takeoff_share(segment, which), 0.0), share)
    return (at - air) * ground + air / share * flight


@kernel
def time_in_stage(segment: Segment, stage: int, at: Scalar, number: int) -> Scalar:
    """Return the time at which the fraction `at` of a stage has passed; `number` is the repetition of the cycle."""
    begin, length = stage_span(segment, stage, number)
    if stage == CYCLE and flight_seconds(segment) <= 0:
        at = warped(segment, at)
    return begin + at * length


@kernel
def warped(segment: Segment, at: Scalar) -> Scalar:
    """Return the share of the cycle at which the share `at` of a repetition has passed, which need not be at an even pace."""
    return at + segment.warp / (2.0 * np.pi) * sin_turns(np.float32(at))


@kernel
def stage_span(segment: Segment, stage: int, number: int) -> tuple[Scalar, Scalar]:
    """Return begin and duration of a stage in seconds; `number` is the repetition of the cycle."""
    enter_end, exit_begin = stage_bounds(segment)
    if stage == ENTER:
        return segment.start, enter_end - segment.start
    if stage == EXIT:
        return exit_begin, segment.end - exit_begin
    return repetition_span(segment, number)


@kernel
def row_of_repetition(segment: Segment, number: int) -> int:
    """Return the row of the action tables that a repetition takes."""
    return int(segment.second if number % 2 == 1 else segment.kind)


@kernel
def is_used(segment: Segment, used: Array, c: int) -> bool:
    """Return whether any repetition of a segment moves a channel; `used` are those that each action moves."""
    return bool(used[segment.kind, c] or used[segment.second, c])


@kernel
def most_keys(segment: Segment, numbers: Array) -> int:
    """Return the number of entries of `Curve.times` for each repetition; `numbers` are those of the actions."""
    second = numbers[segment.second]
    return int(max(segment.last_key - segment.first_key, second.last_key - second.first_key))


@kernel
def fill_times(curve: Curve, segment: Segment, actions: Poses) -> None:
    """Write the time of each key of a segment to `curve.times`, once for all channels.

    The keys of one repetition follow those of the other. The first repetition includes the keys outside the cycle.
    """
    count = most_keys(segment, actions.numbers)
    for number in range(max(segment.repetitions, 1)):
        begin, length = repetition_span(segment, number)
        row = actions.numbers[row_of_repetition(segment, number)]
        for key in range(row.first_key, row.last_key):
            at, stage, i = actions.keys[key].at, actions.keys[key].stage, number * count + key - row.first_key
            if stage == CYCLE:
                curve.times[i] = begin + time_in_cycle(segment, at, length)
            else:
                curve.times[i] = time_in_stage(segment, stage, at, number)


@kernel
def is_foot(c: int) -> bool:
    """Return whether a channel is the position or pitch of a foot."""
    return c >= rows.FIRST_LEFT and (c - rows.FIRST_LEFT) % rows.SIDED >= rows.FOOT_CHANNELS[0] - rows.FIRST_LEFT


@kernel
def key_size(segment: Segment, own_size: Scalar, c: int, stage: int, number: int, at: Scalar) -> Scalar:
    """Return the factor on a key pose: the amplitude of the segment, varied by person and in each repetition.

    `own_size` is the factor of the person.
    """
    # Amplitude does not change where the pelvis meets a seat or the floor, nor where the feet are.
    if c in (rows.ROOT_HEIGHT, rows.ROOT_FORWARD) and (segment.support == SEAT or segment.support == FLOOR):
        return 1.0
    # Steps, and heights in flights, belong to the path, which it does not change.
    if is_together(c) and travels(segment):
        return 1.0
    if segment.support == FLOOR and (c == rows.PELVIS_TILT or is_foot(c)):
        return 1.0
    # The last key of a cycle leads back to the begin of the next cycle.
    if c < rows.FIRST_HAND and (stage != CYCLE or at == 1.0):
        return segment.amplitude * (1.0 if is_together(c) else own_size)
    if stage != CYCLE or at == 1.0:
        return 1.0
    # Amplitude does not change a hand target either, but it varies slightly.
    if c >= rows.FIRST_HAND:
        return 1.0 + 0.05 * (keyed_uniform(segment.beat, habits.TARGETED, _CHANNELS * number + c) - 0.5)
    # Root and feet vary together, and half as much as the amplitude, because the legs have a fixed length.
    own = 0 if is_together(c) else c
    width = RESIZED_TOGETHER if own == 0 else RESIZED
    again = 1.0 + width * segment.personal * (keyed_uniform(segment.moment, habits.RESIZED, _CHANNELS * number + own) - 0.5)
    size = segment.amplitude * again * own_size
    return 1.0 + 0.5 * (size - 1.0) if is_together(c) else size


@kernel
def repetition_offset(segment: Segment, c: int, number: int, at: Scalar) -> Scalar:
    """Return the offset of a channel in a repetition, in turns; where two repetitions meet, the mean of theirs."""
    if OFFSETS[c] == 0 or segment.repetitions == 0 or segment.support == FLOOR:
        return 0.0
    here = keyed_normal(segment.moment, habits.SHIFTED, _CHANNELS * number + c)
    if at == 1.0:
        here = 0.5 * (here + keyed_normal(segment.moment, habits.SHIFTED, _CHANNELS * (number + 1) + c))
    return SHIFTED * segment.personal * OFFSETS[c] * here


@kernel
def travels(segment: Segment) -> bool:
    """Return whether an action has a path without a gait."""
    return bool(segment.last_travel > segment.first_travel)


@kernel
def is_together(c: int) -> bool:
    """Return whether a channel is one of root and feet, whose sizes vary together."""
    return c in (rows.ROOT_HEIGHT, rows.ROOT_FORWARD, rows.ROOT_LATERAL) or is_foot(c)


@kernel
def passes_on(segment: Segment, actions: Poses, c: int, at_end: bool) -> bool:
    """Return whether a limb or the trunk moves from the neighbour's posture directly to the first key pose, or from the last.

    It does so where the segment overlaps with its neighbour; it would otherwise return to standing between them. The pelvis and
    the feet do return, because the next movement starts from there.
    """
    overlaps = segment.end > segment.shown_end if at_end else segment.start < segment.shown_start
    if not overlaps or segment.repetitions == 0 or is_together(c) or c >= rows.FIRST_HAND or actions.pose[segment.kind, c] != 0:
        return False
    if segment.support == SEAT or segment.support == FLOOR:
        return False
    for key in range(segment.first_key, segment.last_key):
        if actions.keys[key].stage == CYCLE and actions.key_given[key, c] and actions.keys[key].at < 1.0:
            return True
    return False


@kernel
def set_knot(curve: Curve, n: int, time: Scalar, value: Scalar, through: int) -> int:
    """Write key pose `n` of a curve, without a second derivative, and return the number of the next one."""
    curve.knots[TIME, n], curve.knots[VALUE, n], curve.knots[PUSH, n], curve.moving[n] = time, value, 0.0, through
    return n + 1


@kernel
def stage_knots(curve: Curve, segment: Segment, poses: Poses, own: Own, c: int, stage: int, cycle: int, n: int) -> int:
    """Write the keys of one pass through a stage for one channel behind the `n` existing ones, and return the new number.

    `own` are the person's size, offset and largest lag in the channel, and its unit, which are those of all stages.
    The root heights at take-off and landing are not scaled, because the legs must be able to stand at them. The second
    derivative there is in metres.
    """
    jumping = c == rows.ROOT_HEIGHT and stage == CYCLE and segment.flight_seconds > 0
    launched, flown = -1, 0
    row, most = poses.numbers[row_of_repetition(segment, cycle)], most_keys(segment, poses.numbers)
    first, last = row.first_key, row.last_key
    own_size, shift, lag, unit = own
    open_end = stage == CYCLE and cycle == segment.repetitions - 1 and passes_on(segment, poses, c, True)
    stage_length = stage_span(segment, stage, cycle)[1] if lag != 0 else 0.0
    for key in range(first, last):
        if poses.keys[key].stage != stage or not poses.key_given[key, c]:
            continue
        at = poses.keys[key].at
        if open_end and at == 1.0:
            continue
        landing = launched >= 0
        if landing:
            at = takeoff_share(segment, flown - 1) + segment.flight_end - segment.flight_begin
        takeoff = jumping and not landing and flown < flight_count(segment) and at >= takeoff_share(segment, flown)
        size = 1.0 if takeoff or landing else key_size(segment, own_size, c, stage, cycle, at)
        if takeoff:
            launched = n
            flown += 1
        time = curve.times[cycle * most + key - first]
        if landing:
            begin, length = repetition_span(segment, cycle)
            time = begin + time_in_cycle(segment, at, length)
        if lag != 0:
            time += stage_length * (lag * sin_turns(0.5 * at))
        pose = poses.key_pose[key, c] * unit * size + unit * drawn_offset(segment, poses.key_offsets, key, c)
        offset = shift + repetition_offset(segment, c, cycle, at) if stage == CYCLE else shift
        n = set_knot(curve, n, time, pose + hanging_offset(offset, c, pose), poses.keys[key].through)
        if landing:
            curve.knots[PUSH, launched] = curve.knots[PUSH, n - 1] = -GRAVITY
            launched = -1
    return n


@kernel
def knot_speeds(knots: Array, moving: Array, n: int) -> None:
    """Write the slope at each key pose: 0 at rest, that of the parabola at take-off and landing, else by its neighbours.

    Where a channel turns back, its second derivative keeps the jerk at the key at 0.
    """
    knots[SLOPE, 0] = knots[SLOPE, n - 1] = 0.0
    launched = False
    for i in range(1, n - 1):
        knots[SLOPE, i] = 0.0
        if moving[i] == 0 and knots[PUSH, i] == 0:
            continue
        span, next_span = knots[TIME, i] - knots[TIME, i - 1], knots[TIME, i + 1] - knots[TIME, i]
        before = (knots[VALUE, i] - knots[VALUE, i - 1]) / max(span, 1e-3)
        after = (knots[VALUE, i + 1] - knots[VALUE, i]) / max(next_span, 1e-3)
        if moving[i] == TURNING_BACK:
            # The lesser of both sides, so that neither overshoots.
            push = LEAST_JERK * min(abs(before) / max(span, 1e-3), abs(after) / max(next_span, 1e-3))
            knots[PUSH, i] = (push if after > 0 else -push) if before * after < 0 else 0.0
        elif knots[PUSH, i] != 0:
            launched = not launched
            # In free fall the mean speed is reached at half of the time.
            change = -0.5 * knots[PUSH, i] * next_span if launched else 0.5 * knots[PUSH, i] * span
            knots[SLOPE, i] = (after if launched else before) + change
        elif moving[i] and before * after > 0:
            # The harmonic mean of the slopes on both sides never overshoots (Fritsch and Butland 1984).
            knots[SLOPE, i] = 2.0 * before * after / (before + after)


@kernel
def root_height_unit(segment: Segment, leg: Scalar, seat: Scalar, stand: Scalar) -> Scalar:
    """Return the leg lengths that equal 1 in the channel `root_height`.

    On a seat this is the way down to the seat, on the floor the way down to the floor. `seat` and `stand` are the pelvis
    heights in sitting and standing, in metres.
    """
    if segment.support == SEAT:
        return (stand - seat) / leg
    return stand / leg if segment.support == FLOOR else 1.0


@kernel
def knots_of_channel(curve: Curve, segment: Segment, actions: Poses, leg: Scalar, c: int, height_unit: Scalar) -> int:
    """Write the key poses of one channel over a whole segment to `curve.knots` and `curve.moving`, and return their number.

    Parameters
    ----------
    curve : Curve
        Contains the times of the keys, see :func:`fill_times`.
    segment, actions
        Segment and tables of its action.
    leg : float
        Leg length in metres.
    c : int
        Channel.
    height_unit : float
        Leg lengths that equal 1 in the channel `root_height`.
    """
    enter_end, exit_begin = stage_bounds(segment)
    unit = height_unit if c == rows.ROOT_HEIGHT else 1.0
    # A held pose varies less than a movement, because the hands must stay at their targets.
    exact = c in (rows.ROOT_HEIGHT, rows.ROOT_FORWARD) or is_foot(c) or c >= rows.FIRST_HAND
    exact = exact or (segment.support == FLOOR and c == rows.PELVIS_TILT)
    size = 1.0 if exact else (1.0 + 0.4 * (segment.amplitude - 1.0)) * habit_size(segment, c)
    hold = actions.pose[segment.kind, c] * unit * size
    hold += unit * drawn_offset(segment, actions.pose_offsets, segment.kind, c)
    shift = habit_offset(segment, c, is_used(segment, actions.used, c))
    # Root and feet have their size in common.
    own = habit_size(segment, 0 if is_together(c) else c), shift, most_lag(segment, c), unit
    hold += hanging_offset(shift, c, hold)
    n = set_knot(curve, 0, segment.start, 0.0, 0)
    n = stage_knots(curve, segment, actions, own, c, ENTER, 0, n)
    if not passes_on(segment, actions, c, False):
        n = set_knot(curve, n, enter_end, hold, 0)
    before = n
    for number in range(segment.repetitions):
        n = stage_knots(curve, segment, actions, own, c, CYCLE, number, n)
    if n == before:
        n = set_knot(curve, n, exit_begin, hold, 0)
    n = stage_knots(curve, segment, actions, own, c, EXIT, 0, n)
    n = set_knot(curve, n, segment.end, 0.0, 0)
    for i in range(n):
        curve.knots[PUSH, i] /= leg
    knot_speeds(curve.knots, curve.moving, n)
    return n


@kernel
def travel_knots(curve: Curve, segment: Segment, actions: ActionTables, column: int) -> int:
    """Write one of the rates at which a segment travels to `curve.knots`, from rest to rest, and return the number of knots.

    What a repetition takes longer, it is slower, so that the path keeps its size at any tempo.
    """
    n = set_knot(curve, 0, segment.start, 0.0, 0)
    for number in range(segment.repetitions):
        begin, length = repetition_span(segment, number)
        for i in range(segment.first_travel + (number > 0), segment.last_travel):
            rate = actions.travel[i, column] * segment.cycle / length
            n = set_knot(curve, n, begin + actions.travel[i, 0] * length, rate, 1)
    n = set_knot(curve, n, segment.end, 0.0, 0)
    knot_speeds(curve.knots, curve.moving, n)
    return n


@kernel
def flatten_ends(curve: Curve, count: int) -> None:
    """Let a curve begin at its first key pose and end at its last one, instead of starting from and returning to standing."""
    values = curve.knots[VALUE]
    values[0], values[count - 1] = values[1], values[count - 2]
    knot_speeds(curve.knots, curve.moving, count)


@kernel
def fill_track(row: Array, knots: Array, count: int, clock: Clock) -> None:
    """Add the quintics between key poses to a row: at each key pose the given value and derivatives.

    Between two keys at rest this is the minimum-jerk movement of Flash and Hogan (1985); between take-off and landing it is the
    parabola of free fall.
    """
    times, values, speeds, pushes = knots[TIME], knots[VALUE], knots[SLOPE], knots[PUSH]
    for i in range(count - 1):
        span = times[i + 1] - times[i]
        if span <= 1e-6:
            continue
        f0, f1 = frame_window(clock, times[i], times[i + 1], len(row))
        here, rise = np.float32(values[i]), np.float32(values[i + 1] - values[i])
        v0, v1 = np.float32(speeds[i] * span), np.float32(speeds[i + 1] * span)
        p0, p1 = np.float32(pushes[i] * span * span), np.float32(pushes[i + 1] * span * span)
        half, more = np.float32(0.5), np.float32(1.5)
        a3 = np.float32(10.0) * rise - np.float32(6.0) * v0 - np.float32(4.0) * v1 - more * p0 + half * p1
        a4 = np.float32(-15.0) * rise + np.float32(8.0) * v0 + np.float32(7.0) * v1 + more * p0 - p1
        a5 = np.float32(6.0) * rise - np.float32(3.0) * v0 - np.float32(3.0) * v1 - half * p0 + half * p1
        begin, rate = (clock.first - times[i]) / span, clock.step / span
        for f in between(f0, f1):
            x = np.float32(begin + f * rate)
            row[f] += here + x * (v0 + x * (half * p0 + x * (a3 + x * (a4 + x * a5))))


@kernel
def mark_intervals(segment: Segment, actions: ActionTables, clock: Clock, point: int, marks: Array) -> None:
    """Set to 1 the frames that lie in the intervals of a segment for one point.

    Parameters
    ----------
    segment, actions, clock
        Segment, tables of its action, time of the frames.
    point : int
        See :attr:`posegen.motion.library_tables.ActionTables.intervals`.
    marks : [frames], changed
    """
    for number in range(max(segment.repetitions, 1)):
        row = actions.poses.numbers[row_of_repetition(segment, number)]
        for i in range(row.first_interval, row.last_interval):
            stage = int(actions.intervals[i, 1])
            if int(actions.intervals[i, 0]) != point or (stage != CYCLE and number > 0):
                continue
            begin = time_in_stage(segment, stage, actions.intervals[i, 2], number)
            end = time_in_stage(segment, stage, actions.intervals[i, 3], number)
            f0, f1 = frame_window(clock, begin, end, len(marks))
            for f in between(f0, f1):
                marks[f] = 1


@kernel
def mark_airborne(segment: Segment, clock: Clock, airborne: Array) -> None:
    """Mark the frames in which a jumping segment is off the ground."""
    flight = flight_seconds(segment)
    for number in range(segment.repetitions):
        begin, length = repetition_span(segment, number)
        for which in range(flight_count(segment)):
            lift = begin + time_in_cycle(segment, takeoff_share(segment, which), length)
            f0 = max(0, int(np.floor((lift - clock.first) / clock.step)) + 1)
            f1 = min(len(airborne), int(np.ceil((lift + flight - clock.first) / clock.step)))
            airborne[f0:f1] = True
