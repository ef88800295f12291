from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.exchange.camera import intrinsics, look_at, project

COORDINATE = st.floats(-5, 5, allow_nan=False)
POINT = st.tuples(COORDINATE, COORDINATE, COORDINATE)


def test_hand_computed_from_the_front():
    # The camera stands 4 m before the figure and looks along -z: the figure's left (+x) is on the picture's right.
    camera = look_at((0, 1, 4), (0, 1, 0))
    pixels, depth = project([[0, 1, 0], [1, 1, 0], [0, 2, 0], [1, 0, 2]], camera, intrinsics(800, (640, 480)))
    # x = 320 + 800 * x / depth, y = 240 - 800 * (y - 1) / depth.
    np.testing.assert_allclose(pixels, [[320, 240], [520, 240], [320, 40], [720, 640]])
    np.testing.assert_allclose(depth, [4, 4, 4, 2])


def test_hand_computed_from_the_side_and_above():
    # From (3, 4, 0) down to the origin, 5 m away. Right is -z, forward (-.6, -.8, 0), down (.8, -.6, 0) by hand.
    camera = look_at((3, 4, 0), (0, 0, 0))
    np.testing.assert_allclose(camera.rotation, [[0, 0, -1], [0.8, -0.6, 0], [-0.6, -0.8, 0]], atol=1e-15)
    pixels, depth = project([[0, 0, 0], [0, 1, 0], [0, 0, 1]], camera, intrinsics(100, (200, 100), centre=(90, 60)))
    np.testing.assert_allclose(depth, [5, 4.2, 5])
    np.testing.assert_allclose(pixels, [[90, 60], [90, 60 - 60 / 4.2], [70, 60]])


@given(POINT, POINT, st.lists(POINT, min_size=1, max_size=5))
def test_equals_the_projection_matrix(position, target, points):
    if np.hypot(position[0] - target[0], position[2] - target[2]) < 0.1:
        return
    camera, lens = look_at(position, target), intrinsics(500, (640, 480))
    pixels, depth = project(points, camera, lens)
    matrix = lens.matrix @ np.column_stack([camera.rotation, camera.translation])
    homogeneous = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    np.testing.assert_allclose(depth, homogeneous[:, 2], atol=1e-9)
    seen = depth > 0.01
    np.testing.assert_allclose(pixels[seen], homogeneous[seen, :2] / homogeneous[seen, 2:], rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(camera.rotation @ camera.rotation.T, np.eye(3), atol=1e-9)
    assert np.linalg.det(camera.rotation) == pytest.approx(1)


@given(POINT)
def test_target_is_in_the_middle(target):
    position = (target[0] + 1.5, target[1] + 0.7, target[2] - 2)
    pixels, depth = project(target, look_at(position, target), intrinsics(500, (640, 480)))
    np.testing.assert_allclose(pixels, [320, 240], atol=1e-6)
    assert depth == pytest.approx(np.sqrt(1.5**2 + 0.7**2 + 2**2))


def test_points_behind_have_no_pixels():
    pixels, depth = project([0, 1, 9], look_at((0, 1, 4), (0, 1, 0)), intrinsics(800, (640, 480)))
    assert np.isnan(pixels).all()
    assert depth == -5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: look_at((1, 2, 3), (1, 2, 3)), "move one of them"),
        (lambda: look_at((0, 5, 0), (0, 0, 0)), "looks along its up direction"),
        (lambda: look_at((0, np.nan, 0), (0, 0, 0)), "position must be three finite numbers"),
        (lambda: intrinsics(0, (640, 480)), "must be above 0"),
        (lambda: project(np.zeros((3, 2)), look_at((0, 0, 1), (0, 0, 0)), intrinsics(1, (1, 1))), r"\[\.\.\., 3\]"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
