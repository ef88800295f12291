from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.usefulness.cameras import lens, look_at
from posegen.exchange.camera import project

COORDINATE = st.floats(-5, 5, allow_nan=False)
POINT = st.tuples(COORDINATE, COORDINATE, COORDINATE)


def test_hand_computed_from_the_front():
    # The camera stands 4 m before the figure and looks along -z: the figure's left (+x) is on the picture's right.
    camera = look_at((0, 1, 4), (0, 1, 0))
    pixels, depth = project([[0, 1, 0], [1, 1, 0], [0, 2, 0], [1, 0, 2]], camera, lens(800, (640, 480)))
    # x = 320 + 800 * x / depth, y = 240 - 800 * (y - 1) / depth.
    np.testing.assert_allclose(pixels, [[320, 240], [520, 240], [320, 40], [720, 640]])
    np.testing.assert_allclose(depth, [4, 4, 4, 2])


def test_hand_computed_from_the_side_and_above():
    # From (3, 4, 0) down to the origin, 5 m away. Right is -z, forward (-.6, -.8, 0), down (.8, -.6, 0) by hand.
    camera = look_at((3, 4, 0), (0, 0, 0))
    np.testing.assert_allclose(camera[:, :3], [[0, 0, -1], [0.8, -0.6, 0], [-0.6, -0.8, 0]], atol=1e-15)
    pixels, depth = project([[0, 0, 0], [0, 1, 0], [0, 0, 1]], camera, [[100, 0, 90], [0, 100, 60], [0, 0, 1]])
    np.testing.assert_allclose(depth, [5, 4.2, 5])
    np.testing.assert_allclose(pixels, [[90, 60], [90, 60 - 60 / 4.2], [70, 60]])


@given(POINT, POINT, st.lists(POINT, min_size=1, max_size=5))
def test_equals_the_projection_matrix(position, target, points):
    if np.hypot(position[0] - target[0], position[2] - target[2]) < 0.1:
        return
    camera, inner = look_at(position, target), lens(500, (640, 480))
    pixels, depth = project(points, camera, inner)
    homogeneous = np.column_stack([points, np.ones(len(points))]) @ (inner @ camera).T
    np.testing.assert_allclose(depth, homogeneous[:, 2], atol=1e-9)
    seen = depth > 0.01
    np.testing.assert_allclose(pixels[seen], homogeneous[seen, :2] / homogeneous[seen, 2:], rtol=1e-6, atol=1e-4)


@given(POINT)
def test_target_is_in_the_middle(target):
    position = (target[0] + 1.5, target[1] + 0.7, target[2] - 2)
    pixels, depth = project(target, look_at(position, target), lens(500, (640, 480)))
    np.testing.assert_allclose(pixels, [320, 240], atol=1e-6)
    np.testing.assert_allclose(depth, np.sqrt(1.5**2 + 0.7**2 + 2**2))


def test_points_behind_have_no_pixels():
    pixels, depth = project([0, 1, 9], look_at((0, 1, 4), (0, 1, 0)), lens(800, (640, 480)))
    assert np.isnan(pixels).all()
    assert depth == -5
