"""Physical limits: joints out of their ranges, and limbs or people that pass through each other, in synthesized samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posegen.checks.capsules import ASIDE, GAPS, fill_aside, limbs_cross, overlapping, stature_of_legs
from posegen.checks.columns import BLOCK, COLUMNS, fill_columns
from posegen.checks.ranges import AXES, DIRECTIONS, PASSING_SECONDS, Ranges, fill_angles, leaves_ranges, ranges_of
from posegen.foundations.arrays import Array
from posegen.foundations.kernels import aligned_zeros, kernel
from posegen.foundations.skeleton import DEFAULT_SKELETON, LIBRARY_SKELETON
from posegen.library.load import Library

LEAVES, CROSSES = 1, 2
"""A joint leaves its range; a limb crosses the trunk or another limb."""
_KINDS = {"range": LEAVES, "overlap": CROSSES}
_ALL_ACTORS = -1


class _Work(NamedTuple):
    """Scratch arrays for one block."""

    columns: Array
    pelvis: Array
    chest: Array
    directions: Array
    aside: Array
    gaps: Array
    left: Array


@dataclass(frozen=True)
class LimitFailures:
    """Limits that one variant of n samples violates.

    Attributes
    ----------
    bodies : uint8 [n, actors]
        Of each body: :data:`LEAVES`, :data:`CROSSES`, their sum for both, or 0.
    people : bool [n]
        Whether people overlap.
    """

    bodies: Array
    people: Array

    def any(self) -> Array:
        """Return whether each sample violates a limit: bool [n]."""
        return np.asarray(self.people | self.bodies.any(axis=1))

    def rows(self) -> list[list[dict[str, Any]]]:
        """Return the entries of the column `dropped` for each sample."""
        found = []
        for together, bodies in zip(self.people.tolist(), self.bodies.tolist(), strict=True):
            failures = [(_ALL_ACTORS, "overlap")] if together else []
            failures += [(who, kind) for who, bits in enumerate(bodies) for kind, bit in _KINDS.items() if bits & bit]
            found.append([{"actor": who, "kind": kind, "segment": -1, "action": "", "value": ""} for who, kind in failures])
        return found


@kernel
def limits_of_clip(joints: Array, labels: Array, reach: int, ranges: Ranges, skeleton: int, work: _Work) -> int:
    """Return the limits that a clip violates: LEAVES, CROSSES, their sum or 0.

    `joints` is float32 [at least frames, 22, 3], `labels` uint16 [frames, parts], `skeleton` the index of the person's.
    """
    frames = len(labels)
    leaves, crosses, stature = False, False, stature_of_legs(joints)
    # Blocks share a frame, so that limbs do not pass through each other between two.
    for first in range(0, frames, BLOCK - 1):
        fill_columns(joints, first, frames, work.columns)
        fill_angles(work.columns, work.pelvis, work.chest, work.directions)
        leaves = leaves or leaves_ranges(work.directions, labels, first, reach, ranges, skeleton, work.left)
        fill_aside(work.columns, work.pelvis, work.aside)
        crosses = crosses or limbs_cross(work.columns, work.aside, stature, work.gaps)
    return LEAVES * leaves + CROSSES * crosses


@kernel
def fill_limits(
    joints: Array,
    labels: Array,
    variant: int,
    cast: tuple[Array, Array, Array],
    reach: int,
    ranges: Ranges,
    work: _Work,
    out: Array,
) -> None:
    """Write the limits that one variant violates.

    `cast` is the number of actors and of frames, int64 [n] each, and the skeleton of each actor, int64 [n, actors].
    """
    out[:] = 0
    for i in range(len(out)):
        for who in range(cast[0][i]):
            shown = labels[i, variant, who, : cast[1][i]]
            out[i, who] = limits_of_clip(joints[i, variant, who], shown, reach, ranges, cast[2][i, who], work)


def check_limits(
    joints: Array,
    labels: Array,
    variant: int,
    actors: Array,
    length: Array,
    library: Library,
    fps: float,
    skeleton: str = DEFAULT_SKELETON,
    persons: Array | None = None,
) -> LimitFailures:
    """Check one variant of samples against all limits.

    Joints may leave their ranges by :data:`posegen.checks.ranges.TOLERANCE`, capsules overlap by
    :data:`posegen.checks.capsules.DEEPEST`. Values just below these count as violations, too.

    Parameters
    ----------
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres.
    labels : uint16 [n, variants, actors, frames, parts]
        Index of the action of each body part.
    variant : int
        Index of the variant that is checked.
    actors, length : int [n]
        Number of actors and frames of each sequence.
    library : Library
        Of the actions, some of which widen ranges.
    fps : float
        Frames per second.
    skeleton : str
        One of :data:`posegen.foundations.skeleton.SKELETONS`, or those of the library.
    persons : int64 [n, actors], optional
        Numbers of the actors, which decide who has which skeleton of the library.

    Returns
    -------
    LimitFailures
    """
    skeletons = np.zeros((len(joints), joints.shape[2]), np.int64)
    if skeleton == LIBRARY_SKELETON and persons is not None:
        skeletons[:] = library.skeletons.of_persons(persons)
    cast = np.ascontiguousarray(actors, np.int64), np.ascontiguousarray(length, np.int64), skeletons
    columns, pelvis, chest, directions, aside, gaps = (
        aligned_zeros((size,), np.float32) for size in (COLUMNS, AXES, AXES, DIRECTIONS, ASIDE, GAPS)
    )
    work = _Work(columns, pelvis, chest, directions, aside, gaps, np.empty(BLOCK, np.bool_))
    failures = np.empty((len(joints), joints.shape[2]), np.uint8)
    fill_limits(joints, labels, variant, cast, int(PASSING_SECONDS * fps), ranges_of(library, skeleton), work, failures)
    return LimitFailures(failures, overlapping(joints, variant, actors, length))
