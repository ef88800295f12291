"""From slots to channels: every anatomical angle and root quantity over the frames.

A channel starts from the person's neutral posture. Gait slots pull it to the gait's curves by their weight; other base slots
add the track of their key poses and harmonics; layered slots take over the channels that they own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.gait import HARMONICS, HOP, RUN, RUN_SPEEDS, SKIP, STEP, WALK, Gaits, warped
from posegen.motion.manner import AHEAD
from posegen.motion.rows import between
from posegen.motion.state import Clock, Person, Scratch, Slot
from posegen.motion.styles import SWING, add_bounce, bounces
from posegen.motion.tables import FLOOR, ActionTables
from posegen.motion.tracks import FIRST_HAND, fill_times, fill_track, hold_ends, knots_of_channel, slot_stages
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step

__all__ = [
    "add_gait",
    "add_layer",
    "add_own_harmonics",
    "add_track",
    "counter_lean",
    "ease_posture",
    "fill_hold",
    "fill_waves",
    "slot_series",
]

Array = NDArray[Any]

FIRST_ARM = CHANNELS.index("left_collar_elevation") - CHANNELS.index("left_hip_flexion")
FIRST_LEFT, FIRST_RIGHT = CHANNELS.index("left_hip_flexion"), CHANNELS.index("right_hip_flexion")
TRUNK_FLEXION, TRUNK_LATERAL = CHANNELS.index("trunk_flexion"), CHANNELS.index("trunk_lateral")
SHOULDER_FLEXION, SHOULDER_ABDUCTION = (
    tuple(CHANNELS.index(f"{side}_shoulder_{c}") for side in ("left", "right")) for c in ("flexion", "abduction")
)
HANGING = 0.05
"""Turns that an arm is off the trunk before it counts as raised."""
LEAN_ASIDE, LEAN_BACK = 0.04, 0.03
"""By how much the trunk leans away for each turn that an arm is raised aside, or ahead: 3 degrees for one held out."""
MOST_RUNNING_SWING = 1.15
"""Factor on the swing of a runner's arms at most: that of a fast one takes the upper arm to the end of its range behind."""


@kernel
def fill_waves(phase: Array, warp: Array, waves: Array) -> None:
    """Cosines and sines of the multiples of a warped phase, by the addition theorem.

    Parameters
    ----------
    phase, warp : float32 [frames]
        Turns; see :func:`posegen.motion.gait.warped`.
    waves : float32 [2 * HARMONICS, frames], written
        Cosines of 1 to HARMONICS times the phase, then sines.
    """
    frames = len(phase)
    cosine, sine = waves[0], waves[HARMONICS]
    for f in range(frames):
        at = warped(phase[f], warp[f]) if warp[f] != 0 else phase[f]
        cosine[f], sine[f] = cos_turns(at), sin_turns(at)
    for k in range(1, HARMONICS):
        c, s, c_next, s_next = waves[k - 1], waves[HARMONICS + k - 1], waves[k], waves[HARMONICS + k]
        for f in range(frames):
            c_next[f] = c[f] * cosine[f] - s[f] * sine[f]
            s_next[f] = s[f] * cosine[f] + c[f] * sine[f]


