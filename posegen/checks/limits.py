"""What no body does: joints far out of their ranges, limbs in the trunk or in one another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.checks.angles import AXES, DIRECTIONS, fill_angles
from posegen.checks.apart import stature_seen
from posegen.checks.columns import BLOCK, COLUMNS, fill_columns
from posegen.checks.limbs import ASIDE, fill_aside, limbs_cross
from posegen.checks.ranges import PASSING_SECONDS, Ranges, leaves_ranges, ranges_of
from posegen.kernels import aligned_zeros, kernel
from posegen.library import Library

__all__ = ["CROSSES", "LEAVES", "beyond_limits"]

Array = NDArray[Any]

LEAVES, CROSSES = 1, 2
"""A joint leaves its range; a limb crosses the trunk or another limb."""


class _Work(NamedTuple):
    """Scratch for one block."""

    columns: Array
    pelvis: Array
    chest: Array
    directions: Array
    aside: Array
    left: Array


@kernel
def faults_of_clip(joints: Array, labels: Array, reach: int, ranges: Ranges, work: _Work) -> int:
    """What is beyond its limits in a clip: LEAVES, CROSSES, both or 0.

    `joints` is float32 [at least frames, 22, 3], `labels` uint16 [frames, parts].
    """
    frames = len(labels)
    leaves, crosses, stature = False, False, stature_seen(joints)
    for first in range(0, frames, BLOCK):
        fill_columns(joints, first, frames, work.columns)
        fill_angles(work.columns, work.pelvis, work.chest, work.directions)
        leaves = leaves or leaves_ranges(work.directions, labels, first, reach, ranges, work.left)
        fill_aside(work.columns, work.pelvis, work.aside)
        crosses = crosses or limbs_cross(work.columns, work.aside, stature)
    return LEAVES * leaves + CROSSES * crosses


@kernel
def fill_faults(
    joints: Array, labels: Array, variant: int, cast: tuple[Array, Array], reach: int, ranges: Ranges, work: _Work, out: Array
) -> None:
    """Write what is beyond its limits in one variant; `cast` is how many actors and frames there are: int64 [n] each."""
    out[:] = 0
    for i in range(len(out)):
        for who in range(cast[0][i]):
            shown = labels[i, variant, who, : cast[1][i]]
            out[i, who] = faults_of_clip(joints[i, variant, who], shown, reach, ranges, work)


def beyond_limits(
    joints: Array, labels: Array, variant: int, actors: Array, length: Array, library: Library, fps: float
) -> Array:
    """Find what no body does.

    Joints may leave their ranges by :data:`posegen.checks.ranges.TOLERANCE`, capsules be in one another by
    :data:`posegen.checks.apart.DEEPEST`; what comes close to that counts, too.

    Parameters
    ----------
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres.
    labels : uint16 [n, variants, actors, frames, parts]
        Number of the action of each part of the body.
    variant : int
        Which one is looked at.
    actors, length : int [n]
        How many actors and frames each sequence has.
    library : Library
        Of the actions, some of which widen ranges.
    fps : float
        Frames a second.

    Returns
    -------
    uint8 [n, actors]
        :data:`LEAVES`, :data:`CROSSES`, their sum for both, or 0.
    """
    cast = np.ascontiguousarray(actors, np.int64), np.ascontiguousarray(length, np.int64)
    columns, pelvis, chest, directions, aside = (
        aligned_zeros((size,), np.float32) for size in (COLUMNS, AXES, AXES, DIRECTIONS, ASIDE)
    )
    work = _Work(columns, pelvis, chest, directions, aside, np.empty(BLOCK, np.bool_))
    faults = np.empty((len(joints), joints.shape[2]), np.uint8)
    fill_faults(joints, labels, variant, cast, int(PASSING_SECONDS * fps), ranges_of(library), work, faults)
    return faults
