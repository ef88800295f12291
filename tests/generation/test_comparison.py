"""A run beside a profile: when it speaks up, and what it names as the cause."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.comparison import Comparison
from posegen.generation.profile.figures import Figures
from posegen.generation.profile.load import Load
from posegen.generation.progress import Silence
from posegen.machine import available_cores
from posegen.stopwatch import Span


@dataclass
class Heard(Silence):
    said: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)


def quiet() -> Load:
    """A load under which others have done next to nothing for a long time."""
    return Load(time.monotonic() - 1000)


def compared(
    path: Path, seconds: float, *, processor: float = 0.1, waits: float = 0.0, disk: float = 1e-6, load: Load | None = None
) -> list[str]:
    """What two workers are told who make shards of 20 samples in so many seconds; the profile found 1 second."""
    heard = Heard()
    figures = Figures({1: 20.0, 2: 40.0}, 0.05, 1e-6, 0.0, path.stat().st_dev, "2026-01-02")
    run = Comparison(path, figures, 2, heard, load or quiet())
    for number in range(8):
        for process in (1, 2):
            start = number * seconds
            spans = (Span("sync", start, start + waits, False), Span("write", start, start + 20_000 * disk, True))
            spent = 20 * processor / 2
            run.enter(ShardMeasures(process, 20, 20_000, start, start + seconds, spent, 0, spans))
    return heard.said


@pytest.mark.parametrize(("seconds", "times"), [(0.5, 0), (1.9, 0), (2.1, 1), (9.0, 1)])
def test_it_speaks_up_once_and_only_below_half_of_the_rate(seconds: float, times: int, tmp_path: Path) -> None:
    said = compared(tmp_path, seconds)
    assert len(said) == times
    rate = 40 / seconds
    assert all(f"{rate:,.0f} samples a second, where the profile of 2026-01-02 found 40." in text for text in said)


def test_it_speaks_up_early(tmp_path: Path) -> None:
    heard = Heard()
    run = Comparison(tmp_path, Figures({1: 1000.0}, 0.001, 0.0, 0.0, 0, ""), 1, heard)
    for number in range(4):
        assert not heard.said
        run.enter(ShardMeasures(1, 20, 0, 2.0 * number, 2.0 * number + 2, 1.0, 0, ()))
    assert len(heard.said) == 1


def test_a_new_worker_is_no_slow_one(tmp_path: Path) -> None:
    heard = Heard()
    run = Comparison(tmp_path, Figures({1: 1000.0}, 0.001, 0.0, 0.0, 0, ""), 1, heard)
    for process in range(20):
        run.enter(ShardMeasures(process, 20, 0, 9.0 * process, 9.0 * process + 9, 1.0, 0, ()))
    assert not heard.said


def test_slow_cores_are_named(tmp_path: Path) -> None:
    (said,) = compared(tmp_path, 4.0, processor=0.4)
    assert said.endswith("Likely: a core takes 4.0 times as long for a sample as then")


def test_a_slow_disk_is_named_where_it_is_waited_for(tmp_path: Path) -> None:
    (said,) = compared(tmp_path, 4.0, waits=3.0, disk=5e-6)
    assert said.endswith("Likely: the disk takes 5.0 times as long to write and sync as then")
    (said,) = compared(tmp_path, 4.0, waits=0.1, disk=5e-6)
    assert "the disk" not in said


def test_others_on_the_cores_are_named(tmp_path: Path) -> None:
    now, cores = Load(), available_cores()
    busy = Load(now.since - 10, now.busy - 10 * (cores + 1), now.own, now.swapped)
    (said,) = compared(tmp_path, 4.0, load=busy)
    assert f"other processes use {cores + 1}.0 of the {cores} cores" in said


def test_swapping_is_named(tmp_path: Path) -> None:
    now = Load()
    (said,) = compared(tmp_path, 4.0, load=Load(now.since - 1, now.busy, now.own, now.swapped - 10**9))
    assert "memory is short, 1 GB were swapped since the start" in said


def test_where_nothing_shows_it_says_so(tmp_path: Path) -> None:
    (said,) = compared(tmp_path, 4.0)
    assert said.endswith("no cause can be measured; `posegen profile` tells what to expect now")


def test_own_work_is_not_that_of_others() -> None:
    load = Load()
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    assert Load().own - load.own >= 0.25
    assert Load().busy - load.busy >= 0.2
