"""Feet that an action places: their footprints, and the course of their swings, follow from the channels of the feet.

Feet of gaits are in :mod:`posegen.motion.stances` and :mod:`posegen.motion.footsteps`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.motion import rows
from posegen.motion.library_tables import PLACED


@kernel
def guided_from(root: Array, stance: Array) -> int:
    """Return the first frame of a stance in which an action places the foot, or the last frame."""
    f, last = int(stance[rows.FIRST]), int(stance[rows.LAST]) - 1
    while f < last and root[rows.GUIDED, f] == 0:
        f += 1
    return f


@kernel
def moved_foot(root: Array, foot: Array, side: int, stance: Array, before: int, now: int, leg: Scalar) -> tuple[Scalar, Scalar]:
    """Return x and z of a foot that has been moved by the path, the heading and the channels since a frame of a stance.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
        Channels of the foot, in leg lengths.
    side : int
    stance : float [8]
        The stance whose footprint the foot had at frame `before`.
    before, now : int
    leg : float
        Leg length in metres.
    """
    x, z = stance[rows.PRINT_X], stance[rows.PRINT_Z]
    s, c = root[rows.HEADING_SIN, now], root[rows.HEADING_COS, now]
    if root[rows.HEADING, before] != root[rows.HEADING, now]:
        # The foot keeps its place beside a body that has turned since.
        there_s, there_c = root[rows.HEADING_SIN, before], root[rows.HEADING_COS, before]
        turn_s, turn_c = s * there_c - c * there_s, c * there_c + s * there_s
        beside, behind = x - root[rows.PATH_X, before], z - root[rows.PATH_Z, before]
        x = root[rows.PATH_X, before] + beside * turn_c + behind * turn_s
        z = root[rows.PATH_Z, before] + behind * turn_c - beside * turn_s
    out = leg if side == 0 else -leg
    forward = leg * (foot[rows.FOOT_FORWARD, now] - foot[rows.FOOT_FORWARD, before])
    aside = out * (foot[rows.FOOT_ASIDE, now] - foot[rows.FOOT_ASIDE, before])
    x += root[rows.PATH_X, now] - root[rows.PATH_X, before] + forward * s + aside * c
    z += root[rows.PATH_Z, now] - root[rows.PATH_Z, before] + forward * c - aside * s
    return x, z


@kernel
def guide_footprints(root: Array, foot: Array, ahead: Array, side: int, leg: Scalar, home: Scalar, stances: Array) -> bool:
    """Move the footprints of guided feet from the previous ones by the change of path and foot channels.

    If the channel has the foot above the floor at landing, it stands on something, such as a rung.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
        Channels of the foot, in leg lengths.
    ahead : float32 [frames]
        Distance of the ankle ahead of the hip by the leg angles, in metres.
    side : int
    leg, home : float
        Leg length, and `ahead` in quiet standing, in metres.
    stances : float [stances, 8], changed

    Returns
    -------
    bool
        Whether the foot stands on something above the floor.
    """
    out = 1.0 if side == 0 else -1.0
    raised = False
    for i in range(len(stances)):
        land = int(stances[i, rows.FIRST])
        if root[rows.GUIDED, land] == 0:
            continue
        if i > 0:
            before = guided_from(root, stances[i - 1])
            x, z = moved_foot(root, foot, side, stances[i - 1], before, land, leg)
        else:
            # The first footprint follows from the path alone.
            s, c = root[rows.HEADING_SIN, land], root[rows.HEADING_COS, land]
            forward, aside = leg * foot[rows.FOOT_FORWARD, land] + home - ahead[land], leg * out * foot[rows.FOOT_ASIDE, land]
            x, z = stances[i, rows.PRINT_X] + forward * s + aside * c, stances[i, rows.PRINT_Z] + forward * c - aside * s
        stances[i, rows.PRINT_X], stances[i, rows.PRINT_Z] = x, z
        stances[i, rows.PRINT_HEIGHT] = max(0.0, leg * foot[rows.FOOT_UP, land])
        raised |= stances[i, rows.PRINT_HEIGHT] > 0
    return raised


@kernel
def guide_swings(
    root: Array, foot: Array, side: int, leg: Scalar, ankle_height: Scalar, airborne: Array, stances: Array, nominal: Array
) -> None:
    """Let the nominal course of a guided foot lead from footprint to footprint, at the height of its channel.

    In the air after a jump, where the body carries the feet, the leg angles give the height.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
    side : int
    leg, ankle_height : float
        Metres.
    airborne : bool [frames]
    stances : float [stances, 8]
    nominal : float32 [4, frames], changed
        Ankle x, y, z in metres and yaw in turns.
    """
    high, count = np.float32(ankle_height), len(stances)
    for i in range(count + 1 if count else 0):
        # The frames include those from which the rates at lift-off and landing are taken.
        before = i - 1 if i > 0 else 0
        begin = int(stances[i - 1, rows.FIRST]) if i > 0 else 0
        end = int(stances[i, rows.FIRST]) + 1 if i < count else root.shape[1]
        still = guided_from(root, stances[before])
        for f in range(begin, min(end + 1, root.shape[1])):
            if root[rows.GUIDED, f] != PLACED:
                continue
            nominal[rows.FOOT_X, f], nominal[rows.FOOT_Z, f] = moved_foot(root, foot, side, stances[before], still, f, leg)
            if not airborne[f]:
                nominal[rows.FOOT_Y, f] = high + leg * foot[rows.FOOT_UP, f]
