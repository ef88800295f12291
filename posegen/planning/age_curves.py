"""How age changes movement: preferred and greatest speed, height of jumps, range and tempo.

Each curve is a factor on the value of young adults, linear between the given ages. Published values:

- Preferred walking speed: 1.43 m/s for men of 40 to 49 years, .94 for women of 80 to 99 (Bohannon and Andrews 2011).
- Greatest running speed: competing sprinters of 35 to 88 years lose 5 to 7 % a decade, more after 65 to 70 (Korhonen et al.
  2003). The curve loses 8 %, which is chosen, since most people do not train.
- Height of jumps: power for each kilogram is less than half at 80 of what it is at 20 (Runge et al. 2004); untrained men and
  women over 58 jump 15 and 8 cm high (Frontiers in Aging 2024, doi 10.3389/fragi.2024.1504789).
- Range: shoulder abduction, 138 degrees in the mean, and hip flexion lose 5 to 7 degrees a decade from 55 to 86 (Stathokostas
  et al. 2013).
- Tempo: older people move more slowly (Ketcham et al. 2002); by how much depends on the task, and the curve is chosen.

All values below 18 years are chosen, orders of magnitude.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from posegen.foundations.arrays import Array

__all__ = ["JUMP", "RANGE", "RUNNING", "TEMPO", "TOP_SPEED", "WALKING", "of_age"]

Curve = tuple[tuple[float, float], ...]

WALKING: Curve = ((6.0, 0.85), (12.0, 0.98), (20.0, 1.0), (50.0, 1.0), (60.0, 0.95), (70.0, 0.88), (80.0, 0.72), (90.0, 0.62))
RUNNING: Curve = ((6.0, 0.62), (10.0, 0.78), (18.0, 1.0), (35.0, 1.0), (60.0, 0.81), (70.0, 0.71), (80.0, 0.58), (90.0, 0.45))
JUMP: Curve = ((6.0, 0.5), (10.0, 0.65), (18.0, 1.0), (30.0, 1.0), (50.0, 0.76), (70.0, 0.5), (80.0, 0.38))
RANGE: Curve = ((20.0, 1.0), (55.0, 0.98), (75.0, 0.9), (90.0, 0.83))
TEMPO: Curve = ((6.0, 0.95), (12.0, 1.0), (45.0, 1.0), (60.0, 0.94), (70.0, 0.88), (85.0, 0.8))

TOP_SPEED = 7.0
"""Greatest running speed of an untrained adult of 18 to 35 years with average legs, metres per second; chosen."""


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
