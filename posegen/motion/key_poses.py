"""Key poses: their times, and the curve of a channel through them.

The key poses of a segment are spread over its three stages, those of the cycle once for each repetition. Between key poses a
channel follows a quintic: the minimum-jerk movement of Flash and Hogan (1985) from rest to rest, a parabola in free fall.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS, HAND_CHANNELS
from posegen.motion.library_tables import CYCLE, ENTER, EXIT, FLOOR, SEAT, ActionTables
from posegen.motion.workspace import Clock, Segment, between, fill_row

Array = NDArray[Any]

ROOT_HEIGHT, ROOT_FORWARD, ROOT_LATERAL = (CHANNELS.index(f"root_{c}") for c in ("height", "forward", "lateral"))
PELVIS_TILT = CHANNELS.index("pelvis_tilt")
FIRST_LEFT, FIRST_RIGHT = CHANNELS.index("left_hip_flexion"), CHANNELS.index("right_hip_flexion")
FIRST_FOOT, LAST_FOOT = (CHANNELS.index(f"left_foot_{c}") - FIRST_LEFT for c in ("forward", "pitch"))
FIRST_HAND = len(CHANNELS) - 2 * len(HAND_CHANNELS)
"""The channels from here on are those of the hands."""
TIME, VALUE, SLOPE, PUSH = range(4)
"""Rows of a track's key poses: seconds, value, its speed and its acceleration."""


@kernel
def flight_seconds(segment: Segment) -> Scalar:
    """Seconds in the air: a jump's height goes with its amplitude, and height with the square of time."""
    return segment.flight_seconds * np.sqrt(segment.amplitude)


@kernel
def flight_count(segment: Segment) -> int:
    """How many flights a cycle has."""
    if segment.flight_seconds <= 0:
        return 0
    return 2 if segment.flight_again > 0 else 1


@kernel
def takeoff_share(segment: Segment, which: int) -> Scalar:
    """Share of the cycle at which one of its flights begins."""
    return segment.flight_again if which else segment.flight_begin


@kernel
def stage_bounds(segment: Segment) -> tuple[Scalar, Scalar]:
    """End of a slot's first stage and begin of its last, in seconds."""
    enter, leave = segment.enter / segment.tempo, segment.exit / segment.tempo
    fit = min(1.0, 0.98 * (segment.end - segment.start) / max(enter + leave, 1e-6))
    return segment.start + enter * fit, segment.end - leave * fit


@kernel
def repetition_span(segment: Segment, draws: Array, number: int) -> tuple[Scalar, Scalar]:
    """When a repetition begins and how long it lasts: within 4 per cent of a regular beat, so that no two are alike."""
    enter_end, exit_begin = stage_bounds(segment)
    cycle = (exit_begin - enter_end) / max(segment.repetitions, 1)
    begin, end = float(number), number + 1.0
    if number > 0:
        begin += 0.08 * (draws[(7 * number + 3) % len(draws)] - 0.5)
    if number + 1 < segment.repetitions:
        end += 0.08 * (draws[(7 * number + 10) % len(draws)] - 0.5)
    return enter_end + cycle * begin, cycle * (end - begin)


@kernel
def time_in_cycle(segment: Segment, at: Scalar, length: Scalar) -> Scalar:
    """Seconds into a repetition of `length` seconds at which its key `at` falls; flight takes its own time at any tempo."""
    flight = flight_seconds(segment)
    if flight <= 0:
        return at * length
    share = segment.flight_end - segment.flight_begin
    ground = (length - flight_count(segment) * flight) / (1.0 - flight_count(segment) * share)
    air = 0.0
    for which in range(flight_count(segment)):
        air += min(max(at - takeoff_share(segment, which), 0.0), share)
    return (at - air) * ground + air / share * flight


@kernel
def flight_begin(segment: Segment, draws: Array, number: int, which: int) -> Scalar:
    """When one of a repetition's flights begins, in seconds."""
    begin, length = repetition_span(segment, draws, number)
    return begin + time_in_cycle(segment, takeoff_share(segment, which), length)


