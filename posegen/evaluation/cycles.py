"""A stretch of gait cut into its cycles: when each foot comes down and leaves, angles and centre of mass over the cycle.

Where there are contact labels they say when a foot touches: it came down, in the mean, half a frame before the first frame in
which it does. Without labels a heel touches down where it is farthest before the pelvis and toes leave the floor where they
are farthest behind it (Zeni et al. 2008), between frames by the parabola through three.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.body import centre_of_mass, point
from posegen.evaluation.limits import joint_angles
from posegen.evaluation.normative import ANGLES
from posegen.skeleton import sole_points

__all__ = ["PHASES", "Way", "angle_cycles", "excursions", "labelled_steps", "peaks", "straight_way", "touch_downs"]

Array = NDArray[Any]

PHASES = np.arange(50) / 50
"""Shares of the cycle at which curves are taken."""
_SIDES = ("left", "right")


@dataclass(frozen=True)
class Way:
    """Where a stretch leads: m/s, and unit vectors ahead and to the left in x and z."""

    speed: float
    ahead: Array
    left: Array


def straight_way(joints: Array, fps: float) -> Way | None:
    """Take the line from the first place of the pelvis to the last: float [frame, 22, 3]. None where it stays."""
    pelvis = point(joints, "pelvis")[:, [0, 2]]
    if len(pelvis) < 3:
        return None
    way = pelvis[-1] - pelvis[0]
    distance = float(np.sqrt((way * way).sum()))
    if distance == 0:
        return None
    ahead = way / distance
    # Seen from above with z ahead, x is to the left.
    return Way(distance / (len(pelvis) - 1) * fps, ahead, np.array([ahead[1], -ahead[0]]))


def touch_downs(joints: Array, contact: Array | None, way: Way) -> tuple[Array, Array]:
    """When the left and the right foot come down, in frames and parts of frames; by labels where there are any."""
    if contact is not None:
        down = labelled_steps(contact)
        return (np.flatnonzero(down[1:, 0] & ~down[:-1, 0]) + 0.5, np.flatnonzero(down[1:, 1] & ~down[:-1, 1]) + 0.5)
    pelvis = point(joints, "pelvis")[:, [0, 2]]
    before = ((sole_points(joints)[..., [0, 2]] - pelvis[:, None]) * way.ahead).sum(-1)
    return peaks(before[:, 0]), peaks(before[:, 2])


def labelled_steps(contact: Array) -> Array:
    """Whether each foot touches, with its heel or its toe: bool [frame, 2] of uint8 [frame, point]."""
    return np.stack([(contact[:, heel : heel + 2] == 1).any(-1) for heel in (0, 2)], axis=-1)


def peaks(series: Array) -> Array:
    """Times of the local maxima in the upper half of a series, in frames and parts of frames."""
    middle = series[1:-1]
    high = (middle > series[:-2]) & (middle >= series[2:]) & (middle > (series.max() + series.min()) / 2)
    at = np.flatnonzero(high) + 1
    before, here, after = series[at - 1], series[at], series[at + 1]
    return np.asarray(at + 0.5 * (before - after) / (before - 2 * here + after))


def angle_cycles(joints: Array, downs: tuple[Array, Array]) -> Array:
    """Angles of the leg over each cycle of its own.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres.
    downs : see :func:`touch_downs`

    Returns
    -------
    float64 [cycle, angle, phase]
        Degrees, by :data:`posegen.evaluation.normative.ANGLES` and :data:`PHASES`; both legs' cycles.
    """
    angles = joint_angles(joints)
    frames = np.arange(len(joints))
    found = []
    for side, times in zip(_SIDES, downs, strict=True):
        for start, stop in pairwise(times):
            at = start + PHASES * (stop - start)
            found.append([np.interp(at, frames, angles[f"{side}_{name}"]) for name in ANGLES])
    return np.array(found).reshape(-1, len(ANGLES), len(PHASES))


def excursions(joints: Array, downs: tuple[Array, Array], way: Way) -> tuple[float, float]:
    """How far the centre of mass rises and falls, and sways from side to side, in a stride: metres, the mean of strides."""
    centre = centre_of_mass(joints)
    sideways = (centre[:, [0, 2]] * way.left).sum(-1)
    rises, sways = [], []
    for times in downs:
        for start, stop in pairwise(np.rint(times).astype(int)):
            along = np.linspace(0, 1, stop - start + 1)
            # Nobody walks quite straight: what is left of the drift over the stride is no sway.
            drift = sideways[start] + along * (sideways[stop] - sideways[start])
            rises.append(np.ptp(centre[start : stop + 1, 1]))
            sways.append(np.ptp(sideways[start : stop + 1] - drift))
    return (float(np.mean(rises)), float(np.mean(sways))) if rises else (np.nan, np.nan)
