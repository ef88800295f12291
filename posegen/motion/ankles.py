"""Heels rise where an ankle would bend further than it can: who goes deeper rolls onto the ball of the foot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, FOOT_BALL
from posegen.motion.rows import ANKLE_X, ANKLE_Y, ANKLE_Z, HIP_X, HIP_Y, HIP_Z, PITCH, YAW
from posegen.motion.trigonometry import atan_turns, cos_turns, eased, sin_turns, smooth_step

__all__ = ["ease_ankles", "shank_lean"]

Array = NDArray[Any]

EASY, FARTHEST = np.float32(33.0 / 360.0), np.float32(40.0 / 360.0)
"""Turns of dorsiflexion that an ankle under load has to spare, and its most: 40.6 degrees (Calatayud et al. 2015)."""
RAISED = np.float32(1.35)
"""Turns that a heel must rise for each that the ankle is to be spared: the shank leans further as the ankle comes up."""
LONG, UPRIGHT = np.float32(0.96), np.float32(0.3)
"""A leg longer than this share, less inclined than this slope, does not bend its ankle so far."""


@kernel
def shank_lean(ahead: Scalar, high: Scalar, square: Scalar, thigh: Scalar, shank: Scalar) -> Scalar:
    """Turns by which the shank leans forward when the hip is so far ahead of the ankle and above it.

    `square` is the squared distance of the two, `high` is above 0; all in metres.
    """
    quarter, one = np.float32(0.25), np.float32(1.0)
    slope = ahead / high
    line = atan_turns(slope) if abs(slope) <= one else (quarter if slope > 0 else -quarter) - atan_turns(one / slope)
    cosine = (shank * shank + square - thigh * thigh) / (np.float32(2.0) * shank * np.sqrt(square))
    cosine = min(max(cosine, np.float32(0.0)), one)
    sine = np.sqrt(one - cosine * cosine)
    return line + (atan_turns(sine / cosine) if sine < cosine else quarter - atan_turns(cosine / sine))


@kernel
def ease_ankles(first: int, last: int, thigh_length: Scalar, shank_length: Scalar, foot: Array, leg: Array) -> None:
    """Roll a foot about its ball, by degrees, where the shank leans over it further than an ankle goes.

    Parameters
    ----------
    first, last : int
        Scratch frames, from `first` to before `last`.
    thigh_length, shank_length : float
        Metres.
    foot : float [4]
        See :mod:`posegen.motion.legs`.
    leg : float32 [rows, frames], changed
        Hip, ankle, yaw and pitch; the point of the sole under the ball stays where it is.
    """
    thigh, shank = np.float32(thigh_length), np.float32(shank_length)
    ball, ankle_height = np.float32(foot[FOOT_BALL]), np.float32(foot[FOOT_ANKLE_HEIGHT])
    length = thigh + shank
    for f in range(first, last):
        x, high, z = leg[HIP_X, f] - leg[ANKLE_X, f], leg[HIP_Y, f] - leg[ANKLE_Y, f], leg[HIP_Z, f] - leg[ANKLE_Z, f]
        s_yaw, c_yaw = sin_turns(leg[YAW, f]), cos_turns(leg[YAW, f])
        ahead, square = x * s_yaw + z * c_yaw, x * x + high * high + z * z
        # Who lies or swims with the hips as low as the ankles does not stand on them.
        standing = smooth_step((high / length - np.float32(0.1)) / np.float32(0.15))
        if standing <= 0 or (square > LONG * LONG * length * length and ahead < UPRIGHT * high):
            continue
        pitch = leg[PITCH, f]
        bent = shank_lean(ahead, high, square, thigh, shank) + pitch
        rise = standing * RAISED * (bent - eased(bent, EASY, FARTHEST))
        if rise <= 0:
            continue
        before, behind = sin_turns(pitch), cos_turns(pitch)
        s, c = sin_turns(pitch - rise), cos_turns(pitch - rise)
        forward = ball * (behind - c) + ankle_height * (before - s)
        leg[PITCH, f] = pitch - rise
        leg[ANKLE_X, f] += forward * s_yaw
        leg[ANKLE_Y, f] += ball * (before - s) - ankle_height * (behind - c)
        leg[ANKLE_Z, f] += forward * c_yaw
