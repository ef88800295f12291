from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posegen.fields.vectors import angle, between, cosine, frame, product, sine, stacked, unit, vector

FLOATS = st.floats(-50, 50)


@given(FLOATS)
def test_sine_and_cosine(x: float) -> None:
    assert abs(sine(np.array([x]))[0] - np.sin(x)) < 1e-11
    assert abs(cosine(np.array([x]))[0] - np.cos(x)) < 1e-11


@given(FLOATS, FLOATS)
def test_angle(y: float, x: float) -> None:
    turn = angle(np.array([y + 1e-3]), np.array([x]))[0] - np.arctan2(y + 1e-3, x)
    assert abs(turn) < 1e-9


def matrix(rotation: object) -> np.ndarray:
    return np.stack([stacked(column) for column in rotation], axis=-1)  # type: ignore[attr-defined]


def test_rotations() -> None:
    draws = np.random.default_rng(1).normal(size=(2, 50, 3))
    a, b = (unit(vector(values)) for values in draws)
    turned = matrix(between(a, b))
    np.testing.assert_allclose(turned @ np.swapaxes(turned, -1, -2), np.broadcast_to(np.eye(3), turned.shape), atol=1e-12)
    np.testing.assert_allclose((turned @ draws[0][..., None])[..., 0] / np.linalg.norm(draws[0], axis=-1)[:, None], stacked(b))
    axes = matrix(frame(a, b))
    np.testing.assert_allclose(np.linalg.det(axes), 1.0)
    np.testing.assert_allclose(matrix(product(frame(a, b), frame(b, a))), axes @ matrix(frame(b, a)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(matrix(frame(a, a))), 1.0)
