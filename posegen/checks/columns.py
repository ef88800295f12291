"""Joints of some frames as columns: what is done to one frame is done to eight at once.

A block holds so many frames that what is worked out of it stays close to the processor. The x, y and z of one joint lie one
behind the other, each over all frames of the block; so do those of any other vector.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from posegen.kernels import inline_kernel, kernel
from posegen.skeleton import JOINTS

__all__ = ["BLOCK", "COLUMNS", "X", "Y", "Z", "fill_columns", "place_of"]

Array = NDArray[Any]

BLOCK = 64
"""Frames."""
X, Y, Z = 0, BLOCK, 2 * BLOCK
"""Where the parts of a vector begin."""
COLUMNS = 3 * len(JOINTS) * BLOCK
"""Size of the columns of all joints."""


@kernel
def fill_columns(joints: Array, first: int, frames: int, columns: Array) -> None:
    """Copy frames from `first` on into columns, float32 [COLUMNS].

    `joints` is float32 [at least frames, 22, 3]. Behind frame number `frames`, the last one is repeated.
    """
    last = frames - 1
    # Four frames at a time, which are written side by side.
    for f in range(0, BLOCK, 4):
        one, two = joints[min(first + f, last)], joints[min(first + f + 1, last)]
        three, four = joints[min(first + f + 2, last)], joints[min(first + f + 3, last)]
        for j in range(len(JOINTS)):
            for k in range(3):
                at = (3 * j + k) * BLOCK + f
                columns[at], columns[at + 1], columns[at + 2], columns[at + 3] = one[j, k], two[j, k], three[j, k], four[j, k]


@inline_kernel
def place_of(columns: Array, joint: int) -> Array:
    """Column of one joint: float32 [3 * BLOCK]."""
    return columns[3 * BLOCK * joint : 3 * BLOCK * (joint + 1)]
