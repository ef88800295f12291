"""Pelvis, trunk, head and arms: height, path and rotation of the pelvis, and forward kinematics above it.

The legs are solved in :mod:`posegen.motion.feet`; arms whose hands have targets are corrected in :mod:`posegen.motion.arms`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.channels import TILT
from posegen.motion.gait.curves import run_rise
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.workspace import fill_row, triangular_mean

ROOT_HEIGHT, ROOT_FORWARD, ROOT_LATERAL = (CHANNELS.index(f"root_{c}") for c in ("height", "forward", "lateral"))
OBLIQUITY, ROTATION = CHANNELS.index("pelvis_obliquity"), CHANNELS.index("pelvis_rotation")
SUPPORT_LEAD, MOST_LEAD = 0.3, 0.13
"""Share of the distance between feet and body that balance requires in starting and braking, a h / g, by which the pelvis is
ahead of its path or behind it, and the most of it in leg lengths; the trunk leans for the rest.
"""
SURGE_SECONDS, SURGE_PHASE = 0.0075, 0.08
"""In walking the body leads its mean course by at most the distance of so many seconds, at this phase and half a stride later.
It is fastest in double support and slowest over the stance foot, by some 9 per cent of its speed.
"""
FAST, FASTER = 1.4, 0.4
"""Speed in m/s from which the steps of a walker are softened, and the range of speed over which that increases."""
TRUNK_FLEXION = CHANNELS.index("trunk_flexion")
NECK_FLEXION = CHANNELS.index("neck_flexion")
ARMS = (CHANNELS.index("left_collar_elevation"), CHANNELS.index("right_collar_elevation"))
"""First channel of each arm."""
COLLAR_ELEVATION, COLLAR_PROTRACTION, SHOULDER_FLEXION, SHOULDER_ABDUCTION, SHOULDER_ROTATION, ELBOW = range(6)
SPINE1, SPINE2, SPINE3, NECK, HEAD, LEFT_COLLAR = 3, 6, 9, 12, 15, 13
LEFT_HIP = 1
ROOM_OF_ARMS, TURN = np.float32(0.205), np.float32(6.2831853)
"""By how much the shoulders of SMPL's neutral body are further out than its hips, in arm lengths; radians of a turn."""
BENT, FOLDED = np.float32(138.0 / 360.0), np.float32(150.0 / 360.0)
"""Turns that an elbow bends without resistance, and at most."""


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
        row = channels[ARMS[side] + SHOULDER_ABDUCTION]
        for f in range(len(row)):
            row[f] += out


@kernel
def place_arm(channels: Array, side: int, offsets: Array, joints: Array, turns: Array) -> None:
    """Write the positions of collar, shoulder, elbow and wrist of one side.

    Parameters
    ----------
    channels : float32 [channels, frames]
    side : int
        0 left, 1 right.
    offsets : float32 [22, 3]
    joints : float32 [22, 3, frames], changed
    turns : float32 [7, 9, frames]
        The rotation of the uppermost spine joint is the sixth; the first four are scratch.
    """
    arm, sign, chest, collar = channels[ARMS[side] : ARMS[side] + 6], 1.0 - 2.0 * side, turns[5], LEFT_COLLAR + side
    shoulder, elbow, wrist = collar + 3, collar + 5, collar + 7
    still = turns[3, 0]
    fill_row(still, np.float32(0.0))
    place_child(chest, offsets[collar], joints[SPINE3], joints[collar])
    limb_rotation(still, arm[COLLAR_ELEVATION], still, turns[0], sign)
    protraction = turns[3, 1]
    for f in range(len(protraction)):
        protraction[f] = -arm[COLLAR_PROTRACTION, f]
    limb_rotation(still, still, protraction, turns[1], sign)
    compose_rotations(turns[0], turns[1], turns[2])
    compose_rotations(chest, turns[2], turns[0])
    place_child(turns[0], offsets[shoulder], joints[collar], joints[shoulder])
    limb_rotation(arm[SHOULDER_FLEXION], arm[SHOULDER_ABDUCTION], arm[SHOULDER_ROTATION], turns[1], sign)
    compose_rotations(turns[0], turns[1], turns[2])
    place_child(turns[2], offsets[elbow], joints[shoulder], joints[elbow])
    bend, none = turns[3, 1], np.float32(0.0)
    for f in range(len(bend)):
        angle = arm[ELBOW, f]
        over = max((angle - BENT) / (FOLDED - BENT), none)
        bend[f] = min(angle, BENT) + (FOLDED - BENT) * over / (np.float32(1.0) + over)
    limb_rotation(bend, still, still, turns[1], sign)
    compose_rotations(turns[2], turns[1], turns[0])
    place_child(turns[0], offsets[wrist], joints[elbow], joints[wrist])


