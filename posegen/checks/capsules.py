"""Capsules: whether people, or the limbs of one body, pass through each other.

A capsule is a rod with round ends, which approximates the flesh around a bone. Two people are checked frame by frame. One body
is checked in blocks of frames, since every sequence needs it: their joints are columns, so that kernels compute eight frames at
once, and intermediate results stay in the processor's cache. A vector over the frames of a block is float32 [VECTOR]. Arrays of
more dimensions would not do: their rows lie at distances that the compiler does not know, so that it takes one frame at a time.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.kernels import Scalar, kernel
from posegen.foundations.skeleton import CAPSULES, JOINTS, PROPORTIONS
from posegen.foundations.vectors import Vector, dot, length, minus, plus, scaled

BLOCK = 64
"""Frames."""
VECTOR = 3 * BLOCK
"""Size of a vector over the frames of a block: x in all frames, then y, then z."""
DEEPEST = 0.02
"""Largest allowed overlap of capsules, metres: flesh yields."""

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
"""Metres subtracted from this limit, so that rounding does not matter to another measurement."""

ALLOWED = np.float32(DEEPEST - STRICTER)
PAIR_ENDS = np.array([[JOINTS.index(joint) for part in pair for joint in CAPSULES[part][:2]] for pair in PAIRS])
PAIR_RADII = np.array([CAPSULES[one][2] + CAPSULES[other][2] for one, other in PAIRS], np.float32)
USED = np.unique(PAIR_ENDS)
NONE, ONE, TWO, TINY = np.float32(0.0), np.float32(1.0), np.float32(2.0), np.float32(1e-9)


@kernel
def fill_columns(joints: Array, first: int, frames: int, columns: Array) -> None:
    """Copy frames from `first` on into columns, float32 [22, VECTOR].

    `joints` is float32 [at least frames, 22, 3]. After frame number `frames`, the last one is repeated.
    """
    last = frames - 1
    # Four frames at a time, which are adjacent in memory.
    for f in range(0, BLOCK, 4):
        one, two = joints[min(first + f, last)], joints[min(first + f + 1, last)]
        three, four = joints[min(first + f + 2, last)], joints[min(first + f + 3, last)]
        for j in range(len(JOINTS)):
            for k in range(3):
                row, at = columns[j], k * BLOCK + f
                row[at], row[at + 1], row[at + 2], row[at + 3] = one[j, k], two[j, k], three[j, k], four[j, k]


@kernel
def vector_in(vectors: Array, number: int, f: int) -> Vector:
    """Return in frame `f` the vector `number` of several that follow one another."""
    at = VECTOR * number + f
    return vectors[at], vectors[at + BLOCK], vectors[at + 2 * BLOCK]


@kernel
def put_in(vectors: Array, number: int, f: int, value: Vector) -> None:
    """Write in frame `f` the vector `number` of several that follow one another."""
    at = VECTOR * number + f
    vectors[at], vectors[at + BLOCK], vectors[at + 2 * BLOCK] = value


@kernel
def difference_in(one: Array, other: Array, f: int) -> Vector:
    """Return in frame `f` the vector from `other` to `one`."""
    return minus(vector_in(one, 0, f), vector_in(other, 0, f))


@kernel
def place_of(body: Array, joint: int) -> Vector:
    """Return the position of a joint of a body, float32 [22, 3], in float64; metres."""
    return float(body[joint, 0]), float(body[joint, 1]), float(body[joint, 2])


@kernel
def stature_of_legs(joints: Array) -> Scalar:
    """Return the stature by thigh and shank, metres; `joints` is float32 [frames, 22, 3], whose first frame is present."""
    body = joints[0]
    thigh, shank = minus(place_of(body, HIP), place_of(body, KNEE)), minus(place_of(body, KNEE), place_of(body, ANKLE))
    return (length(thigh) + length(shank)) / LEG


@kernel
def rods_gap(one: Array, other: Array, a: int, b: int, c: int, d: int) -> Scalar:
    """Return the distance of the rod from joint a to b of one body from that from c to d of another (Ericson 5.1.9), metres.

    `one` and `other` are float32 [22, 3].
    """
    u, v = minus(place_of(one, b), place_of(one, a)), minus(place_of(other, d), place_of(other, c))
    r = minus(place_of(one, a), place_of(other, c))
    aa, ee, bb, cc, f, rr = dot(u, u), dot(v, v), dot(u, v), dot(u, r), dot(v, r), dot(r, r)
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
        body, beside = one[f], other[f]
        way = minus(place_of(body, 0), place_of(beside, 0))
        if dot(way, way) > far * far:
            continue
        for i in range(len(radii)):
            near, away = place_of(body, ends[i, 0]), place_of(body, ends[i, 1])
            for j in range(len(radii)):
                thick = radii[i] * stature + radii[j] * other_stature
                # Most parts are far apart, which their middles and lengths show.
                other_near, other_away = place_of(beside, ends[j, 0]), place_of(beside, ends[j, 1])
                u, v = minus(away, near), minus(other_away, other_near)
                r = plus(minus(near, other_near), scaled(minus(u, v), 0.5))
                half = thick + 0.5 * (length(u) + length(v))
                if dot(r, r) < half * half:
                    gap = rods_gap(body, beside, ends[i, 0], ends[i, 1], ends[j, 0], ends[j, 1])
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
    """Compute the offsets of all ends of capsules to the left of the pelvis: float32 [22, BLOCK], metres."""
    for joint in USED:
        column, out = columns[joint], aside[joint]
        for f in range(BLOCK):
            out[f] = dot(vector_in(column, 0, f), vector_in(left, 0, f))


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
        way = minus(minus(plus(vector_in(a, 0, f), vector_in(b, 0, f)), vector_in(c, 0, f)), vector_in(d, 0, f))
        count = np.int32(count + (dot(way, way) < square))
    return bool(count == 0)


@kernel
def fill_gaps(a: Array, b: Array, c: Array, d: Array, gaps: Array) -> None:
    """Write the shortest vectors from the rod from c to d to that from a to b in each frame (Ericson 5.1.9), metres."""
    for f in range(BLOCK):
        u, v, r = difference_in(b, a, f), difference_in(d, c, f), difference_in(a, c, f)
        uu, uv = dot(u, u), dot(u, v)
        # The head is a ball: a rod without length.
        vv = max(dot(v, v), TINY)
        ur, vr = dot(u, r), dot(v, r)
        s = min(max((uv * vr - ur * vv) / max(uu * vv - uv * uv, TINY), NONE), ONE)
        t = min(max((uv * s + vr) / vv, NONE), ONE)
        s = min(max((uv * t - ur) / uu, NONE), ONE)
        put_in(gaps, 0, f, minus(plus(r, scaled(u, s)), scaled(v, t)))


@kernel
def come_near(gaps: Array, near: Scalar) -> bool:
    """Return whether two rods are closer than `near` metres in any frame."""
    count, square = np.int32(0), near * near
    for f in range(BLOCK):
        gap = vector_in(gaps, 0, f)
        count = np.int32(count + (dot(gap, gap) < square))
    return bool(count > 0)


@kernel
def pass_through(gaps: Array, near: Scalar) -> bool:
    """Return whether one rod changes sides of the other between two frames, within `near` metres of it in both."""
    count, square = np.int32(0), near * near
    for f in range(BLOCK - 1):
        here, there = vector_in(gaps, 0, f), vector_in(gaps, 0, f + 1)
        close = max(dot(here, here), dot(there, there)) < square
        count = np.int32(count + (close & (dot(here, there) < NONE)))
    return bool(count > 0)


@kernel
def rod_length(a: Array, b: Array) -> Scalar:
    """Return the length of a rod, metres, plus a little, since joints lie on a grid."""
    return length(difference_in(a, b, 0)) + np.float32(STRICTER)


@kernel
def limbs_cross(columns: Array, aside: Array, stature: Scalar, gaps: Array) -> bool:
    """Return whether any two parts of a body overlap too deep in any frame of a block, or pass through each other between two.

    Parameters
    ----------
    columns : float32 [22, VECTOR]
        Joints, metres.
    aside : float32 [22, BLOCK]
        See :func:`fill_aside`: most limbs are apart sideways, and need no further check.
    stature : float
        Metres.
    gaps : float32 [VECTOR]
        Scratch.
    """
    for i in range(len(PAIR_ENDS)):
        a, b, c, d = PAIR_ENDS[i, 0], PAIR_ENDS[i, 1], PAIR_ENDS[i, 2], PAIR_ENDS[i, 3]
        thick = PAIR_RADII[i] * np.float32(stature)
        near, passing = max(thick - ALLOWED, NONE), thick + PASSING
        if apart_sideways(aside[a], aside[b], aside[c], aside[d], passing):
            continue
        reach = rod_length(columns[a], columns[b]) + rod_length(columns[c], columns[d]) + TWO * passing
        if apart_by_length(columns[a], columns[b], columns[c], columns[d], reach):
            continue
        fill_gaps(columns[a], columns[b], columns[c], columns[d], gaps)
        if come_near(gaps, near) or pass_through(gaps, passing):
            return True
    return False
