"""Arithmetic of 3D vectors and angles over whole arrays, in float64. The first axis of a vector holds its three components.

Nothing is summed along an axis, where NumPy's order depends on the processor. Only + - * / and square roots are used, so that
every bit is the same on any machine.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array

Vector = Array
"""An array [3, ...]."""

_TINY = 1e-12
_PI = 3.141592653589793
_SINE = (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000)
_ARC = (1.0, -1 / 3, 1 / 5, -1 / 7, 1 / 9, -1 / 11, 1 / 13, -1 / 15, 1 / 17)
_ARC_STEP = 0.2679491924311227
"""Tangent of 15 degrees."""


def vector(values: Array) -> Vector:
    """Return the components of an array [..., 3]."""
    return np.ascontiguousarray(np.moveaxis(values, -1, 0), np.float64)


def stacked(parts: Vector) -> Array:
    """Return a vector as an array [..., 3]."""
    return np.moveaxis(parts, 0, -1)


def dot(a: Vector, b: Vector) -> Array:
    """Return the inner product."""
    return np.asarray((a[0] * b[0] + a[1] * b[1]) + a[2] * b[2])


def cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def length(a: Vector) -> Array:
    """Return the length."""
    return np.asarray(np.sqrt(dot(a, a)))


def unit(a: Vector) -> Vector:
    """Return the vector scaled to length 1; a zero vector stays zero."""
    return np.asarray(a * (1.0 / np.maximum(length(a), _TINY)))


def sine(radians: Array) -> Array:
    """Return the sine, within 1e-12 (Taylor series between -pi/2 and pi/2)."""
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
    """Return the cosine."""
    return sine(radians + _PI / 2)


def angle(y: Array, x: Array) -> Array:
    """Return the angle of the point (x, y) from the x axis in radians, between -pi and pi, within 1e-9; 0 for the origin."""
    low, high = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    tangent = low / np.maximum(high, _TINY)
    # Angles above 15 degrees are reduced by 30 degrees, so that the series is short.
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
