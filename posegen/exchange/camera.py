"""A pinhole camera without distortion: from points in the world to pixels.

The conventions are those of computer vision: camera axes are x to the right, y down, z forward; pixel (0, 0) is the upper left
corner, x to the right and y down.

Examples
--------
>>> camera = look_at(position=(0.0, 1.0, 5.0), target=(0.0, 1.0, 0.0))
>>> pixels, depth = project([[0.5, 2.0, 0.0]], camera, intrinsics(focal=1000.0, size=(1280, 720)))
>>> pixels.tolist(), depth.tolist()
([[740.0, 160.0]], [5.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array

_PARALLEL = 1e-9


@dataclass(frozen=True)
class Extrinsics:
    """Position and orientation of a camera.

    Attributes
    ----------
    rotation : float64 [3, 3]
        From world to camera axes; its rows are the camera's right, down and forward in the world.
    position : float64 [3]
        Position in the world, metres.
    """

    rotation: Array
    position: Array

    @property
    def translation(self) -> Array:
        """Return the t of x_camera = R x_world + t."""
        return np.asarray(-(self.rotation * self.position).sum(-1))


@dataclass(frozen=True)
class Intrinsics:
    """Focal length and principal point (x, y), and image size (width, height), in pixels."""

    focal: tuple[float, float]
    centre: tuple[float, float]
    size: tuple[int, int]

    @property
    def matrix(self) -> Array:
        """Return the camera matrix K [3, 3]."""
        return np.array([[self.focal[0], 0.0, self.centre[0]], [0.0, self.focal[1], self.centre[1]], [0.0, 0.0, 1.0]])


def look_at(position: Sequence[float], target: Sequence[float], up: Sequence[float] = (0.0, 1.0, 0.0)) -> Extrinsics:
    """Return a camera at `position` with `target` in the centre of its image and `up` pointing up.

    Parameters
    ----------
    position, target : three floats
        Metres, in the world.
    up : three floats

    Returns
    -------
    Extrinsics

    Raises
    ------
    ValueError
        If position and target coincide, or the camera looks along `up`.
    """
    origin, aim, upward = (np.asarray(point, np.float64) for point in (position, target, up))
    for name, point in (("position", origin), ("target", aim), ("up", upward)):
        if point.shape != (3,) or not np.isfinite(point).all():
            msg = f"{name} must be three finite numbers, not {point.tolist()}"
            raise ValueError(msg)
    if _length(aim - origin) < _PARALLEL:
        msg = f"position and target are both {origin.tolist()}; move one of them"
        raise ValueError(msg)
    forward = (aim - origin) / _length(aim - origin)
    right = np.cross(forward, upward)
    if _length(right) < _PARALLEL:
        msg = f"the camera looks along its up direction {upward.tolist()}; pass another, such as up=(0, 0, 1)"
        raise ValueError(msg)
    right = right / _length(right)
    return Extrinsics(np.stack([right, np.cross(forward, right), forward]), origin)


def intrinsics(focal: float, size: tuple[int, int], centre: tuple[float, float] | None = None) -> Intrinsics:
    """Return intrinsics with square pixels for an image of `size` (width, height); the principal point defaults to its centre.

    Raises
    ------
    ValueError
        If the focal length or the size is not above 0.
    """
    if not focal > 0 or min(size) <= 0:
        msg = f"focal length and size must be above 0, not {focal} and {size}"
        raise ValueError(msg)
    return Intrinsics((float(focal), float(focal)), centre or (size[0] / 2, size[1] / 2), size)


def project(points: ArrayLike, camera: Extrinsics, lens: Intrinsics) -> tuple[Array, Array]:
    """Return pixels and depth of points.

    Parameters
    ----------
    points : float [..., 3]
        Metres, in the world.
    camera : Extrinsics
    lens : Intrinsics

    Returns
    -------
    pixels : float64 [..., 2]
        May lie outside the image; NaN for points behind the camera.
    depth : float64 [...]
        Metres in front of the camera, along its axis.
    """
    array = np.asarray(points, np.float64)
    if array.ndim == 0 or array.shape[-1] != 3:
        msg = f"points must have the shape [..., 3], not {list(array.shape)}"
        raise ValueError(msg)
    away = array - camera.position
    right, down, depth = ((away * axis).sum(-1) for axis in camera.rotation)
    ahead = np.where(depth > 0, depth, np.nan)
    x = lens.focal[0] * right / ahead + lens.centre[0]
    y = lens.focal[1] * down / ahead + lens.centre[1]
    return np.stack([x, y], -1), np.asarray(depth)


def _length(vector: Array) -> float:
    return float(np.sqrt((vector * vector).sum()))
