"""Kernels of joint rotations; :mod:`posegen.fields.rotation` defines the rotations and passes the arrays.

Vectors are those of :mod:`posegen.foundations.vectors`. A rotation is a tuple of three vectors, the images of the axes x, y, z.

One joint is computed at a time, over a block of frames, in a working array whose rows have a constant length. So the compiler
knows that they do not overlap, and computes several frames with one instruction. A vector takes three rows, a rotation nine.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.foundations.vectors import Vector, across, cross, dot, length, minus, plus, scaled, unit

Rotation = tuple[Vector, Vector, Vector]

BLOCK = 64
"""Frames that are computed at a time, and the length of a row."""
_VECTOR, _ROTATION = 3 * BLOCK, 9 * BLOCK
_FRAMES = np.uintp(BLOCK)
STATE = _ROTATION + _VECTOR
"""Numbers that are kept of a joint for its children: its axes in the world, and its position by forward kinematics."""
_ABOVE, _HERE = 0, _ROTATION  # the state of the parent; later the position of the joint itself
_AXES = STATE
_LOCAL = _AXES + _ROTATION
_CHILD_AT, _FIRST, _SECOND, _THIRD, _LATERAL = (_LOCAL + (2 + i) * _VECTOR for i in range(5))
WORK = _LATERAL + _VECTOR
"""Size of the working array. The constants before it are the first entries of vectors and rotations in it."""

_TINY = 1e-12
_PARALLEL = 1e-6
_WEAK = 0.08
"""Weight of the reference direction of a straight limb, relative to a limb bent by a right angle."""

_COPY, _PELVIS, _CHEST, _SHORTEST, _SPINE, _HIP, _KNEE, _HINGE, _SHOULDER = range(9)
_KINDS = {
    "pelvis": _PELVIS, "spine1": _SPINE, "spine2": _SPINE, "spine3": _CHEST, "neck": _SHORTEST, "collar": _SHORTEST,
    "hip": _HIP, "knee": _KNEE, "ankle": _HINGE, "shoulder": _SHOULDER, "elbow": _HINGE,
}  # fmt: skip
_KIND = np.array([_KINDS.get(name.removeprefix("left_").removeprefix("right_"), _COPY) for name in JOINTS])
_CHILD = np.array([PARENTS.index(joint) if PARENTS.count(joint) == 1 else 0 for joint in range(len(JOINTS))])
"""Child joint at which each bone is aimed."""
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
def fill_rotations(joints: Array, offsets: Array, state: Array, work: Array, pelvis: Array, local: Array) -> None:
    """Write the axes of the joints of a clip relative to their parents, and those of the pelvis in the world.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres.
    offsets : float64 [22, 3]
        Offset of each joint from its parent in the rest pose.
    state : float64 [22, STATE]
        To work in.
    work : float64 [WORK]
        To work in.
    pelvis : float64 [3, 3, frame]
        Three columns of three components, in the world.
    local : float32 [frame, 22, 6]
        First two columns relative to the parent; those of the pelvis in the world.
    """
    for first in range(0, len(joints), BLOCK):
        places = joints[first : first + BLOCK]
        for j in range(joints.shape[1]):
            rotate_joint(places, offsets, j, state, work)
            for f in range(np.uintp(len(places))):
                for k in range(6):
                    local[first + f, j, k] = work[np.uintp(_LOCAL + k * BLOCK) + f]
            if j == 0:
                for k in range(9):
                    for f in range(np.uintp(len(places))):
                        pelvis[k // 3, k % 3, first + f] = work[np.uintp(_AXES + k * BLOCK) + f]


@kernel
def rotate_joint(places: Array, offsets: Array, j: int, state: Array, work: Array) -> None:
    """Write the axes of a joint in the world and relative to its parent; `places` are at most BLOCK frames [frame, 22, 3]."""
    p = PARENTS[j]
    if p < 0:
        load(places, j, work, _HERE)
    else:
        copy(state[p], 0, work, _ABOVE, STATE)
        move_on(work, vector(offsets, j))
    fill_axes(places, offsets, j, work)
    if p < 0:
        copy(work, _AXES, work, _LOCAL, 2 * _VECTOR)
    else:
        relate(work)
    copy(work, _AXES, state[j], 0, _ROTATION)
    copy(work, _HERE, state[j], _ROTATION, _VECTOR)


@kernel
def fill_axes(places: Array, offsets: Array, j: int, work: Array) -> None:
    """Write the axes of a joint in the world, of whose parent `_ABOVE` has the axes."""
    kind = _KIND[j]
    if kind == _COPY:
        copy(work, _ABOVE, work, _AXES, _ROTATION)
    elif kind in (_PELVIS, _CHEST):
        known = _HIPS if kind == _PELVIS else _SHOULDERS
        load(places, known[0], work, _FIRST)
        load(places, known[1], work, _SECOND)
        load(places, known[2], work, _THIRD)
        fit(work, inverse(rigid_axes(vector(offsets, known[0]), vector(offsets, known[1]), vector(offsets, known[2]))))
    else:
        load(places, _CHILD[j], work, _CHILD_AT)
        bone = unit(vector(offsets, _CHILD[j]))
        if kind == _SHORTEST:
            swing(work, bone)
        else:
            fill_lateral(places, j, work)
            aim(work, inverse(frame(bone, (1.0, 0.0, 0.0))))


@kernel
def fill_lateral(places: Array, j: int, work: Array) -> None:
    """Write the direction of a joint's x axis, before it is made orthogonal to the bone."""
    kind = _KIND[j]
    if kind in (_HIP, _KNEE):
        load(places, _LEG[j, 0], work, _FIRST)
        load(places, _LEG[j, 1], work, _SECOND)
        load(places, _LEG[j, 2], work, _THIRD)
        if kind == _HIP:
            hip_lateral(work)
        else:
            knee_lateral(work)
    elif kind == _SHOULDER:
        load(places, _ARM[j, 0], work, _FIRST)
        load(places, _ARM[j, 1], work, _SECOND)
        shoulder_lateral(work, _SIGN[j])
    elif kind == _SPINE:
        load(places, _SHOULDERS[0], work, _FIRST)
        load(places, _SHOULDERS[1], work, _SECOND)
        spine_lateral(work, _SHARE[j])
    else:
        copy(work, _ABOVE, work, _LATERAL, _VECTOR)


