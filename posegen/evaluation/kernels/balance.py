"""Kernels of quiet standing and balance; :func:`posegen.evaluation.plausibility.balance_margin` defines the measure.

Points are float64 [point, 3, frame]: frames are last, so that the processor computes several at once.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel


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
def fill_hull_distances(points: Array, positions: Array, ways: Array, out: Array) -> None:
    """Write the distance of positions from the convex hull of points, in the farthest of some directions.

    Parameters
    ----------
    points, positions : float64 [point, 2, n], [2, n]
    ways : float64 [direction, 2]
    out : float64 [n]
    """
    for i in range(len(out)):
        out[i] = -np.inf
    for way in range(len(ways)):
        x, y = ways[way, 0], ways[way, 1]
        for i in range(len(out)):
            reach = points[0, 0, i] * x + points[0, 1, i] * y
            for point in range(1, len(points)):
                reach = max(reach, points[point, 0, i] * x + points[point, 1, i] * y)
            out[i] = max(out[i], positions[0, i] * x + positions[1, i] * y - reach)
