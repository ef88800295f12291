"""Feet that slide while they should stand, by definitions that need no contact labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.skeleton import JOINTS

__all__ = ["Skate", "foot_skate"]

TOES = (JOINTS.index("left_foot"), JOINTS.index("right_foot"))
LOW = 0.05
FAST, STRICT = 0.5, 0.2


@dataclass(frozen=True)
class Skate:
    """How much feet slide; NaN where no toe is ever low.

    Attributes
    ----------
    gmd : float
        Share of all steps between frames in which a toe is below 5 cm before and after and moves horizontally at over .5 m/s
        (Karunratanakul et al. 2023).
    strict : float
        Share of the steps of low toes in which the toe moves at over .2 m/s, as Kimodo counts.
    speed : float
        Mean horizontal speed of low toes, m/s.
    """

    gmd: float
    strict: float
    speed: float


def foot_skate(joints: ArrayLike, fps: float) -> Skate:
    """Measure how much feet slide.

    Parameters
    ----------
    joints : float [frame, joint, axis]
        Metres, floor at height 0; NaN where absent.
    fps : float
        Frames a second.
    """
    toes = np.asarray(joints, np.float64)[:, TOES, :]
    low = toes[..., 1] < LOW  # False where absent
    still_low = low[1:] & low[:-1]
    step = np.diff(toes[..., [0, 2]], axis=0)
    speed = np.sqrt((step * step).sum(-1)) * fps
    seen = np.isfinite(speed).any(-1)
    if not seen.any():
        return Skate(np.nan, np.nan, np.nan)
    gmd = float((still_low & (speed > FAST)).any(-1)[seen].mean())
    standing: NDArray[Any] = speed[still_low]
    if not len(standing):
        return Skate(gmd, np.nan, np.nan)
    return Skate(gmd, float((standing > STRICT).mean()), float(standing.mean()))
