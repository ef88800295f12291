"""Physical limits: joints out of their ranges, and limbs or people that pass through each other, in synthesized samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posegen.checks.capsules import BLOCK, VECTOR, fill_aside, fill_columns, limbs_cross, overlapping, stature_of_legs
from posegen.checks.ranges import ANGLES, LEFT, PASSING_SECONDS, Ranges, fill_angles, leaves_ranges, ranges_of
from posegen.foundations.arrays import Array
from posegen.foundations.kernels import aligned_zeros, kernel
from posegen.foundations.scene import Scenes
from posegen.foundations.skeleton import DEFAULT_SKELETON, JOINTS, LIBRARY_SKELETON
from posegen.library.load import Library

LEAVES, CROSSES, FLAW = 1, 2, 4
"""A joint leaves its range; a limb crosses the trunk or another limb; it does so in an action whose clip has this flaw."""
_KINDS = {"range": LEAVES, "overlap": CROSSES, "flaw": FLAW}
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
        Of each body: the sum of :data:`LEAVES`, :data:`CROSSES` and :data:`FLAW`, as far as they hold.
    people : bool [n]
        Whether people overlap.
    """

    bodies: Array
    people: Array

    def any(self) -> Array:
        """Return whether each sample violates a limit, beside the flaws of clips: bool [n]."""
        return np.asarray(self.people | (self.bodies & ~np.uint8(FLAW)).any(axis=1))

    def rows(self) -> list[list[dict[str, Any]]]:
        """Return the entries of the column `dropped` for each sample."""
        found = []
        for together, bodies in zip(self.people.tolist(), self.bodies.tolist(), strict=True):
            failures = [(_ALL_ACTORS, "overlap")] if together else []
            failures += [(who, kind) for who, bits in enumerate(bodies) for kind, bit in _KINDS.items() if bits & bit]
            found.append([{"actor": who, "kind": kind, "segment": -1, "action": "", "value": ""} for who, kind in failures])
        return found


@kernel
def shows_action(labels: Array, first: int, chosen: Array) -> bool:
    """Return whether labels [frames, parts] have a chosen action, bool [actions], in the block from frame `first` on."""
    for f in range(first, min(len(labels), first + BLOCK)):
        for part in range(labels.shape[1]):
            action = labels[f, part]
            if action < len(chosen) and chosen[action]:
                return True
    return False


@kernel
def limits_of_clip(joints: Array, labels: Array, reach: int, ranges: Ranges, skeleton: int, work: _Work) -> int:
    """Return the limits that a clip violates: the sum of LEAVES, CROSSES and FLAW, as far as they hold.

    `joints` is float32 [at least frames, 22, 3], `labels` uint16 [frames, parts], `skeleton` the index of the person's.
    """
    frames = len(labels)
    leaves, crosses, flaw, stature = False, False, False, stature_of_legs(joints)
    # Blocks share a frame, so that limbs do not pass through each other between two.
    for first in range(0, frames, BLOCK - 1):
        fill_columns(joints, first, frames, work.columns)
        fill_angles(work.columns, work.pelvis, work.chest, work.directions)
        leaves = leaves or leaves_ranges(work.directions, labels, first, reach, ranges, skeleton, work.left)
        fill_aside(work.columns, work.pelvis[LEFT * VECTOR :], work.aside)
        if not crosses and limbs_cross(work.columns, work.aside, stature, work.gaps):
            if shows_action(labels, first, ranges.flawed):
                flaw = True
            else:
                crosses = True
    return LEAVES * leaves + CROSSES * crosses + FLAW * flaw


@kernel
def fill_limits(
    joints: Array, labels: Array, variant: int, cast: Array, reach: int, ranges: Ranges, work: _Work, out: Array
) -> None:
    """Write the limits that the bodies of one variant violate, uint8 [n, actors].

    `cast` is int64 [n, actors, 2]: the frames in which each actor is present, and its skeleton.
    """
    for i in range(out.shape[0]):
        for who in range(out.shape[1]):
            frames, skeleton = cast[i, who, 0], cast[i, who, 1]
            out[i, who] = 0
            if frames > 0:
                shown = labels[i, variant, who, :frames]
                out[i, who] = limits_of_clip(joints[i, variant, who], shown, reach, ranges, skeleton, work)


def check_limits(
    joints: Array, labels: Array, variant: int, scenes: Scenes, library: Library, fps: float, skeleton: str = DEFAULT_SKELETON
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
    scenes : Scenes
        Of that variant: who is present, and for how many frames.
    library : Library
        Of the actions; some of them widen ranges.
    fps : float
        Frames per second.
    skeleton : str
        One of :data:`posegen.foundations.skeleton.SKELETONS`, or those of the library.

    Returns
    -------
    LimitFailures
    """
    cast = np.zeros((*scenes.heading.shape, 2), np.int64)
    present = np.arange(cast.shape[1]) < scenes.actors[:, None]
    cast[..., 0] = np.where(present, scenes.length[:, None], 0)
    if skeleton == LIBRARY_SKELETON:
        cast[..., 1] = library.skeletons.of_persons(scenes.persons.index)
    axes = (3 * VECTOR,)
    shapes = (len(JOINTS), VECTOR), axes, axes, (len(ANGLES) * VECTOR,), (len(JOINTS), BLOCK), (VECTOR,)
    columns, pelvis, chest, directions, aside, gaps = (aligned_zeros(shape, np.float32) for shape in shapes)
    work = _Work(columns, pelvis, chest, directions, aside, gaps, np.empty(BLOCK, np.bool_))
    failures = np.empty(present.shape, np.uint8)
    fill_limits(joints, labels, variant, cast, int(PASSING_SECONDS * fps), ranges_of(library, skeleton), work, failures)
    return LimitFailures(failures, overlapping(joints, variant, scenes.actors, scenes.length))
