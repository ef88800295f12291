"""Helpers of all kernels, compared with oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.motion.workspace import Clock, frame_window, triangular_mean
from tests import naive


@pytest.mark.parametrize("radius", [0, 1, 4, 30])
def test_triangular_mean(radius: int) -> None:
    row = np.random.default_rng(radius).uniform(-1, 1, 20).astype(np.float32)
    out = np.empty_like(row)
    triangular_mean(row, radius, out)
    np.testing.assert_allclose(out, naive.triangular_mean(row, radius), atol=1e-6)


@given(st.integers(-20, 200), st.integers(0, 300))
def test_frame_window(begin: int, length: int) -> None:
    clock = Clock(-2.0, 0.125)
    # Between two frames, so that rounding does not decide.
    times = (begin + 0.5) / 16, (begin + length + 0.5) / 16
    assert frame_window(clock, *times, 100) == naive.frame_window(clock.first, clock.step, *times, 100)
