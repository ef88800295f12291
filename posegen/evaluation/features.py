"""Compute kinetic and geometric features of a clip, for the Fréchet distances FID_k and FID_g.

Sets of features are compared in :mod:`posegen.evaluation.distances`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.evaluation.body import point, unit
from posegen.skeleton import JOINTS

_KINETIC_WINDOW = 5
"""Frames over which velocities and accelerations are averaged, as in AIST++."""


def kinetic_features(joints: ArrayLike, fps: float) -> Array:
    """Return mean horizontal and vertical kinetic energy and mean acceleration of each joint (Onuma et al. 2008).

    Parameters
    ----------
    joints : float [frame, joint, axis]
        Metres, without gaps; at least 8 frames.
    fps : float
        Frames per second: the actual rate, where AIST++ (Li et al. 2021) always takes 60.

    Returns
    -------
    float64 [3 * joints]
        For each joint m^2/s^2, m^2/s^2, m/s^2: 66 for 22 joints where AIST++ has 72 for the 24 of SMPL. Unlike there,
        only frames whose window is inside the clip count.
    """
    positions = np.asarray(joints, np.float64)
    velocity = (positions[_KINETIC_WINDOW:] - positions[:-_KINETIC_WINDOW]) * (fps / _KINETIC_WINDOW)
    steps = np.diff(positions, axis=0) * fps
    acceleration = (steps[_KINETIC_WINDOW:] - steps[:-_KINETIC_WINDOW]) * (fps / _KINETIC_WINDOW)
    across = (velocity[..., [0, 2]] ** 2).sum(-1).mean(0)
    upward = (velocity[..., 1] ** 2).mean(0)
    effort = np.sqrt((acceleration**2).sum(-1)).mean(0)
    return np.stack([across, upward, effort], axis=-1).reshape(-1)


ARM, SHOULDERS, HIPS = ("left_shoulder", "left_elbow"), ("left_shoulder", "right_shoulder"), ("left_hip", "right_hip")
UP, FLOOR = "up", "floor"

# Relation, joints (sides as r_ and l_), bounds, and the joints whose distance is the unit of the bounds (None: degrees).
_RELATIONS: tuple[tuple[str, str, tuple[float, ...], tuple[str, str] | None], ...] = (
    ("moves off", "neck r_hip l_hip r_wrist", (1.8,), ARM),
    ("moves off", "neck l_hip r_hip l_wrist", (1.8,), ARM),
    ("before", "spine3 neck neck r_wrist", (0.2,), ARM),
    ("before", "spine3 neck neck l_wrist", (0.2,), ARM),
    ("moves", "spine1 spine3 spine3 r_wrist", (1.8,), ARM),
    ("moves", "spine1 spine3 spine3 l_wrist", (1.8,), ARM),
    ("angle", "r_elbow r_shoulder r_elbow r_wrist", (0, 110), None),
    ("angle", "l_elbow l_shoulder l_elbow l_wrist", (0, 110), None),
    ("before", "l_shoulder r_shoulder l_wrist r_wrist", (2.5,), SHOULDERS),
    ("moves", "l_wrist r_wrist r_wrist l_wrist", (1.4,), ARM),
    ("moves", "r_wrist pelvis l_wrist pelvis", (1.4,), ARM),
    ("moves", "l_wrist pelvis r_wrist pelvis", (1.4,), ARM),
    ("fast", "r_wrist", (2.5,), ARM),
    ("fast", "l_wrist", (2.5,), ARM),
    ("off", "pelvis l_hip l_foot r_ankle", (0.38,), ARM),
    ("off", "pelvis r_hip r_foot l_ankle", (0.38,), ARM),
    ("higher", "r_ankle", (1.2,), ARM),
    ("higher", "l_ankle", (1.2,), ARM),
    ("before", "l_hip r_hip l_ankle r_ankle", (2.1,), HIPS),
    ("angle", "r_knee r_hip r_knee r_ankle", (0, 110), None),
    ("angle", "l_knee l_hip l_knee l_ankle", (0, 110), None),
    ("fast", "r_ankle", (2.5,), ARM),
    ("fast", "l_ankle", (2.5,), ARM),
    ("angle", "neck pelvis r_shoulder r_elbow", (25, 180), None),
    ("angle", "neck pelvis l_shoulder l_elbow", (25, 180), None),
    ("angle", "neck pelvis r_hip r_knee", (50, 180), None),
    ("angle", "neck pelvis l_hip l_knee", (50, 180), None),
    ("off", "r_ankle neck l_ankle pelvis", (0.5,), ARM),
    ("angle", "neck pelvis floor up", (70, 110), None),
    ("lower", "r_wrist", (1.2,), ARM),
    ("lower", "l_wrist", (1.2,), ARM),
    ("fast", "pelvis", (2.3,), ARM),
)


def geometric_features(joints: ArrayLike, fps: float) -> Array:
    """Return the share of a clip's frames in which each of 32 geometric relations holds.

    The relations are those of Müller, Röder and Clausen (2005) as chosen by fairmotion and AIST++: whether a hand moves
    forward or is raised, a knee is bent, a foot is in front of the other. Lengths are relative to the clip's own upper arm,
    shoulder width or hip width.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, without gaps; at least 2 frames.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [32]
        In the order of AIST++.
    """
    positions = np.asarray(joints, np.float64)
    where = {name: point(positions, name)[1:] for name in JOINTS}
    where |= {FLOOR: np.zeros_like(where["pelvis"]), UP: np.zeros_like(where["pelvis"]) + np.array([0.0, 1.0, 0.0])}
    speeds = {name: np.diff(point(positions, name), axis=0) * fps for name in JOINTS}
    height = {name: where[name][:, 1] - positions[1:, :, 1].min(-1) for name in JOINTS}
    holds = []
    for relation, words, bounds, measure in _RELATIONS:
        names = words.replace("r_", "right_").replace("l_", "left_").split()
        size = 1.0 if measure is None else _length(where[measure[0]] - where[measure[1]]).mean()
        if relation == "fast":
            value = _length(speeds[names[0]])
        elif relation in ("higher", "lower"):
            value = height[names[0]] * (1 if relation == "higher" else -1)
        else:
            value = _four_points(relation, names, where, speeds)
        if relation == "angle":
            holds.append((value >= bounds[0]) & (value <= bounds[1]))
        else:
            holds.append(value > bounds[0] * size * (-1 if relation == "lower" else 1))
    return np.asarray(np.stack(holds).mean(-1))


def _four_points(relation: str, names: list[str], where: dict[str, Array], speeds: dict[str, Array]) -> Array:
    a, b, c, d = (where[name] for name in names)
    if relation == "angle":
        return np.asarray(np.degrees(np.arccos(np.clip((unit(b - a) * unit(d - c)).sum(-1), -1, 1))))
    if relation == "before":
        return _along(d - c, b - a)
    if relation == "off":
        return _along(d - a, np.cross(b - a, c - a))
    if relation == "moves":
        return _along(speeds[names[3]] - speeds[names[2]], b - a)
    return _along(speeds[names[3]] - speeds[names[0]], np.cross(b - a, c - a))


def _length(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors * vectors).sum(-1)))


def _along(vectors: Array, way: Array) -> Array:
    return np.asarray((vectors * unit(way)).sum(-1))
