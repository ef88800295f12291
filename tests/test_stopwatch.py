"""Stages are recorded where requested, exactly once."""

from __future__ import annotations

import time

import pytest

from posegen.foundations.stopwatch import stage, timing


@stage("outer")
def outer() -> int:
    with stage("inner"):
        time.sleep(0.02)
    time.sleep(0.005)
    return 3


def test_the_time_of_a_stage_is_without_those_inside() -> None:
    start = time.monotonic()
    with timing() as seconds:
        assert outer() + outer() == 6
    assert list(seconds) == ["inner", "outer"]
    assert seconds["inner"] >= 0.04
    assert seconds["outer"] >= 0.01
    assert sum(seconds.values()) <= time.monotonic() - start


def test_a_stage_that_fails_is_recorded_and_one_outside_is_not() -> None:
    outer()
    with timing() as seconds, pytest.raises(KeyError), stage("failing"):
        raise KeyError
    outer()
    assert list(seconds) == ["failing"]
