"""Vectors and rotations of whole arrays at once, in float64: a vector is its three components, each an array.

Kept apart like this nothing is ever summed along an axis, which NumPy does in another order on another processor. Only
+ - * / and square roots are used, so that every bit is the same everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Rotation",
    "Vector",
    "across",
    "angle",
    "applied",
    "between",
    "constant",
    "cosine",
    "cross",
    "dot",
    "frame",
    "inverse",
    "length",
    "minus",
    "plus",
    "product",
    "sine",
    "stacked",
    "times",
    "unit",
    "vector",
]

Array = NDArray[Any]
Vector = tuple[Array, Array, Array]
Rotation = tuple[Vector, Vector, Vector]
"""Its three columns: what the axes x, y and z are turned into."""

_TINY = 1e-12
_PARALLEL = 1e-6
_PI = 3.141592653589793
_SINE = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000)
_ARC = (1.0, -1 / 3, 1 / 5, -1 / 7, 1 / 9, -1 / 11, 1 / 13, -1 / 15, 1 / 17)
_ARC_STEP = 0.2679491924311227
"""Tangent of 15 degrees."""


def vector(values: Array) -> Vector:
    """Take apart an array [..., 3]."""
    x, y, z = (np.ascontiguousarray(values[..., i], np.float64) for i in range(3))
    return x, y, z


def stacked(parts: Vector) -> Array:
    """Put a vector together again: [..., 3]."""
    return np.stack(np.broadcast_arrays(*parts), axis=-1)


def constant(x: float, y: float, z: float) -> Vector:
    """Make a vector that is the same everywhere."""
    return np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(z, np.float64)


def plus(a: Vector, b: Vector) -> Vector:
    """Add."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Vector, b: Vector) -> Vector:
    """Subtract."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def times(a: Vector, factor: Array | float) -> Vector:
    """Multiply by a number."""
    return a[0] * factor, a[1] * factor, a[2] * factor


def dot(a: Vector, b: Vector) -> Array:
    """Inner product."""
    return np.asarray((a[0] * b[0] + a[1] * b[1]) + a[2] * b[2])


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def length(a: Vector) -> Array:
    """Length."""
    return np.asarray(np.sqrt(dot(a, a)))


def unit(a: Vector) -> Vector:
    """Bring to length 1; zeros stay zeros."""
    return times(a, 1.0 / np.maximum(length(a), _TINY))


def across(a: Vector, axis: Vector) -> Vector:
    """Take away what of `a` lies along the unit vector `axis`."""
    return minus(a, times(axis, dot(a, axis)))


def frame(first: Vector, second: Vector) -> Rotation:
    """Axes of which one lies along `first`, and one is as near to `second` as can be (Gram and Schmidt).

    Where `second` lies along `first`, any axis across it is taken.
    """
    one = unit(first)
    other = across(second, one)
    lost = length(other) < _PARALLEL
    flat = abs(one[1]) < 0.9
    any_axis = across((np.zeros_like(flat, float), np.where(flat, 1.0, 0.0), np.where(flat, 0.0, 1.0)), one)
    x, y, z = (np.where(lost, a, b) for a, b in zip(any_axis, other, strict=True))
    other = unit((x, y, z))
    return one, other, cross(one, other)


def product(a: Rotation, b: Rotation) -> Rotation:
    """Rotation by `b`, then by `a`."""
    return applied(a, b[0]), applied(a, b[1]), applied(a, b[2])


def applied(a: Rotation, b: Vector) -> Vector:
    """Rotate a vector."""
    return plus(plus(times(a[0], b[0]), times(a[1], b[1])), times(a[2], b[2]))


def inverse(a: Rotation) -> Rotation:
    """Turn the other way."""
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = a
    return (ax, bx, cx), (ay, by, cy), (az, bz, cz)


def between(a: Vector, b: Vector) -> Rotation:
    """Shortest rotation that takes the unit vector `a` to the unit vector `b`, which must not be its opposite.

    R = I + [v] + [v][v] / (1 + c) with v = a x b and c = a . b.
    """
    v, c = cross(a, b), dot(a, b)
    k = 1.0 / np.maximum(1.0 + c, _TINY)
    x, y, z = v
    return (
        (c + x * x * k, x * y * k + z, x * z * k - y),
        (x * y * k - z, c + y * y * k, y * z * k + x),
        (x * z * k + y, y * z * k - x, c + z * z * k),
    )


def sine(radians: Array) -> Array:
    """Sine, within 1e-12 (Taylor's series between -pi/2 and pi/2)."""
    turns = radians / _PI
    whole = np.floor(turns + 0.5)
    rest = (turns - whole) * _PI
    square = rest * rest
    total = np.full_like(rest, _SINE[-1])
    for term in _SINE[-2::-1]:
        total = total * square + term
    odd = whole - 2.0 * np.floor(whole / 2.0)
    return np.asarray(total * rest * (1.0 - 2.0 * odd))


def cosine(radians: Array) -> Array:
    """Cosine."""
    return sine(radians + _PI / 2)


def angle(y: Array, x: Array) -> Array:
    """Angle of the point (x, y) from the x axis in radians, between -pi and pi, within 1e-9; 0 for the origin."""
    low, high = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    tangent = low / np.maximum(high, _TINY)
    # Above 15 degrees less 30 degrees, so that the series is short.
    far = tangent > _ARC_STEP
    root = 1.7320508075688772
    small = np.where(far, (tangent * root - 1.0) / (tangent + root), tangent)
    square = small * small
    total = np.full_like(small, _ARC[-1])
    for term in _ARC[-2::-1]:
        total = total * square + term
    arc = total * small + np.where(far, _PI / 6, 0.0)
    arc = np.where(abs(y) > abs(x), _PI / 2 - arc, arc)
    arc = np.where(x < 0, _PI - arc, arc)
    return np.asarray(np.where(y < 0, -arc, arc))
