"""Numbers as text equal those of Python's formatting."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.exchange.kernels.decimals import decimal_text


def test_numbers_are_those_of_python() -> None:
    generator = np.random.default_rng(0)
    values = generator.uniform(-1, 1, (300, 7)) * 10.0 ** generator.integers(-6, 9, (300, 7))
    values[0] = [0, -0.0, 1, -1, 9.99996, -99.99996, 999999999]
    lines = decimal_text(values, " ").decode().split("\n")
    assert lines.pop() == ""
    expected = [" ".join(f"{value:.4f}".replace("-0.0000", "0.0000") for value in row) for row in values.tolist()]
    assert lines == expected


def test_numbers_without_a_place_are_refused() -> None:
    for wrong in (np.nan, np.inf, -1e9):
        with pytest.raises(ValueError, match="between"):
            decimal_text(np.array([[wrong]]), ",")
