"""Compute kinetic and geometric features of a clip, for the Fréchet distances FID_k and FID_g.

Sets of features are compared in :mod:`posegen.evaluation.distances`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.evaluation.body import point, unit
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.yaml_files import read_yaml

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


_RELATIONS: Sequence[Mapping[str, Any]] = read_yaml(Path(__file__).with_name("relations.yaml"))
_UNITS = {
    "upper arm": ("left_shoulder", "left_elbow"),
    "shoulders": ("left_shoulder", "right_shoulder"),
    "hips": ("left_hip", "right_hip"),
}
UP, FLOOR = "up", "floor"


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
    sizes = {name: np.linalg.norm(where[one] - where[other], axis=-1).mean() for name, (one, other) in _UNITS.items()}
    for relation in _RELATIONS:
        kind, names, bounds, sign = relation["kind"], relation["joints"], relation["bounds"], 1.0
        if kind == "fast":
            value = np.linalg.norm(speeds[names[0]], axis=-1)
        elif kind in ("higher", "lower"):
            sign = 1.0 if kind == "higher" else -1.0
            value = sign * height[names[0]]
        else:
            value = _four_points(kind, names, where, speeds)
        if kind == "angle":
            holds.append((value >= bounds[0]) & (value <= bounds[1]))
        else:
            holds.append(value > sign * bounds[0] * sizes[relation["unit"]])
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


def _along(vectors: Array, way: Array) -> Array:
    return np.asarray((vectors * unit(way)).sum(-1))
