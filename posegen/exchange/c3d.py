"""Read joint centres from C3D files with the library ezc3d, the extra ``c3d``, in a process of its own.

C3D files hold points. Those that are named as joints, such as the outputs of a skeleton solver, are read; markers on the skin
are not, since joint centres cannot be computed from them without a model of the body.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from posegen.exchange.bvh import map_points
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import require_extra

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
    require_extra("c3d")
    labels, points, fps = _points(path)
    if points.ndim != 3 or points.shape[1] < len(labels) or not LOWEST_FPS <= fps <= HIGHEST_FPS:
        raise UsageError(
            f"{path}: holds no points with names at {LOWEST_FPS:g} to {HIGHEST_FPS:g} frames per second; export it again"
        )
    positions = np.moveaxis(points[:3, : len(labels)], 0, -1).swapaxes(0, 1)
    if (np.abs(positions) > FARTHEST).any():
        raise UsageError(f"{path}: has points farther than {FARTHEST:,.0f} units from the origin; export it again")
    # A program may prefix the name of the subject, as in `Ann:LeftKnee`.
    return map_points(path, labels, positions, names), fps


def _points(path: Path) -> tuple[list[str], Array, float]:
    """Return the names of the points, the points, and the frames per second that the library reads."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "points.npz"
        command = [sys.executable, "-m", "posegen.exchange.c3d_points", str(path.resolve()), str(out)]
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            # A negative code is the signal that ended the process.
            reason = done.stderr.strip().rpartition("\n")[2] if done.returncode > 0 else "the reader crashed"
            raise UsageError(f"{path}: cannot be read as C3D ({reason:.200}); export it again")
        # A stored point takes 8 bytes at least, and 32 here.
        if out.stat().st_size > 8 * path.stat().st_size + 2**20:
            raise UsageError(f"{path}: unpacks to {out.stat().st_size:,} bytes; export it again")
        with np.load(out, allow_pickle=False) as found:
            labels = [str(label).strip() for label in found["labels"]]
            return labels, np.asarray(found["points"], np.float64), float(found["fps"])


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
