"""Motion features against a naive implementation, and invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen import load_config, synthesize
from posegen.foundations.skeleton import JOINTS, PARTS
from posegen.training.data.features import ACTION, FEATURES, LENGTH, View, features_of, to_half, to_single

FPS = 12.5


@pytest.fixture(scope="module")
def joints() -> NDArray[np.float32]:
    return synthesize(load_config("smoke"), [0, 1, 2]).joints[:, 0, 0, ::2]


def naive(joints: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute one frame after another, with angles."""
    hips, shoulders = ([JOINTS.index(f"{side}_{name}") for side in ("left", "right")] for name in ("hip", "shoulder"))
    rows, heading_before = [], None
    for f, frame in enumerate(joints.astype(np.float64)):
        across = frame[hips[0]] - frame[hips[1]] + frame[shoulders[0]] - frame[shoulders[1]]
        heading = math.atan2(-across[2], across[0])
        cos, sin = math.cos(heading), math.sin(heading)
        row = []
        for x, y, z in frame - frame[0] * [1, 0, 1]:
            row += [cos * x - sin * z, y, sin * x + cos * z]
        moved = (frame[0] - joints[max(f - 1, 0), 0].astype(np.float64)) * FPS
        turned = 0.0 if heading_before is None else math.remainder(heading - heading_before, 2 * math.pi) * FPS
        rows.append([*row, cos * moved[0] - sin * moved[2], sin * moved[0] + cos * moved[2], turned])
        heading_before = heading
    return np.array(rows)


def test_features_equal_the_naive_ones(joints: NDArray[np.float32]) -> None:
    for clip in joints:
        found = features_of(clip, FPS)
        assert found.shape == (len(clip), FEATURES)
        np.testing.assert_allclose(found, naive(clip), atol=2e-3)


def test_features_do_not_depend_on_position_and_heading(joints: NDArray[np.float32]) -> None:
    cos, sin = math.cos(2.1), math.sin(2.1)
    turned = joints.astype(np.float64) @ np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]]) + [3.0, 0, -2.0]
    np.testing.assert_allclose(features_of(turned, FPS), features_of(joints, FPS), atol=2e-3)


def test_halves_are_those_of_numpy() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    halves = bits.view(np.float16)[np.isfinite(bits.view(np.float16))]
    single = halves.astype(np.float32)
    assert to_single(halves).tobytes() == single.tobytes()
    # The middle between two halves is rounded to the even one.
    step = np.spacing(np.abs(halves[np.abs(halves) < 60000])).astype(np.float32)
    single = single[np.abs(single) < 60000]
    for values in (single, single + step / 2, single - step / 2, single + step / 3, np.float32([6e4, 7e4, 1e-30, np.nan])):
        with np.errstate(over="ignore"):
            expected = values.astype(np.float16)
        assert to_half(values).tobytes() == expected.tobytes()


def test_absent_frames_are_zero_and_not_counted(joints: NDArray[np.float32]) -> None:
    cut = joints.copy()
    cut[:, 30:] = np.nan
    found = features_of(cut, FPS)
    assert not found[:, 30:].any()
    assert found[:, :30].tobytes() == features_of(joints, FPS)[:, :30].tobytes()
    view = View(cut.shape[1], FPS, 1, ())
    assert LENGTH.compute({"joints": cut[:, None]}, view).tolist() == [30, 30, 30]


def test_an_overlaid_action_takes_precedence() -> None:
    absent, walk, wave, nod = 65535, 0, 1, 2
    frames = np.full((1, 1, 5, len(PARTS)), walk, np.uint16)
    arms = [PARTS.index("left_arm"), PARTS.index("right_arm")]
    frames[0, 0, 1, arms[0]] = wave  # one arm waves
    frames[0, 0, 2, PARTS.index("head")] = nod
    frames[0, 0, 3, PARTS.index("head")], frames[0, 0, 3, arms] = nod, wave  # more of the body waves than nods
    frames[0, 0, 4] = absent
    assert ACTION.compute({"action": frames}, View(5, FPS, 1, ("walk", "wave", "nod"))).tolist() == [[0, 1, 2, 1, -1]]
