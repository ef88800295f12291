"""One actor of one scene: from its slots to its joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.channels import add_gait, add_layer, add_track, counter_lean, ease_posture, fill_waves, slot_series
from posegen.motion.flight import fall_freely, mark_free
from posegen.motion.gait import HARMONICS, Gaits, warp_of, warped
from posegen.motion.guided import glide, mark_guided, mark_stretches
from posegen.motion.hands import move_hands
from posegen.motion.heels import allow_bend
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, FOOT_BALL, FOOT_HEEL, nominal_leg
from posegen.motion.manner import BOUNCES, stance_share
from posegen.motion.plant import plant_and_swing
from posegen.motion.resting import rest_forearms
from posegen.motion.root import carry_height, pelvis_path, pelvis_rotation, run_rise, soften_steps
from posegen.motion.rows import BEND, GUIDED, HEADING, PHASE, RUN_HEIGHT, SPEED, TURNING, WARP, WORK, WORK2, copy_row, fill_row
from posegen.motion.state import Clock, Person, Role, Scratch, Slot, slot_of
from posegen.motion.styles import step_in_style
from posegen.motion.tables import FLIGHT, LIFTED, ActionTables
from posegen.motion.timeline import course, plan_ramps, plan_rates, slot_rates, travel
from posegen.motion.tracks import flight_begin, flight_seconds, flights, unit_of_height
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.motion.trunk import upper_body

__all__ = ["actor_motion"]

Array = NDArray[Any]

HIP, KNEE, ANKLE = (
    tuple(CHANNELS.index(f"{side}_{c}") for side in ("left", "right"))
    for c in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")
)
TILT, OBLIQUITY = CHANNELS.index("pelvis_tilt"), CHANNELS.index("pelvis_obliquity")
TRUNK_LATERAL, NECK_ROTATION = CHANNELS.index("trunk_lateral"), CHANNELS.index("neck_rotation")
SEAT_BELOW_PELVIS = 0.058
"""Surface of a seat below the pelvis joint of who sits on it, as a fraction of stature."""
LIFTED_FEET = (LIFTED["left"], LIFTED["right"])
FOOT_ROLL, LANDING_ANKLE = 0.18, 0.1
"""Shares of the leg: of its travel over a running stance half of what the rolling foot adds; height of the ankle at landing."""
SWAY_OUT = 0.025
"""By how much the pelvis is to the side of the stance leg in walking, as a share of the leg."""
SOFT_SECONDS = 0.08
"""Within which the height of a fast walker's pelvis is evened out, to either side."""
GAZE_LEAD = 0.45
"""Seconds by which the head is ahead of a turn."""


@kernel
def nominal_height(hip: Scalar, knee: Scalar, ankle: Scalar, tilt: Scalar, person: Person) -> Scalar:
    """Pelvis above the floor when a leg with these angles (turns) carries the body; metres."""
    thigh, shank, foot = -person.offsets[4, 1], -person.offsets[7, 1], person.foot
    upper = hip - tilt
    lower = upper - knee
    s, c = sin_turns(lower + ankle), cos_turns(lower + ankle)
    down = thigh * cos_turns(upper) + shank * cos_turns(lower)
    return down + foot[FOOT_ANKLE_HEIGHT] * c + max(foot[FOOT_HEEL] * s, -foot[FOOT_BALL] * s) - person.offsets[1, 1]


@kernel
def run_height(
    scratch: Scratch, slot: Slot, duty: Scalar, rate: Scalar, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits
) -> Scalar:
    """Pelvis above the floor in the middle of a stance of the near leg, in a gait with flights.

    The angles say one height. Another is the one from which the leg still reaches its print when it lands, having risen by what
    force and flight make it rise: it is lower, and the truth lies between.
    """
    stand = angles_height(scratch, slot, duty, leg, person, actions, gaits)
    period, contact = 1.0 / (rate * actions.manner[slot.kind, BOUNCES]), duty / rate
    rise = run_rise(0.0, contact, period) - run_rise(0.5 * contact, contact, period)
    ahead = max(0.5 * slot.speed * contact - FOOT_ROLL * leg, 0.0)
    reach = np.sqrt(max(leg * leg - ahead * ahead, 0.25 * leg * leg)) + LANDING_ANKLE * leg - person.offsets[1, 1] - rise
    return 0.15 * stand + 0.85 * min(stand, reach)


