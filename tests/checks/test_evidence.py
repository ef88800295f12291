"""Signals against a plain NumPy oracle, peaks against waves with a known number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.checks.evidence import count_peaks, fill_signal
from posegen.checks.paths import path_shapes
from posegen.foundations.arrays import Array
from posegen.foundations.constants import SHAPES
from posegen.foundations.scene import BOTH, LEFT, RIGHT
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS
from posegen.library.stages import SIGNALS, Signal
from tests import naive


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


WAYS = {
    "left_circle": [(150, 360)],
    "right_circle": [(150, -360)],
    "figure_eight": [(110, 360), (110, -360)],
    "zigzag": [(20, 55), (35, -110), (35, 110), (35, -110), (20, 55)],
    "back_and_forth": [(50, 0), (30, 180), (50, 0), (30, 180)],
    "left_diagonal": [(25, 45), (75, 0)],
    "right_diagonal": [(25, -45), (75, 0)],
    "straight": [(120, 0)],
    "curve": [(120, 100)],
    "spiral": [(150, 720)],
    "return": [(80, 0), (30, 180)],
}


def walked(pieces):
    """Hips and pelvis of a walk at 1.2 m/s through pieces of (frames, degrees), at 25 frames a second; the hips sway."""
    rates = np.concatenate([np.full(frames, degrees / frames) for frames, degrees in pieces])
    heading = np.radians(np.cumsum(rates)) + 0.8
    sway = heading + np.radians(5) * np.sin(np.arange(len(heading)) * 2 * np.pi / 27)
    hips = 0.2 * np.stack([np.cos(sway), -np.sin(sway)], axis=1)
    return hips, np.cumsum(1.2 / 25 * np.stack([np.sin(heading), np.cos(heading)], axis=1), axis=0)


@pytest.mark.parametrize("name", WAYS)
def test_a_path_has_its_shape_and_no_other(name):
    found = [shape for shape, has in zip(SHAPES, path_shapes(*walked(WAYS[name]), 25), strict=True) if has]
    assert found == ([name] if name in SHAPES else [])


def test_shapes_are_those_of_the_oracle():
    rng = np.random.default_rng(6)
    found = []
    for name in 30 * list(WAYS):
        hips, pelvis = walked(
            [(int(frames * rng.uniform(0.6, 1.4)), degrees * rng.uniform(0.6, 1.4)) for frames, degrees in WAYS[name]]
        )
        pelvis = pelvis * rng.uniform(0.7, 1.0, 2)
        found.append(path_shapes(hips, pelvis, 25))
        assert found[-1].tolist() == naive.path_shapes(hips, pelvis, 25).tolist()
    assert np.any(found, axis=0).all()
