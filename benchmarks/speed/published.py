"""Rate of one worker beside that of the published generator; see `benchmarks/published.py`."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import module, printed_by
from benchmarks.published import VARIABLE
from benchmarks.speed.targets import TIMES_PUBLISHED


def measure(folder: Path) -> Iterator[Figure]:
    name, target = "rate of one worker / published generator", f"at least {TIMES_PUBLISHED:.0f}"
    if VARIABLE not in os.environ:
        yield Figure(name, f"not measured: {VARIABLE} names no checkout", target)
        return
    found = printed_by(module("benchmarks.published", folder))
    ours, theirs = (statistics.median(found[key]) for key in ("posegen", "published"))
    times = statistics.median(a / b for a, b in zip(found["posegen"], found["published"], strict=True))
    value = f"{times:.0f}; {ours:,.0f} and {theirs:.1f} sequences/s"
    yield Figure(name, value, target, times >= TIMES_PUBLISHED, found)