@kernel
def angles_height(
    scratch: Scratch, slot: Slot, duty: Scalar, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits
) -> Scalar:
    """Pelvis above the floor when the near leg stands with the angles that a gait slot has in the middle of its stance."""
    side = slot.kind % 2
    warp = warp_of(duty) if actions.manner[slot.kind, BOUNCES] == 2 else 0.0
    series, angles = scratch.series, scratch.angles
    channels = (HIP[side], KNEE[side], ANKLE[side], TILT)
    for i in range(4):
        angles[i] = person.neutral[channels[i]]
        if not slot_series(slot, leg, person, actions, gaits, channels[i], series):
            continue
        angles[i] = series[0]
        for k in range(HARMONICS):
            at = (warped(0.5 * duty, warp) + 0.5 * side) * (k + 1)
            angles[i] += series[1 + k] * cos_turns(at) + series[1 + HARMONICS + k] * sin_turns(at)
    return nominal_height(angles[0], angles[1], angles[2], angles[3], person)


@kernel
def mark_airborne(slot: Slot, draws: Array, clock: Clock, airborne: Array) -> None:
    """Mark the frames in which a jumping slot is off the ground."""
    flight = flight_seconds(slot)
    for number in range(slot.repetitions):
        for which in range(flights(slot)):
            lift = flight_begin(slot, draws, number, which)
            f0 = max(0, int(np.floor((lift - clock.first) / clock.step)) + 1)
            f1 = min(len(airborne), int(np.ceil((lift + flight - clock.first) / clock.step)))
            airborne[f0:f1] = True


