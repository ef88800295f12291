"""Swings: the course of a foot from one footprint to the next.

The channels give a nominal course. The difference between the foot and its nominal course passes smoothly from its value at
lift-off to its value at landing. While the body turns, this is computed in the frame of the path, so that feet turn with the
body.
"""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel
from posegen.motion import rows
from posegen.motion.feet.stances import guided_from
from posegen.motion.library_tables import PLACED
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.motion.workspace import between, copy_row

RUN_HASTE = 0.5
"""Fraction of the time by which the foot of a runner reaches its nominal course earlier."""
RATE_WINDOW = 0.125
"""Window over which the rate of a foot in contact is taken, as a fraction of `fade_in`."""
LIFT_OFF_RATE, LANDING_RATE = 0.25, 0.4
"""Fractions of `fade_out` and `fade_in` in which the rate at lift-off fades, and in which that at landing builds up."""


@kernel
def fill_swing(
    row: Array, nominal: Array, lift: int, land: int, early: Scalar, late: Scalar, fade_out: Scalar, fade_in: Scalar
) -> None:
    """Fill a row between two stances: the nominal course plus a correction.

    The correction is a cubic. It starts with value and rate at lift-off (`late` frames behind frame `lift`, the last one in
    contact) and ends with those at landing (`early` frames before frame `land`), so that the foot neither jumps nor jerks. The
    value at lift-off fades within `fade_out` frames, that at landing builds up within `fade_in` frames. The rates take a
    quarter and two fifths of these times, so that they do not move the foot far from its course.
    """
    begin, end = lift + late, land - early
    whole = max(end - begin, 1.0)
    away, span = min(whole, fade_out), min(whole, fade_in)
    away_rate, span_rate = (max(min(whole, LIFT_OFF_RATE * fade_out), 1.0), max(min(whole, LANDING_RATE * fade_in), 1.0))
    # Rates are taken over the same time at any frame rate: of the foot in contact, and of the nominal course in the swing.
    over = min(max(int(RATE_WINDOW * fade_in + 0.5), 1), land - lift)
    held = (row[lift] - row[lift - over]) / over if lift >= over else np.float32(0.0)
    free = (nominal[lift + over] - nominal[lift]) / over
    here, v0 = np.float32(row[lift] - nominal[lift] + (held - free) * late), np.float32((held - free) * away_rate)
    held = (row[land + over] - row[land]) / over if land + over < len(row) else np.float32(0.0)
    free = (nominal[land] - nominal[land - over]) / over
    there, v1 = np.float32(row[land] - nominal[land] - (held - free) * early), np.float32((held - free) * span_rate)
    for f in between(lift + 1, land):
        x, y = np.float32(min((np.int64(f) - begin) / away, 1.0)), np.float32(min((end - np.int64(f)) / span, 1.0))
        # If both span the whole swing, x + y = 1, and these are the four Hermite polynomials.
        going, coming = np.float32(1.0) - x, np.float32(1.0) - y
        value = here * (going * going * (np.float32(1.0) + np.float32(2.0) * x))
        value += there * (coming * coming * (np.float32(1.0) + np.float32(2.0) * y))
        x, y = np.float32(min((np.int64(f) - begin) / away_rate, 1.0)), np.float32(min((end - np.int64(f)) / span_rate, 1.0))
        going, coming = np.float32(1.0) - x, np.float32(1.0) - y
        row[f] = nominal[f] + value + v0 * (x * going * going) - v1 * (coming * coming * y)


@kernel
def heading_changes(heading: Array) -> bool:
    """Return whether a heading changes at all."""
    changes = np.float32(0.0)
    for f in range(len(heading)):
        changes = max(changes, abs(heading[f] - heading[0]))
    return bool(changes > 0)


@kernel
def to_path_frame(root: Array, leg: Array, nominal: Array) -> None:
    """Transform ankles from the world to the frame of the path: left of the path and ahead on it; WORK rows keep the leg.

    A straight line between footprints in the world frame would take a foot through the other leg while the body turns.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames], changed
        Nominal ankle; rows 0 and 2 are transformed.
    """
    copy_row(leg[rows.ANKLE_X], 0, root.shape[1], root[rows.WORK])
    copy_row(leg[rows.ANKLE_Z], 0, root.shape[1], root[rows.WORK2])
    for which in range(2):
        left, ahead = (leg[rows.ANKLE_X], leg[rows.ANKLE_Z]) if which == 0 else (nominal[0], nominal[2])
        for f in range(len(left)):
            s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
            x, z = left[f] - root[rows.PATH_X, f], ahead[f] - root[rows.PATH_Z, f]
            left[f], ahead[f] = x * c - z * s, x * s + z * c


@kernel
def to_world_frame(root: Array, leg: Array, contact: Array) -> None:
    """Transform the ankle of a leg back to the world; in contact, restore the exact former positions."""
    for f in range(leg.shape[1]):
        if contact[f]:
            leg[rows.ANKLE_X, f], leg[rows.ANKLE_Z, f] = root[rows.WORK, f], root[rows.WORK2, f]
        else:
            s, c, left, ahead = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f], leg[rows.ANKLE_X, f], leg[rows.ANKLE_Z, f]
            leg[rows.ANKLE_X, f] = root[rows.PATH_X, f] + left * c + ahead * s
            leg[rows.ANKLE_Z, f] = root[rows.PATH_Z, f] + ahead * c - left * s


