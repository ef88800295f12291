"""The kernel cache must see every source that a kernel is made of; kernels allocate nothing, and are compiled once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import posegen.kernels
from posegen.kernels import KERNEL_SOURCES, kernel


def test_every_kernel_is_in_a_source_that_the_cache_hashes() -> None:
    package = Path(posegen.kernels.__file__).parent
    hashed = {path for pattern in KERNEL_SOURCES for path in package.glob(pattern)}
    written = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text()}
    assert written
    assert written <= hashed


@kernel
def _twice(x: float) -> float:
    return 2 * x


@kernel
def _sum_of_constants(out: Any) -> None:
    out[0] = _twice(1) + _twice(2)


@kernel
def _room(count: int) -> Any:
    return np.zeros(count)


def test_a_kernel_is_compiled_once_for_all_constants_that_are_passed_to_it() -> None:
    out = np.zeros(1)
    _sum_of_constants(out)
    twice: Any = _twice
    assert out[0] == 6
    assert twice.signatures == [(numba.int64,)]


def test_a_kernel_that_allocates_is_refused() -> None:
    with pytest.raises(numba.core.errors.NumbaError, match="Only accept returning of array passed into the function"):
        _room(3)
