"""How age changes movement: preferred and greatest speed, height of jumps, range and tempo.

Each curve is a factor on the value of young adults, linear between the given ages. The values follow these publications in
round numbers: preferred walking speed, Bohannon and Andrews 2011 (1.43 m/s at most, .94 at 80 and above); greatest running
speed, Korhonen et al. 2009 (sprinters of 17 to 82 years); height of counter-movement jumps, Bosco and Komi 1980 and Runge et
al. 2004 (half at 70); range of motion, Stathokostas et al. 2013 (some 5 degrees a decade from 55 on); duration of movements,
Ketcham and Stelmach 2001. Below 18 years the values are orders of magnitude.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from posegen.arrays import Array

__all__ = ["JUMP", "RANGE", "RUNNING", "TEMPO", "TOP_SPEED", "WALKING", "of_age"]

Curve = tuple[tuple[float, float], ...]

WALKING: Curve = ((6.0, 0.85), (12.0, 0.98), (20.0, 1.0), (50.0, 1.0), (60.0, 0.95), (70.0, 0.88), (80.0, 0.72), (90.0, 0.62))
RUNNING: Curve = ((6.0, 0.62), (10.0, 0.78), (18.0, 1.0), (35.0, 1.0), (60.0, 0.81), (70.0, 0.71), (80.0, 0.58), (90.0, 0.45))
JUMP: Curve = ((6.0, 0.5), (10.0, 0.65), (18.0, 1.0), (30.0, 1.0), (50.0, 0.76), (70.0, 0.5), (80.0, 0.38))
RANGE: Curve = ((20.0, 1.0), (55.0, 0.98), (75.0, 0.9), (90.0, 0.83))
TEMPO: Curve = ((6.0, 0.95), (12.0, 1.0), (45.0, 1.0), (60.0, 0.94), (70.0, 0.88), (85.0, 0.8))

TOP_SPEED = 7.0
"""Greatest running speed of an untrained adult of 18 to 35 years with average legs, metres per second."""


def of_age(curve: Curve, age: Array) -> Array:
    """Return the factor of each age by a curve.

    Parameters
    ----------
    curve : tuple of (years, factor)
        In ascending order; constant beyond its ends.
    age : float [...]
        Years.

    Returns
    -------
    float64 [...]

    Examples
    --------
    >>> of_age(RUNNING, np.array([30.0, 65.0]))
    array([1.  , 0.76])
    """
    years = np.asarray(age, np.float64)
    factor = np.full(years.shape, curve[0][1])
    for (young, more), (old, less) in pairwise(curve):
        part = np.clip((years - young) / (old - young), 0.0, 1.0)
        factor = factor + part * (less - more)
    return factor
