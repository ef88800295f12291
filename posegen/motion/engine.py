"""Motion of planned scenes: the public functions, and the kernels that run over samples and actors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import ABSENT_ACTION, ABSENT_CONTACT
from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.motion.arms import clear_thighs, place_hands
from posegen.motion.channels import (
    NECK_ROTATION,
    TRUNK_LATERAL,
    add_gait,
    add_layer,
    add_sway,
    add_track,
    counter_lean,
    fill_waves,
    lean_into_curves,
    look_ahead,
    remove_style_posture,
)
from posegen.motion.feet.footsteps import mark_lifted_feet, solve_legs
from posegen.motion.feet.legs import nominal_leg
from posegen.motion.gait.steps import BOUNCES, Gaits, stance_share
from posegen.motion.key_poses import mark_airborne, mark_intervals, root_height_unit, stage_bounds
from posegen.motion.library_tables import FLIGHT, SCALARS, SEAT, ActionTables, library_tables, style_tables
from posegen.motion.pelvis import (
    DORSIFLEXION,
    HIP_FLEXION,
    KNEE_FLEXION,
    OBLIQUITY,
    TILT,
    fall_freely,
    fill_pelvis_height,
    mark_flight,
    nominal_height,
    pelvis_path,
    pelvis_rotation,
    run_height,
    soften_steps,
)
from posegen.motion.placement import face_partners
from posegen.motion.scene_arrays import PersonArrays, Roles, person_arrays, person_at, role_arrays, role_at
from posegen.motion.timeline import fill_timeline
from posegen.motion.trunk import place_upper_body
from posegen.motion.workspace import (
    ANKLE_X,
    BALL_X,
    FOOT_ANKLE_HEIGHT,
    HEEL_HEIGHT,
    HIP_X,
    KNEE_X,
    MARGIN_SECONDS,
    PHASE,
    RUN_HEIGHT,
    TOE_HEIGHT,
    WARP,
    WORK,
    WORK2,
    Clock,
    Person,
    Role,
    Workspace,
    between,
    copy_row,
    empty_workspace,
    fill_row,
    segment_at,
    to_grid,
)
from posegen.scene import Scenes
from posegen.skeleton import CONTACTS, JOINTS, PARTS

Array = NDArray[Any]

SEAT_BELOW_PELVIS = 0.058
"""Surface of a seat below the pelvis joint of who sits on it, as a fraction of stature."""
SWAY_OUT = 0.025
"""By how much the pelvis is to the side of the stance leg in walking, as a share of the leg."""
SOFT_SECONDS = 0.08
"""Within which the height of a fast walker's pelvis is evened out, to either side."""
GAZE_LEAD = 0.45
"""Seconds by which the head is ahead of a turn."""
TOUCHING = 0.005
"""A planted foot's heel or toe touches while it is less than this above the floor, in metres."""
LEG_JOINTS = np.array(
    [[[1, HIP_X], [4, KNEE_X], [7, ANKLE_X], [10, BALL_X]], [[2, HIP_X], [5, KNEE_X], [8, ANKLE_X], [11, BALL_X]]]
)
SEAT_POINT = CONTACTS.index("seat")


@dataclass(frozen=True)
class Motion:
    """What the actors do in each variant of a scene, frame by frame.

    Attributes
    ----------
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres, on the grid; NaN where absent.
    action : uint16 [n, variants, actors, frames, parts]
        Index into the library's actions; ABSENT_ACTION where absent.
    contact : uint8 [n, variants, actors, frames, contacts]
        1 while the point touches; ABSENT_CONTACT where absent.
    """

    joints: Array
    action: Array
    contact: Array


@kernel
def animate_scenes(
    roles: Roles,
    cast: PersonArrays,
    actions: ActionTables,
    gaits: Gaits,
    leg_joints: Array,
    work: Workspace,
    step: Scalar,
    margin: int,
    variant: int,
    joints: Array,
    action: Array,
    contact: Array,
) -> None:
    """Run over samples and actors with one set of scratch arrays."""
    n, actors, frames = joints.shape[0], joints.shape[2], joints.shape[3]
    clock = Clock(-margin * step, step)
    for i in range(n):
        if roles.meets[i] >= 0:
            one, other = (role_at(roles, i, 0), person_at(cast, i, 0)), (role_at(roles, i, 1), person_at(cast, i, 1))
            places = (roles.x[i], roles.z[i], roles.heading[i], roles.points[i])
            face_partners(work, one, other, actions, clock, margin, roles.meets[i], roles.behind[i], roles.apart[i], places)
        for who in range(actors):
            length = roles.length[i] if who < roles.actors[i] else 0
            if length > 0:
                role = role_at(roles, i, who)
                actor_motion(work, role, person_at(cast, i, who), actions, gaits, clock, margin, frames)
                write_joints(work.joints, work.legs, leg_joints, margin, joints[i, variant, who, :length])
                write_contacts(work.legs, work.contact, margin, contact[i, variant, who, :length])
                shown = (action[i, variant, who, :length], contact[i, variant, who, :length])
                write_segments(role, actions, cast.draws[i, who], step, shown[0], shown[1])
            joints[i, variant, who, length:] = np.nan
            action[i, variant, who, length:] = ABSENT_ACTION
            contact[i, variant, who, length:] = ABSENT_CONTACT


