"""Paths of points: what the page decodes lies within half a step of the grid, and copies are stored once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from posegen.viewing.sequence import GRID, PointBlocks


def decoded(blocks: PointBlocks) -> list[NDArray[np.float64]]:
    """Decode the stored blocks one number after another, as the page does."""
    grid, data = blocks.encode()
    total, at, found = len(data) // 2, 0, []
    for block in blocks.blocks:
        if "copy" in block:
            continue
        points = np.zeros((block["frames"], block["points"], 3))
        for track in range(block["points"] * 3):
            value = step = 0
            for frame in range(block["frames"]):
                number = data[at] | data[total + at] << 8
                step += (number >> 1) ^ -(number & 1)
                value += step
                points[frame].flat[track] = ((value + 32_768) % 65_536 - 32_768) / grid
                at += 1
        found.append(points)
    return found


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6).map(lambda s: (*s, 3)),
        elements=st.floats(-31, 31),
    ),
)
def test_points_are_decoded_within_half_a_step(points: NDArray[np.float64]) -> None:
    blocks = PointBlocks()
    blocks.add(points)
    (found,) = decoded(blocks)
    assert np.abs(found - points).max() <= 0.5 / GRID + 1e-12


def test_far_points_have_a_coarser_grid() -> None:
    blocks = PointBlocks()
    points = np.array([[[0.0, 0.0, 0.0]], [[500.0, 1.0, -700.0]]])
    blocks.add(points)
    assert blocks.encode()[0] == GRID / 32
    np.testing.assert_allclose(decoded(blocks)[0], points, atol=16 / GRID)


def test_absent_points_take_the_place_of_neighbouring_frames() -> None:
    points = np.full((4, 2, 3), np.nan)
    points[1, 0], points[2, 0] = 1.0, 2.0
    blocks = PointBlocks()
    blocks.add(points)
    (found,) = decoded(blocks)
    assert found[:, 0, 0].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert not found[:, 1].any()


def test_a_moved_and_a_mirrored_block_are_copies() -> None:
    random = np.random.default_rng(1)
    points = random.uniform(-2, 2, (5, 3, 3))
    mirror = (0, 2, 1)
    blocks = PointBlocks()
    assert blocks.add(points, mirror) == 0
    assert blocks.add(points + np.array([1.5, 0.0, -0.25]), mirror) == 1
    assert blocks.add(points[:, list(mirror)] * [-1, 1, 1] + [0.5, 0, 0], mirror) == 2
    assert blocks.add(points * 1.01, mirror) == 3
    assert blocks.blocks[1] == {"copy": 0, "shift": pytest.approx([1.5, 0.0, -0.25]), "mirrored": False}
    assert blocks.blocks[2] == {"copy": 0, "shift": pytest.approx([0.5, 0.0, 0.0]), "mirrored": True}
    assert blocks.blocks[0] == blocks.blocks[3] == {"frames": 5, "points": 3}
    assert len(blocks.encode()[1]) == 2 * 5 * 3 * 3 * 2