@kernel
def gait_series(gait: int, speed: Scalar, leg: Scalar, gaits: Gaits, channel: int, series: Array) -> None:
    """Fourier series of one channel at a speed: linear between the published speeds."""
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
    """Pull a channel to its gait series by `weight`, which is above 0 between frames `first` and `last` alone.

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
def hangs(channel: int) -> bool:
    """Whether a channel is one of an arm, whose posture is that of an arm that hangs."""
    return channel >= FIRST_LEFT and (channel - FIRST_LEFT) % (FIRST_RIGHT - FIRST_LEFT) >= FIRST_ARM


@kernel
def slot_series(
    slot: Slot, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits, channel: int, series: Array
) -> bool:
    """Series of one channel in a gait slot: its gait's curve, wider in arms that swing more, with what style and action add.

    Returns whether the slot moves the channel at all.
    """
    kind = slot.kind
    swings = gaits.moved[channel] and not (actions.held[kind, channel] or slot.gait in (HOP, SKIP))
    bouncing = slot.gait == WALK and bounces(channel, person.style)
    if not (swings or actions.held[kind, channel] or actions.used[kind, channel] or bouncing):
        return False
    if swings:
        gait_series(slot.gait, slot.speed * abs(actions.manner[kind, AHEAD]), leg, gaits, channel, series)
        if hangs(channel):
            swing = slot.amplitude * (1.0 + 0.15 * person.energy) * person.style[SWING]
            # Runners swing their arms about as far as shoulders go, whoever they are.
            size = np.float32(swing if slot.gait == WALK else min(swing, MOST_RUNNING_SWING))
            for n in range(1, len(series)):
                series[n] *= size
        series[0] += np.float32(person.posture[channel])
    else:
        series[:] = np.float32(0.0)
        series[0] = np.float32(person.neutral[channel])
    if bouncing:
        add_bounce(channel, person.style, series, 1 + HARMONICS)
    series[0] += np.float32(actions.pose[kind, channel])
    for i in range(slot.first_series, slot.last_series):
        if actions.series_channel[i] == channel:
            for n in range(actions.series_cos.shape[1]):
                series[1 + n] += np.float32(actions.series_cos[i, n])
                series[1 + HARMONICS + n] += np.float32(actions.series_sin[i, n])
    return True


@kernel
def add_gait(
    scratch: Scratch, k: int, slot: Slot, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits, sums: Array
) -> None:
    """Pull the channels to the curves of gait slot `k` by its weight; `sums` is float32 [frames], scratch."""
    series, weight = scratch.series, scratch.weights[k]
    first, last = 0, len(weight)
    while first < last and weight[first] <= 0:
        first += 1
    while last > first and weight[last - 1] <= 0:
        last -= 1
    if first == last:
        return
    for c in range(len(scratch.channels)):
        if slot_series(slot, leg, person, actions, gaits, c, series):
            add_series(scratch.channels[c], weight, scratch.waves, series, person.neutral[c], first, last, sums)


@kernel
def add_harmonics(row: Array, cosines: Array, sines: Array, slot: Slot, wander: Scalar, clock: Clock) -> None:
    """Add a series over the slot's cycle, fading in before the end of the first stage and out behind the begin of the last.

    `wander` is where, in turns, a slow change of its size by 12 per cent begins.
    """
    entered, leaving = slot_stages(slot)
    cycle = (leaving - entered) / max(slot.repetitions, 1)
    fade_in, fade_out = 0.6 * (entered - slot.start) + 1e-3, 0.6 * (slot.end - leaving) + 1e-3
    f0 = max(0, int(np.ceil((slot.start - clock.first) / clock.step)))
    f1 = min(len(row), int(np.ceil((slot.end - clock.first) / clock.step)))
    for f in range(f0, f1):
        t = clock.first + f * clock.step
        x = np.float32((t - entered) / cycle)
        value = np.float32(0.0)
        for k in range(len(cosines)):
            if cosines[k] != 0 or sines[k] != 0:
                turns = np.float32(k + 1) * x
                value += np.float32(cosines[k]) * cos_turns(turns) + np.float32(sines[k]) * sin_turns(turns)
        fade = smooth_step((t - entered + fade_in) / fade_in) * smooth_step((leaving + fade_out - t) / fade_out)
        wandering = np.float32(1.0) + np.float32(0.12) * sin_turns(np.float32(0.37) * x + np.float32(wander))
        row[f] += np.float32(slot.amplitude) * fade * wandering * value


@kernel
def add_own_harmonics(row: Array, slot: Slot, actions: ActionTables, draws: Array, c: int, clock: Clock) -> None:
    """Add what a slot's action repeats in channel `c`."""
    for i in range(slot.first_series, slot.last_series):
        if actions.series_channel[i] == c:
            add_harmonics(row, actions.series_cos[i], actions.series_sin[i], slot, draws[i % len(draws)], clock)


@kernel
def add_track(
    scratch: Scratch, slot: Slot, actions: ActionTables, draws: Array, leg: Scalar, height_unit: Scalar, clock: Clock
) -> None:
    """Add one base slot's key poses and harmonics to the channels but the hands', which wait for the body."""
    fill_times(slot, actions, draws, scratch.times)
    for c in range(FIRST_HAND):
        if actions.used[slot.kind, c]:
            n = knots_of_channel(
                slot, actions, draws, np.float64(leg), c, height_unit, scratch.times, scratch.knots, scratch.moving
            )
            fill_track(scratch.channels[c], scratch.knots, n, clock)
    for c in range(FIRST_HAND):
        add_own_harmonics(scratch.channels[c], slot, actions, draws, c, clock)