@kernel
def spine_rotation(channels: Array, first: int, share: Scalar, scratch: Array, out: Array) -> None:
    """Write the rotation by `share` of flexion, lateral flexion and rotation, the channels from `first` on."""
    for f in range(len(scratch)):
        scratch[f] = -channels[first + 1, f]  # lateral flexion to the left is a negative rotation about z
    trunk_rotation(channels[first + 2], channels[first], scratch, share, out)


@kernel
def place_upper_body(channels: Array, pelvis: Array, offsets: Array, joints: Array, turns: Array) -> None:
    """Write the positions of spine, neck, head and both arms, from rotation and position of the pelvis.

    The three spine joints share the angles of the trunk equally. `turns` [7, 9, frames] is scratch; at the end, 4 and 5 are the
    rotations of head and uppermost spine joint.
    """
    third, chest = turns[4], turns[5]
    spine_rotation(channels, TRUNK_FLEXION, 1.0 / 3.0, turns[5, 0], third)
    place_child(pelvis, offsets[SPINE1], joints[0], joints[SPINE1])
    compose_rotations(pelvis, third, turns[0])
    place_child(turns[0], offsets[SPINE2], joints[SPINE1], joints[SPINE2])
    compose_rotations(turns[0], third, turns[1])
    place_child(turns[1], offsets[SPINE3], joints[SPINE2], joints[SPINE3])
    compose_rotations(turns[1], third, chest)
    place_child(chest, offsets[NECK], joints[SPINE3], joints[NECK])
    spine_rotation(channels, NECK_FLEXION, 1.0, turns[3, 0], turns[0])
    head = turns[4]
    compose_rotations(chest, turns[0], head)
    place_child(head, offsets[HEAD], joints[NECK], joints[HEAD])
    for side in range(2):
        place_arm(channels, side, offsets, joints, turns)


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
    """Smooth the pelvis height of a fast walker where it passes from one leg to the other; `radius` is in frames.

    Double support becomes so short with speed that the height given by the leg curves would turn from one frame to the next.
    The height is replaced by its mean over a window, in a share that grows from 1.4 m/s on. `root` is float32 [rows, frames],
    changed.
    """
    fast = 0
    for f in range(root.shape[1]):
        fast += root[rows.SPEED, f] > np.float32(FAST)
    if fast == 0:
        return
    triangular_mean(root[rows.HEIGHT], radius, root[rows.WORK])
    for f in range(root.shape[1]):
        walking = root[rows.GAIT_WEIGHT, f] - root[rows.RUN_WEIGHT, f]
        share = walking * smooth_step((root[rows.SPEED, f] - np.float32(FAST)) / np.float32(FASTER))
        root[rows.HEIGHT, f] += share * (root[rows.WORK, f] - root[rows.HEIGHT, f])


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
        aside = sway + np.float32(leg) * channels[ROOT_LATERAL, f]
        surge = (root[rows.GAIT_WEIGHT, f] - root[rows.RUN_WEIGHT, f]) * np.float32(SURGE_SECONDS) * abs(root[rows.SPEED, f])
        forward = np.float32(leg) * channels[ROOT_FORWARD, f]
        forward += surge * cos_turns(np.float32(2.0) * (root[rows.PHASE, f] - np.float32(SURGE_PHASE)))
        ahead = np.float32(SUPPORT_LEAD / GRAVITY) * root[rows.ACCELERATION, f]
        forward += np.float32(leg) * min(max(ahead, np.float32(-MOST_LEAD)), np.float32(MOST_LEAD))
        s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
        root[rows.ROOT_X, f] = root[rows.PATH_X, f] + forward * s + aside * c
        root[rows.ROOT_Z, f] = root[rows.PATH_Z, f] + forward * c - aside * s
        root[rows.HEIGHT, f] += np.float32(leg) * channels[ROOT_HEIGHT, f]


@kernel
def pelvis_rotation(root: Array, channels: Array, out: Array) -> None:
    """Write the rotation of the pelvis, float32 [9, frames]."""
    facing = root[rows.WORK]
    for f in range(len(facing)):
        facing[f] = root[rows.HEADING, f] + channels[ROTATION, f]
    trunk_rotation(facing, channels[TILT], channels[OBLIQUITY], 1.0, out)


@kernel
def place_hips(root: Array, pelvis: Array, offsets: Array, place: Array, legs: Array) -> None:
    """Write the positions of the pelvis and of both hip joints; `place` is float32 [3, frames], the pelvis."""
    for f in range(root.shape[1]):
        place[0, f], place[2, f] = root[rows.ROOT_X, f], root[rows.ROOT_Z, f]
        place[1, f] = root[rows.HEIGHT, f] - root[rows.LOWERING, f]
    for side in range(2):
        place_child(pelvis, offsets[1 + side], place, legs[side, rows.HIP_X : rows.HIP_Z + 1])
