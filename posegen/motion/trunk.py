"""Pelvis, trunk, head and arms: height, path and rotation of the pelvis, and forward kinematics above it.

The legs are solved in :mod:`posegen.motion.legs`; arms whose hands have targets are corrected in :mod:`posegen.motion.arms`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import JOINT_LIMITS
from posegen.foundations.trigonometry import atan_turns, cos_turns, ease_towards, sin_turns, smooth_step
from posegen.motion import rows
from posegen.motion.channels import BEYOND
from posegen.motion.gaits import run_rise
from posegen.motion.workspace import Clock, Person, Workspace, fill_row, triangular_mean

SWAY_OUT = 0.025
"""Lateral distance of the pelvis towards the stance leg in walking, as a fraction of the leg."""
SOFT_SECONDS = 0.1
"""Time to either side over which the pelvis height of a walker is averaged."""
SUPPORT_LEAD, MOST_LEAD = 0.3, 0.13
"""Share of the distance between feet and body that balance requires in starting and braking, a h / g, by which the pelvis is
ahead of its path or behind it, and the most of it in leg lengths; the trunk leans for the rest.
"""
SURGE_SECONDS, SURGE_PHASE = 0.0075, 0.08
"""In walking the body leads its mean course by at most the distance of so many seconds, at this phase and half a stride later.
It is fastest in double support and slowest over the stance foot, by some 9 per cent of its speed.
"""
BRISK, BRISKER = 0.6, 0.5
"""Speed in m/s from which the steps of a walker are softened, and the range of speed over which that increases."""
ELEVATION, PROTRACTION, FLEXION, ABDUCTION, TURN_OUT, ELBOW = range(6)
"""Channels of an arm, from its first one on."""
SPINE1, SPINE2, SPINE3, NECK, HEAD, LEFT_COLLAR = 3, 6, 9, 12, 15, 13
LEFT_HIP = 1
ROOM_OF_ARMS, TURN = np.float32(0.205), np.float32(6.2831853)
"""By how much the shoulders of SMPL's neutral body are further out than its hips, in arm lengths; radians of a turn."""
BENT, FOLDED = np.float32(138.0 / 360.0), np.float32(150.0 / 360.0)
"""Turns that an elbow bends without resistance, and at most."""
EASY_HIP, MOST_HIP = np.float32(124 / 360), np.float32(JOINT_LIMITS["hip_flexion"][1] / 360 + BEYOND)
"""Turns of hip flexion from which the pelvis tilts back, and that a hip never reaches."""
SLOPE = np.float32(0.674)
"""Tangent of 124 - 90 degrees, rounded down."""


@kernel
def trunk_rotation(about_y: Array, about_x: Array, about_z: Array, share: Scalar, out: Array) -> None:
    """Write the rotation Ry . Rx . Rz of `share` times the given turns; `out` is float32 [9, frames], row by row."""
    part = np.float32(share)
    for f in range(out.shape[1]):
        sy, cy = sin_turns(part * about_y[f]), cos_turns(part * about_y[f])
        sx, cx = sin_turns(part * about_x[f]), cos_turns(part * about_x[f])
        sz, cz = sin_turns(part * about_z[f]), cos_turns(part * about_z[f])
        out[0, f], out[1, f], out[2, f] = cy * cz + sy * sx * sz, sy * sx * cz - cy * sz, sy * cx
        out[3, f], out[4, f], out[5, f] = cx * sz, cx * cz, -sx
        out[6, f], out[7, f], out[8, f] = cy * sx * sz - sy * cz, sy * sz + cy * sx * cz, cy * cx


@kernel
def limb_rotation(flexion: Array, abduction: Array, rotation: Array, out: Array, sign: Scalar) -> None:
    """Write the rotation Rx(-flexion) . Rz(abduction) . Ry(rotation); `sign` is 1 on the left and -1 on the right."""
    mirror = np.float32(sign)
    for f in range(out.shape[1]):
        sx, cx = -sin_turns(flexion[f]), cos_turns(flexion[f])
        sz, cz = mirror * sin_turns(abduction[f]), cos_turns(abduction[f])
        sy, cy = mirror * sin_turns(rotation[f]), cos_turns(rotation[f])
        a, b, c = sz * cy, cz, sz * sy
        out[0, f], out[1, f], out[2, f] = cz * cy, -sz, cz * sy
        out[3, f], out[4, f], out[5, f] = cx * a + sx * sy, cx * b, cx * c - sx * cy
        out[6, f], out[7, f], out[8, f] = sx * a - cx * sy, sx * b, sx * c + cx * cy


