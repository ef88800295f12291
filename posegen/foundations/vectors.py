"""Arithmetic of 3D vectors in kernels, and the one solution of two-bone inverse kinematics.

A vector is a tuple of three numbers of one type. The order of the operations in each function decides the content of samples,
because another order rounds differently. Arithmetic over whole NumPy arrays is in :mod:`posegen.fields.vectors`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel

Vector = tuple[Scalar, Scalar, Scalar]

_TINY = 1e-12


@kernel
def dot(a: Vector, b: Vector) -> Scalar:
    """Return the inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


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
def length(a: Vector) -> Scalar:
    """Return the length."""
    return np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def unit(a: Vector) -> Vector:
    """Return the vector scaled to length 1; a zero vector stays zero."""
    return scaled(a, 1.0 / max(length(a), _TINY))


@kernel
def across(a: Vector, axis: Vector) -> Vector:
    """Return the component of `a` orthogonal to the unit vector `axis`."""
    return minus(a, scaled(axis, dot(a, axis)))


@kernel
def vector_at(rows: Array, f: int) -> Vector:
    """Return the vector in frame `f` of three rows or more, [3, frames]."""
    return rows[0, f], rows[1, f], rows[2, f]


@kernel
def put_vector(rows: Array, f: int, value: Vector) -> None:
    """Write a vector to frame `f` of three rows or more, [3, frames]."""
    rows[0, f], rows[1, f], rows[2, f] = value


@kernel
def difference_at(rows: Array, others: Array, f: int) -> Vector:
    """Return the vector in frame `f` from `others` to `rows`, [3, frames] each."""
    return rows[0, f] - others[0, f], rows[1, f] - others[1, f], rows[2, f] - others[2, f]


@kernel
def along_times_span(upper: Scalar, lower: Scalar, span: Scalar) -> Scalar:
    """Return the inner product of the first of two bones and the line over both, by the law of cosines.

    `upper` and `lower` are the lengths of the bones, `span` is that of the line. Divided by `span`, it is the distance along
    the line at which the joint between the bones is.
    """
    return (upper * upper - lower * lower + span * span) * np.float32(0.5)


@kernel
def middle_joint(start: Vector, line: Vector, side: Vector, upper: Scalar, along: Scalar, size: Scalar) -> Vector:
    """Return the joint between two bones: two-bone inverse kinematics of arms and legs.

    Parameters
    ----------
    start : Vector
        Joint at which the first bone begins.
    line : Vector
        Direction from there to the end of the second bone, of length 1.
    side : Vector
        Direction orthogonal to it in which the joint lies.
    upper, along : float
        Length of the first bone, and the part of it along the line; see :func:`along_times_span`.
    size : float
        Factor that scales `side` to length 1.
    """
    out = np.sqrt(max(upper * upper - along * along, np.float32(0.0)))
    return plus(plus(start, scaled(line, along)), scaled(side, out * size))


@kernel
def fill_middle_joints(start: Array, line: Array, side: Array, upper: Array, lower: Array, span: Array, out: Array) -> None:
    """Write the joint between two bones in each frame; see :func:`middle_joint`.

    `start`, `line`, `side` and `out` are [frame, 3], `line` and `side` of length 1; `upper`, `lower` and `span` are [frame].
    """
    for f in range(len(out)):
        along = along_times_span(upper[f], lower[f], span[f]) / span[f]
        first, axis = (start[f, 0], start[f, 1], start[f, 2]), (line[f, 0], line[f, 1], line[f, 2])
        bent = side[f, 0], side[f, 1], side[f, 2]
        out[f, 0], out[f, 1], out[f, 2] = middle_joint(first, axis, bent, upper[f], along, np.float64(1.0))
