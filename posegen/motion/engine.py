"""Motion of planned scenes: the public functions, and the kernels that run over samples and actors.

Each kernel called here is defined in the module of its body part. Planning decides the scenes; see :mod:`foundations.scene`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.constants import ABSENT_ACTION, ABSENT_CONTACT, FRAME_SLACK, GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.scene import Scenes
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARTS
from posegen.library.load import Library
from posegen.motion import rows, trunk
from posegen.motion.arms import place_hand, raise_wrists
from posegen.motion.channels import fill_channels
from posegen.motion.clearance import clear_body, clear_forearms, clear_thighs
from posegen.motion.footsteps import lower_pelvis, mark_lifted_feet, place_stance_feet, swing_leg
from posegen.motion.gait_channels import standing_height
from posegen.motion.key_poses import mark_intervals, stage_bounds
from posegen.motion.legs import limit_stance_ankles, nominal_leg
from posegen.motion.library_tables import FALLING, SEAT, ActionTables, library_tables
from posegen.motion.placement import face_partners
from posegen.motion.scene_arrays import Roles, SceneArrays, person_at, role_at, scene_arrays
from posegen.motion.stances import plan_stances
from posegen.motion.timeline import fill_timeline
from posegen.motion.workspace import (
    MARGIN_SECONDS,
    Clock,
    Person,
    Role,
    Workspace,
    between,
    copy_row,
    empty_workspace,
    frame_window,
    leg_length,
    to_grid,
)

TOUCHING = 0.005
"""Height in metres below which the heel or toe of a foot in contact touches."""
LEG_JOINTS = (rows.HIP_X, rows.KNEE_X, rows.ANKLE_X, rows.BALL_X)
"""Rows of the joints 1, 4, 7 and 10 (left leg) and 2, 5, 8 and 11 (right leg)."""
SEAT_POINT = CONTACTS.index("seat")
HEAD = JOINTS.index("head")
SHOULDERS, ELBOWS, WRISTS = (
    (JOINTS.index(f"left_{name}"), JOINTS.index(f"right_{name}")) for name in ("shoulder", "elbow", "wrist")
)
UPRIGHT = (rows.HIP_Y, rows.KNEE_Y, rows.ANKLE_Y, rows.BALL_Y, rows.HEEL_HEIGHT, rows.TOE_HEIGHT)


class Motion(NamedTuple):
    """Joints and labels of each variant of n scenes.

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


def empty_motion(n: int, variants: int, actors: int, frames: int) -> Motion:
    """Return uninitialised arrays for motion."""
    shape = (n, variants, actors, frames)
    return Motion(
        np.empty((*shape, len(JOINTS), 3), np.float32),
        np.empty((*shape, len(PARTS)), np.uint16),
        np.empty((*shape, len(CONTACTS)), np.uint8),
    )


def animate(scenes: Scenes, library: Library, frames: int, fps: int) -> Motion:
    """Compute the motion of planned scenes.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Library whose actions the scenes index.
    frames : int
        Number of frames of the arrays; frames behind the length of a sample are absent.
    fps : int
        Frames per second.

    Returns
    -------
    Motion
        Arrays without the axis of variants.

    Raises
    ------
    ValueError
        If a scene is longer than `frames`.
    """
    motion = empty_motion(len(scenes), 1, scenes.heading.shape[1], frames)
    animate_into(scenes, library, fps, motion, 0)
    return Motion(motion.joints[:, 0], motion.action[:, 0], motion.contact[:, 0])


