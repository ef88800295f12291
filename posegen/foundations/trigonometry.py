"""Sine, cosine, arc tangent and easing curves with equal bits on every machine.

libm differs between machines and versions, so code that decides content must not call it. An angle in turns needs no reduction
by pi: subtracting the nearest whole number is exact.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Scalar, kernel

# Adding and subtracting 1.5 * 2^23 rounds a float32 below 2^22 to the nearest whole number, in any vector width.
_ROUND = np.float32(12582912.0)
# Taylor series of sin(2 pi y) in y; the first omitted term is 6e-8 at y = 1/4, half an ulp of float32.
_S1 = np.float32(6.283185307179586)
_S3 = np.float32(-41.341702240399755)
_S5 = np.float32(81.60524927607504)
_S7 = np.float32(-76.70585975306136)
_S9 = np.float32(42.05869394489765)
_S11 = np.float32(-15.094642576822984)
_QUARTER = np.float32(0.25)


@kernel
def cos_turns(x: Scalar) -> Scalar:
    """Return the cosine of `x` turns (float32, |x| < 2^22)."""
    x = np.float32(x)
    y = _QUARTER - abs(x - ((x + _ROUND) - _ROUND))
    z = y * y
    return y * (_S1 + z * (_S3 + z * (_S5 + z * (_S7 + z * (_S9 + z * _S11)))))


@kernel
def sin_turns(x: Scalar) -> Scalar:
    """Return the sine of `x` turns (float32, |x| < 2^22)."""
    x = np.float32(x) - _QUARTER
    y = _QUARTER - abs(x - ((x + _ROUND) - _ROUND))
    z = y * y
    return y * (_S1 + z * (_S3 + z * (_S5 + z * (_S7 + z * (_S9 + z * _S11)))))


@kernel
def atan_turns(x: Scalar) -> Scalar:
    """Return the arc tangent in turns of `x` between -1 and 1, within 2e-6 turns (Abramowitz and Stegun 4.4.49, over 2 pi)."""
    x = np.float32(x)
    z = x * x
    return (
        x
        * np.float32(0.15915494)
        * (
            np.float32(0.9998660)
            + z
            * (np.float32(-0.3302995) + z * (np.float32(0.1801410) + z * (np.float32(-0.0851330) + z * np.float32(0.0208351))))
        )
    )


@kernel
def smooth_step(x: Scalar) -> Scalar:
    """Return the minimum-jerk rise from 0 at 0 to 1 at 1 (Flash and Hogan 1985)."""
    x = min(max(np.float32(x), np.float32(0.0)), np.float32(1.0))
    return x * x * x * (np.float32(10.0) + x * (np.float32(-15.0) + np.float32(6.0) * x))


@kernel
def ease_towards(value: Scalar, easy: Scalar, last: Scalar) -> Scalar:
    """Return `value` up to `easy`; beyond it, return a value that approaches `last` asymptotically, from either side."""
    over = (value - easy) / (last - easy)
    return value if over <= 0 else easy + (last - easy) * over / (np.float32(1.0) + over)
