"""The average person in the rest pose, and with single joints turned: what the drawing of the convention shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.scene import empty_scenes
from posegen.skeleton import JOINTS, PARENTS, body_offsets, sole_points

__all__ = ["ANGLES", "Angle", "posed", "rotation"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Angle:
    """One anatomical angle: the rotation that is positive, and how it is drawn.

    Attributes
    ----------
    name : str
    meaning : str
        What happens when it is positive.
    joint, axis : str
        What turns, on the left side where there are two, and about which axis.
    sign : int
        Of the right-handed rotation.
    tip : str
        The joint whose path shows the turn.
    azimuth, elevation : float
        Degrees from which it is seen.
    before : mapping of str to (axis, degrees)
        Turns of other joints that are there beforehand, so that the angle shows.
    against : tuple of str
        Joints that turn back, so that what hangs on them stays as it is.
    close : bool
        Whether only the surroundings of the tip are drawn, larger.
    """

    name: str
    meaning: str
    joint: str
    axis: str
    sign: int
    tip: str
    azimuth: float
    elevation: float = 8.0
    before: Mapping[str, tuple[str, float]] | None = None
    against: tuple[str, ...] = ()
    close: bool = False

    def turns(self, degrees: float) -> dict[str, Array]:
        """Rotations [3, 3] of the joints by name, when the angle has this value."""
        turns = {joint: rotation(axis, angle) for joint, (axis, angle) in (self.before or {}).items()}
        turns |= {joint: rotation(self.axis, -self.sign * degrees) for joint in self.against}
        return turns | {self.joint: rotation(self.axis, self.sign * degrees)}


_SIDE, _FRONT = 75.0, 0.0
_HIPS = ("left_hip", "right_hip")

ANGLES = (
    Angle("hip flexion", "limb forward", "left_hip", "x", -1, "left_ankle", _SIDE),
    Angle("hip abduction", "limb outward", "left_hip", "z", 1, "left_ankle", _FRONT),
    Angle("hip external rotation", "toes outward", "left_hip", "y", 1, "left_foot", 10.0, 40.0, close=True),
    Angle("knee flexion", "heel back", "left_knee", "x", 1, "left_ankle", _SIDE),
    Angle("ankle dorsiflexion", "toes up", "left_ankle", "x", -1, "left_foot", _SIDE, close=True),
    Angle("shoulder flexion", "limb forward", "left_shoulder", "x", -1, "left_wrist", _SIDE),
    Angle("shoulder abduction", "limb outward", "left_shoulder", "z", 1, "left_wrist", _FRONT),
    Angle(
        *("shoulder ext. rotation", "forearm outward", "left_shoulder", "y", 1, "left_wrist", 10.0, 40.0),
        before={"left_elbow": ("x", -80.0)},
    ),
    Angle("elbow flexion", "hand forward", "left_elbow", "x", -1, "left_wrist", _SIDE),
    Angle("trunk, neck flexion", "forward", "spine1", "x", 1, "head", _SIDE),
    Angle("trunk, neck lateral flexion", "to the left", "spine1", "z", -1, "head", _FRONT),
    Angle("trunk, neck rotation", "to the left", "spine1", "y", 1, "right_shoulder", 10.0, 40.0),
    Angle("pelvis tilt", "forward", "pelvis", "x", 1, "head", _SIDE, against=_HIPS),
    Angle("pelvis obliquity", "left side up", "pelvis", "z", 1, "left_hip", _FRONT, against=_HIPS),
)
"""The angles of :mod:`posegen.skeleton`'s table, by body part."""


def posed(turns: Mapping[str, Array] | None = None) -> Array:
    """Joints [22, 3] of an average person 1.7 m tall, whose feet stand on the floor in the rest pose.

    Parameters
    ----------
    turns : mapping of str to float [3, 3]
        Rotation of a joint by its name; the pelvis stays where it is.
    """
    offsets = np.asarray(body_offsets(empty_scenes(1, 1, 1).persons)[0, 0], np.float64)
    standing = np.zeros((len(JOINTS), 3))
    figure = np.zeros((len(JOINTS), 3))
    rotations = np.zeros((len(JOINTS), 3, 3))
    for joint, (name, parent) in enumerate(zip(JOINTS, PARENTS, strict=True)):
        own = (turns or {}).get(name, np.eye(3))
        if parent < 0:
            rotations[joint] = own
            continue
        rotations[joint] = rotations[parent] @ own
        figure[joint] = figure[parent] + rotations[parent] @ offsets[joint]
        standing[joint] = standing[parent] + offsets[joint]
    figure[:, 1] -= sole_points(standing)[:, 1].min()
    return figure


def rotation(axis: str, degrees: float) -> Array:
    """Right-handed rotation [3, 3] about one of the axes x, y, z."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[i, i], matrix[j, j], matrix[i, j], matrix[j, i] = c, c, -s, s
    return matrix
