from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posegen.fields.vectors import angle, cosine, sine

FLOATS = st.floats(-50, 50)


@given(FLOATS)
def test_sine_and_cosine(x: float) -> None:
    assert abs(sine(np.array([x]))[0] - np.sin(x)) < 1e-11
    assert abs(cosine(np.array([x]))[0] - np.cos(x)) < 1e-11


@given(FLOATS, FLOATS)
def test_angle(y: float, x: float) -> None:
    turn = angle(np.array([y + 1e-3]), np.array([x]))[0] - np.arctan2(y + 1e-3, x)
    assert abs(turn) < 1e-9
