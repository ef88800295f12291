"""Kernels of HumanML3D's features; :mod:`posegen.exchange.features263` defines the columns and passes the arrays."""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import PARENTS

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
def fill_clip(
    joints: Array,
    lengths: Array,
    weights: Array,
    axes: Array,
    given: Array,
    moved: Array,
    ahead: Array,
    turns: Array,
    bones: Array,
    columns: Array,
    places: Array,
    features: Array,
) -> None:
    """Write the features of a clip, with the sine of the change of heading in place of the angle, and its joints.

    Parameters
    ----------
    joints, places : float32 [frame, 22, 3]
        The joints given, and those that the features describe.
    lengths : float32 [22]
        Bone lengths of the result; all 0 to keep those of the joints.
    weights : float32 [2 r + 1]
        Of the frames from -r to r around each frame in its heading.
    axes : float32 [22, 3]
        Direction of each bone in the rest pose.
    given, moved : float32 [22, 3, frame]
        To work in. Frames are last here, so that the processor computes several at once.
    ahead, turns : float32 [2, r + frame + r], float32 [2, frame]
        To work in.
    bones, columns : float64 [22, 4, frame - 1], float32 [263, frame - 1]
        To work in.
    features : float32 [frame - 1, 263]
    """
    # Axes are exchanged in the order of the result, which takes half of the time: reading far apart costs less than writing.
    for j in range(joints.shape[1]):
        for axis in range(3):
            for t in range(joints.shape[0]):
                given[j, axis, t] = joints[t, j, axis]
    set_lengths(given, lengths, moved, ahead[0], ahead[1])
    face_ahead(moved)
    for t in range(joints.shape[0]):
        for j in range(joints.shape[1]):
            for axis in range(3):
                places[t, j, axis] = moved[j, axis, t]
    fill_headings(moved, weights, ahead, turns)
    fill_columns(moved, turns, axes, ahead, given, bones, columns)
    for t in range(columns.shape[1]):
        for column in range(columns.shape[0]):
            features[t, column] = columns[column, t]


@kernel
def set_lengths(joints: Array, lengths: Array, places: Array, size: Array, lowest: Array) -> None:
    """Write joints with other bone lengths, on the floor, that begin at the origin; the path is scaled by the legs.

    Lengths that are all 0 keep each bone as it is.

    `joints` and `places` are float32 [22, 3, frame], `lengths` float32 [22], `size` and `lowest` float32 [frame or more] to
    work in. Each loop writes one row, since the compiler uses vector instructions only where few arrays could overlap.
    """
    frames = joints.shape[2]
    scale = (lengths[5] + lengths[8]) / max(_bone_length(joints, 0, 2, 5) + _bone_length(joints, 0, 5, 8), _TINY)
    keeps = lengths[5] == 0
    if keeps:
        scale = _ONE
    for axis in range(3):
        for t in range(frames):
            places[0, axis, t] = joints[0, axis, t] * scale
    for j in range(1, joints.shape[0]):
        p, length = PARENTS[j], lengths[j]
        for t in range(frames):
            size[t] = _ONE if keeps else length / max(_bone_length(joints, t, p, j), _TINY)
        for axis in range(3):
            for t in range(frames):
                places[j, axis, t] = places[p, axis, t] + (joints[j, axis, t] - joints[p, axis, t]) * size[t]
    for t in range(frames):
        lowest[t] = places[0, 1, t]
    for j in range(1, joints.shape[0]):
        for t in range(frames):
            lowest[t] = min(lowest[t], places[j, 1, t])
    floor = np.float32(np.inf)
    for t in range(frames):
        floor = min(floor, lowest[t])
    x, z = places[0, 0, 0], places[0, 2, 0]
    for j in range(joints.shape[0]):
        for t in range(frames):
            places[j, 0, t] -= x
        for t in range(frames):
            places[j, 1, t] -= floor
        for t in range(frames):
            places[j, 2, t] -= z


@kernel
def _bone_length(joints: Array, t: int, p: int, j: int) -> Scalar:
    """Return the length of the bone between a joint and its parent `p`."""
    x, y, z = joints[j, 0, t] - joints[p, 0, t], joints[j, 1, t] - joints[p, 1, t], joints[j, 2, t] - joints[p, 2, t]
    return np.sqrt(x * x + y * y + z * z)


