"""Kinetic features of a clip, for the Fréchet distance FID_k (Onuma et al. 2008; AIST++, Li et al. 2021)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["kinetic_features"]

WINDOW = 5
"""Frames over which velocities and accelerations are averaged, as there."""


def kinetic_features(joints: ArrayLike, fps: float) -> NDArray[Any]:
    """Mean horizontal and vertical kinetic energy and mean acceleration of each joint.

    Parameters
    ----------
    joints : float [frame, joint, axis]
        Metres, without gaps; at least 8 frames.
    fps : float
        Frames a second: the real ones, where AIST++ takes 60 always.

    Returns
    -------
    float64 [3 * joints]
        For each joint m^2/s^2, m^2/s^2, m/s^2: 66 for 22 joints where AIST++ has 72 for SMPL's 24. Unlike there,
        only frames whose window lies in the clip count.
    """
    places = np.asarray(joints, np.float64)
    velocity = (places[WINDOW:] - places[:-WINDOW]) * (fps / WINDOW)
    steps = np.diff(places, axis=0) * fps
    acceleration = (steps[WINDOW:] - steps[:-WINDOW]) * (fps / WINDOW)
    across = (velocity[..., [0, 2]] ** 2).sum(-1).mean(0)
    upward = (velocity[..., 1] ** 2).mean(0)
    effort = np.sqrt((acceleration**2).sum(-1)).mean(0)
    return np.stack([across, upward, effort], axis=-1).reshape(-1)