@kernel
def compose_rotations(parent: Array, child: Array, out: Array) -> None:
    """Write the product of two rotations, float32 [9, frames] each; `out` is neither of them."""
    for i in range(3):
        for j in range(3):
            row, a, b, c = out[3 * i + j], parent[3 * i], parent[3 * i + 1], parent[3 * i + 2]
            p, q, r = child[j], child[3 + j], child[6 + j]
            for f in range(len(row)):
                row[f] = a[f] * p[f] + b[f] * q[f] + c[f] * r[f]


@kernel
def place_child(rotation: Array, offset: Array, parent: Array, child: Array) -> None:
    """Write the position of a child joint: parent + rotation . offset; positions are float32 [3, frames]."""
    x, y, z = offset[0], offset[1], offset[2]
    for i in range(3):
        a, b, c = rotation[3 * i], rotation[3 * i + 1], rotation[3 * i + 2]
        above, row = parent[i], child[i]
        for f in range(len(row)):
            row[f] = above[f] + (a[f] * x + b[f] * y + c[f] * z)


@kernel
def hold_arms_out(channels: Array, offsets: Array) -> None:
    """Hold the arms further out on a body whose hips are wide for its shoulders, so that hanging arms do not touch its thighs.

    Parameters
    ----------
    channels : float32 [channels, frames], changed
    offsets : float32 [22, 3]
        Metres.
    """
    for side in range(2):
        collar, hip = LEFT_COLLAR + side, LEFT_HIP + side
        room = np.abs(offsets[collar, 0] + offsets[collar + 3, 0]) - np.abs(offsets[hip, 0])
        length = -offsets[collar + 5, 1] - offsets[collar + 7, 1]
        out = np.float32(max(ROOM_OF_ARMS - room / length, np.float32(0.0)) / TURN)
        row = channels[rows.SHOULDER_ABDUCTION[side]]
        for f in range(len(row)):
            row[f] += out


@kernel
def place_arm(work: Workspace, side: int, offsets: Array) -> None:
    """Write the positions of collar, shoulder, elbow and wrist of one side (0 left, 1 right) from the rotation of the chest.

    `offsets` is float32 [22, 3]. The rotations of the arm are scratch of this stage.
    """
    arm, sign, joints, turns = (
        work.channels[rows.COLLAR_ELEVATION[side] : rows.COLLAR_ELEVATION[side] + 6],
        1.0 - 2.0 * side,
        work.joints,
        work.turns,
    )
    collar = LEFT_COLLAR + side
    shoulder, elbow, wrist = collar + 3, collar + 5, collar + 7
    still, angle, none = work.root[rows.STILL], work.root[rows.ANGLE], np.float32(0.0)
    fill_row(still, none)
    place_child(turns[rows.CHEST], offsets[collar], joints[SPINE3], joints[collar])
    limb_rotation(still, arm[ELEVATION], still, turns[rows.RAISED], sign)
    for f in range(len(angle)):
        angle[f] = -arm[PROTRACTION, f]
    limb_rotation(still, still, angle, turns[rows.PROTRACTED], sign)
    compose_rotations(turns[rows.RAISED], turns[rows.PROTRACTED], turns[rows.COLLAR_ANGLES])
    compose_rotations(turns[rows.CHEST], turns[rows.COLLAR_ANGLES], turns[rows.COLLAR])
    place_child(turns[rows.COLLAR], offsets[shoulder], joints[collar], joints[shoulder])
    limb_rotation(arm[FLEXION], arm[ABDUCTION], arm[TURN_OUT], turns[rows.ARM_ANGLES], sign)
    compose_rotations(turns[rows.COLLAR], turns[rows.ARM_ANGLES], turns[rows.UPPER_ARM])
    place_child(turns[rows.UPPER_ARM], offsets[elbow], joints[shoulder], joints[elbow])
    for f in range(len(angle)):
        over = max((arm[ELBOW, f] - BENT) / (FOLDED - BENT), none)
        angle[f] = min(arm[ELBOW, f], BENT) + (FOLDED - BENT) * over / (np.float32(1.0) + over)
    limb_rotation(angle, still, still, turns[rows.FOREARM_ANGLES], sign)
    compose_rotations(turns[rows.UPPER_ARM], turns[rows.FOREARM_ANGLES], turns[rows.FOREARM])
    place_child(turns[rows.FOREARM], offsets[wrist], joints[elbow], joints[wrist])


