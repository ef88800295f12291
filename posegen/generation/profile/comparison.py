"""A run beside the last profile of its config: one that is less than half as fast says so while it is still early.

Why it is slower is measured: what other processes take from the cores, what is swapped, what the disk takes for a byte, and
what a core takes for a sample.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from posegen.dataset.layout import Header
from posegen.generation.measures import ShardMeasures, disk_seconds_a_byte
from posegen.generation.profile.figures import Figures, kept_figures
from posegen.generation.profile.load import Load
from posegen.generation.progress import Reporter
from posegen.machine import available_cores
from posegen.quantities import human_bytes
from posegen.stopwatch import seconds_by_stage

__all__ = ["Comparison", "comparison"]

SLOW = 0.5
"""Of the rate that was profiled, below which a run speaks up."""

LEAST_SHARDS, LEAST_SECONDS = 3, 0.5
"""Before so much is made, chance decides the rate."""

NOTABLE_CORES = 0.3
NOTABLE_SWAPPING = 64 << 20
NOTABLE_TIMES = 1.5
NOTABLE_DISK_SHARE = 0.2


def comparison(path: Path, header: Header, workers: int, reporter: Reporter) -> Callable[[ShardMeasures], None]:
    """Give what is to be called with each shard's measures; it warns once, by `reporter`.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    workers : int
        That work at once.
    reporter : Reporter
    """
    figures = kept_figures(header)
    return _ignore if figures is None else Comparison(path, figures, workers, reporter).enter


def _ignore(measures: ShardMeasures) -> None:
    """Nothing to compare with."""


@dataclass
class Comparison:
    """A run that is compared with figures.

    Attributes
    ----------
    path : Path
        Of the dataset.
    figures : Figures
    workers : int
    reporter : Reporter
        Is told when it is slow.
    load : Load
        Since the run began.
    said : bool
        Whether it was told.
    last : dict of int to float
        When each worker ended its last shard.
    recent : deque
        The last shards, and the seconds since those before them.
    """

    path: Path
    figures: Figures
    workers: int
    reporter: Reporter
    load: Load = field(default_factory=Load)
    said: bool = False
    last: dict[int, float] = field(default_factory=dict)
    recent: deque[tuple[ShardMeasures, float]] = field(default_factory=deque)

    def enter(self, measures: ShardMeasures) -> None:
        """Take down a shard, with the time since its worker's last one; a worker's first is slower than all others."""
        before = self.last.get(measures.process)
        self.last[measures.process] = measures.stopped
        if before is None or self.said:
            return
        self.recent.append((measures, measures.stopped - before))
        while self._are_enough(1):
            self.recent.popleft()
        if not self._are_enough(0):
            return
        seconds = sum(taken for _, taken in self.recent)
        rate = self.workers * sum(shard.samples for shard, _ in self.recent) / seconds
        if rate < SLOW * self.figures.rate(self.workers):
            self.said = True
            self.reporter.say(self._warning(rate))

    def _are_enough(self, first: int) -> bool:
        """Tell whether the last shards, from the `first` of them on, are enough to judge by."""
        seconds = sum(taken for _, taken in islice(self.recent, first, None))
        return len(self.recent) - first >= max(LEAST_SHARDS, 2 * self.workers) and seconds >= LEAST_SECONDS

    def _warning(self, rate: float) -> str:
        expected = self.figures.rate(self.workers)
        causes = [*self._causes()] or ["no cause can be measured; `posegen profile` tells what to expect now"]
        slow = f"{rate:,.0f} samples a second, where the profile of {self.figures.date} found {expected:,.0f}"
        return f"slower than profiled: {slow}. Likely: {'; '.join(causes)}"

    def _causes(self) -> list[str]:
        causes = []
        cores, others = available_cores(), self.load.others()
        if others > self.figures.others + NOTABLE_CORES and others + self.workers > cores:
            causes.append(f"other processes use {others:.1f} of the {cores} cores")
        swapped = self.load.swapping()
        if swapped > NOTABLE_SWAPPING:
            causes.append(f"memory is short, {human_bytes(swapped)} were swapped since the start: try fewer --workers")
        return [*causes, *self._slower_disk(), *self._slower_cores()]

    def _slower_disk(self) -> list[str]:
        shards = [shard for shard, _ in self.recent]
        waited = sum(seconds_by_stage(span for span in shard.spans if not span.behind).get("sync", 0.0) for shard in shards)
        times = disk_seconds_a_byte(shards) / self.figures.disk_seconds if self.figures.disk_seconds else 0.0
        if times < NOTABLE_TIMES or waited < NOTABLE_DISK_SHARE * sum(shard.seconds for shard in shards):
            return []
        with suppress(OSError):
            if self.path.stat().st_dev != self.figures.device:
                return [f"this disk takes {times:.1f} times as long to write and sync as the one that was profiled"]
        return [f"the disk takes {times:.1f} times as long to write and sync as then"]

    def _slower_cores(self) -> list[str]:
        shards = [shard for shard, _ in self.recent]
        each = sum(shard.processor_seconds for shard in shards) / sum(shard.samples for shard in shards)
        times = each / self.figures.processor_seconds if self.figures.processor_seconds else 0.0
        return [f"a core takes {times:.1f} times as long for a sample as then"] if times > NOTABLE_TIMES else []
