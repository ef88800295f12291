"""Forearms do not sink into thighs: hands pass by them, and lie on them where an action lets them down there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, inline_kernel, kernel
from posegen.motion.hands import solve_elbow
from posegen.motion.rows import HEADING_COS, HEADING_SIN, HIP_X, KNEE_X, WORK, between
from posegen.motion.state import Person, Scratch
from posegen.motion.trigonometry import eased

__all__ = ["forearm_gap", "lies_near", "press_out", "rest_forearms"]

Array = NDArray[Any]

LEFT_SHOULDER, LEFT_ELBOW, LEFT_WRIST = 16, 18, 20
FLESH = 0.106
"""Radii of a slim thigh and forearm together, in lengths of the leg: .034 and .018 of stature."""
YIELDING, EASY = 0.006, 0.014
"""Metres by which flesh gives way, and before which a wrist begins to."""
TILTED = 0.02
"""Metres towards the front of the thigh by which the way out is tilted: an arm through the middle of it has none of its own."""
PASSES = 5
"""How often a wrist is moved: as it goes out, the elbow comes along, and what was deep inside is not quite out."""


@inline_kernel
def forearm_gap(
    elbow: Array, wrist: Array, hip: Array, knee: Array, f: int
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Shortest way from a thigh's line to a forearm's, and where it meets them (Ericson, Real-Time Collision Detection, 5.1.9).

    Returns its x, y, z in metres, its length, and the shares of forearm and thigh that lie before its ends.
    """
    none, one = np.float32(0.0), np.float32(1.0)
    ax, ay, az = wrist[0, f] - elbow[0, f], wrist[1, f] - elbow[1, f], wrist[2, f] - elbow[2, f]
    bx, by, bz = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
    rx, ry, rz = elbow[0, f] - hip[0, f], elbow[1, f] - hip[1, f], elbow[2, f] - hip[2, f]
    a, b, e = ax * ax + ay * ay + az * az, ax * bx + ay * by + az * bz, bx * bx + by * by + bz * bz
    c, d = ax * rx + ay * ry + az * rz, bx * rx + by * ry + bz * rz
    # Almost parallel lines have no nearest points; some of them will do.
    along = min(max((b * d - c * e) / max(a * e - b * b, np.float32(1e-8)), none), one)
    beside = min(max((b * along + d) / e, none), one)
    along = min(max((b * beside - c) / a, none), one)
    x, y, z = rx + along * ax - beside * bx, ry + along * ay - beside * by, rz + along * az - beside * bz
    return x, y, z, np.sqrt(x * x + y * y + z * z), along, beside


@kernel
def lies_near(
    elbow: Array, wrist: Array, hip: Array, knee: Array, share: Scalar, reach: Scalar, first: int, last: int, work: Array
) -> bool:
    """Whether the point at `share` of a forearm comes within `reach` metres of a thigh in any frame; cheaper than all gaps."""
    none, one, part = np.float32(0.0), np.float32(1.0), np.float32(share)
    for f in between(first, last):
        bx, by, bz = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
        x = elbow[0, f] + part * (wrist[0, f] - elbow[0, f]) - hip[0, f]
        y = elbow[1, f] + part * (wrist[1, f] - elbow[1, f]) - hip[1, f]
        z = elbow[2, f] + part * (wrist[2, f] - elbow[2, f]) - hip[2, f]
        beside = min(max((x * bx + y * by + z * bz) / (bx * bx + by * by + bz * bz), none), one)
        x, y, z = x - beside * bx, y - beside * by, z - beside * bz
        work[f] = x * x + y * y + z * z
    closest = work[first]
    for f in between(first + 1, last):
        closest = min(closest, work[f])
    return bool(closest < np.float32(reach * reach))


@kernel
def press_out(
    root: Array, elbow: Array, wrist: Array, hip: Array, knee: Array, least: Scalar, first: int, last: int, goal: Array
) -> bool:
    """Move a wrist out of a thigh, so that the forearm keeps `least` metres between their lines, coming to it by degrees.

    Parameters
    ----------
    root : float32 [rows, frames]
        A row of it is scratch.
    elbow, wrist, hip, knee : float32 [3, frames]
        Metres.
    least : float
    first, last : int
    goal : float32 [3, frames], written
        Where the wrist should be; where nothing is near, where it is.

    Returns
    -------
    bool
        Whether there is anything to move.
    """
    closest, easy, tilted, found = np.float32(least), np.float32(least + EASY), np.float32(TILTED), False
    distances = root[WORK]
    for f in between(first, last):
        goal[0, f], goal[1, f], goal[2, f] = wrist[0, f], wrist[1, f], wrist[2, f]
        distances[f] = forearm_gap(elbow, wrist, hip, knee, f)[3]
    for f in range(first, last):
        if distances[f] >= easy:
            continue
        x, y, z, distance, along, _ = forearm_gap(elbow, wrist, hip, knee, f)
        found = True
        # Near the elbow the wrist has to move further for as much.
        push = (-eased(-distance, -easy, -closest) - distance) / (np.float32(0.4) + np.float32(0.6) * along)
        # The front of the thigh, as the knee has it that bends: ahead where it hangs, up where it is laid out forward.
        bx, by, bz = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
        size = np.float32(1.0) / np.sqrt(bx * bx + by * by + bz * bz)
        s, c = root[HEADING_SIN, f], root[HEADING_COS, f]
        ahead = -size * by
        x, y, z = x + tilted * s * ahead, y + tilted * size * (bx * s + bz * c), z + tilted * c * ahead
        push /= max(np.sqrt(x * x + y * y + z * z), np.float32(1e-4))
        goal[0, f] += push * x
        goal[1, f] += push * y
        goal[2, f] += push * z
    return found


@kernel
def rest_forearms(scratch: Scratch, person: Person, first: int, last: int) -> None:
    """Keep both forearms out of both thighs, in scratch frames `first` to `last`; elbows and wrists in `joints` are changed."""
    joints, offsets, goal = scratch.joints, person.offsets, scratch.turns[2]
    least = FLESH * float(-offsets[4, 1] - offsets[7, 1]) - YIELDING
    for side in range(2):
        shoulder, elbow, wrist = joints[LEFT_SHOULDER + side], joints[LEFT_ELBOW + side], joints[LEFT_WRIST + side]
        upper, fore = -offsets[LEFT_ELBOW + side, 1], -offsets[LEFT_WRIST + side, 1]
        for other in range(2):
            leg = scratch.legs[side if other == 0 else 1 - side]
            hip, knee = leg[HIP_X : HIP_X + 3], leg[KNEE_X : KNEE_X + 3]
            near = lies_near(elbow, wrist, hip, knee, 1.0, least + 2.0 * EASY, first, last, scratch.root[WORK])
            near = near or lies_near(elbow, wrist, hip, knee, 0.6, least + 2.0 * EASY, first, last, scratch.root[WORK])
            for again in range(PASSES if near else 0):
                deep = least - 0.5 * EASY if again else least
                if press_out(scratch.root, elbow, wrist, hip, knee, deep, first, last, goal):
                    solve_elbow(
                        upper, fore, np.float32(1.0 - 2.0 * side), scratch.turns[5], shoulder, goal, first, last, elbow, wrist
                    )
