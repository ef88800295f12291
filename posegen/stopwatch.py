"""Where the time goes: stages of work, taken down where somebody asks for it.

``with stage("encode"):`` or ``@stage("encode")`` says what is done in a place. Nothing is kept unless a caller further up is
:func:`timing`, and either way it costs a microsecond or two: stages are of the size of a shard, never of a sample. A thread
takes part if it was started with a copy of its owner's context.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Span", "seconds_by_stage", "stage", "timing"]


class Span(NamedTuple):
    """A stretch of work.

    Attributes
    ----------
    stage : what was done
    start, stop : seconds of the system's monotonic clock, which all processes share
    behind : whether another thread did it, behind the work of the one that is timed
    """

    stage: str
    start: float
    stop: float
    behind: bool


@dataclass(frozen=True)
class _Timing:
    thread: int = field(default_factory=threading.get_ident)
    spans: list[Span] = field(default_factory=list)


_timing: ContextVar[_Timing | None] = ContextVar("timing", default=None)


@contextmanager
def timing() -> Iterator[list[Span]]:
    """Take down the stages of what is done in here.

    Yields
    ------
    list of Span
        Grows as stages end, those inside others first.

    Examples
    --------
    >>> with timing() as spans:
    ...     with stage("encode"):
    ...         pass
    >>> [span.stage for span in spans]
    ['encode']
    """
    begun = _Timing()
    token = _timing.set(begun)
    try:
        yield begun.spans
    finally:
        _timing.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say that what is done in here belongs to the stage `name`; also a decorator of functions.

    Parameters
    ----------
    name : str
        Time in a stage within another stage counts for the inner one.
    """
    wanted = _timing.get()
    if wanted is None:
        yield
        return
    start = time.monotonic()
    try:
        yield
    finally:
        wanted.spans.append(Span(name, start, time.monotonic(), threading.get_ident() != wanted.thread))


def seconds_by_stage(spans: Iterable[Span]) -> dict[str, float]:
    """Add up the time of each stage without that of the stages inside it; `spans` are of one thread.

    Examples
    --------
    >>> seconds_by_stage([Span("hash", 2.0, 3.0, False), Span("encode", 0.0, 5.0, False)])
    {'encode': 4.0, 'hash': 1.0}
    """
    seconds: dict[str, float] = {}
    around: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.stop)):
        while around and around[-1].stop <= span.start:
            around.pop()
        seconds[span.stage] = seconds.get(span.stage, 0.0) + span.stop - span.start
        if around:
            seconds[around[-1].stage] -= span.stop - span.start
        around.append(span)
    return seconds
