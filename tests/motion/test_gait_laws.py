"""Laws of gaits: cadence, contact times, the course of a run under the force of its contacts, ramps of speed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.motion.gaits import RUN, WALK, run_contact_seconds, run_rise, stride_rate

LEG = 0.85

periods = st.floats(0.28, 0.45)
shares = st.floats(0.4, 0.95)


def rise(period: float, contact: float, seconds: Array) -> Array:
    return np.array([run_rise(float(t), contact, period) for t in seconds])


@given(periods, shares)
def test_a_run_is_periodic_and_continuous(period: float, share: float) -> None:
    contact = share * period
    assert rise(period, contact, np.array([0.0, period])) == pytest.approx([0, 0], abs=1e-6)
    around = rise(period, contact, np.array([contact - 1e-6, contact + 1e-6]))
    assert around[0] == pytest.approx(around[1], abs=1e-5)
    h = 1e-3
    for before, after in ((contact, contact), (period, 0.0)):  # in speed, too
        left, right = rise(period, contact, before - h * np.arange(3)), rise(period, contact, after + h * np.arange(3))
        slope_before = (3 * left[0] - 4 * left[1] + left[2]) / (2 * h)
        slope_after = (-3 * right[0] + 4 * right[1] - right[2]) / (2 * h)
        assert slope_before == pytest.approx(slope_after, abs=0.02)


@given(periods, st.floats(0.4, 0.85))
def test_a_run_falls_freely_in_the_air(period: float, share: float) -> None:
    contact = share * period
    seconds = np.linspace(contact, period, 21)
    fit = np.polyfit(seconds, rise(period, contact, seconds), 2)
    assert 2 * fit[0] == pytest.approx(-GRAVITY, rel=1e-4)


@given(periods, shares)
def test_the_force_of_a_run_carries_the_weight(period: float, share: float) -> None:
    contact = share * period
    seconds = np.linspace(0, contact, 41)
    height = rise(period, contact, seconds)
    push = np.diff(height, 2) / (seconds[1] - seconds[0]) ** 2 + GRAVITY
    expected = 0.5 * np.pi * GRAVITY * period / contact * np.sin(np.pi * seconds[1:-1] / contact)  # half a sine
    np.testing.assert_allclose(push, expected, atol=0.06 * expected.max())
    mean = push.sum() * (seconds[1] - seconds[0]) / period
    assert mean == pytest.approx(GRAVITY, rel=0.02)
    assert height.min() < 0  # the body sinks over the stance leg


def test_cadence_of_a_reference_adult() -> None:
    assert 120 * stride_rate(WALK, 1.33, 0.9, 0.0, 5.0) == pytest.approx(113, abs=3)
    assert 120 * stride_rate(RUN, 2.65, 0.9, 0.0, 5.0) == pytest.approx(153.6)
    assert 120 * stride_rate(RUN, 3.65, 0.9, 0.0, 5.0) == pytest.approx(160.6)


@pytest.mark.parametrize(("speed", "flight"), [(3.0, 0.098), (4.5, 0.143), (6.0, 0.139)])
def test_running_flights_have_the_published_duration(speed: float, flight: float) -> None:
    period = 0.5 / stride_rate(RUN, speed, 0.9, 0.0, 5.0)
    assert period - run_contact_seconds(speed) == pytest.approx(flight, rel=0.15)
