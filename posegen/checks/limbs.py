"""Whether a body's limbs go through its trunk or through each other: capsules (round-ended rods) for flesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.apart import DEEPEST
from posegen.checks.columns import BLOCK, X, Y, Z, place_of
from posegen.kernels import Scalar, kernel
from posegen.skeleton import CAPSULES, JOINTS

__all__ = ["ASIDE", "PAIRS", "fill_aside", "limbs_cross"]

Array = NDArray[Any]

PAIRS = (
    *((f"{side}_forearm", other) for side in ("left", "right") for other in ("trunk", "head", "left_thigh", "right_thigh")),
    ("left_forearm", "right_forearm"),
    ("left_shank", "right_shank"),
    ("left_shank", "right_thigh"),
    ("right_shank", "left_thigh"),
)
"""Capsules of one body that are held against each other."""
STRICTER = 0.001
"""Metres less that are allowed here, so that no rounding matters to who measures again."""

ALLOWED = np.float32(DEEPEST - STRICTER)
ENDS = np.array([[JOINTS.index(joint) for part in pair for joint in CAPSULES[part][:2]] for pair in PAIRS])
RADII = np.array([CAPSULES[one][2] + CAPSULES[other][2] for one, other in PAIRS], np.float32)
USED = np.unique(ENDS)
ASIDE = len(JOINTS) * BLOCK
"""Size of how far aside each joint is."""
NONE, ONE, TWO, TINY = np.float32(0.0), np.float32(1.0), np.float32(2.0), np.float32(1e-9)


@kernel
def fill_along(column: Array, axis: Array, out: Array) -> None:
    """How far a joint is along an axis."""
    for f in range(BLOCK):
        out[f] = column[X + f] * axis[X + f] + column[Y + f] * axis[Y + f] + column[Z + f] * axis[Z + f]


@kernel
def fill_aside(columns: Array, left: Array, aside: Array) -> None:
    """How far to the left, as the pelvis sees it, all ends of capsules are: float32 [ASIDE], metres."""
    for joint in USED:
        fill_along(place_of(columns, joint), left, aside[joint * BLOCK : (joint + 1) * BLOCK])


@kernel
def apart_aside(a: Array, b: Array, c: Array, d: Array, thick: Scalar) -> bool:
    """Whether in all frames of a block the rod from a to b is further to one side than that from c to d, by `thick` metres."""
    count = np.int32(0)
    for f in range(BLOCK):
        one, other = min(a[f], b[f]) - max(c[f], d[f]), min(c[f], d[f]) - max(a[f], b[f])
        count = np.int32(count + (max(one, other) < thick))
    return bool(count == 0)


@kernel
def apart_around(a: Array, b: Array, c: Array, d: Array, reach: Scalar) -> bool:
    """Whether in all frames of a block the middles of two rods are further apart than half of `reach`, metres."""
    count, square = np.int32(0), reach * reach
    for f in range(BLOCK):
        x = a[X + f] + b[X + f] - c[X + f] - d[X + f]
        y = a[Y + f] + b[Y + f] - c[Y + f] - d[Y + f]
        z = a[Z + f] + b[Z + f] - c[Z + f] - d[Z + f]
        count = np.int32(count + (x * x + y * y + z * z < square))
    return bool(count == 0)


@kernel
def come_near(a: Array, b: Array, c: Array, d: Array, near: Scalar) -> bool:
    """Whether the rod from a to b comes nearer than `near` metres to that from c to d in any frame (Ericson 5.1.9)."""
    count, square = np.int32(0), near * near
    for f in range(BLOCK):
        u_x, u_y, u_z = b[X + f] - a[X + f], b[Y + f] - a[Y + f], b[Z + f] - a[Z + f]
        v_x, v_y, v_z = d[X + f] - c[X + f], d[Y + f] - c[Y + f], d[Z + f] - c[Z + f]
        r_x, r_y, r_z = a[X + f] - c[X + f], a[Y + f] - c[Y + f], a[Z + f] - c[Z + f]
        uu, uv = u_x * u_x + u_y * u_y + u_z * u_z, u_x * v_x + u_y * v_y + u_z * v_z
        # The head is a ball, a rod without length.
        vv = max(v_x * v_x + v_y * v_y + v_z * v_z, TINY)
        ur, vr = u_x * r_x + u_y * r_y + u_z * r_z, v_x * r_x + v_y * r_y + v_z * r_z
        s = min(max((uv * vr - ur * vv) / max(uu * vv - uv * uv, TINY), NONE), ONE)
        t = min(max((uv * s + vr) / vv, NONE), ONE)
        s = min(max((uv * t - ur) / uu, NONE), ONE)
        x, y, z = r_x + s * u_x - t * v_x, r_y + s * u_y - t * v_y, r_z + s * u_z - t * v_z
        count = np.int32(count + (x * x + y * y + z * z < square))
    return bool(count > 0)


@kernel
def longest(a: Array, b: Array) -> Scalar:
    """Length of a rod, metres; a little more, since joints lie on a grid."""
    x, y, z = a[X] - b[X], a[Y] - b[Y], a[Z] - b[Z]
    return np.sqrt(x * x + y * y + z * z) + np.float32(STRICTER)


@kernel
def limbs_cross(columns: Array, aside: Array, stature: Scalar) -> bool:
    """Whether any two parts of a body are too deep in each other in any frame of a block.

    Parameters
    ----------
    columns : float32 [COLUMNS]
        Joints, metres.
    aside : float32 [ASIDE]
        See :func:`fill_aside`: most limbs are apart sideways, and then need no further look.
    stature : float
        Metres.
    """
    for i in range(len(ENDS)):
        a, b, c, d = ENDS[i, 0], ENDS[i, 1], ENDS[i, 2], ENDS[i, 3]
        near = max(RADII[i] * np.float32(stature) - ALLOWED, NONE)
        if apart_aside(
            aside[a * BLOCK : (a + 1) * BLOCK],
            aside[b * BLOCK : (b + 1) * BLOCK],
            aside[c * BLOCK : (c + 1) * BLOCK],
            aside[d * BLOCK : (d + 1) * BLOCK],
            near,
        ):
            continue
        ends = place_of(columns, a), place_of(columns, b), place_of(columns, c), place_of(columns, d)
        reach = longest(ends[0], ends[1]) + longest(ends[2], ends[3]) + TWO * near
        if apart_around(ends[0], ends[1], ends[2], ends[3], reach):
            continue
        if come_near(ends[0], ends[1], ends[2], ends[3], near):
            return True
    return False
