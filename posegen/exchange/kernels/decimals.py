"""Write tables of numbers as text. Python takes 250 ns for a number, which is most of the time of an export as text."""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel

LARGEST = 1e9
"""Numbers are smaller than this."""
WIDEST = 16
"""Bytes of a number: sign, nine digits, point, four digits, and what separates it from the next."""
_ZERO, _MINUS, _POINT, _NEW_LINE = (np.uint8(ord(character)) for character in "0-.\n")
_UNIT = 10_000


def decimal_text(values: Array, separator: str) -> bytes:
    r"""Return numbers with four decimals, a line for each row.

    Parameters
    ----------
    values : float [row, column]
        Between -1e9 and 1e9.
    separator : str
        One ASCII character.

    Raises
    ------
    ValueError
        If a number is larger, or NaN.

    Examples
    --------
    >>> decimal_text(np.array([[1.0, -0.00004], [-12.34567, 0.5]]), ",")
    b'1.0000,0.0000\n-12.3457,0.5000\n'
    """
    if values.size and not abs(values).max() < LARGEST:
        raise ValueError(f"numbers must be between -{LARGEST:g} and {LARGEST:g}")
    out = np.empty(values.size * WIDEST, np.uint8)
    return out[: fill_decimals(values.astype(np.float64), np.uint8(ord(separator)), out)].tobytes()


@kernel
def fill_decimals(values: Array, separator: Scalar, out: Array) -> int:
    """Write numbers [row, column] to bytes; return how many bytes were written."""
    at = 0
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            number = np.int64(abs(value) * _UNIT + 0.5)
            if value < 0 and number:
                out[at] = _MINUS
                at += 1
            digits, bound = 5, 10 * _UNIT
            while number >= bound:
                digits, bound = digits + 1, 10 * bound
            for place in range(digits, -1, -1):
                if place == digits - 4:
                    out[at + place] = _POINT
                else:
                    out[at + place] = _ZERO + np.uint8(number % 10)
                    number //= 10
            at += digits + 1
            out[at] = separator
            at += 1
        out[at - 1] = _NEW_LINE
    return at