def empty_motion(n: int, variants: int, actors: int, frames: int) -> Motion:
    """Room for motion, not yet written."""
    shape = (n, variants, actors, frames)
    return Motion(
        np.empty((*shape, len(JOINTS), 3), np.float32),
        np.empty((*shape, len(PARTS)), np.uint16),
        np.empty((*shape, len(CONTACTS)), np.uint8),
    )


def animate(scenes: Scenes, library: Library, frames: int, fps: int) -> Motion:
    """Carry out planned scenes.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Of the actions that the scenes index.
    frames : int
        Of the arrays; a sample whose length is smaller is absent behind it.
    fps : int
        Frames a second.

    Returns
    -------
    Motion
        Arrays without an axis for variants.

    Raises
    ------
    ValueError
        If a scene is longer than `frames`.
    """
    motion = empty_motion(len(scenes), 1, scenes.heading.shape[1], frames)
    animate_into(scenes, library, fps, motion, 0)
    return Motion(motion.joints[:, 0], motion.action[:, 0], motion.contact[:, 0])


def animate_into(scenes: Scenes, library: Library, fps: int, motion: Motion, variant: int) -> None:
    """Carry out planned scenes as one variant of `motion`.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Of the actions that the scenes index.
    fps : int
        Frames a second.
    motion : Motion
        Its variant `variant` is written; behind a sample's length it is absent.

    Raises
    ------
    ValueError
        If a scene is longer than `motion`.
    """
    frames = motion.joints.shape[3]
    if len(scenes) and int(scenes.length.max()) > frames:
        msg = f"a scene of {int(scenes.length.max())} frames does not fit into {frames}; ask for more frames or plan it shorter"
        raise ValueError(msg)
    tables = library_tables(library)
    margin = int(np.ceil(MARGIN_SECONDS * fps))
    # Start, end of the first stage and begin of the last, end, and all keys once for each repetition.
    scalars = tables.actions.scalars
    keys = int((scalars[:, SCALARS.index("last_key")] - scalars[:, SCALARS.index("first_key")]).max(initial=0))
    knots = 4 + keys * max(1, int(scenes.repetitions.max(initial=0)))
    work = empty_workspace(frames + 2 * margin, scenes.action.shape[2], knots)
    arrays = (motion.joints, motion.action, motion.contact)
    roles, cast = role_arrays(scenes, scalars), person_arrays(scenes, style_tables(library))
    animate_scenes(roles, cast, tables.actions, tables.gaits, LEG_JOINTS, work, 1.0 / fps, margin, variant, *arrays)


