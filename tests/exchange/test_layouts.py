from __future__ import annotations

import numpy as np
import pytest

from docs.skeleton_figure import posed
from posegen.exchange.layouts import LAYOUTS, convert
from posegen.foundations.skeleton import JOINTS, sole_points

REST = posed()


def ours(name):
    return REST[JOINTS.index(name)]


@pytest.mark.parametrize(
    ("layout", "shape"), [("stick_lines", (20,)), ("coco17", (17, 3)), ("h36m17", (17, 3)), ("body25", (25, 3))]
)
def test_shape_dtype_and_absent_joints(layout, shape):
    joints = np.tile(REST, (2, 5, 1, 1)).astype(np.float32)
    out = convert(joints, layout)
    assert out.shape == (2, 5, *shape)
    assert out.dtype == np.float32
    if not LAYOUTS[layout].flat:
        absent = np.array([LAYOUTS[layout].quality(name) == "absent" for name in LAYOUTS[layout].joints])
        np.testing.assert_array_equal(np.isnan(out).all((0, 1, 3)), absent)
        np.testing.assert_array_equal(np.isnan(out).any((0, 1, 3)), absent)


@pytest.mark.parametrize(
    ("layout", "index", "name"),
    [
        ("coco17", 5, "left_shoulder"),
        ("coco17", 10, "right_wrist"),
        ("coco17", 16, "right_ankle"),
        ("h36m17", 0, "pelvis"),
        ("h36m17", 1, "right_hip"),
        ("h36m17", 6, "left_ankle"),
        ("h36m17", 11, "left_shoulder"),
        ("h36m17", 16, "right_wrist"),
        ("body25", 2, "right_shoulder"),
        ("body25", 7, "left_wrist"),
        ("body25", 11, "right_ankle"),
        ("body25", 14, "left_ankle"),
    ],
)
def test_exact_joints_are_copied_to_the_published_places(layout, index, name):
    np.testing.assert_array_equal(convert(REST, layout)[index], ours(name))
    assert list(LAYOUTS[layout].joints)[index] == name
    assert LAYOUTS[layout].quality(name) == "exact"


def test_openpose_middles_and_feet():
    out = dict(zip(LAYOUTS["body25"].joints, convert(REST, "body25"), strict=True))
    np.testing.assert_allclose(out["neck"], (ours("left_shoulder") + ours("right_shoulder")) / 2, atol=1e-12)
    np.testing.assert_allclose(out["mid_hip"], (ours("left_hip") + ours("right_hip")) / 2, atol=1e-12)
    np.testing.assert_array_equal(out["right_heel"], sole_points(REST)[2])
    # A foot of 0.152 statures from heel to toe tip (Winter), lying flat.
    np.testing.assert_allclose(out["left_big_toe"] - out["left_heel"], [0, 0, 0.152 * 1.7], atol=1e-6)
    assert LAYOUTS["body25"].quality("left_big_toe") == "approximate"


def test_top_of_the_head_is_at_the_stature_of_the_rest_pose():
    height = convert(REST, "h36m17")[10, 1]
    assert height == pytest.approx(1.7, abs=0.01)


def test_stick_lines_are_five_lines_seen_from_the_front():
    lines = convert(REST, "stick_lines").reshape(5, 2, 2)
    ends = [("neck", "pelvis"), ("left_shoulder", "left_wrist"), ("right_shoulder", "right_wrist")]
    ends += [("left_hip", "left_ankle"), ("right_hip", "right_ankle")]
    expected = [[ours(start)[:2], ours(end)[:2]] for start, end in ends]
    np.testing.assert_array_equal(lines, expected)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_tables_are_sound(layout):
    assert len(set(layout.joints)) == len(layout.joints)
    assert all(0 <= a < len(layout.joints) and 0 <= b < len(layout.joints) and a != b for a, b in layout.edges)
    for name, weights in layout.joints.items():
        if weights:
            assert sum(weights.values()) == pytest.approx(1.0)
        # Left comes from left.
        side = name.partition("_")[0]
        if side in {"left", "right"}:
            assert all(source.startswith(side) for source in weights)
    assert layout.approximate <= {name for name, weights in layout.joints.items() if weights}


def test_absent_actors_stay_absent():
    assert np.isnan(convert(np.full((4, 22, 3), np.nan), "body25")).all()


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match=r"unknown layout 'coco'.*coco17"):
        convert(REST, "coco")
    with pytest.raises(ValueError, match=r"\[\.\.\., 22, 3\], not \[24, 3\]"):
        convert(np.zeros((24, 3)), "coco17")