@kernel
def spine_rotation(channels: Array, first: int, share: Scalar, scratch: Array, out: Array) -> None:
    """Write the rotation by `share` of flexion, lateral flexion and rotation, the channels from `first` on."""
    for f in range(len(scratch)):
        scratch[f] = -channels[first + 1, f]  # lateral flexion to the left is a negative rotation about z
    trunk_rotation(channels[first + 2], channels[first], scratch, share, out)


@kernel
def place_upper_body(work: Workspace, offsets: Array) -> None:
    """Write the positions of spine, neck, head and both arms, and the rotations of chest and head, from those of the pelvis.

    The three spine joints share the angles of the trunk equally. `offsets` is float32 [22, 3]; the chest is the uppermost spine
    joint.
    """
    channels, joints, turns, lateral = work.channels, work.joints, work.turns, work.root[rows.ANGLE]
    pelvis, third, chest, head = turns[rows.PELVIS], turns[rows.TRUNK_THIRD], turns[rows.CHEST], turns[rows.HEAD]
    lower, middle = turns[rows.LOWER_SPINE], turns[rows.MIDDLE_SPINE]
    spine_rotation(channels, rows.TRUNK_FLEXION, 1.0 / 3.0, lateral, third)
    place_child(pelvis, offsets[SPINE1], joints[0], joints[SPINE1])
    compose_rotations(pelvis, third, lower)
    place_child(lower, offsets[SPINE2], joints[SPINE1], joints[SPINE2])
    compose_rotations(lower, third, middle)
    place_child(middle, offsets[SPINE3], joints[SPINE2], joints[SPINE3])
    compose_rotations(middle, third, chest)
    place_child(chest, offsets[NECK], joints[SPINE3], joints[NECK])
    spine_rotation(channels, rows.NECK_FLEXION, 1.0, lateral, turns[rows.NODDED])
    compose_rotations(chest, turns[rows.NODDED], head)
    place_child(head, offsets[HEAD], joints[NECK], joints[HEAD])
    for side in range(2):
        place_arm(work, side, offsets)


@kernel
def fill_pelvis_height(
    root: Array, legs: Array, tilt: Array, obliquity: Array, hip_drop: Scalar, hip_aside: Scalar, lean: Scalar, stand: Scalar
) -> None:
    """Write the height of the pelvis over the frames, before key poses.

    In walking the stance leg carries the pelvis: it is as high as the nominal leg is long from hip to sole, and passes from one
    leg to the other in double support. In running it rises and falls under the force of the contacts. In standing it is
    `stand`.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    legs : float32 [2, rows, frames]
    tilt, obliquity : float32 [frames]
        Turns.
    hip_drop, hip_aside : float
        Hip joint below and beside the pelvis joint, metres.
    lean : float
        Loss of height by the inward lean of a leg to its footprint, metres.
    stand : float
        Metres.
    """
    for f in range(root.shape[1]):
        walking = root[rows.GAIT_WEIGHT, f] - root[rows.RUN_WEIGHT, f]
        height = np.float32(stand) * (np.float32(1.0) - root[rows.GAIT_WEIGHT, f])
        phase = root[rows.PHASE, f] - np.floor(root[rows.PHASE, f])
        if walking > 0:
            both = max(root[rows.DUTY, f] - np.float32(0.5), np.float32(0.06))
            left = smooth_step(phase / both) if phase < 0.5 else np.float32(1.0) - smooth_step((phase - np.float32(0.5)) / both)
            tip = np.float32(hip_aside) * sin_turns(obliquity[f]) * (np.float32(1.0) - np.float32(2.0) * left)
            carried = left * legs[0, rows.LOWEST, f] + (np.float32(1.0) - left) * legs[1, rows.LOWEST, f]
            height += walking * (carried + np.float32(hip_drop) * cos_turns(tilt[f]) + tip - np.float32(lean))
        if root[rows.RUN_WEIGHT, f] > 0 and root[rows.RATE, f] > 0:
            # Period and contact of the steady gait: a stride that slows down must not sink deeper because it lasts longer.
            running = root[rows.RUN_WEIGHT, f]
            period, contact = root[rows.RUN_PERIOD, f] / running, root[rows.RUN_CONTACT, f] / running
            # A hop on the right foot begins with the contact of that foot, half a stride after that of the left one.
            lone = np.float32(0.5) if root[rows.LONE_FOOT, f] < 0 else np.float32(0.0)
            beats = root[rows.BEATS, f] * (phase + lone)
            rise = run_rise((beats - np.floor(beats)) * period, contact, period) - run_rise(0.5 * contact, contact, period)
            height += root[rows.RUN_HEIGHT, f] + root[rows.RUN_WEIGHT, f] * np.float32(rise)
        elif root[rows.RUN_WEIGHT, f] > 0:
            height += root[rows.RUN_WEIGHT, f] * np.float32(stand)
        root[rows.HEIGHT, f] = height


