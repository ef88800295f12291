"""Bodies by five numbers, which say how long every bone is, and how they are read off a motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.scene import Persons
from posegen.skeleton import JOINTS, PARENTS, PROPORTIONS, body_offsets

__all__ = ["AVERAGE", "MEASURES", "body_of", "leg_length", "offsets_of"]

Array = NDArray[Any]

MEASURES = ("stature", "legs", "arms", "shoulders", "hips")
"""Of a body: metres, and the others relative to the average of that stature, as :class:`posegen.scene.Persons` has them."""

AVERAGE = (1.69, 1.0, 1.0, 1.0, 1.0)
"""The body that motion is made for unless another is asked for: between the average man and the average woman."""

_PARENT = {name: JOINTS[parent] for name, parent in zip(JOINTS, PARENTS, strict=True) if parent >= 0}
_TRUNK = ("spine1", "spine2", "spine3", "neck", "head")
_LEGS = ("left_knee", "right_knee", "left_ankle", "right_ankle")
_ARMS = ("left_elbow", "right_elbow", "left_wrist", "right_wrist")


def offsets_of(body: Array) -> Array:
    """Bone offsets of bodies.

    Parameters
    ----------
    body : float [..., 5]
        See :data:`MEASURES`.

    Returns
    -------
    float32 [..., 22, 3]
        Of each joint from its parent in the rest pose, in metres.
    """
    measures = np.asarray(body, np.float32)
    none = np.zeros(measures.shape[:-1], np.int64)
    named = {name: measures[..., i] for i, name in enumerate(MEASURES)}
    return body_offsets(
        Persons(
            index=none, age=none, male=none > 0, left_handed=none > 0, energy=none, style=none, **named
        )
    )  # fmt: skip


def leg_length(body: Array) -> Array:
    """Height of the hip joints in the rest pose, [...] metres: what steps and heights are measured by."""
    measures = np.asarray(body, np.float64)
    limb = (PROPORTIONS["thigh"] + PROPORTIONS["shank"]) * measures[..., 1] + PROPORTIONS["ankle_height"]
    return np.asarray(measures[..., 0] * limb)


def body_of(joints: Array) -> Array:
    """Read a body off its motion.

    Parameters
    ----------
    joints : float [..., frame, 22, 3]
        Metres; NaN in frames in which nobody is there.

    Returns
    -------
    float64 [..., 5]
        See :data:`MEASURES`; the average body where nobody ever is there.
    """
    rest = offsets_of(np.ones(len(MEASURES)))
    there = ~np.isnan(joints[..., 0, 0])
    count = np.maximum(there.sum(-1), 1)

    def share(pairs: list[tuple[str, str]], own: float) -> Array:
        """How long some distances are together, on the mean of the frames, beside the same of a body of one metre."""
        total = np.zeros(there.shape)
        for one, other in pairs:
            apart = joints[..., JOINTS.index(one), :].astype(np.float64) - joints[..., JOINTS.index(other), :]
            total += np.sqrt((apart * apart).sum(-1))
        return np.asarray(np.where(there, total, 0.0).sum(-1) / count / own)

    def bones(names: tuple[str, ...]) -> Array:
        length = sum(float(np.sqrt((rest[JOINTS.index(name)].astype(np.float64) ** 2).sum())) for name in names)
        return share([(name, _PARENT[name]) for name in names], length)

    def breadth(part: str) -> Array:
        return share([(f"left_{part}", f"right_{part}")], 2 * float(rest[JOINTS.index(f"left_{part}"), 0]))

    stature = bones(_TRUNK)
    safe = np.where(stature > 0, stature, 1.0)
    body = np.stack([stature, bones(_LEGS) / safe, bones(_ARMS) / safe, breadth("collar") / safe, breadth("hip") / safe], -1)
    return np.where((stature > 0)[..., None], body, np.array(AVERAGE))