@kernel
def fill_times(segment: Segment, actions: ActionTables, draws: Array, times: Array) -> None:
    """Write when each key of a slot falls, once for all channels.

    Parameters
    ----------
    slot, actions : see there
    draws : float [DRAWS]
    times : float [knots], written
        Seconds: for each repetition in turn, one for each key of the action. The first has those outside of the cycle, too.
    """
    enter_end, exit_begin = stage_bounds(segment)
    first, count = segment.first_key, segment.last_key - segment.first_key
    for number in range(max(segment.repetitions, 1)):
        begin, length = repetition_span(segment, draws, number)
        for i in range(count):
            at, stage = actions.key_at[first + i], actions.key_stage[first + i]
            if stage == ENTER:
                times[number * count + i] = segment.start + at * (enter_end - segment.start)
            elif stage == EXIT:
                times[number * count + i] = exit_begin + at * (segment.end - exit_begin)
            else:
                times[number * count + i] = begin + time_in_cycle(segment, at, length)


@kernel
def is_foot(c: int) -> bool:
    """Whether a channel is one of a foot's place and pitch."""
    return c >= FIRST_LEFT and FIRST_FOOT <= (c - FIRST_LEFT) % (FIRST_RIGHT - FIRST_LEFT) <= LAST_FOOT


@kernel
def key_size(segment: Segment, draws: Array, c: int, stage: int, number: int, at: Scalar) -> Scalar:
    """Factor on a key pose: the slot's amplitude, a little different in each repetition."""
    # Where the pelvis has to go to meet a seat does not depend on how large somebody moves; so with the floor, and the feet.
    if c in (ROOT_HEIGHT, ROOT_FORWARD) and (segment.support == SEAT or segment.support == FLOOR):
        return 1.0
    if segment.support == FLOOR and (c == PELVIS_TILT or is_foot(c)):
        return 1.0
    # The last key of a cycle leads back to where the next one begins.
    if stage != CYCLE or at == 1.0:
        return 1.0 if c >= FIRST_HAND else segment.amplitude
    # A hand that has to be somewhere does not depend on that either, but nobody hits the same spot twice.
    if c >= FIRST_HAND:
        return 1.0 + 0.05 * (draws[(5 * number + c) % len(draws)] - 0.5)
    # Root and feet go together: who strides further goes further, but by less, since legs are no longer for it.
    together = c in (ROOT_HEIGHT, ROOT_FORWARD, ROOT_LATERAL) or is_foot(c)
    size = segment.amplitude * (1.0 + 0.14 * (draws[(5 * number + (0 if together else c)) % len(draws)] - 0.5))
    return 1.0 + 0.5 * (size - 1.0) if together else size


@kernel
def set_knot(knots: Array, moving: Array, n: int, time: Scalar, value: Scalar, through: bool) -> int:
    """Write key pose `n` of a track and return the number of the next one."""
    knots[TIME, n], knots[VALUE, n], moving[n] = time, value, through
    return n + 1


@kernel
def stage_knots(
    segment: Segment,
    actions: ActionTables,
    draws: Array,
    leg: Scalar,
    c: int,
    stage: int,
    number: int,
    unit: Scalar,
    times: Array,
    knots: Array,
    moving: Array,
    n: int,
) -> int:
    """List the keys of one pass through a stage for one channel; `n` are there already, and the new number is returned.

    The height of the root at take-off and landing is the action's own: it must be one that the legs can stand at.
    """
    jumping = c == ROOT_HEIGHT and stage == CYCLE and segment.flight_seconds > 0
    launched, flown = -1, 0
    first, last = segment.first_key, segment.last_key
    for key in range(first, last):
        if actions.key_stage[key] != stage or not actions.key_given[key, c]:
            continue
        landing = launched >= 0
        at = actions.key_at[key]
        if landing:
            at = takeoff_share(segment, flown - 1) + segment.flight_end - segment.flight_begin
        takeoff = jumping and not landing and flown < flight_count(segment) and at >= takeoff_share(segment, flown)
        size = 1.0 if takeoff or landing else key_size(segment, draws, c, stage, number, at)
        if takeoff:
            launched = n
            flown += 1
        elif landing:
            knots[PUSH, launched] = knots[PUSH, n] = -GRAVITY / leg
            launched = -1
        time = times[number * (last - first) + key - first]
        if landing:
            begin, length = repetition_span(segment, draws, number)
            time = begin + time_in_cycle(segment, at, length)
        n = set_knot(knots, moving, n, time, actions.key_pose[key, c] * unit * size, actions.key_through[key])
    return n


