"""Kernels of feet, standing and flight of a body; :mod:`posegen.evaluation.plausibility` defines the measures.

Joints are float64 [22, 3, frame]: frames are last, so that the processor computes several at once.
"""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel


@kernel
def fill_toe_steps(toe: Array, other: Array, fps: Scalar, low: Scalar, fast: Scalar, out: Array, counts: Array) -> int:
    """Write the speeds of low toes, step by step, and return their number.

    Parameters
    ----------
    toe, other : float64 [3, frame]
    fps, low, fast : float
        Frames per second, metres, metres per second.
    out : float64 [2 * (frame - 1)]
        Horizontal speeds in steps whose toe is low before and after.
    counts : int64 [2]
        Number of steps with a known speed, and of those in which a low toe is faster than `fast`.
    """
    number = 0
    counts[:] = 0
    for f in range(toe.shape[1] - 1):
        x, z, u, v = (
            toe[0, f + 1] - toe[0, f],
            toe[2, f + 1] - toe[2, f],
            other[0, f + 1] - other[0, f],
            other[2, f + 1] - other[2, f],
        )
        speed, other_speed = np.sqrt(x * x + z * z) * fps, np.sqrt(u * u + v * v) * fps
        slides = False
        if (toe[1, f] < low) & (toe[1, f + 1] < low):
            out[number] = speed
            number += 1
            slides = speed > fast
        if (other[1, f] < low) & (other[1, f + 1] < low):
            out[number] = other_speed
            number += 1
            slides |= other_speed > fast
        counts[0] += np.isfinite(speed) | np.isfinite(other_speed)
        counts[1] += slides
    return number


@kernel
def fill_contact_speeds(soles: Array, touching: Array, fps: Scalar, out: Array) -> int:
    """Write the speeds of sole points that touch the floor before and after a step, step by step, and return their number.

    Parameters
    ----------
    soles : float64 [point, 3, frame]
    touching : bool [frame, at least point]
    fps : float
    out : float64 [point * (frame - 1)]
    """
    number = 0
    for f in range(soles.shape[2] - 1):
        for p in range(len(soles)):
            if touching[f, p] & touching[f + 1, p]:
                x, y = soles[p, 0, f + 1] - soles[p, 0, f], soles[p, 1, f + 1] - soles[p, 1, f]
                z = soles[p, 2, f + 1] - soles[p, 2, f]
                out[number] = np.sqrt(x * x + y * y + z * z) * fps
                number += 1
    return number


@kernel
def lowest(points: Array) -> Scalar:
    """Return the least height of points [point, 3, frame]; NaN are ignored, and NaN of nothing else."""
    least = np.inf
    for p in range(len(points)):
        for f in range(points.shape[2]):
            least = min(points[p, 1, f], least) if points[p, 1, f] == points[p, 1, f] else least
    return least if least < np.inf else np.nan


@kernel
def fill_in_air(joints: Array, soles: Array, touching: Array, clearance: Scalar, out: Array) -> bool:
    """Write in which frames all joints and soles are higher than `clearance` and nothing touches, and return whether any is.

    Parameters
    ----------
    joints, soles : float64 [22, 3, frame], [4, 3, frame]
    touching : bool [frame, point]
        Of no point where it is not known.
    clearance : float
    out : bool [frame]
    """
    for f in range(len(out)):
        out[f] = True
    for points in (joints, soles):
        for p in range(len(points)):
            for f in range(len(out)):
                out[f] &= points[p, 1, f] > clearance
    found = False
    for f in range(len(out)):
        for p in range(touching.shape[1]):
            out[f] &= not touching[f, p]
        found |= out[f]
    return found


@kernel
def rate(series: Array, f: int, step: Scalar) -> Scalar:
    """Return :func:`numpy.gradient` of a series, float64 [at least 2], at a frame; `step` is the time between frames."""
    last = len(series) - 1
    if f == 0:
        return (series[1] - series[0]) / step
    if f == last:
        return (series[last] - series[last - 1]) / step
    return (series[f + 1] - series[f - 1]) / (2 * step)


@kernel
def fill_standing(
    centre: Array,
    soles: Array,
    step: Scalar,
    gravity: Scalar,
    limits: tuple[Scalar, Scalar, Scalar],
    points: Array,
    ahead: Array,
) -> int:
    """Write the soles and the extrapolated centre of mass in the frames of quiet standing, and return their number.

    Parameters
    ----------
    centre, soles : float64 [3, frame], [4, 3, frame]
        At least 2 frames.
    step : float
        Seconds between frames.
    gravity : float
        m/s^2.
    limits : tuple of float
        Height of the centre of mass above which a body stands, of the soles below which they touch the floor, in metres, and
        the speed below which both are quiet, m/s.
    points, ahead : float64 [4, 2, frame], [2, frame]
        Filled from the first frame on with x and z.
    """
    tall, low, slow = limits
    number = 0
    for f in range(centre.shape[1]):
        quiet = centre[1, f] > tall
        for p in range(len(soles)):
            quiet &= soles[p, 1, f] < low
        if not quiet:
            continue
        x, y, z = rate(centre[0], f, step), rate(centre[1], f, step), rate(centre[2], f, step)
        quiet = np.sqrt(x * x + y * y + z * z) < slow
        for p in range(len(soles)):
            u, v, w = rate(soles[p, 0], f, step), rate(soles[p, 1], f, step), rate(soles[p, 2], f, step)
            quiet &= np.sqrt(u * u + v * v + w * w) < slow
        if quiet:
            pendulum = np.sqrt(gravity / max(centre[1, f], 0.1))
            ahead[0, number], ahead[1, number] = centre[0, f] + x / pendulum, centre[2, f] + z / pendulum
            for p in range(len(soles)):
                points[p, 0, number], points[p, 1, number] = soles[p, 0, f], soles[p, 2, f]
            number += 1
    return number


@kernel
def fill_speeds(joint: Array, fps: Scalar, out: Array) -> None:
    """Write the speeds of a joint, float64 [3, frame], in as many of the first steps as `out` has places."""
    for f in range(len(out)):
        x, y, z = joint[0, f + 1] - joint[0, f], joint[1, f + 1] - joint[1, f], joint[2, f + 1] - joint[2, f]
        out[f] = np.sqrt(x * x + y * y + z * z) * fps


@kernel
def fill_profiles(profiles: Array, out: Array) -> None:
    """Write which of some speed profiles, float64 [n, frame], are finite and above 0 somewhere: bool [n]."""
    for row in range(len(out)):
        finite, moves = True, False
        for f in range(profiles.shape[1]):
            finite &= np.isfinite(profiles[row, f])
            moves |= profiles[row, f] > 0
        out[row] = finite & moves
