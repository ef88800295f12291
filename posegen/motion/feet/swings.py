"""Swings: the course of a foot from one footprint to the next.

The channels give a nominal course. The difference between the foot and its nominal course passes smoothly from its value at
lift-off to its value at landing. While the body turns, the course is computed in the frame of the path, so that feet turn with
the body.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.feet.stances import (
    EARLY,
    FIRST,
    FOOT_ASIDE,
    FOOT_FORWARD,
    FOOT_UP,
    LAST,
    LATE,
    PRINT_X,
    PRINT_Z,
    guided_from,
)
from posegen.motion.library_tables import PLACED
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.motion.workspace import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    FOOT_ANKLE_HEIGHT,
    FOOT_BALL,
    FOOT_HEEL,
    GUIDED,
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

Array = NDArray[Any]

RUN_HASTE = 0.5
"""By what share of its time a runner's foot is sooner on its own course."""
RATE_WINDOW = 0.125
"""Share of the time that a foot takes to pass to its free course, over which its rate before that is taken."""
LIFT_OFF_RATE, LANDING_RATE = 0.25, 0.4
"""Shares of it in which the rate that a foot has at the lift passes off, and in which that at the landing comes about."""


@kernel
def fill_swing(
    row: Array,
    nominal: Array,
    lift: int,
    land: int,
    early: Scalar,
    late: Scalar,
    fade_out: Scalar,
    fade_in: Scalar,
) -> None:
    """Fill a row between two stances: the nominal course plus a correction that passes from one end to the other.

    The correction is a cubic that starts with the value and rate that it has at the lift (`late` frames behind frame `lift`,
    the last one planted) and ends with those at the landing (`early` frames before frame `land`), so that the foot neither
    jumps nor jerks. Within `leaving` frames a foot loses the one value, within `longest` it takes on the other; rates pass in a
    quarter and in two fifths of them, so that they do not take the foot far from its course.
    """
    begin, end = lift + late, land - early
    whole = max(end - begin, 1.0)
    away, span = min(whole, fade_out), min(whole, fade_in)
    away_rate, span_rate = (
        max(min(whole, LIFT_OFF_RATE * fade_out), 1.0),
        max(min(whole, LANDING_RATE * fade_in), 1.0),
    )
    # Rates are taken over the same time at any frame rate: of the foot while it is planted, of its course while it is not.
    over = min(max(int(RATE_WINDOW * fade_in + 0.5), 1), land - lift)
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
def heading_changes(heading: Array) -> bool:
    """Whether a heading, in turns over the frames, changes at all."""
    changes = np.float32(0.0)
    for f in range(len(heading)):
        changes = max(changes, abs(heading[f] - heading[0]))
    return bool(changes > 0)


@kernel
def to_path_frame(root: Array, leg: Array, nominal: Array) -> None:
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
def to_world_frame(root: Array, leg: Array, contact: Array) -> None:
    """Pass a leg's ankle back to places on the floor; while the foot is planted to the very ones that it had."""
    for f in range(leg.shape[1]):
        if contact[f]:
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
def swing_foot(leg: Array, nominal: Array, stances: Array, count: int, running: Array, rising: Scalar, fade_in: Scalar) -> None:
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
                fade_out = rising if r == 1 else fade_in * (1.0 - RUN_HASTE * running[lift])
                fill_swing(row, nominal[r], lift, land, early, late, fade_out, fade_in)
            elif lift >= 0:
                fill_open_swing(row, nominal[r], lift, -1, stances[i - 1, LATE], rising if r == 1 else fade_in, fade_in)
            elif land < frames:
                fill_open_swing(row, nominal[r], land, 1, stances[i, EARLY], fade_in, fade_in)
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


@kernel
def fill_open_swing(
    row: Array, nominal: Array, edge: int, inward: int, beyond: Scalar, fade_out: Scalar, fade_in: Scalar
) -> None:
    """Fill a row before the first stance or behind the last one, as `swing_row` does where the other one is far away.

    So what is shown does not depend on how far behind it the scratch goes on: who dives in the last second swims free of where
    he stood.

    Parameters
    ----------
    row, nominal, leaving, longest : see `swing_row` of :mod:`posegen.motion.swings`
    edge : int
        Last planted frame, or the first one.
    inward : int
        From there to the next planted frame: -1 or 1.
    beyond : float
        Frames by which the stance lasts longer than to `edge`.
    """
    first, last, one = 0 if inward > 0 else edge + 1, edge if inward > 0 else len(row), np.float32(1.0)
    over, rate_frames = (
        max(int(RATE_WINDOW * fade_in + 0.5), 1),
        max((LANDING_RATE if inward > 0 else LIFT_OFF_RATE) * fade_out, 1.0),
    )
    inner, outer, change = edge + inward * over, edge - inward * over, np.float32(0.0)
    if 0 <= inner < len(row) and 0 <= outer < len(row):
        change = (row[edge] - row[inner] - nominal[outer] + nominal[edge]) / over
    keep, rate = np.float32(row[edge] - nominal[edge] + change * beyond), np.float32(change * rate_frames)
    for f in between(first, last):
        since = max(abs(np.int64(f) - edge) - beyond, 0.0)
        x, y = np.float32(min(since / fade_out, 1.0)), np.float32(min(since / rate_frames, 1.0))
        row[f] = nominal[f] + keep * ((one - x) * (one - x) * (one + np.float32(2.0) * x)) + rate * (y * (one - y) * (one - y))


@kernel
def guide_swings(
    root: Array,
    foot: Array,
    side: int,
    leg: Scalar,
    ankle_height: Scalar,
    airborne: Array,
    stances: Array,
    count: int,
    nominal: Array,
) -> None:
    """Have the nominal course of a guided foot lead from print to print, as high as its channel says.

    In the air after a jump, where the body carries the feet, its height is left to the angles of the leg.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
    side : int
    leg, ankle_height : float
        Metres.
    airborne : bool [frames]
    stances : float [stances, 6]
    count : int
    nominal : float32 [4, frames], changed
        Ankle x, y, z in metres and yaw in turns.
    """
    out = np.float32(leg if side == 0 else -leg)
    ahead, high = np.float32(leg), np.float32(ankle_height)
    for i in range(count + 1):
        # Frames from the last stance's first to the next one's last but one: the rates at lift and landing count, too.
        tables = i - 1 if i > 0 else 0
        if count == 0:
            return
        begin = int(stances[i - 1, FIRST]) if i > 0 else 0
        end = int(stances[i, FIRST]) + 1 if i < count else root.shape[1]
        still = guided_from(root, stances[tables])
        x, z = np.float32(stances[tables, PRINT_X]), np.float32(stances[tables, PRINT_Z])
        for f in range(begin, min(end + 1, root.shape[1])):
            if root[GUIDED, f] != PLACED:
                continue
            forward = ahead * (foot[FOOT_FORWARD, f] - foot[FOOT_FORWARD, still])
            aside = out * (foot[FOOT_ASIDE, f] - foot[FOOT_ASIDE, still])
            s, c = root[HEADING_SIN, f], root[HEADING_COS, f]
            nominal[0, f] = x + (root[PATH_X, f] - root[PATH_X, still]) + forward * s + aside * c
            nominal[2, f] = z + (root[PATH_Z, f] - root[PATH_Z, still]) + forward * c - aside * s
            if not airborne[f]:
                nominal[1, f] = high + ahead * foot[FOOT_UP, f]