@kernel
def add_sway(channels: Array, sway: Array, draws: Array, clock: Clock) -> None:
    """Add postural sway and breathing: for each channel two slow sines of its own, since nobody stands still.

    `sway` is float [channels], the amplitude of each.
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
    """Lean the trunk to the inside of a curve by half of what balance asks against the turning, a = v w."""
    scale = np.float32(0.5 / GRAVITY)
    for f in range(root.shape[1]):
        row[f] += scale * root[SPEED, f] * root[TURNING, f]


@kernel
def look_ahead(root: Array, row: Array, frames_ahead: int) -> None:
    """Turn the neck to where the heading will be: gaze leads a turn (Grasso 1998)."""
    frames = root.shape[1]
    most = np.float32(0.12)
    for f in range(frames):
        ahead = root[HEADING, min(f + frames_ahead, frames - 1)] - root[HEADING, f]
        row[f] += np.float32(0.6) * min(max(ahead, -most), most)


@kernel
def walk_the_path(
    scratch: Scratch, role: Role, person: Person, actions: ActionTables, leg: Scalar, clock: Clock, margin: int
) -> None:
    """Fill the root's rows of speed, phase, heading and path from the base slots; `leg` is the height of the hip in metres.

    `scratch.rates[0]` has the strides a second of each base slot then.
    """
    base = role.base
    gait, manner, ramps = scratch.gaits[:base], scratch.manners[:base], scratch.ramps[:base]
    rate, turning = scratch.rates[0, :base], scratch.rates[1, :base]
    ramps[:] = rate[:] = turning[:] = 0.0
    for k in range(base):
        gait[k] = slot_of(role, k).gait
        copy_row(actions.manner[role.kinds[k]], 0, manner.shape[1], manner[k])
        step_in_style(manner[k], gait[k], role.numbers[k, 5], person.style)
    start, end, speed = role.numbers[:base, 0], role.numbers[:base, 1], role.numbers[:base, 5]
    slot_rates(gait, manner, start, end, speed, role.turn, leg, rate)
    plan_ramps(gait, manner, start, end, speed, rate, ramps)
    phase = plan_rates(gait, manner, start, end, role.turn, role.phase, role.left_leads, ramps, rate, turning)
    course(gait, manner, speed, rate, turning, ramps, clock.first, clock.step, scratch.root, scratch.weights)
    for k in range(base):
        if gait[k] == 0 and speed[k] > 0:
            glide(slot_of(role, k), clock, scratch.root[SPEED])
    travel(scratch.root, margin, clock.step, phase, role.heading, role.x, role.z)


@kernel
def fill_channels(
    scratch: Scratch,
    role: Role,
    person: Person,
    actions: ActionTables,
    gaits: Gaits,
    leg: Scalar,
    stand: Scalar,
    clock: Clock,
) -> None:
    """Fill the channels from posture, sway and all slots, the height of gaits with flights, and mark the frames of jumps.

    `leg` is the length of a leg and `stand` the height of the pelvis in standing, in metres.
    """
    fill_row(scratch.root[RUN_HEIGHT], np.float32(0.0))
    seat = role.seat_height + SEAT_BELOW_PELVIS * person.stature if role.seat_height > 0 else stand - 0.5 * leg
    fill_row(scratch.airborne, False)
    for c in range(len(scratch.channels)):
        fill_row(scratch.channels[c], np.float32(person.neutral[c]))
    add_sway(scratch.channels, person.sway, person.draws, clock)
    fill_waves(scratch.root[PHASE], scratch.root[WARP], scratch.waves)
    for k in range(len(role.kinds)):
        slot = slot_of(role, k)
        if slot.start > clock.first + scratch.root.shape[1] * clock.step:
            continue  # Planned for faster variants, which show more of the scene.
        if k >= role.base:
            add_layer(scratch, slot, actions, person, clock, scratch.root[WORK], scratch.root[WORK2])
            counter_lean(scratch.channels, slot, actions, clock, scratch.root[WORK2])
        elif slot.gait:
            add_gait(scratch, k, slot, leg, person, actions, gaits, scratch.root[WORK])
            if actions.manner[slot.kind, BOUNCES] > 0:
                rate = scratch.rates[0, k]
                duty = stance_share(slot.gait, slot.speed, rate, actions.manner[slot.kind])
                height = np.float32(run_height(scratch, slot, duty, rate, leg, person, actions, gaits))
                for f in range(scratch.root.shape[1]):
                    scratch.root[RUN_HEIGHT, f] += scratch.weights[k, f] * height
        else:
            add_track(scratch, slot, actions, person.draws, leg, unit_of_height(slot, leg, seat, stand), clock)
            if slot.support == FLIGHT:
                mark_airborne(slot, person.draws, clock, scratch.airborne)
            ease_posture(scratch.channels, slot, actions, person, clock, scratch.root[WORK])
    lean_into_curves(scratch.root, scratch.channels[TRUNK_LATERAL])
    look_ahead(scratch.root, scratch.channels[NECK_ROTATION], int(GAZE_LEAD / clock.step))


@kernel
def lift_feet(scratch: Scratch, role: Role, person: Person, actions: ActionTables, clock: Clock) -> bool:
    """Mark which frames each foot is off the ground in, and how far ankles bend; tells whether some action places the feet."""
    guided = False
    fill_row(scratch.root[GUIDED], np.float32(0.0))
    fill_row(scratch.root[BEND], np.float32(0.0))
    for side in range(2):
        copy_row(scratch.airborne, 0, len(scratch.airborne), scratch.lifted[side])
    for k in range(role.base):
        slot = slot_of(role, k)
        if slot.guided:
            guided = True
            mark_guided(slot, clock, scratch.root[GUIDED])
        if actions.bend[slot.kind] > 0:
            allow_bend(slot, actions.bend[slot.kind], clock, scratch.root[BEND])
        for side in range(2):
            mark_stretches(slot, actions, person.draws, clock, LIFTED_FEET[side], scratch.lifted[side])
    return guided


@kernel
def actor_motion(
    scratch: Scratch, role: Role, person: Person, actions: ActionTables, gaits: Gaits, clock: Clock, margin: int, frames: int
) -> None:
    """Work out one actor over scratch frames `margin` to `margin + frames`.

    The results are in `scratch`: all joints but the legs' in `joints`, the legs' in `legs`, and which feet are planted.
    """
    offsets, neutral = person.offsets, person.neutral
    leg = -float(offsets[4, 1] + offsets[7, 1])
    walk_the_path(scratch, role, person, actions, leg + float(person.foot[FOOT_ANKLE_HEIGHT]), clock, margin)
    stand = nominal_height(neutral[HIP[0]], neutral[KNEE[0]], neutral[ANKLE[0]], neutral[TILT], person)
    fill_channels(scratch, role, person, actions, gaits, leg, stand, clock)
    channels = scratch.channels
    for side in range(2):
        hip, knee, ankle = channels[HIP[side]], channels[KNEE[side]], channels[ANKLE[side]]
        nominal_leg(hip, knee, ankle, channels[TILT], -offsets[4, 1], -offsets[7, 1], person.foot, scratch.legs[side])
    inward = float(offsets[1, 0]) + SWAY_OUT * leg - person.widths[0]
    lean = 0.5 * inward * inward / leg
    carry_height(scratch.root, scratch.legs, channels[TILT], channels[OBLIQUITY], -offsets[1, 1], offsets[1, 0], lean, stand)
    soften_steps(scratch.root, int(SOFT_SECONDS / clock.step + 0.5))
    pelvis_path(scratch.root, channels, leg)
    pelvis_rotation(scratch.root, channels, scratch.turns[6])
    guided = lift_feet(scratch, role, person, actions, clock)
    plant_and_swing(scratch, person, role.steps, guided, clock.step, margin, frames)
    upper_body(channels, scratch.turns[6], offsets, scratch.joints, scratch.turns)
    move_hands(scratch, role, person, actions, clock, margin, margin + frames)
    rest_forearms(scratch, person, margin, margin + frames)
    mark_free(scratch.root, scratch.planted, scratch.airborne)
    fall_freely(scratch.airborne, margin, margin + frames, clock.step, scratch.joints, scratch.legs)
