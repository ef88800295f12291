"""Joints of a block of frames as columns, so that kernels compute eight frames at once.

A block is small enough for its intermediate results to stay in the processor's cache. The x, y and z of one joint follow one
another, each over all frames of the block; so do those of any other vector.
"""

from __future__ import annotations

from posegen.foundations.arrays import Array
from posegen.foundations.kernels import inline_kernel, kernel
from posegen.foundations.skeleton import JOINTS

BLOCK = 64
"""Frames."""
X, Y, Z = 0, BLOCK, 2 * BLOCK
"""Where the components of a vector begin."""
COLUMNS = 3 * len(JOINTS) * BLOCK
"""Size of the columns of all joints."""


@kernel
def fill_columns(joints: Array, first: int, frames: int, columns: Array) -> None:
    """Copy frames from `first` on into columns, float32 [COLUMNS].

    `joints` is float32 [at least frames, 22, 3]. After frame number `frames`, the last one is repeated.
    """
    last = frames - 1
    # Four frames at a time, which are adjacent in memory.
    for f in range(0, BLOCK, 4):
        one, two = joints[min(first + f, last)], joints[min(first + f + 1, last)]
        three, four = joints[min(first + f + 2, last)], joints[min(first + f + 3, last)]
        for j in range(len(JOINTS)):
            for k in range(3):
                at = (3 * j + k) * BLOCK + f
                columns[at], columns[at + 1], columns[at + 2], columns[at + 3] = one[j, k], two[j, k], three[j, k], four[j, k]


@inline_kernel
def joint_column(columns: Array, joint: int) -> Array:
    """Return the column of one joint: float32 [3 * BLOCK]."""
    return columns[3 * BLOCK * joint : 3 * BLOCK * (joint + 1)]
