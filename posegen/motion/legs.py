"""The legs: what the channels ask of them, and two-bone inverse kinematics that puts each foot where it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.rows import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    BALL_X,
    BALL_Y,
    BALL_Z,
    DOWN,
    FORWARD,
    HEEL_HEIGHT,
    HIP_X,
    HIP_Y,
    HIP_Z,
    KNEE_X,
    KNEE_Y,
    KNEE_Z,
    LOWEST,
    PITCH,
    SHANK,
    THIGH,
    TOE_HEIGHT,
    YAW,
    between,
)
from posegen.motion.trigonometry import cos_turns, eased, sin_turns

__all__ = ["FOOT_ANKLE_HEIGHT", "FOOT_BALL", "FOOT_HEEL", "ease_reach", "nominal_leg", "place_foot", "solve_knee"]

Array = NDArray[Any]

FOOT_HEEL, FOOT_BALL, FOOT_BALL_HEIGHT, FOOT_ANKLE_HEIGHT = range(4)
"""Entries of a foot in metres: heel behind the ankle, ball before it, heights of ball joint and ankle above the sole."""
ROUND = np.float32(0.04)
"""Sine of the pitch below which the sole's deepest point passes from heel to ball."""
COS_FOLDED, ROOMY = np.float32(-0.8660254), np.float32(1.1)
"""Cosine of 150 degrees, the most that a knee bends; times the distance from hip to ankle then, from which it gives way."""
EASY, LONGEST = np.float32(0.9), np.float32(0.9995)
"""Shares of its length: that a swinging leg spans unchanged, and that it spans at most."""
SOFT, RUNNING_SOFT = np.float32(0.002), np.float32(0.018)
"""How softly it comes to that, and by how much more softly in running; shares of its length."""


@kernel
def nominal_leg(
    hip: Array, knee: Array, ankle: Array, tilt: Array, thigh_length: Scalar, shank_length: Scalar, foot: Array, leg: Array
) -> None:
    """Where the channels alone would put the foot, in the vertical plane of the heading.

    Parameters
    ----------
    hip, knee, ankle, tilt : float32 [frames]
        Flexion of hip and knee, dorsiflexion, forward tilt of the pelvis; turns.
    thigh_length, shank_length : float
        Metres.
    foot : float [4]
    leg : float32 [rows, frames], written
    """
    thigh, shank = np.float32(thigh_length), np.float32(shank_length)
    heel, ball, ankle_height = np.float32(foot[FOOT_HEEL]), np.float32(foot[FOOT_BALL]), np.float32(foot[FOOT_ANKLE_HEIGHT])
    for f in range(leg.shape[1]):
        upper = hip[f] - tilt[f]
        lower = upper - knee[f]
        pitch = lower + ankle[f]
        leg[THIGH, f], leg[SHANK, f], leg[PITCH, f] = upper, lower, pitch
        leg[FORWARD, f] = thigh * sin_turns(upper) + shank * sin_turns(lower)
        down = thigh * cos_turns(upper) + shank * cos_turns(lower)
        leg[DOWN, f] = down
        s, c = sin_turns(pitch), cos_turns(pitch)
        # The deeper of heel and ball, with the corner where they change places rounded off.
        size = np.sqrt(s * s + ROUND * ROUND) - ROUND
        leg[LOWEST, f] = down + ankle_height * c + np.float32(0.5) * ((heel - ball) * s + (heel + ball) * size)


@kernel
def place_foot(first: int, last: int, foot: Array, leg: Array) -> None:
    """From ankle, pitch and yaw: the ball joint, and the heights of heel and toe points above the floor."""
    heel, ball = np.float32(foot[FOOT_HEEL]), np.float32(foot[FOOT_BALL])
    ankle_height = np.float32(foot[FOOT_ANKLE_HEIGHT])
    drop = ankle_height - np.float32(foot[FOOT_BALL_HEIGHT])
    for f in between(first, last):
        s, c = sin_turns(leg[PITCH, f]), cos_turns(leg[PITCH, f])
        forward = ball * c + drop * s
        leg[BALL_X, f] = leg[ANKLE_X, f] + forward * sin_turns(leg[YAW, f])
        leg[BALL_Z, f] = leg[ANKLE_Z, f] + forward * cos_turns(leg[YAW, f])
        leg[BALL_Y, f] = leg[ANKLE_Y, f] + ball * s - drop * c
        leg[HEEL_HEIGHT, f] = leg[ANKLE_Y, f] - heel * s - ankle_height * c
        leg[TOE_HEIGHT, f] = leg[ANKLE_Y, f] + ball * s - ankle_height * c


