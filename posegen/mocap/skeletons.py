"""Skeletons of clips: what their spines look like in standing, and where their joints are, for the persons of a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.library.skeletons import FARTHEST, LIMBS, LONGEST, MEASURED, MOST_SKELETONS, SHORTEST, SkeletonEntry
from posegen.mocap.pose_channels import leg_length, standing_angles

NEAREST = 5
"""Clips of the most similar skeletons from which the angles of another clip are taken."""
SAME = 0.009
"""Root mean square distance of the joints of two skeletons, as a fraction of stature, up to which they are one. Those of
several clips of a person differ by up to 12 mm from their median."""


class Skeleton(NamedTuple):
    """Lengths of the bones of a clip in leg lengths, float64 [21], and :func:`~posegen.mocap.pose_channels.standing_angles`."""

    bones: Array
    standing: Mapping[str, float]


def standing_skeleton(joints: Array) -> Skeleton | None:
    """Return the skeleton of a clip, or None if nobody stands upright in it; `joints` is float [frame, 22, 3]."""
    body = np.asarray(joints, np.float64)
    standing = standing_angles(body)
    return None if standing is None else Skeleton(_bones(body), standing)


def usual_standing(joints: Array, others: Sequence[Skeleton]) -> Mapping[str, float]:
    """Return the standing angles of a clip in which nobody stands: the medians of the clips with the most similar skeletons."""
    if not others:
        return {}
    bones = _bones(np.asarray(joints, np.float64))
    unlike = [float(((other.bones - bones) ** 2).sum()) for other in others]
    nearest = [others[i] for i in np.argsort(unlike, kind="stable")[:NEAREST]]
    return {name: float(np.median([other.standing[name] for other in nearest])) for name in nearest[0].standing}


def distinct_skeletons(offsets: Sequence[Array]) -> dict[str, SkeletonEntry]:
    """Return the skeletons of a library, as means of similar ones, the most frequent first.

    Parameters
    ----------
    offsets : sequence of float64 [22, 3]
        Of each clip; see :func:`posegen.mocap.pose_channels.rest_of_clip`.
    """
    groups: list[list[Array]] = []
    for rest in offsets:
        unlike = [_apart(np.mean(group, axis=0), rest) for group in groups]
        nearest = int(np.argmin(unlike)) if unlike else -1
        if nearest >= 0 and unlike[nearest] <= SAME:
            groups[nearest].append(rest)
        else:
            groups.append([rest])
    groups.sort(key=len, reverse=True)
    return {f"clips_{number}": _entry(group) for number, group in enumerate(groups[:MOST_SKELETONS], 1)}


def _apart(one: Array, other: Array) -> float:
    return float(np.sqrt(((one - other) ** 2).sum(-1).mean()))


def _entry(group: Sequence[Array]) -> SkeletonEntry:
    rest = np.mean(group, axis=0).clip(-FARTHEST, FARTHEST)
    limbs = [JOINTS.index(name) for name in LIMBS]
    # A bone of a clip may be shorter or longer than any of a person.
    rest[limbs] = rest[limbs].clip([0, -LONGEST, 0], [0, -SHORTEST, 0])
    offsets = {name: tuple(round(float(value), 4) + 0.0 for value in rest[JOINTS.index(name)]) for name in MEASURED}
    return SkeletonEntry.model_validate({"weight": len(group), "offsets": offsets})


def _bones(joints: Array) -> Array:
    away = joints[:, 1:] - joints[:, PARENTS[1:]]
    return np.asarray(np.median(np.sqrt((away**2).sum(-1)), axis=0) / leg_length(joints))