@kernel
def hip_lateral(work: Array) -> None:
    """Write the x axis of a hip; first, second and third joint are knee, ankle and foot."""
    for f in range(_FRAMES):
        bone = direction(work, _HERE, _CHILD_AT, f)
        shank = direction(work, _FIRST, _SECOND, f)
        plane = cross(direction(work, _SECOND, _THIRD, f), shank)
        put(work, _LATERAL, f, plus(cross(bone, shank), scaled(across(plane, bone), _WEAK)))


@kernel
def knee_lateral(work: Array) -> None:
    """Write the x axis of a knee; first, second and third joint are knee, ankle and foot."""
    for f in range(_FRAMES):
        put(work, _LATERAL, f, cross(direction(work, _SECOND, _THIRD, f), direction(work, _FIRST, _SECOND, f)))


@kernel
def shoulder_lateral(work: Array, sign: Scalar) -> None:
    """Write the x axis of a shoulder; first and second joint are elbow and wrist, `sign` is 1 on the left and -1 on the right.

    A straight arm has the x axis of an arm held out sideways, up on the left and down on the right, after the shortest rotation
    to its direction.
    """
    for f in range(_FRAMES):
        bone = direction(work, _HERE, _CHILD_AT, f)
        forearm = direction(work, _FIRST, _SECOND, f)
        x, y = scaled(at(work, _ABOVE, f), sign), scaled(at(work, _ABOVE + _VECTOR, f), sign)
        put(work, _LATERAL, f, plus(cross(forearm, bone), scaled(applied(between(x, bone), y), _WEAK)))


@kernel
def spine_lateral(work: Array, share: Scalar) -> None:
    """Write the x axis of a joint of the spine, which takes a share of the twist of the chest.

    First and second joint are the left and the right collar.
    """
    for f in range(_FRAMES):
        chest = direction(work, _SECOND, _FIRST, f)
        put(work, _LATERAL, f, plus(scaled(at(work, _ABOVE, f), 1.0 - share), scaled(chest, share)))


@kernel
def aim(work: Array, rest: Rotation) -> None:
    """Write the axes of a joint whose bone and lateral direction are known; `rest` is the inverse of those at rest."""
    for f in range(_FRAMES):
        found = frame(direction(work, _HERE, _CHILD_AT, f), at(work, _LATERAL, f))
        put_rotation(work, _AXES, f, product(found, rest))


