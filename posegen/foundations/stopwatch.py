"""Measure the time of stages of work.

``with stage("encode"):`` or ``@stage("encode")`` names the work of a block. Times are recorded only inside :func:`timing`; the
cost is one or two microseconds per stage either way, so stages belong around shards rather than samples. A thread is included
if it was started with a copy of its owner's context.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Span(NamedTuple):
    """A timed interval of work.

    Attributes
    ----------
    stage : name of the work
    start, stop : seconds of the system's monotonic clock, which all processes share
    behind : whether another thread than the timed one did it
    """

    stage: str
    start: float
    stop: float
    behind: bool


_timing: ContextVar[tuple[int, list[Span]] | None] = ContextVar("timing", default=None)
"""The timed thread, and what it has recorded so far."""


@contextmanager
def timing() -> Iterator[list[Span]]:
    """Record the stages in the block.

    Yields
    ------
    list of Span
        Grows as stages end, inner ones first.

    Examples
    --------
    >>> with timing() as spans:
    ...     with stage("encode"):
    ...         pass
    >>> [span.stage for span in spans]
    ['encode']
    """
    spans: list[Span] = []
    token = _timing.set((threading.get_ident(), spans))
    try:
        yield spans
    finally:
        _timing.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Record the block as a stage; also a decorator of functions.

    Parameters
    ----------
    name : str
        The time of a nested stage counts for the inner one only.
    """
    active = _timing.get()
    if active is None:
        yield
        return
    (thread, spans), start = active, time.monotonic()
    try:
        yield
    finally:
        spans.append(Span(name, start, time.monotonic(), threading.get_ident() != thread))


def seconds_by_stage(spans: Iterable[Span]) -> dict[str, float]:
    """Return the time of each stage without its nested stages; `spans` belong to one thread.

    Examples
    --------
    >>> seconds_by_stage([Span("hash", 2.0, 3.0, False), Span("encode", 0.0, 5.0, False)])
    {'encode': 4.0, 'hash': 1.0}
    """
    seconds: dict[str, float] = {}
    for span, around in nested(spans):
        seconds[span.stage] = seconds.get(span.stage, 0.0) + span.stop - span.start
        if around:
            seconds[around[-1].stage] -= span.stop - span.start
    return seconds


def nested(spans: Iterable[Span]) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yield the spans of one thread in the order of time, each with those around it, the outermost first."""
    around: tuple[Span, ...] = ()
    for span in sorted(spans, key=lambda span: (span.start, -span.stop)):
        around = tuple(outer for outer in around if outer.stop > span.start)
        yield span, around
        around += (span,)
