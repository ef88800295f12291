"""A pinhole camera without distortion: from points in the world to pixels, by the matrices of the field ``camera``.

The conventions are those of computer vision: camera axes are x to the right, y down, z forward; pixel (0, 0) is the upper left
corner, x to the right and y down.

Examples
--------
>>> extrinsics = [[1, 0, 0, 0], [0, -1, 0, 1], [0, 0, -1, 5]]  # at (0, 1, 5), looking along -z
>>> intrinsics = [[1000, 0, 640], [0, 1000, 360], [0, 0, 1]]
>>> pixels, depth = project([[0.5, 2.0, 0.0]], extrinsics, intrinsics)
>>> pixels.tolist(), depth.tolist()
([[740.0, 160.0]], [5.0])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array


def project(points: ArrayLike, extrinsics: ArrayLike, intrinsics: ArrayLike) -> tuple[Array, Array]:
    """Return pixels and depth of points.

    Parameters
    ----------
    points : float [..., 3]
        Metres, in the world.
    extrinsics : float [3 or 4, 4]
        From the world to the axes of the camera: its rows are the camera's right, down and forward in the world, and an offset.
    intrinsics : float [3, 3]
        Focal lengths and principal point in pixels.

    Returns
    -------
    pixels : float64 [..., 2]
        May lie outside the image; NaN for points behind the camera.
    depth : float64 [...]
        Metres in front of the camera, along its axis.
    """
    world, lens = np.asarray(points, np.float64), np.asarray(intrinsics, np.float64)
    right, down, depth = ((world * row[:3]).sum(-1) + row[3] for row in np.asarray(extrinsics, np.float64)[:3])
    ahead = np.where(depth > 0, depth, np.nan)
    return np.stack([lens[0, 0] * right / ahead + lens[0, 2], lens[1, 1] * down / ahead + lens[1, 2]], -1), np.asarray(depth)
