"""Kernels that find and replace the floating-point numbers of which :mod:`posegen.hashing` knows several representations."""

from __future__ import annotations

from typing import Any

from posegen.arrays import Array
from posegen.kernels import kernel


@kernel
def count_odd_bits(bits: Array, negative_zero: Any, infinity: Any, nan: Any, magnitude: Any) -> int:
    """Count the values that are -0 or a NaN other than the canonical one."""
    odd = 0
    for i in range(bits.size):
        value = bits[i]
        odd += (value == negative_zero) | (((value & magnitude) > infinity) & (value != nan))
    return odd


@kernel
def make_plain(bits: Array, plain: Array, negative_zero: Any, infinity: Any, nan: Any, magnitude: Any) -> None:
    """Copy values, with 0 for -0 and the canonical NaN for every other NaN."""
    zero = negative_zero ^ negative_zero
    for i in range(bits.size):
        value = bits[i]
        plain[i] = zero if value == negative_zero else nan if (value & magnitude) > infinity else value
