"""Forward kinematics of trunk, head and arms: rotations from channels, and joint positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.motion.workspace import fill_row

Array = NDArray[Any]

TRUNK_FLEXION = CHANNELS.index("trunk_flexion")
NECK_FLEXION = CHANNELS.index("neck_flexion")
LEFT_ARM, RIGHT_ARM = CHANNELS.index("left_collar_elevation"), CHANNELS.index("right_collar_elevation")
COLLAR_ELEVATION, COLLAR_PROTRACTION, SHOULDER_FLEXION, SHOULDER_ABDUCTION, SHOULDER_ROTATION, ELBOW = range(6)
SPINE1, SPINE2, SPINE3, NECK, HEAD = 3, 6, 9, 12, 15
BENT, FOLDED = np.float32(138.0 / 360.0), np.float32(150.0 / 360.0)
"""Turns that an elbow bends without resistance, and at most: a large person's gesture ends there too."""


@kernel
def trunk_rotation(about_y: Array, about_x: Array, about_z: Array, share: Scalar, out: Array) -> None:
    """Rotation Ry . Rx . Rz of `share` times the given turns; `out` is float32 [9, frames], row by row."""
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
    """Rotation Rx(-flexion) . Rz(abduction) . Ry(rotation); `sign` is 1 on the left and -1 on the right."""
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
    """Product of two rotations, float32 [9, frames] each; `out` is neither of them."""
    for i in range(3):
        for j in range(3):
            row, a, b, c = out[3 * i + j], parent[3 * i], parent[3 * i + 1], parent[3 * i + 2]
            p, q, r = child[j], child[3 + j], child[6 + j]
            for f in range(len(row)):
                row[f] = a[f] * p[f] + b[f] * q[f] + c[f] * r[f]


@kernel
def place_child(rotation: Array, offset: Array, parent: Array, child: Array) -> None:
    """Position of a child joint: parent + rotation . offset; positions are float32 [3, frames]."""
    x, y, z = offset[0], offset[1], offset[2]
    for i in range(3):
        a, b, c = rotation[3 * i], rotation[3 * i + 1], rotation[3 * i + 2]
        above, row = parent[i], child[i]
        for f in range(len(row)):
            row[f] = above[f] + (a[f] * x + b[f] * y + c[f] * z)


@kernel
def place_arm(
    channels: Array, first: int, sign: Scalar, chest: Array, offsets: Array, joints: Array, collar: int, turns: Array
) -> None:
    """Collar, shoulder, elbow and wrist of one side.

    Parameters
    ----------
    channels : float32 [channels, frames]
    first : int
        First channel of the arm.
    sign : float
        1 on the left, -1 on the right.
    chest : float32 [9, frames]
        Rotation of the uppermost spine joint.
    offsets : float32 [22, 3]
    joints : float32 [22, 3, frames], changed
    collar : int
        The collar joint; the arm's others are found from it.
    turns : float32 [4, 9, frames]
        Scratch.
    """
    shoulder, elbow, wrist = collar + 3, collar + 5, collar + 7
    still = turns[3, 0]
    fill_row(still, np.float32(0.0))
    place_child(chest, offsets[collar], joints[9], joints[collar])
    limb_rotation(still, channels[first + COLLAR_ELEVATION], still, turns[0], sign)
    protraction = turns[3, 1]
    for f in range(len(protraction)):
        protraction[f] = -channels[first + COLLAR_PROTRACTION, f]
    limb_rotation(still, still, protraction, turns[1], sign)
    compose_rotations(turns[0], turns[1], turns[2])
    compose_rotations(chest, turns[2], turns[0])
    place_child(turns[0], offsets[shoulder], joints[collar], joints[shoulder])
    limb_rotation(
        channels[first + SHOULDER_FLEXION],
        channels[first + SHOULDER_ABDUCTION],
        channels[first + SHOULDER_ROTATION],
        turns[1],
        sign,
    )
    compose_rotations(turns[0], turns[1], turns[2])
    place_child(turns[2], offsets[elbow], joints[shoulder], joints[elbow])
    bend, none = turns[3, 1], np.float32(0.0)
    for f in range(len(bend)):
        angle = channels[first + ELBOW, f]
        over = max((angle - BENT) / (FOLDED - BENT), none)
        bend[f] = min(angle, BENT) + (FOLDED - BENT) * over / (np.float32(1.0) + over)
    limb_rotation(bend, still, still, turns[1], sign)
    compose_rotations(turns[2], turns[1], turns[0])
    place_child(turns[0], offsets[wrist], joints[elbow], joints[wrist])


@kernel
def place_upper_body(channels: Array, pelvis: Array, offsets: Array, joints: Array, turns: Array) -> None:
    """Spine, neck, head and both arms, from the pelvis' rotation and position.

    The trunk's angles are shared equally by the three spine joints. `turns` [7, 9, frames] is scratch; at the end 4 and 5 are
    the rotations of head and uppermost spine joint.
    """
    third = turns[4]
    trunk_rotation(
        channels[TRUNK_FLEXION + 2],
        channels[TRUNK_FLEXION],
        negate_row(channels[TRUNK_FLEXION + 1], turns[5, 0]),
        1.0 / 3.0,
        third,
    )
    place_child(pelvis, offsets[SPINE1], joints[0], joints[SPINE1])
    compose_rotations(pelvis, third, turns[0])
    place_child(turns[0], offsets[SPINE2], joints[SPINE1], joints[SPINE2])
    compose_rotations(turns[0], third, turns[1])
    place_child(turns[1], offsets[SPINE3], joints[SPINE2], joints[SPINE3])
    chest = turns[5]
    compose_rotations(turns[1], third, chest)
    place_child(chest, offsets[NECK], joints[SPINE3], joints[NECK])
    trunk_rotation(
        channels[NECK_FLEXION + 2], channels[NECK_FLEXION], negate_row(channels[NECK_FLEXION + 1], turns[3, 0]), 1.0, turns[0]
    )
    head = turns[4]
    compose_rotations(chest, turns[0], head)
    place_child(head, offsets[HEAD], joints[NECK], joints[HEAD])
    place_arm(channels, LEFT_ARM, 1.0, chest, offsets, joints, 13, turns)
    place_arm(channels, RIGHT_ARM, -1.0, chest, offsets, joints, 14, turns)


@kernel
def negate_row(lateral: Array, out: Array) -> Array:
    """Lateral flexion to the left is a negative rotation about z."""
    for f in range(len(out)):
        out[f] = -lateral[f]
    return out
