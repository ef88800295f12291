"""Bodies: bone offsets and heights of persons, from joint placement, stature and proportions."""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.scene import Persons
from posegen.foundations.skeleton import JOINTS, PROPORTIONS, SHAPE

_KNEE, _ANKLE = JOINTS.index("left_knee"), JOINTS.index("left_ankle")
_LENGTH, _BREADTH, _HEIGHT = slice(None), slice(0, 1), slice(1, 3)
_SCALED = {
    "thigh": (_LENGTH, ("left_knee", "right_knee")),
    "shank": (_LENGTH, ("left_ankle", "right_ankle")),
    "trunk": (
        _HEIGHT,
        tuple(name for name in JOINTS if name.endswith(("hip", "collar", "shoulder", "head", "neck")) or "spine" in name),
    ),
    "upper_arm": (_LENGTH, ("left_elbow", "right_elbow")),
    "forearm": (_LENGTH, ("left_wrist", "right_wrist")),
    "shoulders": (_BREADTH, ("left_collar", "right_collar", "left_shoulder", "right_shoulder")),
    "hips": (_BREADTH, ("left_hip", "right_hip")),
}
"""Axes and joints of the offsets that each length of a shape scales."""


def body_offsets(persons: Persons, scale: float | Array = 1.0) -> Array:
    """Return the bone offsets of each person.

    Parameters
    ----------
    persons : Persons
        Arrays [n, actors].
    scale : float or array that broadcasts against [n, actors]
        Factor on the whole body.

    Returns
    -------
    float32 [n, actors, 22, 3]
        Offset of each joint from its parent in the rest pose, in metres; zeros for the pelvis.
    """
    stature = np.asarray(persons.stature * scale, np.float32)
    offsets = persons.rest.astype(np.float32) * stature[..., None, None]
    for i, name in enumerate(SHAPE):
        axes, joints = _SCALED[name]
        for joint in joints:
            offsets[..., JOINTS.index(joint), axes] *= persons.shape[..., i, None]
    return offsets.astype(np.float32)


def leg_height(people: Persons) -> Array:
    """Return the height of the hips in standing, in metres; about 0.9 for an average adult.

    It is that of the anatomical skeleton, whatever the joint placement, so that the same people walk equally fast on all.
    """
    limb = (PROPORTIONS["thigh"] + PROPORTIONS["shank"]) * people.legs.astype(np.float64) + PROPORTIONS["ankle_height"]
    return np.asarray(people.stature * limb)


def hip_height(people: Persons) -> Array:
    """Return the height of the hip joints in standing, in metres, as the stored joints show it."""
    leg = body_offsets(people)[..., [_KNEE, _ANKLE], 1].astype(np.float64)
    return np.asarray(people.stature * PROPORTIONS["ankle_height"] - leg[..., 0] - leg[..., 1])


def seat_height(people: Persons, draws: Array) -> Array:
    """Return the height of a seat for each person, 0.95 to 1.08 of the knee height, for draws on [0, 1)."""
    knee = people.stature * np.float32(PROPORTIONS["ankle_height"]) - body_offsets(people)[..., _ANKLE, 1]
    return np.asarray(((0.95 + 0.13 * draws) * knee).astype(np.float32))