@kernel
def fill_channels(
    work: Workspace,
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
    fill_row(work.root[RUN_HEIGHT], np.float32(0.0))
    seat = role.seat_height + SEAT_BELOW_PELVIS * person.stature if role.seat_height > 0 else stand - 0.5 * leg
    fill_row(work.airborne, False)
    for c in range(len(work.channels)):
        fill_row(work.channels[c], np.float32(person.neutral[c]))
    add_sway(work.channels, person.sway, person.draws, clock)
    fill_waves(work.root[PHASE], work.root[WARP], work.waves)
    for k in range(len(role.kinds)):
        segment = segment_at(role, k)
        if segment.start > clock.first + work.root.shape[1] * clock.step:
            continue  # Planned for faster variants, which show more of the scene.
        if k >= role.base:
            add_layer(work, segment, actions, person, clock, work.root[WORK], work.root[WORK2])
            counter_lean(work.channels, segment, actions, clock, work.root[WORK2])
        elif segment.gait:
            add_gait(work, k, segment, leg, person, actions, gaits, work.root[WORK])
            if actions.stride[segment.kind, BOUNCES] > 0:
                rate = work.rates[0, k]
                duty = stance_share(segment.gait, segment.speed, rate, actions.stride[segment.kind])
                height = np.float32(run_height(work, segment, duty, rate, leg, person, actions, gaits))
                for f in range(work.root.shape[1]):
                    work.root[RUN_HEIGHT, f] += work.weights[k, f] * height
        else:
            add_track(work, segment, actions, person.draws, leg, root_height_unit(segment, leg, seat, stand), clock)
            if segment.support == FLIGHT:
                mark_airborne(segment, person.draws, clock, work.airborne)
            remove_style_posture(work.channels, segment, actions, person, clock, work.root[WORK])
    lean_into_curves(work.root, work.channels[TRUNK_LATERAL])
    look_ahead(work.root, work.channels[NECK_ROTATION], int(GAZE_LEAD / clock.step))


@kernel
def actor_motion(
    work: Workspace, role: Role, person: Person, actions: ActionTables, gaits: Gaits, clock: Clock, margin: int, frames: int
) -> None:
    """Work out one actor over scratch frames `margin` to `margin + frames`.

    The results are in `scratch`: all joints but the legs' in `joints`, the legs' in `legs`, and which feet are planted.
    """
    offsets, neutral = person.offsets, person.neutral
    leg = -float(offsets[4, 1] + offsets[7, 1])
    fill_timeline(work, role, person, actions, leg + float(person.foot[FOOT_ANKLE_HEIGHT]), clock, margin)
    stand = nominal_height(neutral[HIP_FLEXION[0]], neutral[KNEE_FLEXION[0]], neutral[DORSIFLEXION[0]], neutral[TILT], person)
    fill_channels(work, role, person, actions, gaits, leg, stand, clock)
    channels = work.channels
    for side in range(2):
        hip, knee, ankle = channels[HIP_FLEXION[side]], channels[KNEE_FLEXION[side]], channels[DORSIFLEXION[side]]
        nominal_leg(hip, knee, ankle, channels[TILT], -offsets[4, 1], -offsets[7, 1], person.foot, work.legs[side])
    inward = float(offsets[1, 0]) + SWAY_OUT * leg - person.widths[0]
    lean = 0.5 * inward * inward / leg
    fill_pelvis_height(work.root, work.legs, channels[TILT], channels[OBLIQUITY], -offsets[1, 1], offsets[1, 0], lean, stand)
    soften_steps(work.root, int(SOFT_SECONDS / clock.step + 0.5))
    pelvis_path(work.root, channels, leg)
    pelvis_rotation(work.root, channels, work.turns[6])
    guided = mark_lifted_feet(work, role, person, actions, clock)
    solve_legs(work, person, role.steps, guided, clock.step, margin, frames)
    place_upper_body(channels, work.turns[6], offsets, work.joints, work.turns)
    place_hands(work, role, person, actions, clock, margin, margin + frames)
    clear_thighs(work, person, margin, margin + frames)
    mark_flight(work.root, work.contact, work.airborne)
    fall_freely(work.airborne, margin, margin + frames, clock.step, work.joints, work.legs)


@kernel
def write_joints(joints: Array, legs: Array, leg_joints: Array, margin: int, out: Array) -> None:
    """Put rows of joints, which are changed, onto the grid; `out` is float32 [frames, 22, 3]."""
    for side in range(2):
        for i in range(4):
            j, row = leg_joints[side, i, 0], leg_joints[side, i, 1]
            for k in range(3):
                copy_row(legs[side, row + k], margin, margin + len(out), joints[j, k])
    # Row by row, so that vectors are rounded; then frame by frame, so that what is written lies side by side.
    for j in range(out.shape[1]):
        for k in range(3):
            row = joints[j, k]
            for f in between(margin, margin + len(out)):
                row[f] = to_grid(row[f])
    for f in range(len(out)):
        g = np.uintp(margin + f)
        for j in range(out.shape[1]):
            out[f, j, 0], out[f, j, 1], out[f, j, 2] = joints[j, 0, g], joints[j, 1, g], joints[j, 2, g]


@kernel
def write_contacts(legs: Array, contact: Array, margin: int, out: Array) -> None:
    """Label heels and toes; `out` is uint8 [frames, contacts]."""
    out[:] = 0
    for f in range(len(out)):
        for side in range(2):
            if contact[side, margin + f]:
                out[f, 2 * side] = legs[side, HEEL_HEIGHT, margin + f] < np.float32(TOUCHING)
                out[f, 2 * side + 1] = legs[side, TOE_HEIGHT, margin + f] < np.float32(TOUCHING)


@kernel
def write_segments(role: Role, actions: ActionTables, draws: Array, step: Scalar, action: Array, contact: Array) -> None:
    """Label each frame's parts with the slot that moves them, and what touches by what the slots say."""
    frames = len(action)
    for k in range(len(role.kinds)):
        segment = segment_at(role, k)
        f0 = max(0, int(np.ceil(segment.start / step - 1e-6)))
        f1 = min(frames, int(np.ceil(segment.end / step - 1e-6)))
        for p in range(action.shape[1]):
            if actions.parts[segment.kind, p] or k < role.base:
                action[f0:f1, p] = segment.kind // 2
        if segment.support == SEAT:
            enter_end, exit_begin = stage_bounds(segment)
            contact[
                max(0, int(np.ceil(enter_end / step))) : min(frames, max(0, int(np.ceil(exit_begin / step)))), SEAT_POINT
            ] = 1
        if segment.last_interval > segment.first_interval:
            for point in range(4, contact.shape[1]):
                mark_intervals(segment, actions, draws, Clock(0.0, step), point, contact[:, point])
