"""Varied skeletons: one displacement per joint and one size in all frames of a clip, different in each clip and batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.training.data.features import FEATURES
from posegen.training.data.feed import vary_skeletons
from posegen.training.settings import Skeleton

CLIPS, FRAMES = 400, 6


@pytest.fixture(scope="module")
def clips() -> dict[str, NDArray[Any]]:
    motion = np.random.default_rng(0).normal(size=(CLIPS, FRAMES, FEATURES)).astype(np.float32)
    length = np.where(np.arange(CLIPS) % 2, FRAMES, 4)
    motion[np.arange(FRAMES)[None, :] >= length[:, None]] = 0
    numbers = np.arange(CLIPS, dtype=np.int64)
    return {"motion": motion, "length": length, "sample": numbers // 2, "variant": numbers % 2}


def test_displacement_and_size_are_constant_within_a_clip(clips: dict[str, NDArray[Any]]) -> None:
    seen = vary_skeletons(clips, Skeleton(joints=0.03, size=0.1), 7, 300)["motion"]
    sizes, shifts = [], []
    for clip in range(CLIPS):
        frames = clips["length"][clip]
        before, after = clips["motion"][clip, :frames], seen[clip, :frames]
        size = float((after[:, 66] / before[:, 66]).mean())
        shift = after[0, :66] - size * before[0, :66]
        np.testing.assert_allclose(after[:, :66], size * before[:, :66] + shift, atol=2e-5)
        np.testing.assert_allclose(after[:, 66:68], size * before[:, 66:68], rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(after[:, 68], before[:, 68])
        assert not seen[clip, frames:].any()
        sizes.append(size)
        shifts.append(shift)
    assert np.mean(sizes) == pytest.approx(1, abs=0.02)
    assert np.std(sizes) == pytest.approx(0.1, rel=0.1)
    assert np.std(shifts) == pytest.approx(0.03, rel=0.02)
    # Displacements are uncorrelated between joints and between clips.
    together = np.corrcoef(np.array(shifts).T)[np.triu_indices(66, 1)]
    assert abs(together).mean() < 0.06


def test_skeletons_depend_on_seed_batch_sample_and_variant_only(clips: dict[str, NDArray[Any]]) -> None:
    skeleton = Skeleton()
    whole = vary_skeletons(clips, skeleton, 7, 300)["motion"]
    some = {name: values[50:90] for name, values in clips.items()}
    np.testing.assert_array_equal(vary_skeletons(some, skeleton, 7, 300)["motion"], whole[50:90])
    for seed, number in ((8, 300), (7, 301), (7, 44)):
        other = vary_skeletons(clips, skeleton, seed, number)["motion"]
        assert (abs(other - whole)[:, 0, :66].max(axis=1) > 1e-3).all()


def test_zero_variation_changes_nothing(clips: dict[str, NDArray[Any]]) -> None:
    assert vary_skeletons(clips, Skeleton(joints=0, size=0), 7, 300) is clips
