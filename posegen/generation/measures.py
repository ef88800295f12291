"""What is measured of each shard while a run makes it: when, by which process, in which stages, with how much memory.

It is always measured, because it costs nothing that could be measured, and because a run that is slower than it should be
must be able to say why.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from posegen.stopwatch import Span, timing

__all__ = ["ShardMeasures", "disk_seconds_a_byte", "measured"]

Made = TypeVar("Made")

_BYTES_A_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class ShardMeasures:
    """What making one shard took.

    Attributes
    ----------
    process : int
        The process that made it.
    samples, bytes : int
        In the shard; bytes on disk, without the receipt.
    started, stopped : float
        Seconds of the system's monotonic clock, which all processes share.
    processor_seconds : float
        That all threads of the process spent on a core.
    peak_bytes : int
        The most memory that the process ever held.
    spans : tuple of Span
        The stages.
    """

    process: int
    samples: int
    bytes: int
    started: float
    stopped: float
    processor_seconds: float
    peak_bytes: int
    spans: tuple[Span, ...]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.stopped - self.started


def measured(make: Callable[[], Made], sizes: Callable[[Made], tuple[int, int]]) -> tuple[Made, ShardMeasures]:
    """Make a shard and measure it.

    Parameters
    ----------
    make : callable
    sizes : callable
        Takes what `make` returned; gives samples and bytes.
    """
    started, processor = time.monotonic(), time.process_time()
    with timing() as spans:
        made = make()
    stopped = time.monotonic()
    samples, stored = sizes(made)
    return made, ShardMeasures(
        process=os.getpid(),
        samples=samples,
        bytes=stored,
        started=started,
        stopped=stopped,
        processor_seconds=time.process_time() - processor,
        peak_bytes=_peak_bytes(),
        spans=tuple(spans),
    )


def _peak_bytes() -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    # Second best: on Linux a process begins with the peak of the one that started it.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_A_UNIT


def disk_seconds_a_byte(shards: Sequence[ShardMeasures]) -> float:
    """Seconds of writing and syncing, which another thread does behind the work, for a byte of the shards' files."""
    spent = sum(span.stop - span.start for shard in shards for span in shard.spans if span.behind)
    stored = sum(shard.bytes for shard in shards)
    return spent / stored if stored else 0.0
