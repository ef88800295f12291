"""Swinging feet: from one print to the next along the course that the angles say, clear of the floor.

While a foot swings, the difference between where it was held and where its course has it passes smoothly from what it was at
the lift to what it will be at the landing. Of who turns that is so as seen from the body, so that feet go round with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.contacts import EARLY, FIRST, LAST, LATE
from posegen.motion.leaving import RATE_LANDS, RATE_LIFTS, RATE_OF_PASSING, leave_row
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, FOOT_BALL, FOOT_HEEL
from posegen.motion.rows import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    HEADING_COS,
    HEADING_SIN,
    PATH_X,
    PATH_Z,
    PITCH,
    WORK,
    WORK2,
    between,
    copy_row,
)
from posegen.motion.trigonometry import cos_turns, sin_turns

__all__ = ["clear_floor", "clear_swings", "see_from_floor", "see_from_path", "swing_foot", "swing_row", "turns"]

Array = NDArray[Any]

RUN_HASTE = 0.5
"""By what share of its time a runner's foot is sooner on its own course."""


@kernel
def swing_row(
    row: Array, nominal: Array, lift: int, land: int, early: Scalar, late: Scalar, leaving: Scalar, longest: Scalar
) -> None:
    """Fill a row between two stances: the nominal course plus a correction that passes from one end to the other.

    The correction is a cubic that starts with the value and rate that it has at the lift (`late` frames behind frame `lift`,
    the last one planted) and ends with those at the landing (`early` frames before frame `land`), so that the foot neither
    jumps nor jerks. Within `leaving` frames a foot loses the one value, within `longest` it takes on the other; rates pass in a
    quarter and in two fifths of them, so that they do not take the foot far from its course.
    """
    begin, end = lift + late, land - early
    whole = max(end - begin, 1.0)
    away, span = min(whole, leaving), min(whole, longest)
    away_rate, span_rate = max(min(whole, RATE_LIFTS * leaving), 1.0), max(min(whole, RATE_LANDS * longest), 1.0)
    # Rates are taken over the same time at any frame rate: of the foot while it is planted, of its course while it is not.
    over = min(max(int(RATE_OF_PASSING * longest + 0.5), 1), land - lift)
    held = (row[lift] - row[lift - over]) / over if lift >= over else np.float32(0.0)
    free = (nominal[lift + over] - nominal[lift]) / over
    here, v0 = np.float32(row[lift] - nominal[lift] + (held - free) * late), np.float32((held - free) * away_rate)
    held = (row[land + over] - row[land]) / over if land + over < len(row) else np.float32(0.0)
    free = (nominal[land] - nominal[land - over]) / over
    there, v1 = np.float32(row[land] - nominal[land] - (held - free) * early), np.float32((held - free) * span_rate)
    for f in between(lift + 1, land):
        x, y = np.float32(min((np.int64(f) - begin) / away, 1.0)), np.float32(min((end - np.int64(f)) / span, 1.0))
        # Where both are the whole swing, x + y = 1, and these are Hermite's four.
        going, coming = np.float32(1.0) - x, np.float32(1.0) - y
        value = here * (going * going * (np.float32(1.0) + np.float32(2.0) * x))
        value += there * (coming * coming * (np.float32(1.0) + np.float32(2.0) * y))
        x, y = np.float32(min((np.int64(f) - begin) / away_rate, 1.0)), np.float32(min((end - np.int64(f)) / span_rate, 1.0))
        going, coming = np.float32(1.0) - x, np.float32(1.0) - y
        row[f] = nominal[f] + value + v0 * (x * going * going) - v1 * (coming * coming * y)


@kernel
def turns(heading: Array) -> bool:
    """Whether a heading, in turns over the frames, changes at all."""
    changes = np.float32(0.0)
    for f in range(len(heading)):
        changes = max(changes, abs(heading[f] - heading[0]))
    return bool(changes > 0)


@kernel
def see_from_path(root: Array, leg: Array, nominal: Array) -> None:
    """Pass ankles from places on the floor to places to the left of the path and ahead on it; WORK rows keep the leg's.

    As seen from the floor, a foot would go straight from print to print, through the other leg, while the body turns over it.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames], changed
        The same of the nominal ankle, in its rows 0 and 2.
    """
    copy_row(leg[ANKLE_X], 0, root.shape[1], root[WORK])
    copy_row(leg[ANKLE_Z], 0, root.shape[1], root[WORK2])
    for which in range(2):
        left, ahead = (leg[ANKLE_X], leg[ANKLE_Z]) if which == 0 else (nominal[0], nominal[2])
        for f in range(len(left)):
            s, c = root[HEADING_SIN, f], root[HEADING_COS, f]
            x, z = left[f] - root[PATH_X, f], ahead[f] - root[PATH_Z, f]
            left[f], ahead[f] = x * c - z * s, x * s + z * c


