"""Signals against a plain NumPy oracle, peaks against waves whose number is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from posegen.checks.evidence import count_peaks, fill_signal, signal_index
from posegen.library.signs import SIGNALS, Signal
from posegen.scene import BOTH, LEFT, RIGHT
from posegen.skeleton import JOINTS, MIRROR_JOINTS

Array = NDArray[Any]


def joint(joints: Array, name: str) -> Array:
    return joints[:, JOINTS.index(name)].astype(np.float64)


def naive(joints: Array, signal: Signal, side: int) -> Array:
    """The signal of one side, by the words of its definition."""
    name = "left" if side == LEFT else "right"
    towards = 1.0 if side == LEFT else -1.0

    def left(pair: str) -> Array:
        way = (joint(joints, f"left_{pair}") - joint(joints, f"right_{pair}")) * [1, 0, 1]
        return np.asarray(way / np.linalg.norm(way, axis=-1, keepdims=True))

    def ahead(pair: str) -> Array:
        return np.cross(left(pair), [0.0, 1.0, 0.0])

    def along(a: Array, b: Array) -> Array:
        return np.asarray((a * b).sum(-1))

    pelvis, head, wrist = joint(joints, "pelvis"), joint(joints, "head"), joint(joints, f"{name}_wrist")
    ankle = joint(joints, f"{name}_ankle")
    shoulders = 0.5 * (joint(joints, "left_shoulder") + joint(joints, "right_shoulder"))
    moved = np.diff(pelvis, axis=0, prepend=pelvis[:1])
    values = {
        "pelvis_height": pelvis[:, 1],
        "head_height": head[:, 1],
        "head_aside": towards * along(head - pelvis, left("hip")),
        "travel_aside": towards * np.cumsum(along(moved, left("hip"))),
        "hands_apart": np.linalg.norm(joint(joints, "left_wrist") - joint(joints, "right_wrist"), axis=-1),
        "feet_apart": np.linalg.norm(joint(joints, "left_ankle") - joint(joints, "right_ankle"), axis=-1),
        "hand_height": (wrist - shoulders)[:, 1],
        "hand_ahead": along(wrist - shoulders, ahead("shoulder")),
        "hand_reach": np.linalg.norm(wrist - joint(joints, f"{name}_shoulder"), axis=-1),
        "foot_height": ankle[:, 1],
        "foot_ahead": along(ankle - pelvis, ahead("hip")),
    }
    return np.asarray(values[signal])


def someone(seed: int, frames: int = 12) -> Array:
    return np.random.default_rng(seed).normal(size=(frames, len(JOINTS), 3)).astype(np.float32)


def filled(joints: Array, signal: Signal, side: int) -> Array:
    out = np.empty(len(joints))
    fill_signal(joints, signal_index(signal), side, out)
    return out


@pytest.mark.parametrize("signal", SIGNALS)
def test_signals_are_what_their_names_say(signal: Signal) -> None:
    joints = someone(3)
    left, right = (naive(joints, signal, side) for side in (LEFT, RIGHT))
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


def test_what_has_no_way_up_or_down_is_no_peak() -> None:
    assert count_peaks(np.array([3.0, 2.0, 1.0, 0.0]), True) == 0
    assert count_peaks(np.array([0.0, 1.0, 2.0, 3.0]), True) == 0
    assert count_peaks(np.zeros(5), True) == 0
    assert count_peaks(np.empty(0), True) == 0