@kernel
def soften_steps(root: Array, radius: int) -> None:
    """Smooth the pelvis height of a walker where it passes from one leg to the other; `radius` is in frames.

    The height given by the leg curves turns within a few hundredths of a second, which would press each foot to the ground with
    one and a half body weights. It is replaced by its mean over a window, in a share that grows from .6 m/s on. `root` is
    float32 [rows, frames], changed.
    """
    brisk = 0
    for f in range(root.shape[1]):
        brisk += root[rows.SPEED, f] > np.float32(BRISK)
    if brisk == 0:
        return
    triangular_mean(root[rows.HEIGHT], radius, root[rows.SMOOTHED])
    for f in range(root.shape[1]):
        walking = root[rows.GAIT_WEIGHT, f] - root[rows.RUN_WEIGHT, f]
        share = walking * smooth_step((root[rows.SPEED, f] - np.float32(BRISK)) / np.float32(BRISKER))
        root[rows.HEIGHT, f] += share * (root[rows.SMOOTHED, f] - root[rows.HEIGHT, f])


@kernel
def pelvis_path(root: Array, channels: Array, leg: Scalar) -> None:
    """Write the position of the pelvis: on the path, swaying over the stance foot, moved by the root channels.

    The sway is a cosine over the stride with its peak in the middle of each stance: 7.0 cm from side to side in slow and 3.9 cm
    in fast walking (Orendurff 2004).
    """
    for f in range(root.shape[1]):
        slow = np.float32(0.035) - np.float32(0.017) * min(
            max(abs(root[rows.SPEED, f]) - np.float32(0.7), np.float32(0.0)), np.float32(0.9)
        )
        walking = root[rows.GAIT_WEIGHT, f] - np.float32(0.6) * root[rows.RUN_WEIGHT, f]
        walking *= np.float32(1.0) - abs(root[rows.LONE_FOOT, f])
        sway = walking * slow * cos_turns(root[rows.PHASE, f] - np.float32(0.32))
        aside = sway + np.float32(leg) * channels[rows.ROOT_LATERAL, f]
        surge = (root[rows.GAIT_WEIGHT, f] - root[rows.RUN_WEIGHT, f]) * np.float32(SURGE_SECONDS) * abs(root[rows.SPEED, f])
        forward = np.float32(leg) * channels[rows.ROOT_FORWARD, f]
        forward += surge * cos_turns(np.float32(2.0) * (root[rows.PHASE, f] - np.float32(SURGE_PHASE)))
        ahead = np.float32(SUPPORT_LEAD / GRAVITY) * root[rows.ACCELERATION, f]
        forward += np.float32(leg) * min(max(ahead, np.float32(-MOST_LEAD)), np.float32(MOST_LEAD))
        s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
        root[rows.ROOT_X, f] = root[rows.PATH_X, f] + forward * s + aside * c
        root[rows.ROOT_Z, f] = root[rows.PATH_Z, f] + forward * c - aside * s
        root[rows.HEIGHT, f] += np.float32(leg) * channels[rows.ROOT_HEIGHT, f]


