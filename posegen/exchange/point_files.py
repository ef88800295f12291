"""Read points of bodies: markers or joint centres in C3D and TRC, and Kinect's skeletons in ``.skeleton`` of NTU RGB+D.

Files are untrusted: their size is limited, and every number is checked. C3D is read with the library ezc3d, the extra ``c3d``,
in a process of its own. Points are identified in :mod:`posegen.exchange.points`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import require_extra

MOST_BYTES = 128 * 2**20
MOST_FRAMES, MOST_BODIES = 500_000, 10
_MOST_C3D_BYTES, _MOST_POINTS = 512 * 2**20, 1000
_FARTHEST, _LOWEST_FPS, _HIGHEST_FPS = 1e7, 1.0, 1000.0
_HEADER = 512
"""Bytes of the header of a C3D file."""
_TRC_HEAD = 5
_JOINTS, _NUMBERS, _OF_BODY = 25, 12, 10
"""Joints of a body, and numbers of a joint and of a body, in a ``.skeleton`` file."""
_NTU_FPS = 30.0


class NamedPoints(NamedTuple):
    """Names of points, positions float64 [frame, point, 3], NaN where unknown, and frames per second."""

    names: list[str]
    points: Array
    fps: float


def _lines(path: Path) -> list[str]:
    if path.stat().st_size > MOST_BYTES:
        raise UsageError(f"{path}: is larger than {MOST_BYTES // 2**20} MB; cut it into shorter clips")
    return path.read_text("utf-8-sig", errors="replace").splitlines()


def read_trc(path: Path) -> NamedPoints:
    """Read a TRC file, as OpenSim, Motion Analysis and Pose2Sim write it.

    Raises
    ------
    UsageError
        If it is invalid; the message names the line.
    """
    lines = _lines(path)
    if len(lines) <= _TRC_HEAD or not lines[0].startswith("PathFileType"):
        raise UsageError(f"{path}: does not begin with the lines PathFileType, DataRate and Frame# of a TRC file")
    between = next((mark for mark in "\t,;" if mark in lines[3]), None)
    about = dict(zip(*(re.findall(r"[^\s,;]+", line) for line in lines[1:3]), strict=False))
    names = [name.strip() for name in lines[3].split(between)[2:] if name.strip()]
    rate = _number(about.get("DataRate", ""))
    if not rate > 0 or not names:
        raise UsageError(f"{path}: states no DataRate above 0, or no markers after Frame# and Time")
    rows = []
    for number, line in enumerate(islice(lines, _TRC_HEAD, _TRC_HEAD + MOST_FRAMES), _TRC_HEAD + 1):
        if not line.strip(" \t,;"):
            continue
        cells = line.split(between) if between and between in line else line.split()
        values = [_number(cell) for cell in cells[2 : 2 + 3 * len(names)]]
        if not cells[0].strip().isdigit():
            raise UsageError(f"{path}, line {number}: does not begin with the number of a frame")
        rows.append(values + [np.nan] * (3 * len(names) - len(values)))
    points = np.array(rows, np.float64).reshape(-1, len(names), 3)
    return NamedPoints(names, points, rate)


def _number(text: str) -> float:
    """Return a number, or NaN where a cell is empty or holds something else."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return np.nan
    return value if abs(value) < 1e9 else np.nan


def read_ntu(path: Path) -> Iterator[tuple[str, Array, float]]:
    """Yield the bodies of a ``.skeleton`` file: name, points float64 [frame, 25, 3] in metres, and frames per second.

    A body has the frames from its first to its last one; where it is not seen, its points are NaN.

    Raises
    ------
    UsageError
        If the file is invalid.
    """
    words = iter(" ".join(_lines(path)).split())
    bodies: dict[str, list[tuple[int, Array]]] = {}
    try:
        for frame in range(min(int(next(words)), MOST_FRAMES)):
            for _ in range(int(next(words))):
                name, *_ = islice(words, _OF_BODY)
                count = int(next(words))
                numbers = np.array([float(word) for word in islice(words, count * _NUMBERS)])
                if count != _JOINTS or len(bodies) > MOST_BODIES:
                    raise ValueError(f"frame {frame} has {count} joints instead of {_JOINTS}, or too many bodies")
                bodies.setdefault(name, []).append((frame, numbers.reshape(_JOINTS, _NUMBERS)[:, :3]))
    except (ValueError, StopIteration, RuntimeError) as error:
        raise UsageError(f"{path}: is no skeleton file of NTU RGB+D ({error or 'it ends too early'})") from error
    for name, seen in bodies.items():
        first, last = seen[0][0], seen[-1][0]
        points = np.full((last - first + 1, _JOINTS, 3), np.nan)
        for frame, values in seen:
            points[frame - first] = values
        yield name, points, _NTU_FPS


def read_c3d(path: Path) -> NamedPoints:
    """Return the points of a C3D file in its units and axes, NaN where a point is not seen.

    Raises
    ------
    UsageError
        If the file is invalid.
    """
    _check_size(path)
    require_extra("c3d")
    labels, points, fps = _c3d_points(path)
    if points.ndim != 3 or points.shape[1] < len(labels) or not _LOWEST_FPS <= fps <= _HIGHEST_FPS:
        rates = f"{_LOWEST_FPS:g} to {_HIGHEST_FPS:g} frames per second"
        raise UsageError(f"{path}: holds no points with names at {rates}; export it again")
    positions = np.moveaxis(points[:3, : len(labels)], 0, -1).swapaxes(0, 1)
    if (np.abs(positions) > _FARTHEST).any():
        raise UsageError(f"{path}: has points farther than {_FARTHEST:,.0f} units from the origin; export it again")
    return NamedPoints(labels, positions, fps)


def _c3d_points(path: Path) -> tuple[list[str], Array, float]:
    """Return the names of the points, the points, and the frames per second that the library reads."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "points.npz"
        command = [sys.executable, "-m", "posegen.exchange.c3d_points", str(path.resolve()), str(out)]
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            # A negative code is the signal that ended the process.
            last = done.stderr.strip().rpartition("\n")[2]
            reason = last.partition(": ")[2] or "memory is insufficient" if done.returncode > 0 else "the reader crashed"
            raise UsageError(f"{path}: cannot be read as C3D ({reason:.200}); export it again")
        # A stored point takes 8 bytes at least, and 32 here.
        if out.stat().st_size > 8 * path.stat().st_size + 2**20:
            raise UsageError(f"{path}: unpacks to {out.stat().st_size:,} bytes; export it again")
        with np.load(out, allow_pickle=False) as found:
            labels = [str(label).strip() for label in found["labels"]]
            return labels, np.asarray(found["points"], np.float64), float(found["fps"])


def _check_size(path: Path) -> None:
    """Compare the sizes that a file declares with its own, before anything is allocated."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEADER)
    if size > _MOST_C3D_BYTES or len(head) < _HEADER or head[1] != 0x50:
        raise UsageError(f"{path}: is not a C3D file of at most {_MOST_C3D_BYTES // 2**20} MB")

    words = [int.from_bytes(head[2 * i : 2 * i + 2], "little") for i in range(5)]
    points, first, last = words[1], words[3], words[4]
    frames = last - first + 1
    if points == 0:
        raise UsageError(f"{path}: holds no points, only other signals such as forces; export the markers")
    if not 0 < points <= _MOST_POINTS or not 0 < frames <= MOST_FRAMES or frames * points * 8 > size:
        raise UsageError(f"{path}: declares {points:,} points in {frames:,} frames, which a file of {size:,} bytes cannot hold")