def animate_into(
    scenes: Scenes,
    library: Library,
    fps: int,
    motion: Motion,
    variant: int,
    like: SceneArrays | None = None,
    *,
    rounded: bool = True,
) -> SceneArrays:
    """Compute the motion of planned scenes and write it as one variant of `motion`.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Library whose actions the scenes index.
    fps : int
        Frames per second.
    motion : Motion
        Arrays that are written at `variant`; frames behind the length of a sample become absent.
    variant : int
        Index of the variant.
    like : SceneArrays, optional
        Arrays of another variant of the same samples, which shares some of them.
    rounded : bool, optional
        Whether joints are rounded to the grid, as those that are stored.

    Returns
    -------
    SceneArrays

    Raises
    ------
    ValueError
        If a scene is longer than `motion`.
    """
    frames = motion.joints.shape[3]
    if len(scenes) and int(scenes.length.max()) > frames:
        msg = f"a scene has {int(scenes.length.max())} frames but the arrays have {frames}; use more frames or a shorter scene"
        raise ValueError(msg)
    tables = library_tables(library)
    margin = int(np.ceil(MARGIN_SECONDS * fps))
    # Start of the segment, end of its first stage, begin of its last stage, end, and all keys once for each repetition.
    numbers = tables.poses.numbers
    keys = int((numbers["last_key"] - numbers["first_key"]).max(initial=0))
    knots = 4 + keys * max(1, int(scenes.repetitions.max(initial=0)))
    work = empty_workspace(frames + 2 * margin, scenes.action.shape[2], knots)
    arrays, step = scene_arrays(scenes, library, like), 1.0 / fps
    clock = Clock(-margin * step, step, margin, frames)
    animate_scenes(work, arrays.roles, arrays.persons, tables, clock, motion, variant, rounded)
    return arrays


@kernel
def animate_scenes(
    work: Workspace,
    roles: Roles,
    persons: Person,
    actions: ActionTables,
    clock: Clock,
    motion: Motion,
    variant: int,
    rounded: bool,
) -> None:
    """Write joints and labels of all samples and actors as one variant of `motion`."""
    for i in range(len(motion.joints)):
        if roles.meets[i] >= 0:
            face_partners(work, roles, persons, i, actions, clock)
        for who in range(motion.joints.shape[2]):
            joints, action = motion.joints[i, variant, who], motion.action[i, variant, who]
            contact = motion.contact[i, variant, who]
            length = roles.length[i] if who < roles.actors[i] else 0
            if length > 0:
                role, person = role_at(roles, i, who), person_at(persons, i, who)
                animate_actor(work, role, person, actions, clock)
                write_joints(work.joints, work.legs, clock.margin, joints[:length], rounded)
                write_contacts(work.legs, work.contact, clock.margin, contact[:length])
                write_segments(role, actions, clock, action[:length], contact[:length])
            joints[length:] = np.nan
            action[length:] = ABSENT_ACTION
            contact[length:] = ABSENT_CONTACT


