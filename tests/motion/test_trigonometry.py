"""Sine, cosine and arc tangent against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.trigonometry import atan_turns, cos_turns, sin_turns, smooth_step
from tests import naive

TURN = 2 * np.pi
FEW_ULPS = 5e-7

turns = st.floats(-1000, 1000, width=32)
shares = st.floats(0, 1, width=32)


@given(turns)
def test_cosine_and_sine(x: float) -> None:
    # A sine is a cosine shifted by a quarter turn; the sum may lose half of the last place of a large argument.
    last_place = TURN * float(np.spacing(np.float32(abs(x) + 0.25)))
    assert cos_turns(x) == pytest.approx(naive.cos_turns(x), abs=FEW_ULPS)
    assert sin_turns(x) == pytest.approx(naive.sin_turns(x), abs=FEW_ULPS + last_place)


def test_cosine_and_sine_over_a_fine_grid() -> None:
    grid = np.linspace(-1.5, 1.5, 6001).astype(np.float32)
    cosine = np.array([cos_turns(float(x)) for x in grid])
    sine = np.array([sin_turns(float(x)) for x in grid])
    np.testing.assert_allclose(cosine, naive.cos_turns(grid.astype(np.float64)), atol=FEW_ULPS)
    np.testing.assert_allclose(sine, naive.sin_turns(grid.astype(np.float64)), atol=FEW_ULPS)
    np.testing.assert_allclose(cosine**2 + sine**2, 1, atol=2 * FEW_ULPS)


@pytest.mark.parametrize(("x", "cosine", "sine"), [(0, 1, 0), (0.25, 0, 1), (0.5, -1, 0), (0.75, 0, -1), (1, 1, 0)])
def test_quarter_turns(x: float, cosine: float, sine: float) -> None:
    assert cos_turns(x) == pytest.approx(cosine, abs=FEW_ULPS)
    assert sin_turns(x) == pytest.approx(sine, abs=FEW_ULPS)


@given(st.integers(-(2**20), 2**20), st.integers(0, 7))
def test_whole_turns_change_nothing(whole: int, eighth: int) -> None:
    assert cos_turns(whole + eighth / 8) == cos_turns(eighth / 8)
    assert sin_turns(whole + eighth / 8) == sin_turns(eighth / 8)


@given(st.floats(-1, 1, width=32))
def test_arc_tangent(x: float) -> None:
    assert atan_turns(x) == pytest.approx(naive.atan_turns(x), abs=2e-6)


@given(shares)
def test_smooth_step_is_minimum_jerk(x: float) -> None:
    assert smooth_step(x) == pytest.approx(naive.smooth_step(x), abs=2e-6)
    assert smooth_step(x) + smooth_step(1 - x) == pytest.approx(1, abs=4e-6)


def test_smooth_step_rests_at_its_ends() -> None:
    assert [smooth_step(x) for x in (-3.0, 0.0, 1.0, 4.0)] == [0, 0, 1, 1]
    grid = np.linspace(0, 1, 201)
    step = np.array([smooth_step(float(x)) for x in grid])
    slope = np.gradient(step, grid)
    np.testing.assert_allclose(slope, 30 * grid**2 * (1 - grid) ** 2, atol=1e-3)
    assert slope.max() == pytest.approx(1.875, abs=1e-3)  # peak speed of a minimum-jerk movement
    assert (np.diff(step) > -1e-6).all()
