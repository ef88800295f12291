"""Kernels of joint rotations; :mod:`posegen.fields.rotation` defines the rotations and passes the arrays.

A vector is a tuple of three numbers, a rotation a tuple of three vectors: the images of the axes x, y and z.
"""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel
from posegen.skeleton import JOINTS, PARENTS

Vector = tuple[Scalar, Scalar, Scalar]
Rotation = tuple[Vector, Vector, Vector]

_TINY = 1e-12
_PARALLEL = 1e-6
_WEAK = 0.08
"""Weight of the reference direction of a straight limb, relative to a limb bent by a right angle."""

_COPY, _PELVIS, _CHEST, _SHORTEST, _SPINE, _HIP, _KNEE, _HINGE, _SHOULDER = range(9)
_KINDS = {
    "pelvis": _PELVIS, "spine1": _SPINE, "spine2": _SPINE, "spine3": _CHEST, "neck": _SHORTEST, "left_collar": _SHORTEST,
    "right_collar": _SHORTEST, "left_hip": _HIP, "right_hip": _HIP, "left_knee": _KNEE, "right_knee": _KNEE,
    "left_ankle": _HINGE, "right_ankle": _HINGE, "left_shoulder": _SHOULDER, "right_shoulder": _SHOULDER,
    "left_elbow": _HINGE, "right_elbow": _HINGE,
}  # fmt: skip
_LIMBS = {
    "left_hip": "left_knee", "right_hip": "right_knee", "left_knee": "left_ankle", "right_knee": "right_ankle",
    "left_ankle": "left_foot", "right_ankle": "right_foot", "left_shoulder": "left_elbow", "right_shoulder": "right_elbow",
    "left_elbow": "left_wrist", "right_elbow": "right_wrist", "spine1": "spine2", "spine2": "spine3", "neck": "head",
    "left_collar": "left_shoulder", "right_collar": "right_shoulder",
}  # fmt: skip
"""Child joint at which each bone is aimed."""
_KIND = np.array([_KINDS.get(name, _COPY) for name in JOINTS])
_CHILD = np.array([JOINTS.index(_LIMBS[name]) if name in _LIMBS else 0 for name in JOINTS])
_SIGN = np.array([-1.0 if name.startswith("right_") else 1.0 for name in JOINTS])
_SHARE = np.array([1 / 3 if name == "spine1" else 1 / 2 for name in JOINTS])
"""Share of the remaining twist of the chest that a joint of the spine takes."""
_LEG, _ARM = (
    np.array(
        [[JOINTS.index(f"{'right' if name.startswith('right_') else 'left'}_{part}") for part in parts] for name in JOINTS]
    )
    for parts in (("knee", "ankle", "foot"), ("elbow", "wrist"))
)
"""Joints of the leg and of the arm on the side of each joint."""
_HIPS = (JOINTS.index("left_hip"), JOINTS.index("right_hip"), JOINTS.index("spine1"))
_SHOULDERS = (JOINTS.index("left_collar"), JOINTS.index("right_collar"), JOINTS.index("neck"))


@kernel
def fill_rotations(joints: Array, offsets: Array, axes: Array, reached: Array, local: Array) -> None:
    """Write the axes of the joints of a clip in the world, and relative to their parents.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres.
    offsets : float64 [22, 3]
        Offset of each joint from its parent in the rest pose.
    axes : float64 [22, 3, 3, frame]
        Three columns of three components, in the world.
    reached : float64 [22, 3, frame]
        Positions of the joints by forward kinematics; to work in.
    local : float32 [frame, 22, 6]
        First two columns relative to the parent; those of the pelvis in the world.
    """
    for j in range(joints.shape[1]):
        p, kind, child = PARENTS[j], _KIND[j], _CHILD[j]
        offset, bone = vector(offsets, j), unit(vector(offsets, child))
        is_rigid, known = kind in (_PELVIS, _CHEST), _HIPS if kind == _PELVIS else _SHOULDERS
        rest = inverse(rigid_axes(offsets, known) if is_rigid else frame(bone, (1.0, 0.0, 0.0)))
        for f in range(joints.shape[0]):
            places, above = joints[f], axes_of(axes, max(p, 0), f)
            if p < 0:
                here = vector(places, j)
            else:
                here = plus((reached[p, 0, f], reached[p, 1, f], reached[p, 2, f]), applied(above, offset))
            reached[j, 0, f], reached[j, 1, f], reached[j, 2, f] = here
            if kind == _COPY:
                own = above
            elif is_rigid:
                own = product(rigid_axes(places, known), rest)
            else:
                aim = unit(minus(vector(places, child), here))
                if kind == _SHORTEST:
                    own = product(between(applied(above, bone), aim), above)
                else:
                    own = product(frame(aim, lateral(j, aim, above, places)), rest)
            for column in range(3):
                axes[j, column, 0, f], axes[j, column, 1, f], axes[j, column, 2, f] = own[column]
            if p >= 0:
                own = product(inverse(above), own)
            for k in range(3):
                local[f, j, k], local[f, j, 3 + k] = own[0][k], own[1][k]