@kernel
def see_from_floor(root: Array, leg: Array, planted: Array) -> None:
    """Pass a leg's ankle back to places on the floor; while the foot is planted to the very ones that it had."""
    for f in range(leg.shape[1]):
        if planted[f]:
            leg[ANKLE_X, f], leg[ANKLE_Z, f] = root[WORK, f], root[WORK2, f]
        else:
            s, c, left, ahead = root[HEADING_SIN, f], root[HEADING_COS, f], leg[ANKLE_X, f], leg[ANKLE_Z, f]
            leg[ANKLE_X, f] = root[PATH_X, f] + left * c + ahead * s
            leg[ANKLE_Z, f] = root[PATH_Z, f] + ahead * c - left * s


@kernel
def clear_floor(leg: Array, lift: int, land: int, early: Scalar, late: Scalar, foot: Array, clearance: Scalar) -> None:
    """Raise a swinging foot so that its sole stays above the floor, most in mid swing; times as in :func:`swing_row`."""
    heel, ball, high = np.float32(foot[FOOT_HEEL]), np.float32(foot[FOOT_BALL]), np.float32(foot[FOOT_ANKLE_HEIGHT])
    begin, whole = lift + late, max(land - early - lift - late, 1.0)
    for f in between(lift + 1, land):
        x = np.float32((np.int64(f) - begin) / whole)
        s, c = sin_turns(leg[PITCH, f]), cos_turns(leg[PITCH, f])
        sole = leg[ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        # Highest in the middle, and level at both ends.
        least = np.float32(16.0 * clearance) * x * x * (np.float32(1.0) - x) * (np.float32(1.0) - x)
        lack = least - sole
        soft = np.float32(0.006)
        leg[ANKLE_Y, f] += (
            np.float32(0.5)
            * (lack + np.sqrt(lack * lack + soft * soft))
            * min(np.float32(1.0), np.float32(8.0) * x * (np.float32(1.0) - x))
        )
        sole = leg[ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        leg[ANKLE_Y, f] += max(-sole, np.float32(0.0))


@kernel
def swing_foot(leg: Array, nominal: Array, stances: Array, count: int, running: Array, rising: Scalar, longest: Scalar) -> None:
    """Ankle and yaw of one foot while it is off the ground.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames]
        Nominal ankle x, y, z in metres and yaw in turns.
    stances : float [stances, 8]
    count : int
        How many stances.
    running : float32 [frames]
        1 in gaits with flights, where a foot comes away from its print sooner.
    rising, longest : float
        Frames in which its height leaves what it was at the lift; for the rest see :func:`swing_row`.
    """
    frames = leg.shape[1]
    for i in range(count + 1):
        lift = int(stances[i - 1, LAST]) - 1 if i > 0 else -1
        land = int(stances[i, FIRST]) if i < count else frames
        if land - lift <= 1:
            continue
        for r in range(4):
            row = leg[ANKLE_X + r]
            if lift >= 0 and land < frames:
                early, late = stances[i, EARLY], stances[i - 1, LATE]
                leaving = rising if r == 1 else longest * (1.0 - RUN_HASTE * running[lift])
                swing_row(row, nominal[r], lift, land, early, late, leaving, longest)
            elif lift >= 0:
                leave_row(row, nominal[r], lift, -1, stances[i - 1, LATE], rising if r == 1 else longest, longest)
            elif land < frames:
                leave_row(row, nominal[r], land, 1, stances[i, EARLY], longest, longest)
            else:
                copy_row(nominal[r], 0, frames, row)


@kernel
def clear_swings(leg: Array, stances: Array, count: int, foot: Array, clearance: Array) -> None:
    """Keep the sole of one foot above the floor in all its swings; `clearance` is metres in mid swing, over the frames."""
    for i in range(count + 1):
        lift = int(stances[i - 1, LAST]) - 1 if i > 0 else -1
        land = int(stances[i, FIRST]) if i < count else leg.shape[1]
        if land - lift > 1:
            early, late = stances[i, EARLY] if i < count else 0.0, stances[i - 1, LATE] if i > 0 else 0.0
            clear_floor(leg, lift, land, early, late, foot, clearance[(lift + land) // 2])
