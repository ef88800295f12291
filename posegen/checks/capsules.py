"""Capsules: whether people, or the limbs of one body, pass through each other.

A capsule is a rod with round ends, which approximates the flesh around a bone. Two people are checked frame by frame. One body
is checked in blocks of frames (:mod:`posegen.checks.columns`), since every sequence needs it.
"""

from __future__ import annotations

import numpy as np

from posegen.checks.columns import BLOCK, X, Y, Z, joint_column
from posegen.foundations.arrays import Array
from posegen.foundations.kernels import Scalar, kernel
from posegen.foundations.skeleton import CAPSULES, JOINTS, PROPORTIONS

DEEPEST = 0.02
"""Metres by which capsules may overlap: flesh yields."""

UPPER_ARM = 0.02
"""Radius of the upper arm as a fraction of stature; upper arms are checked against other people only."""
PARTS = tuple(CAPSULES.values()) + tuple((f"{side}_shoulder", f"{side}_elbow", UPPER_ARM) for side in ("left", "right"))
PART_ENDS = np.array([[JOINTS.index(first), JOINTS.index(last)] for first, last, _ in PARTS])
PART_RADII = np.array([radius for _, _, radius in PARTS])
HIP, KNEE, ANKLE = (JOINTS.index(f"left_{name}") for name in ("hip", "knee", "ankle"))
LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
REACH = 0.75
"""Distance from the pelvis, in statures, that no part of a body exceeds."""
SMALLEST = 1e-9

PAIRS = (
    *((f"{side}_forearm", other) for side in ("left", "right") for other in ("trunk", "head", "left_thigh", "right_thigh")),
    ("left_forearm", "right_forearm"),
    ("left_shank", "right_shank"),
    ("left_shank", "right_thigh"),
    ("right_shank", "left_thigh"),
)
"""Capsules of one body that are checked against each other."""
PASSING = np.float32(0.05)
"""Metres between the flesh of two limbs. A limb that is as near to another one in two successive frames, and on opposite sides
of it, has gone through it.
"""
STRICTER = 0.001
"""Metres by which this limit is stricter, so that rounding does not matter to another measurement."""

ALLOWED = np.float32(DEEPEST - STRICTER)
PAIR_ENDS = np.array([[JOINTS.index(joint) for part in pair for joint in CAPSULES[part][:2]] for pair in PAIRS])
PAIR_RADII = np.array([CAPSULES[one][2] + CAPSULES[other][2] for one, other in PAIRS], np.float32)
USED = np.unique(PAIR_ENDS)
ASIDE = len(JOINTS) * BLOCK
"""Size of the sideways offsets of all joints."""
GAPS = 3 * BLOCK
"""Size of the shortest vectors between two rods."""
NONE, ONE, TWO, TINY = np.float32(0.0), np.float32(1.0), np.float32(2.0), np.float32(1e-9)


@kernel
def stature_of_legs(joints: Array) -> Scalar:
    """Return the stature by thigh and shank, metres; `joints` is float32 [frames, 22, 3], whose first frame is present."""
    length = 0.0
    for near, far in ((HIP, KNEE), (KNEE, ANKLE)):
        square = 0.0
        for k in range(3):
            part = float(joints[0, near, k]) - float(joints[0, far, k])
            square += part * part
        length += np.sqrt(square)
    return length / LEG


@kernel
def rods_gap(one: Array, other: Array, a: int, b: int, c: int, d: int) -> Scalar:
    """Return the distance of the rod from joint a to b of one body from that from c to d of another (Ericson 5.1.9), metres.

    `one` and `other` are float32 [22, 3].
    """
    aa, ee, f, cc, bb, rr = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        u, v = float(one[b, k]) - float(one[a, k]), float(other[d, k]) - float(other[c, k])
        r = float(one[a, k]) - float(other[c, k])
        aa, ee, bb = aa + u * u, ee + v * v, bb + u * v
        cc, f, rr = cc + u * r, f + v * r, rr + r * r
    s = min(max((bb * f - cc * ee) / max(aa * ee - bb * bb, SMALLEST), 0.0), 1.0)
    t = min(max((bb * s + f) / max(ee, SMALLEST), 0.0), 1.0)
    s = min(max((bb * t - cc) / max(aa, SMALLEST), 0.0), 1.0)
    square = rr + s * s * aa + t * t * ee + 2.0 * (s * cc - t * f - s * t * bb)
    return np.sqrt(max(square, 0.0))


