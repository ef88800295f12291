"""Stages are recorded where requested, in any process, exactly once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.stopwatch import Span, seconds_by_stage, stage, timing


@stage("outer")
def outer() -> int:
    with stage("inner"):
        time.sleep(0.002)
    return 3


def test_stages_inside_others_come_first_and_lie_within_them() -> None:
    with timing() as spans:
        assert outer() == 3
    assert [span.stage for span in spans] == ["inner", "outer"]
    inner, around = spans
    assert around.start <= inner.start <= inner.stop <= around.stop
    assert inner.stop - inner.start >= 0.002
    assert not any(span.behind for span in spans)


def test_nothing_is_kept_where_nobody_asks_nor_afterwards() -> None:
    outer()
    with timing() as spans:
        pass
    outer()
    assert spans == []


def test_a_stage_that_fails_is_taken_down_too() -> None:
    with timing() as spans, pytest.raises(KeyError), stage("failing"):
        raise KeyError
    assert [span.stage for span in spans] == ["failing"]


def test_another_thread_works_behind() -> None:
    with timing() as spans, ThreadPoolExecutor(1) as thread:
        thread.submit(copy_context().run, outer).result()
        thread.submit(outer).result()  # without the context, it is nobody's
    assert [(span.stage, span.behind) for span in spans] == [("inner", True), ("outer", True)]


def test_a_watch_within_a_watch_keeps_its_own() -> None:
    with timing() as around:
        with timing() as spans:
            outer()
        with stage("after"):
            pass
    assert len(spans) == 2
    assert [span.stage for span in around] == ["after"]


@given(st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=12))
def test_stages_divide_the_time_of_what_is_around_them(tree: list[object]) -> None:
    spans: list[Span] = []

    def lay(node: list[object], start: float, depth: int) -> float:
        stop = start + 1.0
        for child in node:
            stop = lay(child, stop, depth + 1) + 0.5  # type: ignore[arg-type]
        spans.append(Span(f"depth {depth}", start, stop, False))
        return stop

    stop = lay(tree, 0.0, 0)
    found = seconds_by_stage(spans)
    assert sum(found.values()) == pytest.approx(stop)
    assert all(seconds >= 1.0 - 1e-9 for seconds in found.values())