@kernel
def animate_actor(work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock) -> None:
    """Compute one actor in the stored frames of the workspace: all stages, in order.

    A stage reads its arguments and the rows of `work` that are named here; rows that are named as scratch in
    :mod:`posegen.motion.rows` pass nothing from one stage to the next. The results are the leg joints in `legs`, all other
    joints in `joints`, and the contact of the feet in `contact`.
    """
    channels, offsets, leg = work.channels, person.offsets, leg_length(person.offsets)
    # Segments -> `weights`, and the root's speed, phase, heading and path.
    fill_timeline(work, role, person, actions, clock)
    # Neutral posture -> pelvis height in quiet standing.
    stand = standing_height(person)
    # Root, `weights` and segments -> `channels`, RUN_HEIGHT, and the jumps in `airborne`.
    fill_channels(work, role, person, actions, stand, clock)
    # `channels` -> angles, pitch and lowest point of the legs as the channels alone have them.
    for side in range(2):
        nominal_leg(channels, side, offsets, person.foot, work.legs[side])
    # Phase, RUN_HEIGHT, LOWEST of the legs and `channels` -> position and rotation of the pelvis.
    trunk.place_pelvis(work, person, leg, stand, clock)
    # Segments and `airborne` -> `lifted`, GUIDED and BEND.
    guided = mark_lifted_feet(work, role, person, actions, clock)
    # Root, `lifted`, pitch of the legs and foot channels -> `contact`, `stances` and `counts`; the pitch of feet in contact.
    raised = plan_stances(work, person, guided, clock.step)
    # `stances` -> ankles and yaw of feet in contact, GROUND under all feet; the pelvis height is raised by the ground.
    uneven = place_stance_feet(work, person, raised, clock)
    # Pelvis and ankles in contact -> LOWERING, pelvis and hips.
    lower_pelvis(work, person, uneven, clock.step)
    for side in range(2):
        # Hips, ankles and `stances` -> pitch and ankle of feet in contact whose ankle would bend too far.
        limit_stance_ankles(work, side, person, clock.step)
        # Hips, `channels`, `stances` and LIFT -> ankle in swings; then ball, heel, toe and knee of all stored frames.
        swing_leg(work, person, side, guided, uneven, clock)
    # Pelvis, hips and knees -> pelvis and trunk flexion where a hip would flex too far.
    trunk.tuck_pelvis(work, person, channels[rows.TRUNK_FLEXION], clock)
    # Body -> abduction of both shoulders.
    trunk.hold_arms_out(channels, offsets)
    # Pelvis and `channels` -> rotations of chest and head, joints above the pelvis.
    trunk.place_upper_body(work, offsets)
    # Segments, chest, head, path and GROUND -> elbows and wrists of hands that have a target.
    for side in range(2):
        place_hand(work, role, person, actions, clock, side)
    # Arms, hips and knees -> elbows and wrists outside the thighs.
    clear_thighs(work, person, clock)
    # The same outside thighs, trunk and head, which may be deeper.
    clear_body(work, person, clock)
    # Both arms -> elbows and wrists of forearms that are apart.
    clear_forearms(work, person, clock)
    # Arms and GROUND -> elbows and wrists above the floor in segments on the floor.
    raise_wrists(work, role, person, clock)
    # `contact`, GAIT_WEIGHT and segments -> flights of gaits and falls in `airborne`.
    mark_flight(work.root, work.contact, work.airborne)
    for k in range(role.base):
        mark_intervals(role.segments[k], actions, clock, FALLING, work.airborne)
    # `airborne`, `joints` and `legs` -> heights of all joints in flights.
    fall_freely(work.airborne, clock, work.joints, work.legs)


@kernel
def write_joints(joints: Array, legs: Array, margin: int, out: Array, rounded: bool) -> None:
    """Write all joints, rounded to the grid if asked; `out` is float32 [frames, 22, 3]. The rows of `joints` are changed."""
    for side in range(2):
        for i in range(len(LEG_JOINTS)):
            for k in range(3):
                copy_row(legs[side, LEG_JOINTS[i] + k], margin, margin + len(out), joints[1 + side + 3 * i, k])
    # Rounding goes row by row, so that it is vectorised; writing goes frame by frame, so that memory is written in order.
    for j in range(out.shape[1] if rounded else 0):
        for k in range(3):
            row = joints[j, k]
            for f in between(margin, margin + len(out)):
                row[f] = to_grid(row[f])
    for f in between(0, len(out)):
        g = np.uintp(margin) + f
        for j in between(0, out.shape[1]):
            out[f, j, 0], out[f, j, 1], out[f, j, 2] = joints[j, 0, g], joints[j, 1, g], joints[j, 2, g]


@kernel
def write_contacts(legs: Array, contact: Array, margin: int, out: Array) -> None:
    """Write the contact labels of heels and toes; `out` is uint8 [frames, contacts]."""
    out[:] = 0
    for f in range(len(out)):
        for side in range(2):
            if contact[side, margin + f]:
                out[f, 2 * side] = legs[side, rows.HEEL_HEIGHT, margin + f] < np.float32(TOUCHING)
                out[f, 2 * side + 1] = legs[side, rows.TOE_HEIGHT, margin + f] < np.float32(TOUCHING)


@kernel
def write_segments(role: Role, actions: ActionTables, clock: Clock, action: Array, contact: Array) -> None:
    """Write the action labels of the parts that each segment moves, and the contact labels that segments define."""
    frames, step, stored = len(action), clock.step, Clock(0.0, clock.step, 0, clock.frames)
    for k in range(len(role.segments)):
        segment = role.segments[k]
        f0 = max(0, int(np.ceil(segment.shown_start / step - FRAME_SLACK)))
        f1 = min(frames, int(np.ceil(segment.shown_end / step - FRAME_SLACK)))
        for p in range(action.shape[1]):
            if actions.parts[segment.kind, p] or k < role.base:
                action[f0:f1, p] = segment.action
        if segment.support == SEAT:
            enter_end, exit_begin = stage_bounds(segment)
            first, last = frame_window(stored, enter_end, exit_begin, frames)
            contact[first : max(0, last), SEAT_POINT] = 1
        if segment.last_interval > segment.first_interval:
            for point in range(4, contact.shape[1]):
                mark_intervals(segment, actions, stored, point, contact[:, point])


