"""How deep people overlap."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.checks.capsules import PARTS, overlapping, people_overlap
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from tests import naive
from tests.evaluation.figures import standing


def crowd(seed: int, frames: int = 40) -> Array:
    """Two bodies of random limbs, close to each other, float32 [2, frames, 22, 3]."""
    generator = np.random.default_rng(seed)
    joints = standing(1)[0][None, None] + generator.normal(0, 0.06, (2, frames, len(JOINTS), 3))
    joints[1] += generator.normal(0, 0.35, (frames, 1, 3)) * [1, 0, 1]
    return joints.astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_depth_of_the_deepest_pair(seed: int) -> None:
    one, other = crowd(seed)
    expected = naive.people_overlap(one, other)
    assert (expected > 0).mean() > 0.2
    assert (expected == 0).any()
    np.testing.assert_allclose(people_overlap(one, other), expected, atol=1e-5)
    np.testing.assert_allclose(people_overlap(other, one)[0], naive.people_overlap(other, one)[0], atol=2e-6)


def test_upper_arms_count() -> None:
    """One stands with an arm held out, the other one's upper arm lies across it."""
    one, other = (standing(1).astype(np.float32).copy() for _ in range(2))
    other[0, :, 2] += 1.0
    for joint, x in (("shoulder", 0.1), ("elbow", 0.4), ("wrist", 0.7)):
        one[0, JOINTS.index(f"right_{joint}")] = [x, 1.3, 0.5]
        other[0, JOINTS.index(f"right_{joint}")] = [0.25, 1.3 + 0.3 * (x - 0.25), 0.5]
    radius = next(radius for first, _, radius in PARTS if first == "right_shoulder")
    stature = 2 * 0.84  # of these figures, by their legs
    assert people_overlap(one, other)[0] == pytest.approx(2 * radius * stature, abs=0.01)


def test_sequences_with_overlapping_people_are_found() -> None:
    body = standing(1)[0].astype(np.float32)
    joints = np.full((3, 1, 3, 6, len(JOINTS), 3), np.nan, np.float32)
    joints[:, 0, 0] = body
    joints[0, 0, 1], joints[1, 0, 1], joints[2, 0, 1] = body + np.float32([2, 0, 0]), body, body
    joints[1, 0, 1, :4] += np.float32([0, 0, 3])
    joints[2, 0, 1:] = np.nan
    # In the second sequence they overlap after the end of the clip; in the third one person is alone.
    found = [overlapping(joints, 0, np.array([2, 2, 1]), np.array([6, length, 6])).tolist() for length in (4, 6)]
    assert found == [[False, False, False], [False, True, False]]
