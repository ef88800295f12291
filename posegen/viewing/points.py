"""Encode paths of points as integers on a grid, small after compression; the page decodes them.

A block holds points that move together, such as the joints of an actor. A block that is an earlier one moved or mirrored, as in
the variants `position` and `mirror`, is stored as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posegen.foundations.arrays import Array

GRID = 1024
"""Steps per metre: positions are shown within half a millimetre."""
_LARGEST = 32_767
_SAME = 1e-4
"""Metres by which positions of copies may differ: less than the grid can show."""
_FLIPPED = np.array([-1.0, 1.0, 1.0])


class PointBlocks:
    """Blocks of points of one sample.

    Attributes
    ----------
    blocks : list of dict
        ``frames`` and ``points`` of a stored block; ``copy`` (number of an earlier block), ``shift`` and ``mirrored`` of
        another.
    """

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self._stored: dict[int, Array] = {}

    def add(self, points: Array, mirror: Sequence[int] | None = None) -> int:
        """Add a block and return its number.

        Parameters
        ----------
        points : float [frame, point, 3]
            Metres. Absent points (NaN) take the position of the frame before, or of the next one.
        mirror : sequence of int, optional
            The point that replaces each point in a mirror; a copy of a block is then also searched in the mirror.
        """
        points = _filled(np.asarray(points, np.float64))
        copy = self._find_copy(points, mirror)
        if copy is None:
            self._stored[len(self.blocks)] = points
            copy = {"frames": points.shape[0], "points": points.shape[1]}
        self.blocks.append(copy)
        return len(self.blocks) - 1

    def encode(self) -> tuple[float, bytes]:
        """Return the steps per metre, and the stored blocks as bytes.

        Each coordinate of each point is a run of 16-bit numbers: second differences over the frames, zigzag-coded, all modulo
        2^16. The low bytes of all numbers come first, then the high bytes.
        """
        largest = max((float(np.abs(points).max()) for points in self._stored.values() if points.size), default=0.0)
        grid = float(GRID)
        while largest * grid > _LARGEST:
            grid /= 2
        runs = []
        for points in self._stored.values():
            steps = np.round(points * grid).astype(np.int16)
            for _ in range(2):
                steps = np.diff(steps, axis=0, prepend=np.zeros_like(steps[:1]))
            runs.append(np.moveaxis((steps << 1) ^ (steps >> 15), 0, -1).ravel())
        numbers = np.concatenate(runs) if runs else np.zeros(0, np.int16)
        return grid, numbers.astype("<i2").view(np.uint8).reshape(-1, 2).T.tobytes()

    def _find_copy(self, points: Array, mirror: Sequence[int] | None) -> dict[str, Any] | None:
        for number, other in self._stored.items():
            if other.shape != points.shape or not other.size:
                continue
            for mirrored in (False, True) if mirror else (False,):
                source = other[:, list(mirror)] * _FLIPPED if mirrored and mirror else other
                away = points - source
                shift = away[0, 0]
                if np.abs(away - shift).max() <= _SAME:
                    return {"copy": number, "shift": shift.tolist(), "mirrored": mirrored}
        return None


def _filled(points: Array) -> Array:
    """Replace absent points by their position in the frame before, or in the next one in which they are present."""
    present = np.isfinite(points).all(-1)
    if present.all():
        return points
    frames = np.arange(len(points))[:, None]
    before = np.maximum.accumulate(np.where(present, frames, -1))
    source = np.where(before >= 0, before, np.argmax(present, axis=0))
    filled = np.take_along_axis(points, source[..., None], axis=0)
    return np.where(np.isfinite(filled), filled, 0.0)