@kernel
def face_ahead(places: Array) -> None:
    """Turn the joints [22, 3, frame] about y so that hips and shoulders of the first frame face +z."""
    x = places[_RIGHT_HIP, 0, 0] - places[_LEFT_HIP, 0, 0] + places[_RIGHT_SHOULDER, 0, 0] - places[_LEFT_SHOULDER, 0, 0]
    z = places[_RIGHT_HIP, 2, 0] - places[_LEFT_HIP, 2, 0] + places[_RIGHT_SHOULDER, 2, 0] - places[_LEFT_SHOULDER, 2, 0]
    c, s = _half_angle(z, -x)
    cosine, sine = c * c - s * s, _TWO * c * s
    for j in range(places.shape[0]):
        for t in range(places.shape[2]):
            a, b = places[j, 0, t], places[j, 2, t]
            places[j, 0, t], places[j, 2, t] = cosine * a + sine * b, cosine * b - sine * a


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

    `places` are float32 [22, 3, frame], `weights` those of frames -r to r; `ahead` is float32 [2, r + frame + r] to work in.
    """
    frames, radius = places.shape[2], len(weights) // 2
    for t in range(frames):
        # The notebook exchanges left and right hip here. Shoulders are wider, so this direction is still ahead.
        size = np.float32(0.0)
        for axis in range(3):
            hips = places[_LEFT_HIP, axis, t] - places[_RIGHT_HIP, axis, t]
            across = hips + places[_RIGHT_SHOULDER, axis, t] - places[_LEFT_SHOULDER, axis, t]
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
def fill_columns(places: Array, turns: Array, axes: Array, ahead: Array, room: Array, bones: Array, out: Array) -> None:
    """Write all features as rows [263, frame - 1], with the sine of the change of heading in place of the angle.

    `places` are float32 [22, 3, frame], `axes` float32 [22, 3] directions in the rest pose. To work in: `ahead` float32
    [2, frame or more] for cosine and sine of the heading, `room` like `places`, `bones` float64 [22, 4, frame - 1].
    """
    frames = out.shape[1]
    for t in range(frames + 1):
        ahead[0, t] = turns[0, t] * turns[0, t] - turns[1, t] * turns[1, t]
    for t in range(frames + 1):
        ahead[1, t] = _TWO * turns[0, t] * turns[1, t]
    for t in range(frames):
        out[0, t] = min(max(turns[0, t] * turns[1, t + 1] - turns[1, t] * turns[0, t + 1], -_ONE), _ONE)
    _turn_steps(places[0], ahead[:, 1:], out[1], out[2])
    for t in range(frames):
        out[3, t] = places[0, 1, t]
    for j in range(places.shape[0]):
        at = STEPS + 3 * j
        _turn_steps(places[j], ahead, out[at], out[at + 2])
        for t in range(frames):
            out[at + 1, t] = places[j, 1, t + 1] - places[j, 1, t]
        for foot in range(len(_FEET)):
            if j == _FEET[foot]:
                _mark_still(places[j], out[CONTACTS + foot])
    for j in range(1, places.shape[0]):
        at = POSITIONS + 3 * (j - 1)
        for t in range(frames):
            x, z = places[j, 0, t] - places[0, 0, t], places[j, 2, t] - places[0, 2, t]
            out[at, t] = ahead[0, t] * x + ahead[1, t] * z
        for t in range(frames):
            out[at + 1, t] = places[j, 1, t]
        for t in range(frames):
            x, z = places[j, 0, t] - places[0, 0, t], places[j, 2, t] - places[0, 2, t]
            out[at + 2, t] = ahead[0, t] * z - ahead[1, t] * x
        _turn_bone(places[j], places[PARENTS[j]], axes[j], room[0], room[1, 0], bones[j])
        _fill_rotations(turns, j, PARENTS[j], bones, out)


@kernel
def _turn_steps(path: Array, ahead: Array, x: Array, z: Array) -> None:
    """Write the steps of a joint [3, frame] to the next frame along x and z, in a heading."""
    for t in range(len(x)):
        a, b = path[0, t + 1] - path[0, t], path[2, t + 1] - path[2, t]
        x[t] = ahead[0, t] * a + ahead[1, t] * b
    for t in range(len(z)):
        a, b = path[0, t + 1] - path[0, t], path[2, t + 1] - path[2, t]
        z[t] = ahead[0, t] * b - ahead[1, t] * a


@kernel
def _mark_still(path: Array, out: Array) -> None:
    """Write 1 where a joint [3, frame] hardly moves to the next frame."""
    for t in range(len(out)):
        x, y, z = path[0, t + 1] - path[0, t], path[1, t + 1] - path[1, t], path[2, t + 1] - path[2, t]
        out[t] = x * x + y * y + z * z < _STILL


@kernel
def _turn_bone(end: Array, begin: Array, axis: Array, unit: Array, size: Array, bone: Array) -> None:
    """Write the rotation of the bone between two joints [3, frame] in all frames: quaternions [4, frame] from its axis.

    `unit` float32 [3, frame] and `size` float32 [frame] are to work in.
    """
    a, b, c = axis[0], axis[1], axis[2]
    frames = bone.shape[1]
    for t in range(frames):
        x, y, z = end[0, t] - begin[0, t], end[1, t] - begin[1, t], end[2, t] - begin[2, t]
        size[t] = _ONE / max(np.sqrt(x * x + y * y + z * z), _TINY)
    for k in range(3):
        for t in range(frames):
            unit[k, t] = (end[k, t] - begin[k, t]) * size[t]
    for t in range(frames):
        x, y, z = unit[0, t], unit[1, t], unit[2, t]
        qw, qx, qy, qz = _ONE + (a * x + b * y + c * z), b * z - c * y, c * x - a * z, a * y - b * x
        size[t] = np.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
    for t in range(frames):
        bone[0, t] = np.float64(_ONE + (a * unit[0, t] + b * unit[1, t] + c * unit[2, t])) / size[t]
    for t in range(frames):
        bone[1, t] = (b * unit[2, t] - c * unit[1, t]) / size[t]
    for t in range(frames):
        bone[2, t] = (c * unit[0, t] - a * unit[2, t]) / size[t]
    for t in range(frames):
        bone[3, t] = np.float64(a * unit[1, t] - b * unit[0, t]) / size[t]
    for t in range(frames):
        if size[t] < _OPPOSITE:
            # A bone opposite to its axis is turned by half a turn about any axis across it.
            bone[0, t], bone[1, t], bone[2, t], bone[3, t] = _NONE, abs(b) + abs(c), abs(a), _NONE


@kernel
def _fill_rotations(turns: Array, j: int, p: int, bones: Array, out: Array) -> None:
    """Write the rotation of the bone that ends at a joint, relative to the bone before it or to the heading."""
    first = p == 0 or j in _COLLARS
    at = ROTATIONS + 6 * (j - 1)
    for t in range(out.shape[1]):
        qw, qx, qy, qz = bones[j, 0, t], np.float32(bones[j, 1, t]), np.float32(bones[j, 2, t]), bones[j, 3, t]
        if first:
            a, b, c, d = turns[0, t], _NONE, turns[1, t], _NONE
        else:
            a, b = np.float32(bones[p, 0, t]), np.float64(np.float32(bones[p, 1, t]))
            c, d = np.float32(bones[p, 2, t]), np.float64(np.float32(bones[p, 3, t]))
        w, x = a * qw + b * qx + c * qy + d * qz, a * qx - b * qw - c * qz + d * qy
        y, z = a * qy + b * qz - c * qw - d * qx, a * qz - b * qy + c * qx - d * qw
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        out[at, t], out[at + 1, t], out[at + 2, t] = _ONE - _TWO * (yy + zz), _TWO * (xy + z * w), _TWO * (xz - y * w)
        out[at + 3, t], out[at + 4, t], out[at + 5, t] = _TWO * (xy - z * w), _ONE - _TWO * (xx + zz), _TWO * (yz + x * w)