@kernel
def pair_overlap(one: Array, other: Array, ends: Array, radii: Array, out: Array) -> None:
    """Raise `out` to the depth to which two people overlap in each frame.

    `one` and `other` are float32 [frames, 22, 3], `out` is float64 [frames], all in metres.
    """
    stature, other_stature = stature_of_legs(one), stature_of_legs(other)
    far = REACH * (stature + other_stature)
    for f in range(len(out)):
        square = 0.0
        for k in range(3):
            part = float(one[f, 0, k]) - float(other[f, 0, k])
            square += part * part
        if square > far * far:
            continue
        for i in range(len(radii)):
            for j in range(len(radii)):
                thick = radii[i] * stature + radii[j] * other_stature
                # Most parts are far apart, which their middles and lengths show.
                square, half = 0.0, 0.0
                along, other_along = 0.0, 0.0
                for k in range(3):
                    u = float(one[f, ends[i, 1], k]) - float(one[f, ends[i, 0], k])
                    v = float(other[f, ends[j, 1], k]) - float(other[f, ends[j, 0], k])
                    r = float(one[f, ends[i, 0], k]) - float(other[f, ends[j, 0], k]) + 0.5 * (u - v)
                    square, along, other_along = square + r * r, along + u * u, other_along + v * v
                half = thick + 0.5 * (np.sqrt(along) + np.sqrt(other_along))
                if square < half * half:
                    gap = rods_gap(one[f], other[f], ends[i, 0], ends[i, 1], ends[j, 0], ends[j, 1])
                    out[f] = max(out[f], thick - gap)


@kernel
def overlap_of_all(joints: Array, variant: int, actors: Array, length: Array, ends: Array, radii: Array, out: Array) -> None:
    """Write the deepest overlap of any two actors into `out`, float64 [n, frames]; see :func:`overlapping`."""
    out[:] = 0.0
    for i in range(len(out)):
        frames = length[i]
        for one in range(actors[i]):
            for other in range(one + 1, actors[i]):
                pair_overlap(joints[i, variant, one, :frames], joints[i, variant, other, :frames], ends, radii, out[i, :frames])


def _overlap(joints: Array, variant: int, actors: Array, length: Array) -> Array:
    depth = np.zeros((len(joints), joints.shape[3]))
    present, frames = (np.ascontiguousarray(a, np.int64) for a in (actors, length))
    overlap_of_all(joints, variant, present, frames, PART_ENDS, PART_RADII, depth)
    return depth


def people_overlap(one: Array, other: Array) -> Array:
    """Return how deep two people overlap.

    Parameters
    ----------
    one, other : float32 [frames, 22, 3]
        Metres; all frames are present.

    Returns
    -------
    float64 [frames]
        Depth of the deepest pair of capsules, in metres; 0 where none overlap.
    """
    both = np.stack([one, other]).astype(np.float32)[None, None]
    return np.asarray(_overlap(both, 0, np.array([2]), np.array([len(one)]))[0])


def overlapping(joints: Array, variant: int, actors: Array, length: Array) -> Array:
    """Return in which sequences people pass through each other.

    Parameters
    ----------
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres.
    variant : int
        Index of the variant that is checked.
    actors, length : int [n]
        Number of actors and frames of each sequence.

    Returns
    -------
    bool [n]
        Whether any two people overlap by more than :data:`DEEPEST` in some frame.
    """
    if joints.shape[2] < 2:
        return np.zeros(len(joints), bool)
    return np.asarray((_overlap(joints, variant, actors, length) > DEEPEST).any(axis=1))


@kernel
def fill_aside(columns: Array, left: Array, aside: Array) -> None:
    """Compute the offsets of all ends of capsules to the left of the pelvis: float32 [ASIDE], metres."""
    for joint in USED:
        column, out = joint_column(columns, joint), aside[joint * BLOCK : (joint + 1) * BLOCK]
        for f in range(BLOCK):
            out[f] = column[X + f] * left[X + f] + column[Y + f] * left[Y + f] + column[Z + f] * left[Z + f]


@kernel
def apart_sideways(a: Array, b: Array, c: Array, d: Array, thick: Scalar) -> bool:
    """Return whether in all frames of a block the rod from a to b is beside that from c to d by at least `thick` metres."""
    count = np.int32(0)
    for f in range(BLOCK):
        one, other = min(a[f], b[f]) - max(c[f], d[f]), min(c[f], d[f]) - max(a[f], b[f])
        count = np.int32(count + (max(one, other) < thick))
    return bool(count == 0)


@kernel
def apart_by_length(a: Array, b: Array, c: Array, d: Array, reach: Scalar) -> bool:
    """Return whether in all frames of a block the middles of two rods are further apart than half of `reach`, metres."""
    count, square = np.int32(0), reach * reach
    for f in range(BLOCK):
        x = a[X + f] + b[X + f] - c[X + f] - d[X + f]
        y = a[Y + f] + b[Y + f] - c[Y + f] - d[Y + f]
        z = a[Z + f] + b[Z + f] - c[Z + f] - d[Z + f]
        count = np.int32(count + (x * x + y * y + z * z < square))
    return bool(count == 0)