@kernel
def knot_speeds(knots: Array, moving: Array, n: int) -> None:
    """Choose the speed at each key pose: none at rest, the parabola's at take-off and landing, between its neighbours' else."""
    knots[SLOPE, 0] = knots[SLOPE, n - 1] = 0.0
    launched = False
    for i in range(1, n - 1):
        knots[SLOPE, i] = 0.0
        span, next_span = knots[TIME, i] - knots[TIME, i - 1], knots[TIME, i + 1] - knots[TIME, i]
        before = (knots[VALUE, i] - knots[VALUE, i - 1]) / max(span, 1e-3)
        after = (knots[VALUE, i + 1] - knots[VALUE, i]) / max(next_span, 1e-3)
        if knots[PUSH, i] != 0:
            launched = not launched
            # In free fall the mean speed is reached half way.
            change = -0.5 * knots[PUSH, i] * next_span if launched else 0.5 * knots[PUSH, i] * span
            knots[SLOPE, i] = (after if launched else before) + change
        elif moving[i] and before * after > 0:
            # The harmonic mean of the slopes on either side never overshoots (Fritsch and Butland 1984).
            knots[SLOPE, i] = 2.0 * before * after / (before + after)


@kernel
def root_height_unit(segment: Segment, leg: Scalar, seat: Scalar, stand: Scalar) -> Scalar:
    """Leg lengths that 1 in the channel `root_height` means.

    On a seat it is the way down to it, on the floor the way down to the floor. `seat` and `stand` are how high the
    pelvis is when it sits and when it stands, in metres.
    """
    if segment.support == SEAT:
        return (stand - seat) / leg
    return stand / leg if segment.support == FLOOR else 1.0


@kernel
def knots_of_channel(
    segment: Segment,
    actions: ActionTables,
    draws: Array,
    leg: Scalar,
    c: int,
    height_unit: Scalar,
    times: Array,
    knots: Array,
    moving: Array,
) -> int:
    """List the key poses of one channel over a whole slot.

    Parameters
    ----------
    slot, actions : see there
    draws : float [DRAWS]
    leg : float
        Length of the legs in metres.
    c : int
    height_unit : float
        What 1 in the channel `root_height` means, in leg lengths.
    times : float [knots]
        What :func:`fill_times` wrote for this slot.
    knots : float [4, knots], written
        Time, value, speed and acceleration of the channel at each key pose.
    moving : bool [knots], written
        Whether the channel moves through a key pose.

    Returns
    -------
    int
        How many there are.
    """
    fill_row(knots[PUSH], 0.0)
    enter_end, exit_begin = stage_bounds(segment)
    unit = height_unit if c == ROOT_HEIGHT else 1.0
    # A held pose varies less than a movement does: hands still have to be where the action wants them.
    exact = c in (ROOT_HEIGHT, ROOT_FORWARD) or is_foot(c) or c >= FIRST_HAND or (segment.support == FLOOR and c == PELVIS_TILT)
    hold = actions.pose[segment.kind, c] * unit * (1.0 if exact else 1.0 + 0.4 * (segment.amplitude - 1.0))
    n = set_knot(knots, moving, 0, segment.start, 0.0, False)
    n = stage_knots(segment, actions, draws, leg, c, ENTER, 0, unit, times, knots, moving, n)
    n = set_knot(knots, moving, n, enter_end, hold, False)
    before = n
    for number in range(segment.repetitions):
        n = stage_knots(segment, actions, draws, leg, c, CYCLE, number, unit, times, knots, moving, n)
    if n == before:
        n = set_knot(knots, moving, n, exit_begin, hold, False)
    n = stage_knots(segment, actions, draws, leg, c, EXIT, 0, unit, times, knots, moving, n)
    n = set_knot(knots, moving, n, segment.end, 0.0, False)
    knot_speeds(knots, moving, n)
    return n


