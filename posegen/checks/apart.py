"""Whether people go through each other: capsules (round-ended rods) for flesh, those of one against those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.skeleton import CAPSULES, JOINTS, PROPORTIONS

__all__ = ["DEEPEST", "PARTS", "overlapping", "people_overlap"]

Array = NDArray[Any]

DEEPEST = 0.02
"""Metres by which capsules of two people may overlap: flesh gives way."""

UPPER_ARM = 0.02
"""Radius of the upper arm as a fraction of stature: no check of one body alone looks at upper arms."""
PARTS = tuple(CAPSULES.values()) + tuple((f"{side}_shoulder", f"{side}_elbow", UPPER_ARM) for side in ("left", "right"))
ENDS = np.array([[JOINTS.index(first), JOINTS.index(last)] for first, last, _ in PARTS])
RADII = np.array([radius for _, _, radius in PARTS])
HIP, KNEE, ANKLE = (JOINTS.index(f"left_{name}") for name in ("hip", "knee", "ankle"))
LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
REACH = 0.75
"""Statures by which nothing of a body is further from the pelvis."""
TINY = 1e-9


@kernel
def stature_seen(joints: Array) -> Scalar:
    """Stature by thigh and shank, metres; `joints` is float32 [frames, 22, 3], of which the first frame is there."""
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
    """Distance of the stretch from joint a to b of one body from that from c to d of another (Ericson 5.1.9), metres.

    `one` and `other` are float32 [22, 3].
    """
    aa, ee, f, cc, bb, rr = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        u, v = float(one[b, k]) - float(one[a, k]), float(other[d, k]) - float(other[c, k])
        r = float(one[a, k]) - float(other[c, k])
        aa, ee, bb = aa + u * u, ee + v * v, bb + u * v
        cc, f, rr = cc + u * r, f + v * r, rr + r * r
    s = min(max((bb * f - cc * ee) / max(aa * ee - bb * bb, TINY), 0.0), 1.0)
    t = min(max((bb * s + f) / max(ee, TINY), 0.0), 1.0)
    s = min(max((bb * t - cc) / max(aa, TINY), 0.0), 1.0)
    square = rr + s * s * aa + t * t * ee + 2.0 * (s * cc - t * f - s * t * bb)
    return np.sqrt(max(square, 0.0))


@kernel
def pair_overlap(one: Array, other: Array, ends: Array, radii: Array, out: Array) -> None:
    """Raise `out` to the depth to which two people are in each other in each frame.

    `one` and `other` are float32 [frames, 22, 3], `out` is float64 [frames], all in metres.
    """
    stature, other_stature = stature_seen(one), stature_seen(other)
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
                # Most parts are far from each other: the ends alone say so.
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
    there, shown = (np.ascontiguousarray(a, np.int64) for a in (actors, length))
    overlap_of_all(joints, variant, there, shown, ENDS, RADII, depth)
    return depth


def people_overlap(one: Array, other: Array) -> Array:
    """How deep two people are in each other.

    Parameters
    ----------
    one, other : float32 [frames, 22, 3]
        Metres; no frame is absent.

    Returns
    -------
    float64 [frames]
        Depth of the deepest pair of capsules, in metres; 0 where none overlap.
    """
    both = np.stack([one, other]).astype(np.float32)[None, None]
    return np.asarray(_overlap(both, 0, np.array([2]), np.array([len(one)]))[0])


def overlapping(joints: Array, variant: int, actors: Array, length: Array) -> Array:
    """Find the sequences in which people go through each other.

    Parameters
    ----------
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres.
    variant : int
        Which one is looked at.
    actors, length : int [n]
        How many actors and frames each sequence has.

    Returns
    -------
    bool [n]
        Whether any two are in each other by more than :data:`DEEPEST`, in some frame.
    """
    if joints.shape[2] < 2:
        return np.zeros(len(joints), bool)
    return np.asarray((_overlap(joints, variant, actors, length) > DEEPEST).any(axis=1))
