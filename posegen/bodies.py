"""Bodies: bone offsets and heights of persons, from joint placement, stature and proportions."""

from __future__ import annotations

import numpy as np

from posegen.arrays import Array
from posegen.scene import Persons
from posegen.skeleton import JOINTS, PROPORTIONS

_KNEE, _ANKLE = JOINTS.index("left_knee"), JOINTS.index("left_ankle")


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
    everywhere, sideways = slice(None), slice(0, 1)
    for factor, axes, joints in (
        (persons.legs, everywhere, ("knee", "ankle")),
        (persons.arms, everywhere, ("elbow", "wrist")),
        (persons.hips, sideways, ("hip",)),
        (persons.shoulders, sideways, ("collar", "shoulder")),
    ):
        for joint in joints:
            for side in ("left_", "right_"):
                offsets[..., JOINTS.index(side + joint), axes] *= np.asarray(factor, np.float32)[..., None]
    return offsets.astype(np.float32)


def leg_height(people: Persons) -> Array:
    """Return the height of the hips in standing, in metres; about 0.9 for an average adult.

    It is that of the anatomical skeleton, whatever the joint placement, so that the same people walk equally fast on all.
    """
    limb = (PROPORTIONS["thigh"] + PROPORTIONS["shank"]) * people.legs.astype(np.float64) + PROPORTIONS["ankle_height"]
    return np.asarray(people.stature * limb)


def hip_height(people: Persons) -> Array:
    """Return the height of the hip joints in standing, in metres, as the stored joints show it."""
    straight = -(people.rest[..., _KNEE, 1] + people.rest[..., _ANKLE, 1])
    return np.asarray(people.stature * (straight * people.legs.astype(np.float64) + PROPORTIONS["ankle_height"]))


def seat_height(people: Persons, draws: Array) -> Array:
    """Return the height of a seat for each person, 0.95 to 1.08 of the knee height, for draws on [0, 1)."""
    shank = (PROPORTIONS["ankle_height"] - people.rest[..., _ANKLE, 1]).astype(np.float32)
    return np.asarray(((0.95 + 0.13 * draws) * (shank * people.stature * people.legs)).astype(np.float32))
