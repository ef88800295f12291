"""Trunk, neck, shoulders and hips stay within their ranges, whatever posture, habits, body and neighbouring actions add up to.

Legs follow the feet: the pelvis gives way to a hip that flexes too far. Ankles are limited in :mod:`posegen.motion.feet.legs`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import JOINT_LIMITS
from posegen.motion import rows
from posegen.motion.library_tables import LIMITED, ActionTables
from posegen.motion.trigonometry import atan_turns, cos_turns, ease_towards, sin_turns
from posegen.motion.workspace import Clock, Person, Role, Workspace, between

SOFT = 0.86
"""Share of a limit from which a joint gives way."""
BEYOND = 2.0 / 360
"""Turns beyond the limit that a joint never reaches: less than the tolerance of the check."""
EASY_HIP, MOST_HIP = np.float32(124 / 360), np.float32(JOINT_LIMITS["hip_flexion"][1] / 360 + BEYOND)
"""Turns of hip flexion from which the pelvis tilts back, and that a hip never reaches."""
SLOPE = np.float32(0.674)
"""Tangent of 124 - 90 degrees, rounded down."""


@kernel
def ease_range(row: Array, low: Scalar, high: Scalar) -> None:
    """Ease the values of a channel into a range around 0; all are turns."""
    soft, beyond = np.float32(SOFT), np.float32(BEYOND)
    least, most = np.float32(low), np.float32(high)
    # With a count of frames the compiler takes several at once, unlike with a least and a largest value.
    above, below = 0, 0
    for f in between(0, len(row)):
        above += row[f] > soft * most
        below += row[f] < soft * least
    if above > 0:
        for f in between(0, len(row)):
            row[f] = ease_towards(row[f], soft * most, most + beyond)
    if below > 0:
        for f in between(0, len(row)):
            row[f] = ease_towards(row[f], soft * least, least - beyond)


@kernel
def keep_ranges(work: Workspace, role: Role, actions: ActionTables) -> None:
    """Ease trunk, neck and shoulders into their ranges, or into the widest range of the actions of the scene."""
    for i in range(len(LIMITED)):
        low, high = np.inf, -np.inf
        for k in range(len(role.segments)):
            low = min(low, actions.limits[role.segments[k].kind, i, 0])
            high = max(high, actions.limits[role.segments[k].kind, i, 1])
        ease_range(work.channels[LIMITED[i]], low, high)


@kernel
def hip_flexion(pelvis: Array, leg: Array, f: int) -> Scalar:
    """Return the flexion of a hip in turns where it is above `EASY_HIP`, else 0; `pelvis` are rotations [9, frames]."""
    x, y = leg[rows.KNEE_X, f] - leg[rows.HIP_X, f], leg[rows.KNEE_Y, f] - leg[rows.HIP_Y, f]
    z = leg[rows.KNEE_Z, f] - leg[rows.HIP_Z, f]
    up = pelvis[1, f] * x + pelvis[4, f] * y + pelvis[7, f] * z
    ahead = max(pelvis[2, f] * x + pelvis[5, f] * y + pelvis[8, f] * z, np.float32(1e-4))
    if up < SLOPE * ahead:
        return np.float32(0.0)
    if up < ahead:
        return np.float32(0.25) + atan_turns(up / ahead)
    return np.float32(0.5) - atan_turns(ahead / up)


@kernel
def tuck_pelvis(work: Workspace, person: Person, trunk_flexion: Array, clock: Clock) -> None:
    """Tilt the pelvis back about the hips where one flexes too far, and bend the trunk as much, so that the chest stays.

    How far a hip flexes over feet on the floor depends on the lengths of thigh and shank. `trunk_flexion` is changed.
    """
    pelvis, place, offsets = work.turns[6], work.joints[0], person.offsets
    drop, ahead = np.float32(offsets[1, 1]), np.float32(offsets[1, 2])
    for f in range(clock.margin, clock.margin + clock.frames):
        flexion = max(hip_flexion(pelvis, work.legs[0], f), hip_flexion(pelvis, work.legs[1], f))
        if flexion <= EASY_HIP:
            continue
        excess = flexion - ease_towards(flexion, EASY_HIP, MOST_HIP)
        s, c = sin_turns(excess), cos_turns(excess)
        for k in range(3):
            up, forward = pelvis[3 * k + 1, f], pelvis[3 * k + 2, f]
            pelvis[3 * k + 1, f], pelvis[3 * k + 2, f] = c * up - s * forward, s * up + c * forward
            place[k, f] += drop * (up - pelvis[3 * k + 1, f]) + ahead * (forward - pelvis[3 * k + 2, f])
        trunk_flexion[f] += excess
