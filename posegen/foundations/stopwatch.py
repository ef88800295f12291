"""Measure the time of stages of work.

``with stage("motion"):`` or ``@stage("motion")`` names the work of a block. Times are recorded only inside :func:`timing`; the
cost is one or two microseconds per stage either way, so stages belong around shards rather than samples.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_seconds: ContextVar[defaultdict[str, float] | None] = ContextVar("seconds", default=None)
"""What :func:`timing` has recorded so far."""


@contextmanager
def timing() -> Iterator[defaultdict[str, float]]:
    """Record the stages in the block.

    Yields
    ------
    dict of str to float
        Seconds of each stage without its nested stages; grows as stages end.

    Examples
    --------
    >>> with timing() as seconds:
    ...     with stage("motion"):
    ...         pass
    >>> list(seconds)
    ['motion']
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    token = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Record the block as a stage; also a decorator of functions.

    Parameters
    ----------
    name : str
        The time of a nested stage counts for the inner one only.
    """
    seconds = _seconds.get()
    if seconds is None:
        yield
        return
    start, before = time.monotonic(), sum(seconds.values())
    try:
        yield
    finally:
        seconds[name] += time.monotonic() - start - (sum(seconds.values()) - before)
