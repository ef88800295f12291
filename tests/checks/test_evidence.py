"""Signals against a plain NumPy oracle, peaks against waves with a known number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.checks.evidence import count_peaks, fill_signal
from posegen.library.schema import SIGNALS, Signal
from posegen.scene import BOTH, LEFT, RIGHT
from posegen.skeleton import JOINTS, MIRROR_JOINTS
from tests import naive

Array = NDArray[Any]


def someone(seed: int, frames: int = 12) -> Array:
    return np.random.default_rng(seed).normal(size=(frames, len(JOINTS), 3)).astype(np.float32)


def filled(joints: Array, signal: Signal, side: int) -> Array:
    out = np.empty(len(joints))
    fill_signal(joints, SIGNALS.index(signal), side, out)
    return out


@pytest.mark.parametrize("signal", SIGNALS)
def test_signals_agree_with_their_definitions(signal: Signal) -> None:
    joints = someone(3)
    left, right = (naive.signal(joints, signal, side) for side in (LEFT, RIGHT))
    np.testing.assert_allclose(filled(joints, signal, LEFT), left, atol=1e-6)
    np.testing.assert_allclose(filled(joints, signal, RIGHT), right, atol=1e-6)
    if signal.startswith(("hand_", "foot_")):
        np.testing.assert_allclose(filled(joints, signal, BOTH), 0.5 * (left + right), atol=1e-6)


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_mirror_changes_sides(signal: Signal) -> None:
    joints = someone(4)
    mirrored = (joints * np.array([-1, 1, 1], np.float32))[:, list(MIRROR_JOINTS)]
    np.testing.assert_allclose(filled(mirrored, signal, RIGHT), filled(joints, signal, LEFT), atol=1e-6)


@given(st.integers(0, 9), st.floats(0.05, 3), st.floats(-5, 5), st.floats(0, 0.03))
def test_peaks_are_counted_whatever_their_height(count: int, height: float, level: float, tremor: float) -> None:
    phase = np.linspace(0, count, 40 * count + 2)
    wave = level + height * (0.5 - 0.5 * np.cos(2 * np.pi * phase))
    wave += tremor * height * np.cos(37.0 * np.arange(len(wave)))
    assert count_peaks(wave, True) == count
    assert count_peaks(-wave, False) == count
    # Between n peaks there are n - 1 dips, and none at the ends.
    assert count_peaks(wave, False) == max(0, count - 1)


def test_extremes_at_the_ends_are_not_peaks() -> None:
    assert count_peaks(np.array([3.0, 2.0, 1.0, 0.0]), True) == 0
    assert count_peaks(np.array([0.0, 1.0, 2.0, 3.0]), True) == 0
    assert count_peaks(np.zeros(5), True) == 0
    assert count_peaks(np.empty(0), True) == 0
