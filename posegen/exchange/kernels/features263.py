"""Kernels of HumanML3D's features; :mod:`posegen.exchange.features263` defines the columns and passes the arrays."""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel
from posegen.skeleton import PARENTS

_TINY = np.float32(1e-12)
_OPPOSITE = np.float32(1e-9)
_LEFT_HIP, _RIGHT_HIP, _LEFT_SHOULDER, _RIGHT_SHOULDER = 1, 2, 16, 17
_COLLARS = (13, 14)
_FEET = (7, 10, 8, 11)
_STILL = np.float32(0.002)
_ONE, _TWO, _HALF = np.float32(1.0), np.float32(2.0), np.float32(0.5)
_NONE = np.float64(0.0)
POSITIONS, ROTATIONS, STEPS, CONTACTS = 4, 67, 193, 259
"""First columns of the parts of the features."""


@kernel
def set_lengths(joints: Array, lengths: Array, places: Array) -> None:
    """Write joints with other bone lengths, on the floor, that begin at the origin; the path is scaled by the legs.

    `joints` and `places` are float32 [frame, 22, 3], `lengths` float32 [22].
    """
    scale = (lengths[5] + lengths[8]) / max(_bone_length(joints, 0, 2, 5) + _bone_length(joints, 0, 5, 8), _TINY)
    for t in range(joints.shape[0]):
        for axis in range(3):
            places[t, 0, axis] = joints[t, 0, axis] * scale
    for j in range(1, joints.shape[1]):
        p, length = PARENTS[j], lengths[j]
        for t in range(joints.shape[0]):  # of one joint, so that the processor computes several roots at once
            size = length / max(_bone_length(joints, t, p, j), _TINY)
            places[t, j, 0] = places[t, p, 0] + (joints[t, j, 0] - joints[t, p, 0]) * size
            places[t, j, 1] = places[t, p, 1] + (joints[t, j, 1] - joints[t, p, 1]) * size
            places[t, j, 2] = places[t, p, 2] + (joints[t, j, 2] - joints[t, p, 2]) * size
    lowest = np.float32(np.inf)
    for t in range(joints.shape[0]):
        for j in range(joints.shape[1]):
            lowest = min(lowest, places[t, j, 1])
    x, z = places[0, 0, 0], places[0, 0, 2]
    for t in range(joints.shape[0]):
        for j in range(joints.shape[1]):
            places[t, j, 0] -= x
            places[t, j, 1] -= lowest
            places[t, j, 2] -= z


@kernel
def _bone_length(joints: Array, t: int, p: int, j: int) -> Scalar:
    """Return the length of the bone between a joint and its parent `p`."""
    x, y, z = joints[t, j, 0] - joints[t, p, 0], joints[t, j, 1] - joints[t, p, 1], joints[t, j, 2] - joints[t, p, 2]
    return np.sqrt(x * x + y * y + z * z)


@kernel
def face_ahead(places: Array) -> None:
    """Turn the joints about y so that hips and shoulders of the first frame face +z."""
    x = places[0, _RIGHT_HIP, 0] - places[0, _LEFT_HIP, 0] + places[0, _RIGHT_SHOULDER, 0] - places[0, _LEFT_SHOULDER, 0]
    z = places[0, _RIGHT_HIP, 2] - places[0, _LEFT_HIP, 2] + places[0, _RIGHT_SHOULDER, 2] - places[0, _LEFT_SHOULDER, 2]
    c, s = _half_angle(z, -x)
    cosine, sine = c * c - s * s, _TWO * c * s
    for t in range(places.shape[0]):
        for j in range(places.shape[1]):
            a, b = places[t, j, 0], places[t, j, 2]
            places[t, j, 0], places[t, j, 2] = cosine * a + sine * b, cosine * b - sine * a


@kernel
def _half_angle(x: Scalar, z: Scalar) -> tuple[Scalar, Scalar]:
    """Return cosine and sine of half the angle about y that turns a direction to +z."""
    size = max(np.sqrt(x * x + z * z), _TINY)
    # The other one by division: a root of the small difference would lose half of the digits.
    larger = np.sqrt((_ONE + abs(z) / size) * _HALF)
    smaller = abs(x) / size * _HALF / larger
    cosine, sine = (larger, smaller) if z >= 0 else (smaller, larger)
    return cosine, -sine if x >= 0 else sine


@kernel
def fill_headings(places: Array, weights: Array, ahead: Array, turns: Array) -> None:
    """Write cosine and sine of half the heading of each frame, smoothed and continued: `turns` is float32 [2, frame].

    `weights` are those of frames -r to r; `ahead` is float32 [2, r + frame + r] to work in.
    """
    frames, radius = places.shape[0], len(weights) // 2
    for t in range(frames):
        # The notebook exchanges left and right hip here. Shoulders are wider, so this direction is still ahead.
        size = np.float32(0.0)
        for axis in range(3):
            hips = places[t, _LEFT_HIP, axis] - places[t, _RIGHT_HIP, axis]
            across = hips + places[t, _RIGHT_SHOULDER, axis] - places[t, _LEFT_SHOULDER, axis]
            size += across * across
            if axis == 0:
                ahead[1, radius + t] = -across
        ahead[0, radius + t] = across
        size = max(np.sqrt(size), _TINY)
        ahead[0, radius + t] /= size
        ahead[1, radius + t] /= size
    for component in range(2):
        for t in range(radius):
            ahead[component, t] = ahead[component, radius]
            ahead[component, radius + frames + t] = ahead[component, radius + frames - 1]
        for t in range(frames):
            turns[component, t] = 0
        for k in range(len(weights)):
            for t in range(frames):
                turns[component, t] += weights[k] * ahead[component, t + k]
    for t in range(frames):
        c, s = _half_angle(turns[0, t], turns[1, t])
        if t and c * turns[0, t - 1] + s * turns[1, t - 1] < 0:
            c, s = -c, -s
        turns[0, t], turns[1, t] = c, s
    turns[0, 0], turns[1, 0] = _ONE, 0


