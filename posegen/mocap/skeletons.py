"""Skeletons of clips: what their spines look like in standing, for clips in which nobody stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posegen.arrays import Array
from posegen.mocap.pose_channels import leg_length, standing_angles
from posegen.skeleton import PARENTS

NEAREST = 5
"""Clips of the most similar skeletons from which the angles of another clip are taken."""


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


def _bones(joints: Array) -> Array:
    away = joints[:, 1:] - joints[:, PARENTS[1:]]
    return np.asarray(np.median(np.sqrt((away**2).sum(-1)), axis=0) / leg_length(joints))