@kernel
def fill_gaps(a: Array, b: Array, c: Array, d: Array, gaps: Array) -> None:
    """Write the shortest vectors from the rod from c to d to that from a to b in each frame (Ericson 5.1.9), metres."""
    for f in range(BLOCK):
        u_x, u_y, u_z = b[X + f] - a[X + f], b[Y + f] - a[Y + f], b[Z + f] - a[Z + f]
        v_x, v_y, v_z = d[X + f] - c[X + f], d[Y + f] - c[Y + f], d[Z + f] - c[Z + f]
        r_x, r_y, r_z = a[X + f] - c[X + f], a[Y + f] - c[Y + f], a[Z + f] - c[Z + f]
        uu, uv = u_x * u_x + u_y * u_y + u_z * u_z, u_x * v_x + u_y * v_y + u_z * v_z
        # The head is a ball: a rod without length.
        vv = max(v_x * v_x + v_y * v_y + v_z * v_z, TINY)
        ur, vr = u_x * r_x + u_y * r_y + u_z * r_z, v_x * r_x + v_y * r_y + v_z * r_z
        s = min(max((uv * vr - ur * vv) / max(uu * vv - uv * uv, TINY), NONE), ONE)
        t = min(max((uv * s + vr) / vv, NONE), ONE)
        s = min(max((uv * t - ur) / uu, NONE), ONE)
        gaps[X + f], gaps[Y + f], gaps[Z + f] = r_x + s * u_x - t * v_x, r_y + s * u_y - t * v_y, r_z + s * u_z - t * v_z


@kernel
def come_near(gaps: Array, near: Scalar) -> bool:
    """Return whether two rods are closer than `near` metres in any frame."""
    count, square = np.int32(0), near * near
    for f in range(BLOCK):
        x, y, z = gaps[X + f], gaps[Y + f], gaps[Z + f]
        count = np.int32(count + (x * x + y * y + z * z < square))
    return bool(count > 0)


@kernel
def pass_through(gaps: Array, near: Scalar) -> bool:
    """Return whether one rod changes sides of the other between two frames, within `near` metres of it in both."""
    count, square = np.int32(0), near * near
    for f in range(BLOCK - 1):
        x, y, z = gaps[X + f], gaps[Y + f], gaps[Z + f]
        p, q, r = gaps[X + f + 1], gaps[Y + f + 1], gaps[Z + f + 1]
        close = max(x * x + y * y + z * z, p * p + q * q + r * r) < square
        count = np.int32(count + (close & (x * p + y * q + z * r < NONE)))
    return bool(count > 0)


@kernel
def rod_length(a: Array, b: Array) -> Scalar:
    """Return the length of a rod, metres, plus a little, since joints lie on a grid."""
    x, y, z = a[X] - b[X], a[Y] - b[Y], a[Z] - b[Z]
    return np.sqrt(x * x + y * y + z * z) + np.float32(STRICTER)


@kernel
def limbs_cross(columns: Array, aside: Array, stature: Scalar, gaps: Array) -> bool:
    """Return whether any two parts of a body overlap too deep in any frame of a block, or pass through each other between two.

    Parameters
    ----------
    columns : float32 [COLUMNS]
        Joints, metres.
    aside : float32 [ASIDE]
        See :func:`fill_aside`: most limbs are apart sideways, and need no further check.
    stature : float
        Metres.
    gaps : float32 [GAPS]
        Scratch.
    """
    for i in range(len(PAIR_ENDS)):
        a, b, c, d = PAIR_ENDS[i, 0], PAIR_ENDS[i, 1], PAIR_ENDS[i, 2], PAIR_ENDS[i, 3]
        thick = PAIR_RADII[i] * np.float32(stature)
        near, passing = max(thick - ALLOWED, NONE), thick + PASSING
        if apart_sideways(
            aside[a * BLOCK : (a + 1) * BLOCK],
            aside[b * BLOCK : (b + 1) * BLOCK],
            aside[c * BLOCK : (c + 1) * BLOCK],
            aside[d * BLOCK : (d + 1) * BLOCK],
            passing,
        ):
            continue
        ends = joint_column(columns, a), joint_column(columns, b), joint_column(columns, c), joint_column(columns, d)
        reach = rod_length(ends[0], ends[1]) + rod_length(ends[2], ends[3]) + TWO * passing
        if apart_by_length(ends[0], ends[1], ends[2], ends[3], reach):
            continue
        fill_gaps(ends[0], ends[1], ends[2], ends[3], gaps)
        if come_near(gaps, near) or pass_through(gaps, passing):
            return True
    return False
