"""Steps: feet stand on them, and the body rises and descends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posegen.foundations.skeleton import PARENTS, sole_points
from posegen.motion.feet.footsteps import fill_ground, stair_levels, surface_height
from tests.motion.scripted import SegmentSpec, animated, scripted
from tests.variants.applied import apply_variant

HEIGHT = 0.16
# Centre x, z, heading, half width, half depth, height: a platform across the path, 2 to 4 m ahead.
STEP = np.array([[[0.0, 3.0, 0.0, 1.0, 1.0, HEIGHT]]], np.float32)
FRAMES = 250


def test_the_highest_surface_counts() -> None:
    steps = np.array([[0, 3, 0, 1, 1, 0.16], [0, 3.5, 0.125, 0.5, 0.5, 0.3]], np.float64)
    assert surface_height(steps, 0.0, 0.0) == 0
    assert surface_height(steps, 0.9, 2.1) == pytest.approx(0.16)
    assert surface_height(steps, 0.0, 3.6) == pytest.approx(0.3)
    # The second one is turned by 45 degrees: its corner reaches further along z than its side.
    assert surface_height(steps, 0.0, 3.5 + 0.6) == pytest.approx(0.3)
    assert surface_height(steps, 0.45, 3.95) == pytest.approx(0.16)


def test_ground_changes_early_on_the_way_up_and_late_on_the_way_down() -> None:
    stances = np.zeros((3, 6))
    stances[:, 0], stances[:, 1], stances[:, 3] = [5, 20, 35], [11, 26, 41], [0.0, 3.0, 6.0]
    row = np.zeros(50, np.float32)
    fill_ground(STEP[0].astype(np.float64), stances[:3], np.zeros(3), row)
    np.testing.assert_array_equal(row[:11], 0)
    np.testing.assert_allclose(row[20:26], HEIGHT)
    np.testing.assert_array_equal(row[35:], 0)
    assert (np.diff(row[10:21]) >= 0).all()
    assert row[15] > 0.9 * HEIGHT
    assert (np.diff(row[25:36]) <= 0).all()
    assert row[30] > 0.9 * HEIGHT


def test_stair_levels_rise_and_the_lowest_is_on_the_floor() -> None:
    stances, levels = np.zeros((2, 4, 6)), np.zeros((2, 4))
    # Left and right in turn, 28 cm apart; the last right print lies beside the left one.
    stances[0, :, 0], stances[1, :, 0] = [0, 20, 40, 60], [10, 30, 50, 70]
    stances[0, :, 3], stances[1, :, 3] = [0.0, 0.56, 1.12, 1.68], [0.28, 0.84, 1.40, 1.70]
    rising = np.zeros(90, np.float32)
    assert not stair_levels(rising, stances, np.array([4, 4]), levels)
    rising[15:80] = 0.17
    assert stair_levels(rising, stances, np.array([4, 4]), levels)
    np.testing.assert_allclose(levels, 0.17 * np.array([[0, 1, 3, 5], [0, 2, 4, 5]]), atol=1e-6)
    assert stair_levels(-rising, stances, np.array([4, 4]), levels)
    np.testing.assert_allclose(levels, 0.17 * np.array([[5, 4, 2, 0], [5, 3, 1, 0]]), atol=1e-6)


@pytest.fixture(scope="module")
def crossing() -> tuple[np.ndarray, np.ndarray]:
    scenes = replace(scripted(SegmentSpec("walk", 0, 12, speed=1.0), frames=FRAMES), steps=STEP)
    motion = animated(scenes, FRAMES, 25)
    return motion.joints[0, 0].astype(np.float64), motion.contact[0, 0]


def test_feet_stand_on_the_step_and_never_in_it(crossing: tuple[np.ndarray, np.ndarray]) -> None:
    joints, contact = crossing
    soles = sole_points(joints)
    touching = contact[:, :4] == 1
    height = soles[..., 1]
    on_step = touching & (np.abs(height - HEIGHT) < 0.01)
    on_floor = touching & (np.abs(height) < 0.01)
    assert (on_step | on_floor)[touching].all()
    assert on_step.any(0).all(), "each heel and toe stood on the step"
    assert height.min() > -0.01
    slide = np.linalg.norm(np.diff(soles, axis=0), axis=-1) * 25
    assert (slide[touching[1:] & touching[:-1]] < 0.2).mean() > 0.98


def test_the_pelvis_rises_by_the_step_and_comes_down(crossing: tuple[np.ndarray, np.ndarray]) -> None:
    joints, _ = crossing
    along, height = joints[:, 0, 2], joints[:, 0, 1]
    before, upon, behind = (height[(along > a) & (along < b)].mean() for a, b in ((0.2, 1.4), (2.6, 3.6), (5.2, 6.6)))
    assert upon - before == pytest.approx(HEIGHT, abs=0.02)
    assert behind == pytest.approx(before, abs=0.02)


def test_bones_keep_their_length_on_the_way_up(crossing: tuple[np.ndarray, np.ndarray]) -> None:
    joints, _ = crossing
    bones = np.linalg.norm(joints[:, 1:] - joints[:, PARENTS[1:]], axis=-1)
    assert np.ptp(bones, axis=0).max() < 1e-5 + 2 * np.sqrt(3) * 2.0**-13


def test_variants_transform_the_steps() -> None:
    scenes = replace(scripted(SegmentSpec("walk", 0, 12, speed=1.0), frames=FRAMES), steps=STEP + np.float32(0.25))
    one = np.ones(1, np.float32)
    parameters = {"speed": 1.2 * one, "scale": 0.9 * one, "offset_x": 0.5 * one, "offset_z": -0.25 * one}
    x, z, heading, *size, height = scenes.steps[0, 0]
    assert apply_variant(scenes, "position", parameters).steps[0, 0] == pytest.approx(
        [x + 0.5, z - 0.25, heading, *size, height]
    )
    assert apply_variant(scenes, "scale", parameters).steps[0, 0] == pytest.approx([x, z, heading, *size, 0.9 * height])
    assert apply_variant(scenes, "mirror", parameters).steps[0, 0] == pytest.approx([-x, z, -heading, *size, height])
    np.testing.assert_array_equal(apply_variant(scenes, "speed", parameters).steps, scenes.steps)