@kernel
def fill_features(places: Array, turns: Array, axes: Array, bones: Array, out: Array) -> None:
    """Write all features, with the sine of the change of heading in place of the angle.

    `axes` are float32 [22, 3] directions in the rest pose, `bones` float64 [22, 4, frame - 1] is room for rotations.
    """
    for t in range(out.shape[0]):
        c, s = turns[0, t], turns[1, t]
        cosine, sine = c * c - s * s, _TWO * c * s
        c1, s1 = turns[0, t + 1], turns[1, t + 1]
        x, z = places[t + 1, 0, 0] - places[t, 0, 0], places[t + 1, 0, 2] - places[t, 0, 2]
        cosine1, sine1 = c1 * c1 - s1 * s1, _TWO * c1 * s1
        out[t, 0] = min(max(c * s1 - s * c1, -_ONE), _ONE)
        out[t, 1], out[t, 2], out[t, 3] = cosine1 * x + sine1 * z, cosine1 * z - sine1 * x, places[t, 0, 1]
        for j in range(places.shape[1]):
            x, y, z = (
                places[t + 1, j, 0] - places[t, j, 0],
                places[t + 1, j, 1] - places[t, j, 1],
                places[t + 1, j, 2] - places[t, j, 2],
            )
            at = STEPS + 3 * j
            out[t, at], out[t, at + 1], out[t, at + 2] = cosine * x + sine * z, y, cosine * z - sine * x
            for foot in range(len(_FEET)):
                if j == _FEET[foot]:
                    out[t, CONTACTS + foot] = x * x + y * y + z * z < _STILL
            if j:
                x, z = places[t, j, 0] - places[t, 0, 0], places[t, j, 2] - places[t, 0, 2]
                at = POSITIONS + 3 * (j - 1)
                out[t, at], out[t, at + 1], out[t, at + 2] = cosine * x + sine * z, places[t, j, 1], cosine * z - sine * x
    for j in range(1, places.shape[1]):
        _turn_bone(places, j, PARENTS[j], axes[j], bones[j])
        _fill_rotations(turns, j, PARENTS[j], bones, out)


@kernel
def _turn_bone(places: Array, j: int, p: int, axis: Array, bone: Array) -> None:
    """Write the rotation of the bone that ends at a joint in all frames: quaternions [4, frame] from its axis.

    The loops are over frames, so that the processor computes several roots and quotients at once.
    """
    a, b, c = axis[0], axis[1], axis[2]
    for t in range(bone.shape[1]):
        x, y, z = places[t, j, 0] - places[t, p, 0], places[t, j, 1] - places[t, p, 1], places[t, j, 2] - places[t, p, 2]
        size = _ONE / max(np.sqrt(x * x + y * y + z * z), _TINY)
        bone[1, t], bone[2, t], bone[3, t] = x * size, y * size, z * size
    for t in range(bone.shape[1]):
        x, y, z = np.float32(bone[1, t]), np.float32(bone[2, t]), np.float32(bone[3, t])
        qw, qx, qy, qz = _ONE + (a * x + b * y + c * z), b * z - c * y, c * x - a * z, a * y - b * x
        size = np.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
        if size < _OPPOSITE:
            # A bone opposite to its axis is turned by half a turn about any axis across it.
            qw, qx, qy, qz, size = _NONE, abs(b) + abs(c), abs(a), _NONE, _ONE
        bone[0, t], bone[1, t], bone[2, t], bone[3, t] = np.float64(qw) / size, qx / size, qy / size, np.float64(qz) / size


@kernel
def _fill_rotations(turns: Array, j: int, p: int, bones: Array, out: Array) -> None:
    """Write the rotation of the bone that ends at a joint, relative to the bone before it or to the heading."""
    first = p == 0 or j in _COLLARS
    at = ROTATIONS + 6 * (j - 1)
    for t in range(out.shape[0]):
        qw, qx, qy, qz = bones[j, 0, t], np.float32(bones[j, 1, t]), np.float32(bones[j, 2, t]), bones[j, 3, t]
        if first:
            a, b, c, d = turns[0, t], _NONE, turns[1, t], _NONE
        else:
            a, b = np.float32(bones[p, 0, t]), np.float64(np.float32(bones[p, 1, t]))
            c, d = np.float32(bones[p, 2, t]), np.float64(np.float32(bones[p, 3, t]))
        w, x = a * qw + b * qx + c * qy + d * qz, a * qx - b * qw - c * qz + d * qy
        y, z = a * qy + b * qz - c * qw - d * qx, a * qz - b * qy + c * qx - d * qw
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        out[t, at], out[t, at + 1], out[t, at + 2] = _ONE - _TWO * (yy + zz), _TWO * (xy + z * w), _TWO * (xz - y * w)
        out[t, at + 3], out[t, at + 4], out[t, at + 5] = _TWO * (xy - z * w), _ONE - _TWO * (xx + zz), _TWO * (yz + x * w)


@kernel
def add_moments(values: Array, total: Array, squares: Array) -> None:
    """Add the values of rows [row, column], and their squares, to float64 sums [column]."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = np.float64(values[row, column])
            total[column] += value
            squares[column] += value * value
