"""Kernels of soles, angles and overlap of bodies; :mod:`posegen.evaluation.body` defines the quantities.

Joints are float64 [22, 3, frame]: frames are last, so that the processor computes several at once. Nothing is shared with the
kernels of :mod:`posegen.checks`, so that an error in those cannot hide itself here.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, JOINTS, PROPORTIONS

_HIPS, _KNEES, _ANKLES, _BALLS, _COLLARS, _SHOULDERS, _ELBOWS, _WRISTS = (
    (JOINTS.index(f"left_{name}"), JOINTS.index(f"right_{name}"))
    for name in ("hip", "knee", "ankle", "foot", "collar", "shoulder", "elbow", "wrist")
)
_SPINE1, _SPINE3, _NECK, _HEAD = (JOINTS.index(name) for name in ("spine1", "spine3", "neck", "head"))
_ANKLE_HEIGHT = PROPORTIONS["ankle_height"]
_DROP = _ANKLE_HEIGHT - BALL_JOINT_HEIGHT
_BALL_LENGTH = float(np.sqrt(BALL_BEFORE_ANKLE * BALL_BEFORE_ANKLE + _DROP * _DROP))
_LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
_PELVIS_AXES, _CHEST_AXES = 0, 9
AXES = 18
"""Rows of the work array of :func:`fill_angles`: the axes left, up and forward of pelvis and chest."""
TANGENTS, SINES, COSINES, EXTRA = 0, 14, 18, 24
"""First rows of the results of :func:`fill_angles`."""
ROWS = 28
BLOCK, GAPS, WORK = 64, 12 * 64, 13 * 64
"""Frames that :func:`fill_overlap` computes at once, where its work array has the distances, and the size of that array."""
_TINY = 1e-12
_TOGETHER = 16


@kernel
def fill_filtered(series: Array, weights: Array, out: Array) -> None:
    """Write the sums of nine successive values, times their weights: float64 [row, frame - 8] of [row, frame]."""
    for row in range(out.shape[0]):
        values = series[row]
        for f in range(out.shape[1]):
            first = weights[0] * values[f] + weights[1] * values[f + 1] + weights[2] * values[f + 2]
            middle = first + weights[3] * values[f + 3] + weights[4] * values[f + 4] + weights[5] * values[f + 5]
            out[row, f] = middle + weights[6] * values[f + 6] + weights[7] * values[f + 7] + weights[8] * values[f + 8]


@kernel
def fill_jerk(joints: Array, out: Array) -> None:
    """Write the squared length of the third difference of each joint: float64 [22, frame - 3] of [22, 3, frame]."""
    for j in range(out.shape[0]):
        for f in range(out.shape[1]):
            total = 0.0
            for axis in range(3):
                a, b, c, d = joints[j, axis, f], joints[j, axis, f + 1], joints[j, axis, f + 2], joints[j, axis, f + 3]
                third = ((d - c) - (c - b)) - ((c - b) - (b - a))
                total += third * third
            out[j, f] = total


@kernel
def fill_soles(joints: Array, out: Array) -> None:
    """Write :func:`posegen.foundations.skeleton.sole_points`: float64 [4, 3, frame]."""
    for side in range(2):
        knee, ankle, ball = joints[_KNEES[side]], joints[_ANKLES[side]], joints[_BALLS[side]]
        heel, toe = out[2 * side], out[2 * side + 1]
        for f in range(out.shape[2]):
            x, y, z = ball[0, f] - ankle[0, f], ball[1, f] - ankle[1, f], ball[2, f] - ankle[2, f]
            length = np.sqrt(x * x + y * y + z * z)
            x, y, z = x / length, y / length, z / length
            up_x, up_y, up_z = knee[0, f] - ankle[0, f], knee[1, f] - ankle[1, f], knee[2, f] - ankle[2, f]
            along = up_x * x + up_y * y + up_z * z
            up_x, up_y, up_z = up_x - along * x, up_y - along * y, up_z - along * z
            off = np.sqrt(up_x * up_x + up_y * up_y + up_z * up_z)
            up_x, up_y, up_z = up_x / off, up_y / off, up_z / off
            ahead_x = (x * BALL_BEFORE_ANKLE + up_x * _DROP) / _BALL_LENGTH
            ahead_y = (y * BALL_BEFORE_ANKLE + up_y * _DROP) / _BALL_LENGTH
            ahead_z = (z * BALL_BEFORE_ANKLE + up_z * _DROP) / _BALL_LENGTH
            up_x = (up_x * BALL_BEFORE_ANKLE - x * _DROP) / _BALL_LENGTH
            up_y = (up_y * BALL_BEFORE_ANKLE - y * _DROP) / _BALL_LENGTH
            up_z = (up_z * BALL_BEFORE_ANKLE - z * _DROP) / _BALL_LENGTH
            stature = length / _BALL_LENGTH
            down, back, front = _ANKLE_HEIGHT * stature, HEEL_BEHIND_ANKLE * stature, BALL_BEFORE_ANKLE * stature
            x, y, z = ankle[0, f] - up_x * down, ankle[1, f] - up_y * down, ankle[2, f] - up_z * down
            heel[0, f], heel[1, f], heel[2, f] = x - ahead_x * back, y - ahead_y * back, z - ahead_z * back
            toe[0, f], toe[1, f], toe[2, f] = x + ahead_x * front, y + ahead_y * front, z + ahead_z * front


@kernel
def fill_axes(left: Array, right: Array, low: Array, also_low: Array, high: Array, out: Array) -> None:
    """Write the axes left, up and forward, float64 [9, frame], by joints left, right, below (the mean of two) and above."""
    for f in range(out.shape[1]):
        x, y, z = left[0, f] - right[0, f], left[1, f] - right[1, f], left[2, f] - right[2, f]
        size = np.sqrt(x * x + y * y + z * z)
        x, y, z = x / size, y / size, z / size
        up_x = high[0, f] - (low[0, f] + also_low[0, f]) / 2
        up_y = high[1, f] - (low[1, f] + also_low[1, f]) / 2
        up_z = high[2, f] - (low[2, f] + also_low[2, f]) / 2
        across = up_x * x + up_y * y + up_z * z
        up_x, up_y, up_z = up_x - across * x, up_y - across * y, up_z - across * z
        size = np.sqrt(up_x * up_x + up_y * up_y + up_z * up_z)
        up_x, up_y, up_z = up_x / size, up_y / size, up_z / size
        out[0, f], out[1, f], out[2, f] = x, y, z
        out[3, f], out[4, f], out[5, f] = up_x, up_y, up_z
        out[6, f], out[7, f], out[8, f] = y * up_z - z * up_y, z * up_x - x * up_z, x * up_y - y * up_x


@kernel
def fill_dots(axes: Array, axis: int, others: Array, other: int, sign: float, out: Array) -> None:
    """Write the product of two axes, times a sign; `axes` and `others` are rows of three coordinates, `out` float64 [frame]."""
    for f in range(len(out)):
        across = axes[axis, f] * others[other, f] + axes[axis + 1, f] * others[other + 1, f]
        out[f] = sign * (across + axes[axis + 2, f] * others[other + 2, f])


@kernel
def fill_bone(near: Array, far: Array, axes: Array, out: Array) -> None:
    """Write the direction of a bone along three axes: float64 [3, frame]; `axes` is float64 [9, frame]."""
    for f in range(out.shape[1]):
        x, y, z = far[0, f] - near[0, f], far[1, f] - near[1, f], far[2, f] - near[2, f]
        size = np.sqrt(x * x + y * y + z * z)
        x, y, z = x / size, y / size, z / size
        for axis in range(3):
            out[axis, f] = axes[3 * axis, f] * x + axes[3 * axis + 1, f] * y + axes[3 * axis + 2, f] * z


@kernel
def fill_bend(first: Array, second: Array, third: Array, fourth: Array, out: Array) -> None:
    """Write the cosine between the lines from first to second and from third to fourth points: float64 [frame]."""
    for f in range(len(out)):
        x, y, z = second[0, f] - first[0, f], second[1, f] - first[1, f], second[2, f] - first[2, f]
        u, v, w = fourth[0, f] - third[0, f], fourth[1, f] - third[1, f], fourth[2, f] - third[2, f]
        size, other = np.sqrt(x * x + y * y + z * z), np.sqrt(u * u + v * v + w * w)
        out[f] = x / size * (u / other) + y / size * (v / other) + z / size * (w / other)


@kernel
def fill_knee_side(hip: Array, knee: Array, ankle: Array, ball: Array, out: Array) -> None:
    """Write how far the hip is on the side of the shank to which the toes point, in thigh lengths: float64 [frame]."""
    for f in range(len(out)):
        x, y, z = ankle[0, f] - knee[0, f], ankle[1, f] - knee[1, f], ankle[2, f] - knee[2, f]
        size = np.sqrt(x * x + y * y + z * z)
        x, y, z = x / size, y / size, z / size
        u, v, w = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
        size = np.sqrt(u * u + v * v + w * w)
        u, v, w = u / size, v / size, w / size
        along = u * x + v * y + w * z
        u, v, w = u - along * x, v - along * y, w - along * z
        toe_x, toe_y, toe_z = ball[0, f] - ankle[0, f], ball[1, f] - ankle[1, f], ball[2, f] - ankle[2, f]
        along = toe_x * x + toe_y * y + toe_z * z
        toe_x, toe_y, toe_z = toe_x - along * x, toe_y - along * y, toe_z - along * z
        size = np.sqrt(toe_x * toe_x + toe_y * toe_y + toe_z * toe_z)
        out[f] = u * (toe_x / size) + v * (toe_y / size) + w * (toe_z / size)


@kernel
def fill_angles(joints: Array, soles: Array, axes: Array, bones: Array, out: Array) -> None:
    """Write what the angles of a body are computed from.

    Parameters
    ----------
    joints, soles : float64 [22, 3, frame], [4, 3, frame]
    axes, bones : float64 [AXES, frame], [4, 3, frame]
        To work in.
    out : float64 [ROWS, frame]
        From TANGENTS opposite and adjacent side of rotation and lateral flexion of the trunk, flexion of the neck, of left and
        right hip and left and right shoulder; from SINES the sines of flexion of the trunk, lateral flexion of the neck and
        abduction of the hips; from COSINES the cosines of knees, elbows and of the angles between shanks and soles, neither
        beyond -1 and 1; from EXTRA the sides of the knees and how far the upper arms point outward.
    """
    pelvis, chest = axes[_PELVIS_AXES : _PELVIS_AXES + 9], axes[_CHEST_AXES : _CHEST_AXES + 9]
    fill_axes(joints[_HIPS[0]], joints[_HIPS[1]], joints[_HIPS[0]], joints[_HIPS[1]], joints[_SPINE1], pelvis)
    fill_axes(joints[_COLLARS[0]], joints[_COLLARS[1]], joints[_SPINE3], joints[_SPINE3], joints[_NECK], chest)
    fill_dots(pelvis, 0, chest, 6, 1.0, out[TANGENTS])
    fill_dots(pelvis, 6, chest, 6, 1.0, out[TANGENTS + 1])
    fill_dots(pelvis, 3, chest, 0, 1.0, out[TANGENTS + 2])
    fill_dots(pelvis, 3, chest, 3, 1.0, out[TANGENTS + 3])
    fill_dots(pelvis, 3, chest, 6, -1.0, out[SINES])
    head = bones[0]
    fill_bone(joints[_NECK], joints[_HEAD], chest, head)
    for f in range(out.shape[1]):
        out[TANGENTS + 4, f], out[TANGENTS + 5, f], out[SINES + 1, f] = head[2, f], head[1, f], head[0, f]
    for side in range(2):
        hip, knee, ankle, ball = joints[_HIPS[side]], joints[_KNEES[side]], joints[_ANKLES[side]], joints[_BALLS[side]]
        shoulder, elbow, wrist = joints[_SHOULDERS[side]], joints[_ELBOWS[side]], joints[_WRISTS[side]]
        thigh, upper_arm, row = bones[2 * side], bones[2 * side + 1], 2 * side
        fill_bone(hip, knee, pelvis, thigh)
        fill_bone(shoulder, elbow, chest, upper_arm)
        for f in range(out.shape[1]):
            out[TANGENTS + 6 + row, f], out[TANGENTS + 7 + row, f] = thigh[2, f], -thigh[1, f]
            out[TANGENTS + 10 + row, f], out[TANGENTS + 11 + row, f] = upper_arm[2, f], -upper_arm[1, f]
            out[SINES + 2 + side, f] = (1 - 2 * side) * thigh[0, f]
            out[EXTRA + 2 + side, f] = upper_arm[0, f]
        fill_bend(hip, knee, knee, ankle, out[COSINES + side])
        fill_bend(shoulder, elbow, elbow, wrist, out[COSINES + 2 + side])
        fill_bend(ankle, knee, soles[row], soles[row + 1], out[COSINES + 4 + side])
        fill_knee_side(hip, knee, ankle, ball, out[EXTRA + side])
    for row in range(SINES, EXTRA):
        for f in range(out.shape[1]):
            value = out[row, f]
            value = 1.0 if value > 1.0 else value
            out[row, f] = -1.0 if value < -1.0 else value


@kernel
def fill_rods(joints: Array, ends: Array, first: int, frames: int, rods: Array) -> None:
    """Copy four joints of some frames to the rows of a block, float64 [WORK], three for each joint."""
    for end in range(4):
        joint = joints[ends[end]]
        for axis in range(3):
            at = (3 * end + axis) * BLOCK
            for f in range(frames):
                rods[at + f] = joint[axis, first + f]


@kernel
def fill_gaps(rods: Array) -> None:
    """Write the distances of the line segments between the first two and the last two of four joints (Ericson, 5.1.9).

    All rows are parts of one array, float64 [WORK], at distances that the compiler knows: it then sees that none overlap, and
    computes several frames at once. Row GAPS is filled.
    """
    for f in range(BLOCK):
        x, y, z = (
            rods[3 * BLOCK + f] - rods[f],
            rods[4 * BLOCK + f] - rods[BLOCK + f],
            rods[5 * BLOCK + f] - rods[2 * BLOCK + f],
        )
        u, v = rods[9 * BLOCK + f] - rods[6 * BLOCK + f], rods[10 * BLOCK + f] - rods[7 * BLOCK + f]
        w = rods[11 * BLOCK + f] - rods[8 * BLOCK + f]
        apart_x, apart_y = rods[f] - rods[6 * BLOCK + f], rods[BLOCK + f] - rods[7 * BLOCK + f]
        apart_z = rods[2 * BLOCK + f] - rods[8 * BLOCK + f]
        one, other = x * x + y * y + z * z, u * u + v * v + w * w
        both = x * u + y * v + z * w
        along, along_other = x * apart_x + y * apart_y + z * apart_z, u * apart_x + v * apart_y + w * apart_z
        crossing = one * other - both * both
        s = clipped((both * along_other - along * other) / (crossing if crossing > _TINY else _TINY))
        s = s if crossing > _TINY else 0.0
        t = (both * s + along_other) / (other if other > _TINY else _TINY)
        t = t if other > _TINY else 0.0
        inside = clipped(t)
        # Where the nearest point of the second line lies beyond its end, take the nearest point of the first to that end.
        to_end = clipped((both * inside - along) / (one if one > _TINY else _TINY))
        s = to_end if (t != inside) | (other <= _TINY) | (crossing <= _TINY) else s
        s = s if one > _TINY else 0.0
        x, y, z = apart_x + s * x - inside * u, apart_y + s * y - inside * v, apart_z + s * z - inside * w
        rods[GAPS + f] = np.sqrt(x * x + y * y + z * z)


@kernel
def clipped(value: Scalar) -> Scalar:
    """Return a number that is neither below 0 nor above 1."""
    value = value if value > 0.0 else 0.0
    return value if value < 1.0 else 1.0


@kernel
def fill_overlap(joints: Array, ends: Array, radii: Array, statures: Array, rods: Array, out: Array) -> None:
    """Write the depth of the deepest overlap of pairs of capsules of a body in each frame.

    Parameters
    ----------
    joints : float64 [22, 3, frame]
    ends : int [pair, 4]
        Joints at the ends of both capsules.
    radii : float64 [pair]
        Sum of both, in statures.
    statures, rods : float64 [frame], [WORK]
        To work in.
    out : float64 [frame]
        Metres; NaN where the body is absent.
    """
    hip, knee, ankle = joints[_HIPS[0]], joints[_KNEES[0]], joints[_ANKLES[0]]
    for f in range(len(out)):
        x, y, z = hip[0, f] - knee[0, f], hip[1, f] - knee[1, f], hip[2, f] - knee[2, f]
        u, v, w = knee[0, f] - ankle[0, f], knee[1, f] - ankle[1, f], knee[2, f] - ankle[2, f]
        statures[f] = (np.sqrt(x * x + y * y + z * z) + np.sqrt(u * u + v * v + w * w)) / _LEG
        out[f] = 0.0 if statures[f] == statures[f] else np.nan
    rods[:] = 0.0
    for first in range(0, len(out), BLOCK):
        frames = min(len(out) - first, BLOCK)
        for pair in range(len(ends)):
            fill_rods(joints, ends[pair], first, frames, rods)
            fill_gaps(rods)
            for f in range(frames):
                depth, deepest = radii[pair] * statures[first + f] - rods[GAPS + f], out[first + f]
                out[first + f] = depth if (depth > deepest) | (depth != depth) else deepest