@kernel
def ease_reach(
    first: int, last: int, thigh_length: Scalar, shank_length: Scalar, planted: Array, running: Array, leg: Array
) -> None:
    """Let a swinging foot give way before its leg is straight, so that the knee does not snap; the foot moves as one.

    A planted foot stays where it is: the pelvis has come within its reach. What a leg lacks to its length is kept above 0 by a
    hyperbola so narrow that a leg nearly straight, as it is just before it lands in walking, is hardly bent by it; runners,
    whose `running` is 1, land with the knee bent.
    """
    length = np.float32(thigh_length + shank_length)
    for f in between(first, last):
        dx, dy, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Y, f] - leg[HIP_Y, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
        distance = np.sqrt(dx * dx + dy * dy + dz * dz)
        if planted[f] or distance <= EASY * length:
            continue
        lack, soft = LONGEST * length - distance, (SOFT + RUNNING_SOFT * running[f]) * length
        wanted = np.float32(0.5) * (lack + np.sqrt(lack * lack + soft * soft))
        change = (LONGEST * length - wanted) / distance - np.float32(1.0)
        leg[ANKLE_X, f] += change * dx
        leg[ANKLE_Y, f] += change * dy
        leg[ANKLE_Z, f] += change * dz
        leg[BALL_X, f] += change * dx
        leg[BALL_Y, f] += change * dy
        leg[BALL_Z, f] += change * dz
        leg[HEEL_HEIGHT, f] += change * dy
        leg[TOE_HEIGHT, f] += change * dy


@kernel
def solve_knee(first: int, last: int, thigh_length: Scalar, shank_length: Scalar, leg: Array) -> None:
    """Two-bone inverse kinematics: the knee between hip and ankle, bent towards where the foot points.

    An ankle out of reach is drawn in along the line from the hip, since bones keep their length; `reach` in
    :mod:`posegen.motion.reach` sees to it that a planted one is not. One too near gives way before the knee is folded.
    """
    thigh, shank = np.float32(thigh_length), np.float32(shank_length)
    longest = np.float32(0.9995) * (thigh + shank)
    shortest = np.sqrt(thigh * thigh + shank * shank + np.float32(2.0) * COS_FOLDED * thigh * shank)
    for f in between(first, last):
        dx, dy, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Y, f] - leg[HIP_Y, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
        distance = np.sqrt(dx * dx + dy * dy + dz * dz)
        wanted = min(-eased(-distance, -ROOMY * shortest, -shortest), longest)
        fit = wanted / distance
        dx, dy, dz = dx * fit, dy * fit, dz * fit
        moved_x, moved_y, moved_z = (
            leg[HIP_X, f] + dx - leg[ANKLE_X, f],
            leg[HIP_Y, f] + dy - leg[ANKLE_Y, f],
            leg[HIP_Z, f] + dz - leg[ANKLE_Z, f],
        )
        leg[ANKLE_X, f] += moved_x
        leg[ANKLE_Y, f] += moved_y
        leg[ANKLE_Z, f] += moved_z
        leg[BALL_X, f] += moved_x
        leg[BALL_Y, f] += moved_y
        leg[BALL_Z, f] += moved_z
        leg[HEEL_HEIGHT, f] += moved_y
        leg[TOE_HEIGHT, f] += moved_y
        inverse = np.float32(1.0) / wanted
        ux, uy, uz = dx * inverse, dy * inverse, dz * inverse
        along = (thigh * thigh - shank * shank + wanted * wanted) * np.float32(0.5) * inverse
        out = np.sqrt(max(thigh * thigh - along * along, np.float32(0.0)))
        # The knee bends to the front of the leg: forward when it hangs, up when it is laid out forward, down when backward.
        s_yaw, c_yaw = sin_turns(leg[YAW, f]), cos_turns(leg[YAW, f])
        front = np.float32(0.1) - uy
        px, py, pz = s_yaw * front, ux * s_yaw + uz * c_yaw, c_yaw * front
        dot = px * ux + py * uy + pz * uz
        px, py, pz = px - dot * ux, py - dot * uy, pz - dot * uz
        size = np.float32(1.0) / np.sqrt(px * px + py * py + pz * pz)
        leg[KNEE_X, f] = leg[HIP_X, f] + along * ux + out * size * px
        leg[KNEE_Y, f] = leg[HIP_Y, f] + along * uy + out * size * py
        leg[KNEE_Z, f] = leg[HIP_Z, f] + along * uz + out * size * pz