@kernel
def swing(work: Array, bone: Vector) -> None:
    """Write the axes of a joint that takes the shortest rotation from its parent's; `bone` is its direction at rest."""
    for f in range(_FRAMES):
        above = rotation_at(work, _ABOVE, f)
        turn = between(applied(above, bone), direction(work, _HERE, _CHILD_AT, f))
        put_rotation(work, _AXES, f, product(turn, above))


@kernel
def fit(work: Array, rest: Rotation) -> None:
    """Write the axes of a rigid body from three of its joints; `rest` is the inverse of those at rest."""
    for f in range(_FRAMES):
        found = rigid_axes(at(work, _FIRST, f), at(work, _SECOND, f), at(work, _THIRD, f))
        put_rotation(work, _AXES, f, product(found, rest))


@kernel
def move_on(work: Array, offset: Vector) -> None:
    """Move `_HERE` from the parent to the joint, by forward kinematics."""
    for f in range(_FRAMES):
        put(work, _HERE, f, plus(at(work, _HERE, f), applied(rotation_at(work, _ABOVE, f), offset)))


@kernel
def relate(work: Array) -> None:
    """Write the first two columns of the axes relative to the parent."""
    for f in range(_FRAMES):
        back = inverse(rotation_at(work, _ABOVE, f))
        put(work, _LOCAL, f, applied(back, at(work, _AXES, f)))
        put(work, _LOCAL + _VECTOR, f, applied(back, at(work, _AXES + _VECTOR, f)))


@kernel
def load(places: Array, j: int, work: Array, row: int) -> None:
    """Copy the positions of a joint, [frame, 22, 3], to the rows from `row` on."""
    for f in range(np.uintp(len(places))):
        put(work, row, f, vector(places[f], j))


@kernel
def copy(source: Array, begin: int, target: Array, to: int, count: int) -> None:
    """Copy `count` numbers from `source`, from `begin` on, to `target`, from `to` on."""
    for i in range(np.uintp(count)):
        target[np.uintp(to) + i] = source[np.uintp(begin) + i]


@kernel
def direction(work: Array, start: int, end: int, f: int) -> Vector:
    """Return the unit vector from one position to another in frame `f`."""
    return unit(minus(at(work, end, f), at(work, start, f)))


@kernel
def rotation_at(work: Array, row: int, f: int) -> Rotation:
    """Return the rotation in frame `f` of the rows from `row` on."""
    return at(work, row, f), at(work, row + _VECTOR, f), at(work, row + 2 * _VECTOR, f)


@kernel
def put_rotation(work: Array, row: int, f: int, axes: Rotation) -> None:
    """Write a rotation to frame `f` of the rows from `row` on."""
    put(work, row, f, axes[0])
    put(work, row + _VECTOR, f, axes[1])
    put(work, row + 2 * _VECTOR, f, axes[2])


@kernel
def at(work: Array, row: int, f: int) -> Vector:
    """Return the vector in frame `f` of the rows from `row` on."""
    i = np.uintp(row) + f
    return work[i], work[i + np.uintp(BLOCK)], work[i + np.uintp(2 * BLOCK)]


@kernel
def put(work: Array, row: int, f: int, value: Vector) -> None:
    """Write a vector to frame `f` of the rows from `row` on."""
    i = np.uintp(row) + f
    work[i], work[i + np.uintp(BLOCK)], work[i + np.uintp(2 * BLOCK)] = value


@kernel
def rigid_axes(left: Vector, right: Vector, top: Vector) -> Rotation:
    """Return the axes of a body from three of its joints."""
    return frame(minus(left, right), minus(top, scaled(plus(left, right), 0.5)))


@kernel
def frame(first: Vector, second: Vector) -> Rotation:
    """Return the rotation whose x axis lies along `first` and whose y axis is as near to `second` as possible (Gram-Schmidt).

    Where `second` is parallel to `first`, the y axis is any orthogonal direction.
    """
    one = unit(first)
    other = across(second, one)
    is_level, is_parallel = abs(one[1]) < 0.9, length(other) < _PARALLEL
    # Numbers are chosen rather than vectors, so that the loop over the frames has no branch.
    any_other = across((0.0, 1.0 if is_level else 0.0, 0.0 if is_level else 1.0), one)
    x = any_other[0] if is_parallel else other[0]
    y = any_other[1] if is_parallel else other[1]
    z = any_other[2] if is_parallel else other[2]
    other = unit((x, y, z))
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
def vector(places: Array, j: int) -> Vector:
    """Return one of vectors [22, 3]."""
    return places[j, 0], places[j, 1], places[j, 2]
