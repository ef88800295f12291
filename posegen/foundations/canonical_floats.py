"""Kernels that give equal floating-point numbers equal bits: 0 for -0, and one NaN for all NaNs.

They are apart from `hashing`, which readers of datasets import, because numba takes a third of a second to import.
"""

from __future__ import annotations

from typing import Any

from posegen.foundations.arrays import Array
from posegen.foundations.kernels import kernel


@kernel
def count_noncanonical(bits: Array, negative_zero: Any, infinity: Any, nan: Any, magnitude: Any) -> int:
    """Count the values that are -0 or a NaN other than the canonical one."""
    found = 0
    for i in range(bits.size):
        value = bits[i]
        found += (value == negative_zero) | (((value & magnitude) > infinity) & (value != nan))
    return found


@kernel
def fill_canonical(bits: Array, into: Array, negative_zero: Any, infinity: Any, nan: Any, magnitude: Any) -> None:
    """Copy values, with 0 for -0 and the canonical NaN for every other NaN."""
    zero = negative_zero ^ negative_zero
    for i in range(bits.size):
        value = bits[i]
        into[i] = zero if value == negative_zero else nan if (value & magnitude) > infinity else value