@kernel
def place_pelvis(work: Workspace, person: Person, leg: Scalar, stand: Scalar, clock: Clock) -> None:
    """Write height, path and rotation of the pelvis; `leg` is the leg length, `stand` the height in standing, in metres."""
    root, channels, offsets = work.root, work.channels, person.offsets
    inward = float(offsets[1, 0]) + SWAY_OUT * leg - person.widths[0]
    lean = 0.5 * inward * inward / leg
    tilt, obliquity = channels[rows.PELVIS_TILT], channels[rows.OBLIQUITY]
    fill_pelvis_height(root, work.legs, tilt, obliquity, -offsets[1, 1], offsets[1, 0], lean, stand)
    soften_steps(root, int(SOFT_SECONDS / clock.step + 0.5))
    pelvis_path(root, channels, leg)
    facing = root[rows.FACING]
    for f in range(len(facing)):
        facing[f] = root[rows.HEADING, f] + channels[rows.PELVIS_ROTATION, f]
    trunk_rotation(facing, tilt, obliquity, 1.0, work.turns[rows.PELVIS])


@kernel
def place_hips(root: Array, pelvis: Array, offsets: Array, place: Array, legs: Array) -> None:
    """Write the positions of the pelvis and of both hip joints; `place` is float32 [3, frames], the pelvis."""
    for f in range(root.shape[1]):
        place[0, f], place[2, f] = root[rows.ROOT_X, f], root[rows.ROOT_Z, f]
        place[1, f] = root[rows.HEIGHT, f] - root[rows.LOWERING, f]
    for side in range(2):
        place_child(pelvis, offsets[1 + side], place, legs[side, rows.HIP_X : rows.HIP_Z + 1])


@kernel
def hip_flexion(pelvis: Array, leg: Array, f: int) -> Scalar:
    """Return the flexion of a hip in turns where it is above `EASY_HIP`, else 0; `pelvis` are rotations [9, frames]."""
    x, y = leg[rows.KNEE_X, f] - leg[rows.HIP_X, f], leg[rows.KNEE_Y, f] - leg[rows.HIP_Y, f]
    z = leg[rows.KNEE_Z, f] - leg[rows.HIP_Z, f]
    up = pelvis[1, f] * x + pelvis[4, f] * y + pelvis[7, f] * z
    ahead = max(pelvis[2, f] * x + pelvis[5, f] * y + pelvis[8, f] * z, np.float32(1e-4))
    if up < SLOPE * ahead:
        return np.float32(0.0)
    if up < ahead:
        return np.float32(0.25) + atan_turns(up / ahead)
    return np.float32(0.5) - atan_turns(ahead / up)


@kernel
def tuck_pelvis(work: Workspace, person: Person, trunk_flexion: Array, clock: Clock) -> None:
    """Tilt the pelvis back about the hips where one flexes too far, and bend the trunk as much, so that the chest stays.

    How far a hip flexes over feet on the floor depends on the lengths of thigh and shank. `trunk_flexion` is changed.
    """
    pelvis, place, offsets = work.turns[rows.PELVIS], work.joints[0], person.offsets
    drop, ahead = np.float32(offsets[1, 1]), np.float32(offsets[1, 2])
    for f in range(clock.margin, clock.margin + clock.frames):
        flexion = max(hip_flexion(pelvis, work.legs[0], f), hip_flexion(pelvis, work.legs[1], f))
        if flexion <= EASY_HIP:
            continue
        excess = flexion - ease_towards(flexion, EASY_HIP, MOST_HIP)
        s, c = sin_turns(excess), cos_turns(excess)
        for k in range(3):
            up, forward = pelvis[3 * k + 1, f], pelvis[3 * k + 2, f]
            pelvis[3 * k + 1, f], pelvis[3 * k + 2, f] = c * up - s * forward, s * up + c * forward
            place[k, f] += drop * (up - pelvis[3 * k + 1, f]) + ahead * (forward - pelvis[3 * k + 2, f])
        trunk_flexion[f] += excess