@kernel
def flatten_ends(knots: Array, moving: Array, count: int) -> None:
    """Let a track begin at its first key pose and end at its last one, instead of coming from standing and going back to it."""
    knots[VALUE, 0], knots[VALUE, count - 1] = knots[VALUE, 1], knots[VALUE, count - 2]
    knot_speeds(knots, moving, count)


@kernel
def fill_track(row: Array, knots: Array, count: int, clock: Clock) -> None:
    """Add a track of quintics between key poses: at each the given value, speed and acceleration.

    Between two keys at rest this is the minimum-jerk movement of Flash and Hogan (1985); between take-off and landing it is the
    parabola of free fall.
    """
    times, values, speeds, pushes = knots[TIME], knots[VALUE], knots[SLOPE], knots[PUSH]
    for i in range(count - 1):
        span = times[i + 1] - times[i]
        if span <= 1e-6:
            continue
        f0 = max(0, int(np.ceil((times[i] - clock.first) / clock.step)))
        f1 = min(len(row), int(np.ceil((times[i + 1] - clock.first) / clock.step)))
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
def interval_seconds(segment: Segment, stage: int, at: Scalar, number: int, draws: Array) -> Scalar:
    """Second at which a share of a stage has passed; `number` is the repetition, where the stage is the cycle."""
    enter_end, exit_begin = stage_bounds(segment)
    if stage == ENTER:
        return segment.start + at * (enter_end - segment.start)
    if stage != CYCLE:
        return exit_begin + at * (segment.end - exit_begin)
    if segment.repetitions == 0:
        return enter_end + at * (exit_begin - enter_end)
    begin, length = repetition_span(segment, draws, number)
    return begin + at * length


@kernel
def mark_intervals(segment: Segment, actions: ActionTables, draws: Array, clock: Clock, point: int, marks: Array) -> None:
    """Mark the frames that lie within a slot's stretches of one point.

    Parameters
    ----------
    slot, actions, clock : see there
    draws : float [DRAWS]
    point : int
        See :attr:`posegen.motion.tables.ActionTables.stretches`.
    marks : [frames], set to 1 there
    """
    for i in range(segment.first_interval, segment.last_interval):
        if int(actions.intervals[i, 0]) != point:
            continue
        stage = int(actions.intervals[i, 1])
        for number in range(max(segment.repetitions, 1) if stage == CYCLE else 1):
            begin = interval_seconds(segment, stage, actions.intervals[i, 2], number, draws)
            end = interval_seconds(segment, stage, actions.intervals[i, 3], number, draws)
            f0 = max(0, int(np.ceil((begin - clock.first) / clock.step)))
            f1 = min(len(marks), int(np.ceil((end - clock.first) / clock.step)))
            for f in between(f0, f1):
                marks[f] = 1


@kernel
def mark_airborne(segment: Segment, draws: Array, clock: Clock, airborne: Array) -> None:
    """Mark the frames in which a jumping slot is off the ground."""
    flight = flight_seconds(segment)
    for number in range(segment.repetitions):
        for which in range(flight_count(segment)):
            lift = flight_begin(segment, draws, number, which)
            f0 = max(0, int(np.floor((lift - clock.first) / clock.step)) + 1)
            f1 = min(len(airborne), int(np.ceil((lift + flight - clock.first) / clock.step)))
            airborne[f0:f1] = True
