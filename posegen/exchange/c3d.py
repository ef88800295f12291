"""Read joint centres from C3D files with the library ezc3d, the extra ``c3d``.

C3D files hold points. Those that are named as joints, such as the outputs of a skeleton solver, are read; markers on the skin
are not, since joint centres cannot be computed from them without a model of the body.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posegen.arrays import Array
from posegen.errors import UsageError
from posegen.exchange.bvh import map_points

MOST_BYTES = 512 * 2**20
MOST_POINTS, MOST_FRAMES = 1000, 500_000
FARTHEST = 1e7
LOWEST_FPS, HIGHEST_FPS = 1.0, 1000.0
_HEADER = 512


def read_c3d(path: Path, names: Path | None = None) -> tuple[Array, float]:
    """Return joints and frames per second of a C3D file.

    Parameters
    ----------
    path : Path
    names : Path, optional
        See :func:`posegen.exchange.bvh.read_bvh_figure`.

    Returns
    -------
    joints : float64 [frame, 22, 3]
        In the units and axes of the file; NaN where a point is not seen.
    fps : float

    Raises
    ------
    UsageError
        If the file is invalid, or its points are not joints.
    """
    _check_size(path)
    import ezc3d

    try:
        content = ezc3d.c3d(str(path))
        labels = [str(label).strip() for label in content["parameters"]["POINT"]["LABELS"]["value"]]
        points = np.asarray(content["data"]["points"], np.float64)
        fps = float(content["header"]["points"]["frame_rate"])
    except Exception as error:  # ezc3d raises errors of several kinds for damaged files
        raise UsageError(f"{path}: cannot be read as C3D ({str(error)[:200]}); export it again") from error
    if points.ndim != 3 or points.shape[1] < len(labels) or not LOWEST_FPS <= fps <= HIGHEST_FPS:
        raise UsageError(
            f"{path}: holds no points with names at {LOWEST_FPS:g} to {HIGHEST_FPS:g} frames per second; export it again"
        )
    positions = np.moveaxis(points[:3, : len(labels)], 0, -1).swapaxes(0, 1)
    if (np.abs(positions) > FARTHEST).any():
        raise UsageError(f"{path}: has points farther than {FARTHEST:,.0f} units from the origin; export it again")
    # A program may prefix the name of the subject, as in `Ann:LeftKnee`.
    return map_points(path, labels, positions, names), fps


def _check_size(path: Path) -> None:
    """Compare the sizes that a file declares with its own, before anything is allocated."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_HEADER)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    if size > MOST_BYTES or len(head) < _HEADER or head[1] != 0x50:
        raise UsageError(f"{path}: is not a C3D file of at most {MOST_BYTES // 2**20} MB")

    words = [int.from_bytes(head[2 * i : 2 * i + 2], "little") for i in range(5)]
    points, first, last = words[1], words[3], words[4]
    frames = last - first + 1
    if not 0 < points <= MOST_POINTS or not 0 < frames <= MOST_FRAMES or frames * points * 8 > size:
        raise UsageError(f"{path}: declares {points:,} points in {frames:,} frames, which a file of {size:,} bytes cannot hold")