@kernel
def clear_floor(leg: Array, lift: int, land: int, early: Scalar, late: Scalar, foot: Array, clearance: Scalar) -> None:
    """Raise a swinging foot so that its sole stays above the floor, most in mid swing; times as in :func:`fill_swing`."""
    heel, ball = np.float32(foot[rows.FOOT_HEEL]), np.float32(foot[rows.FOOT_BALL])
    high = np.float32(foot[rows.FOOT_ANKLE_HEIGHT])
    begin, whole = lift + late, max(land - early - lift - late, 1.0)
    for f in between(lift + 1, land):
        x = np.float32((np.int64(f) - begin) / whole)
        s, c = sin_turns(leg[rows.PITCH, f]), cos_turns(leg[rows.PITCH, f])
        sole = leg[rows.ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        # Highest in the middle, and level at both ends.
        least = np.float32(16.0 * clearance) * x * x * (np.float32(1.0) - x) * (np.float32(1.0) - x)
        lack = least - sole
        soft = np.float32(0.006)
        near_ends = min(np.float32(1.0), np.float32(8.0) * x * (np.float32(1.0) - x))
        leg[rows.ANKLE_Y, f] += np.float32(0.5) * (lack + np.sqrt(lack * lack + soft * soft)) * near_ends
        sole = leg[rows.ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        leg[rows.ANKLE_Y, f] += max(-sole, np.float32(0.0))


@kernel
def swing_foot(leg: Array, nominal: Array, stances: Array, running: Array, rising: Scalar, fade_in: Scalar) -> None:
    """Write ankle and yaw of one foot in its swings.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames]
        Nominal ankle x, y, z in metres and yaw in turns.
    stances : float [stances, 8]
    running : float32 [frames]
        1 in gaits with flights, where a foot leaves its footprint earlier.
    rising, fade_in : float
        Frames in which the height leaves its value at lift-off; see :func:`fill_swing` for the rest.
    """
    frames, count = leg.shape[1], len(stances)
    for i in range(count + 1):
        lift = int(stances[i - 1, rows.LAST]) - 1 if i > 0 else -1
        land = int(stances[i, rows.FIRST]) if i < count else frames
        if land - lift <= 1:
            continue
        for r in range(4):
            row = leg[rows.ANKLE_X + r]
            if lift >= 0 and land < frames:
                early, late = stances[i, rows.EARLY], stances[i - 1, rows.LATE]
                fade_out = rising if r == 1 else fade_in * (1.0 - RUN_HASTE * running[lift])
                fill_swing(row, nominal[r], lift, land, early, late, fade_out, fade_in)
            elif lift >= 0:
                fill_open_swing(row, nominal[r], lift, -1, stances[i - 1, rows.LATE], rising if r == 1 else fade_in, fade_in)
            elif land < frames:
                fill_open_swing(row, nominal[r], land, 1, stances[i, rows.EARLY], fade_in, fade_in)
            else:
                copy_row(nominal[r], 0, frames, row)


@kernel
def clear_swings(leg: Array, stances: Array, foot: Array, clearance: Array) -> None:
    """Keep the sole of one foot above the floor in all its swings; `clearance` is metres in mid swing, over the frames."""
    count = len(stances)
    for i in range(count + 1):
        lift = int(stances[i - 1, rows.LAST]) - 1 if i > 0 else -1
        land = int(stances[i, rows.FIRST]) if i < count else leg.shape[1]
        if land - lift > 1:
            early, late = stances[i, rows.EARLY] if i < count else 0.0, stances[i - 1, rows.LATE] if i > 0 else 0.0
            clear_floor(leg, lift, land, early, late, foot, clearance[(lift + land) // 2])


@kernel
def fill_open_swing(
    row: Array, nominal: Array, edge: int, inward: int, beyond: Scalar, fade_out: Scalar, fade_in: Scalar
) -> None:
    """Fill a row before the first stance or behind the last one, as :func:`fill_swing` does for a distant other stance.

    So the stored frames do not depend on the number of frames behind them.

    Parameters
    ----------
    row, nominal, fade_out, fade_in
        See :func:`fill_swing`.
    edge : int
        Last frame in contact, or the first one.
    inward : int
        Direction from there to the next frame in contact: -1 or 1.
    beyond : float
        Frames by which the stance extends beyond `edge`.
    """
    first, last, one = 0 if inward > 0 else edge + 1, edge if inward > 0 else len(row), np.float32(1.0)
    over = max(int(RATE_WINDOW * fade_in + 0.5), 1)
    rate_frames = max((LANDING_RATE if inward > 0 else LIFT_OFF_RATE) * fade_out, 1.0)
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
    out = np.float32(leg if side == 0 else -leg)
    ahead, high, count = np.float32(leg), np.float32(ankle_height), len(stances)
    for i in range(count + 1 if count else 0):
        # The frames include those from which the rates at lift-off and landing are taken.
        before = i - 1 if i > 0 else 0
        begin = int(stances[i - 1, rows.FIRST]) if i > 0 else 0
        end = int(stances[i, rows.FIRST]) + 1 if i < count else root.shape[1]
        still = guided_from(root, stances[before])
        x, z = np.float32(stances[before, rows.PRINT_X]), np.float32(stances[before, rows.PRINT_Z])
        for f in range(begin, min(end + 1, root.shape[1])):
            if root[rows.GUIDED, f] != PLACED:
                continue
            forward = ahead * (foot[rows.FOOT_FORWARD, f] - foot[rows.FOOT_FORWARD, still])
            aside = out * (foot[rows.FOOT_ASIDE, f] - foot[rows.FOOT_ASIDE, still])
            s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
            nominal[0, f] = x + (root[rows.PATH_X, f] - root[rows.PATH_X, still]) + forward * s + aside * c
            nominal[2, f] = z + (root[rows.PATH_Z, f] - root[rows.PATH_Z, still]) + forward * c - aside * s
            if not airborne[f]:
                nominal[1, f] = high + ahead * foot[rows.FOOT_UP, f]