@kernel
def fill_hold(row: Array, slot: Slot, first: int, last: int, clock: Clock) -> None:
    """Write by how much a layered slot has taken over: it rises in the first stage and falls in the last."""
    entered, leaving = slot_stages(slot)
    begin, rise = (clock.first - slot.start) / (entered - slot.start), clock.step / (entered - slot.start)
    end, fall = (slot.end - clock.first) / (slot.end - leaving), clock.step / (slot.end - leaving)
    for f in between(first, last):
        row[f] = smooth_step(begin + f * rise) * smooth_step(end - f * fall)


@kernel
def ease_posture(channels: Array, slot: Slot, actions: ActionTables, person: Person, clock: Clock, weight: Array) -> None:
    """Take a style's posture back where a base slot has its own: in arms that it moves, and on the floor, which bears who lies.

    `weight` is float32 [frames], scratch.
    """
    f0 = max(0, int(np.ceil((slot.start - clock.first) / clock.step)))
    f1 = min(channels.shape[1], int(np.ceil((slot.end - clock.first) / clock.step)))
    filled = False
    for c in range(FIRST_HAND):
        less = np.float32(person.posture[c])
        if less == 0 or not (slot.support == FLOOR or (hangs(c) and actions.used[slot.kind, c])):
            continue
        if not filled and slot.enter > 0 and slot.exit > 0:
            fill_hold(weight, slot, f0, f1, clock)
        elif not filled:
            weight[f0:f1] = np.float32(1.0)
        filled = True
        for f in between(f0, f1):
            channels[c, f] -= weight[f] * less


@kernel
def counter_lean(channels: Array, slot: Slot, actions: ActionTables, clock: Clock, weight: Array) -> None:
    """Lean the trunk away from arms that a layer has raised aside or ahead, unless the layer moves the trunk itself.

    An arm is a twentieth of the body: held out it brings the centre of mass nearly 2 cm to its side, and the trunk makes up for
    about half of that. `weight` is float32 [frames], as :func:`add_layer` leaves it.
    """
    kind = slot.kind
    f0 = max(0, int(np.ceil((slot.start - clock.first) / clock.step)))
    f1 = min(channels.shape[1], int(np.ceil((slot.end - clock.first) / clock.step)))
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
    scratch: Scratch, slot: Slot, actions: ActionTables, person: Person, clock: Clock, row: Array, weight: Array
) -> None:
    """Let a layered slot take over the channels that it owns: from what lies below to its key poses, and back.

    `row` and `weight` are float32 [frames], scratch.
    """
    a, channels, draws = slot.kind, scratch.channels, person.draws
    f0 = max(0, int(np.ceil((slot.start - clock.first) / clock.step)))
    f1 = min(channels.shape[1], int(np.ceil((slot.end - clock.first) / clock.step)))
    fill_hold(weight, slot, f0, f1, clock)
    size = 1.0 + 0.4 * (slot.amplitude - 1.0)
    keyed = slot.last_key > slot.first_key
    if keyed:
        fill_times(slot, actions, draws, scratch.times)
    for c in range(FIRST_HAND):
        if not actions.owned[a, c]:
            continue
        usual = person.neutral[c] - person.posture[c] if hangs(c) and actions.used[a, c] else person.neutral[c]
        if keyed and actions.used[a, c]:
            row[f0:f1] = np.float32(usual)
            n = knots_of_channel(slot, actions, draws, 1.0, c, 1.0, scratch.times, scratch.knots, scratch.moving)
            hold_ends(scratch.knots, scratch.moving, n)
            fill_track(row, scratch.knots, n, clock)
        else:
            row[f0:f1] = np.float32(usual + actions.pose[a, c] * size)
        add_own_harmonics(row, slot, actions, draws, c, clock)
        for f in between(f0, f1):
            channels[c, f] += weight[f] * (row[f] - channels[c, f])
