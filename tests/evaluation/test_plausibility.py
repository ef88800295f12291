from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.generate.realism import bone_length_error, frozen_frames, sole_speeds
from posegen.evaluation.body import frames_last
from posegen.evaluation.plausibility import depth_of
from posegen.foundations.skeleton import JOINTS, sole_points
from tests.evaluation import figures
from tests.evaluation.figures import FPS


@pytest.fixture
def standing() -> NDArray[np.float64]:
    return figures.standing()


def sole_depth(joints: NDArray[np.float64]) -> float:
    return depth_of(frames_last(sole_points(joints)))


def contact_of(*touching: int) -> NDArray[np.uint8]:
    """Return labels of ten frames in which these points are in contact."""
    contact = np.zeros((10, 9), np.uint8)
    contact[:, list(touching)] = 1
    return contact


def test_a_still_body_is_only_frozen(standing: NDArray[np.float64]) -> None:
    assert bone_length_error(standing) == pytest.approx(0, abs=1e-12)
    assert sole_depth(standing) == pytest.approx(0, abs=1e-12)
    assert np.array_equal(sole_speeds(standing, contact_of(0, 1, 2, 3), FPS), np.zeros(9 * 4))
    assert frozen_frames(standing) == 9


def test_the_error_of_a_stretched_bone_is_its_elongation(standing: NDArray[np.float64]) -> None:
    standing[4, JOINTS.index("head"), 1] += 0.01
    longer = np.linalg.norm(standing[4, 15] - standing[4, 12]) - np.linalg.norm(standing[0, 15] - standing[0, 12])
    assert bone_length_error(standing) == pytest.approx(0.9 * longer)


def test_a_sliding_figure_has_the_speed_of_its_slide(standing: NDArray[np.float64]) -> None:
    standing += np.arange(10)[:, None, None] * [0.03, 0.0, 0.04]  # 5 cm a frame
    speeds = sole_speeds(standing, contact_of(1), FPS)
    assert speeds == pytest.approx(np.full(9, 0.05 * FPS))


def test_only_steps_between_touching_frames_count(standing: NDArray[np.float64]) -> None:
    standing[5:, :, 2] += 1.0
    contact = contact_of(0)
    contact[5] = 0
    assert sole_speeds(standing, contact, FPS) == pytest.approx(np.zeros(7))
    contact[5, 0] = 1
    assert sole_speeds(standing, contact, FPS).max() == pytest.approx(FPS)


def test_the_longest_frozen_stretch_counts(standing: NDArray[np.float64]) -> None:
    standing[3:, JOINTS.index("left_wrist"), 0] += 0.01
    standing[8:, JOINTS.index("head"), 2] += 0.01
    assert frozen_frames(standing) == 4  # 4 to 7; frame 3 and frame 8 moved
    assert frozen_frames(standing, tolerance=0.02) == 9


def test_absent_actors_and_frames_are_ignored(standing: NDArray[np.float64]) -> None:
    sinking = standing - [0.0, 0.02, 0.0]
    sinking[7:] = np.nan
    both = np.stack([sinking, np.full_like(standing, np.nan)])
    contact = np.stack([contact_of(0), np.full((10, 9), 255, np.uint8)])
    contact[0, 7:] = 255
    assert sole_depth(both) == pytest.approx(0.02)
    assert bone_length_error(both) == pytest.approx(0, abs=1e-12)
    assert frozen_frames(both).tolist() == [6, 0]
    assert sole_speeds(both, contact, FPS) == pytest.approx(np.zeros(6))


def test_mocap_is_plausible(reference: list) -> None:
    """Real bodies hardly stretch and never freeze; otherwise a measure is wrong."""
    walks = [clip.joints for clip in reference if clip.label == "walk" and len(clip.joints) > 50]
    assert walks
    assert max(bone_length_error(joints) for joints in walks) < 0.02
    assert max(int(frozen_frames(joints)) for joints in walks) < 5