@kernel
def lateral(j: int, bone: Vector, parent: Rotation, places: Array) -> Vector:
    """Return the direction of a joint's x axis, before it is made orthogonal to the bone; `places` are joints [22, 3]."""
    kind, x = _KIND[j], parent[0]
    if kind in (_HIP, _KNEE):
        knee, ankle, foot = vector(places, _LEG[j, 0]), vector(places, _LEG[j, 1]), vector(places, _LEG[j, 2])
        shank = unit(minus(ankle, knee))
        plane = cross(unit(minus(foot, ankle)), shank)
        return plane if kind == _KNEE else plus(cross(bone, shank), scaled(across(plane, bone), _WEAK))
    if kind == _SHOULDER:
        forearm = unit(minus(vector(places, _ARM[j, 1]), vector(places, _ARM[j, 0])))
        # A straight arm has the x axis of an arm held out sideways, up on the left and down on the right, after the shortest
        # rotation to its direction.
        straight = applied(between(scaled(x, _SIGN[j]), bone), scaled(parent[1], _SIGN[j]))
        return plus(cross(forearm, bone), scaled(straight, _WEAK))
    if kind == _SPINE:
        chest = unit(minus(vector(places, _SHOULDERS[0]), vector(places, _SHOULDERS[1])))
        return plus(scaled(x, 1.0 - _SHARE[j]), scaled(chest, _SHARE[j]))
    return x


@kernel
def rigid_axes(places: Array, known: tuple[int, int, int]) -> Rotation:
    """Return the axes of a body of which three joints of [22, 3] are known: left, right and top."""
    left, right, top = vector(places, known[0]), vector(places, known[1]), vector(places, known[2])
    return frame(minus(left, right), minus(top, scaled(plus(left, right), 0.5)))


@kernel
def frame(first: Vector, second: Vector) -> Rotation:
    """Return the rotation whose x axis lies along `first` and whose y axis is as near to `second` as possible (Gram-Schmidt).

    Where `second` is parallel to `first`, the y axis is any orthogonal direction.
    """
    one = unit(first)
    other = across(second, one)
    if np.sqrt(dot(other, other)) < _PARALLEL:
        other = across((0.0, 1.0, 0.0) if abs(one[1]) < 0.9 else (0.0, 0.0, 1.0), one)
    other = unit(other)
    return one, other, cross(one, other)


@kernel
def between(a: Vector, b: Vector) -> Rotation:
    """Return the shortest rotation from the unit vector `a` to the unit vector `b`, which must not be opposite.

    R = I + [v] + [v][v] / (1 + c) with v = a x b and c = a . b.
    """
    (x, y, z), c = cross(a, b), dot(a, b)
    k = 1.0 / max(1.0 + c, _TINY)
    return (
        (c + x * x * k, x * y * k + z, x * z * k - y),
        (x * y * k - z, c + y * y * k, y * z * k + x),
        (x * z * k + y, y * z * k - x, c + z * z * k),
    )


@kernel
def product(a: Rotation, b: Rotation) -> Rotation:
    """Return the rotation by `b`, then by `a`."""
    return applied(a, b[0]), applied(a, b[1]), applied(a, b[2])


@kernel
def applied(a: Rotation, b: Vector) -> Vector:
    """Return the rotated vector."""
    return plus(plus(scaled(a[0], b[0]), scaled(a[1], b[1])), scaled(a[2], b[2]))


@kernel
def inverse(a: Rotation) -> Rotation:
    """Return the inverse rotation."""
    x, y, z = a
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


@kernel
def across(a: Vector, axis: Vector) -> Vector:
    """Return the component of `a` orthogonal to the unit vector `axis`."""
    return minus(a, scaled(axis, dot(a, axis)))


@kernel
def unit(a: Vector) -> Vector:
    """Return the vector scaled to length 1; a zero vector stays zero."""
    return scaled(a, 1.0 / max(np.sqrt(dot(a, a)), _TINY))


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a: Vector, b: Vector) -> Scalar:
    """Return the inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def plus(a: Vector, b: Vector) -> Vector:
    """Return the sum."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def minus(a: Vector, b: Vector) -> Vector:
    """Return the difference."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scaled(a: Vector, factor: Scalar) -> Vector:
    """Return a multiple of a vector."""
    return a[0] * factor, a[1] * factor, a[2] * factor


@kernel
def vector(places: Array, j: int) -> Vector:
    """Return one of vectors [22, 3]."""
    return places[j, 0], places[j, 1], places[j, 2]


@kernel
def axes_of(axes: Array, j: int, f: int) -> Rotation:
    """Return the axes of a joint in a frame; `axes` are float64 [22, 3, 3, frame]."""
    return (
        (axes[j, 0, 0, f], axes[j, 0, 1, f], axes[j, 0, 2, f]),
        (axes[j, 1, 0, f], axes[j, 1, 1, f], axes[j, 1, 2, f]),
        (axes[j, 2, 0, f], axes[j, 2, 1, f], axes[j, 2, 2, f]),
    )