@kernel
def mark_flight(root: Array, contact: Array, airborne: Array) -> None:
    """Add to `airborne`, which marks jumps, the frames in which a gait has no foot in contact."""
    for f in range(len(airborne)):
        airborne[f] = airborne[f] or (root[rows.GAIT_WEIGHT, f] > 0 and not contact[0, f] and not contact[1, f])


@kernel
def centre_height(joints: Array, legs: Array, f: int) -> Scalar:
    """Return the height of the centre of mass in frame `f`, in metres, by the segment masses of Winter (2009), table 4.1.

    The hands are at the wrists. The centre of the trunk is midway between hips and shoulders.
    """
    # Sums of both sides are bitwise equal in the mirror variant.
    hip, knee = legs[0, rows.HIP_Y, f] + legs[1, rows.HIP_Y, f], legs[0, rows.KNEE_Y, f] + legs[1, rows.KNEE_Y, f]
    ankle, ball = legs[0, rows.ANKLE_Y, f] + legs[1, rows.ANKLE_Y, f], legs[0, rows.BALL_Y, f] + legs[1, rows.BALL_Y, f]
    shoulder = joints[SHOULDERS[0], 1, f] + joints[SHOULDERS[1], 1, f]
    elbow = joints[ELBOWS[0], 1, f] + joints[ELBOWS[1], 1, f]
    wrist = joints[WRISTS[0], 1, f] + joints[WRISTS[1], 1, f]
    total = 0.081 * joints[HEAD, 1, f] + (0.12425 + 0.1 * 0.567) * hip + (0.1 * 0.433 + 0.0465 * 0.567) * knee
    total += (0.0465 * 0.433 + 0.0145 * 0.5) * ankle + 0.0145 * 0.5 * ball
    total += (0.12425 + 0.028 * 0.564) * shoulder + (0.028 * 0.436 + 0.016 * 0.57) * elbow
    return total + (0.016 * 0.43 + 0.006) * wrist


@kernel
def fall_freely(free: Array, clock: Clock, joints: Array, legs: Array) -> None:
    """Move the body up or down in each flight so that its centre of mass falls with 9.81 m/s^2.

    The pelvis already moves along a parabola, but swinging arms and legs move the centre of mass off it by some centimetres.
    The heights in the first and in the last frame of a flight are kept.

    Parameters
    ----------
    free : bool [frames]
        Frames of flight.
    clock : Clock
    joints : float32 [22, 3, frames], changed
        All joints except those of the legs.
    legs : float32 [2, rows, frames], changed
    """
    f, last, step = clock.margin, clock.margin + clock.frames, clock.step
    while f < last:
        if not free[f]:
            f += 1
            continue
        begin = f
        while f < last and free[f]:
            f += 1
        end = f - 1
        if end - begin < 2:
            continue
        low, high = centre_height(joints, legs, begin), centre_height(joints, legs, end)
        for g in range(begin + 1, end):
            share = (g - begin) / (end - begin)
            fall = 0.5 * GRAVITY * step * step * (g - begin) * (end - g)
            lift = np.float32(low + share * (high - low) + fall - centre_height(joints, legs, g))
            # At the start and end of a run a foot may be just above the floor: it must not sink into it.
            heels = min(legs[0, rows.HEEL_HEIGHT, g], legs[1, rows.HEEL_HEIGHT, g])
            toes = min(legs[0, rows.TOE_HEIGHT, g], legs[1, rows.TOE_HEIGHT, g])
            lift = max(lift, -max(min(heels, toes), np.float32(0.0)))
            for j in range(len(joints)):
                joints[j, 1, g] += lift
            for side in range(2):
                for row in UPRIGHT:
                    legs[side, row, g] += lift
