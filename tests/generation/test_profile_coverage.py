"""The interval of a profile is narrow and true: of made-up machines whose noise is known, 9 of 10 runs lie inside it."""

from __future__ import annotations

import heapq
import math
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import pytest

from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.model import Costs, estimate
from posegen.generation.profile.noise import Noise, Stretch, of_stretches, uncertainty
from posegen.generation.profile.profile import DEFAULT_REPEATS
from posegen.generation.profile.rates import Run, levels_of
from posegen.generation.profile.running import LEAST_SHARDS, schedule

TRIALS = 120
COVERED, WIDEST = 0.9, 0.15
"""What is wanted: of all runs, and of the interval's way either way."""
SHARD, CYCLE, CONTENT, TIMES = 200, 0.5, 0.05, 20
"""Samples in a shard, its seconds, by how much shards differ by what is in them, and how many times as large the target is."""
PROGRAM, SPAWN, FIRST, FINISH, BETWEEN = 3.0, 1.3, 1.7, 0.15, 0.3
"""Seconds of a run's start and end, of a worker's start, that its first shard takes longer, and between two runs."""
STEP = 0.5
"""Seconds between two states of a machine."""

Draw = random.Random
Course = Iterator[float]
"""By how much longer everything takes than usual, step by step."""


def wandering(draw: Draw, seconds: float, deviation: float) -> Course:
    """Noise that is forgotten within some seconds (Ornstein and Uhlenbeck)."""
    kept = math.exp(-STEP / seconds)
    state = draw.gauss(0, deviation)
    while True:
        yield state
        state = kept * state + draw.gauss(0, deviation * math.sqrt(1 - kept * kept))


def steady(draw: Draw) -> Course:
    while True:
        yield 0.0


def flickering(draw: Draw) -> Course:
    """Noise of seconds, of minutes, and of what lies between and beyond, all alike."""
    parts = [wandering(draw, seconds, 0.04) for seconds in (1, 10, 100, 1000)]
    return map(sum, zip(*parts, strict=True))


def visited(draw: Draw) -> Course:
    """Others come every minute or so and take a third of the machine for some seconds."""
    while True:
        yield from [0.0] * round(draw.expovariate(1 / 60) / STEP)
        yield from [0.5] * round(draw.expovariate(1 / 5) / STEP)


@dataclass
class Machine:
    """A machine at a moment: its course, and by how much runs differ from each other besides."""

    course: list[float]
    draw: Draw
    of_runs: float
    now: float = 0.0

    def seconds(self, begin: float, work: float) -> float:
        """How long a piece of work takes that begins then."""
        first = int(begin / STEP)
        return work * (1 + statistics.fmean(self.course[first : first + max(1, round(work / STEP))]))

    def run(self, workers: int, shards: int) -> Run:
        """Make shards as a pool does: whoever is free takes the next one."""
        called, made, known = self.now, [], set()
        times = 1 + self.draw.gauss(0, self.of_runs)
        free = [(called + (self.seconds(called, SPAWN) if workers > 1 else 0.0), worker) for worker in range(workers)]
        heapq.heapify(free)
        for _ in range(shards):
            begin, worker = heapq.heappop(free)
            work = CYCLE * self.draw.gauss(1, CONTENT) + (0.0 if worker in known else FIRST)
            end = begin + times * self.seconds(begin, work)
            known.add(worker)
            made.append(ShardMeasures(worker, SHARD, 1, begin, end, work, 1, ()))
            heapq.heappush(free, (end, worker))
        ended = max(shard.stopped for shard in made) + FINISH
        self.now = ended + BETWEEN
        return Run(workers, SHARD, called, called, ended, tuple(made), 1.0, 1.0, 0.0)

    def program(self) -> float:
        """How long the command of one sample takes."""
        took = self.seconds(self.now, PROGRAM)
        self.now += took
        return took


def told_and_took(machine: Machine) -> tuple[float, float, float, float]:
    """Profile a machine as `posegen profile` does, then let it make 20 times as much: told, from, to, and what it took."""
    runs = [machine.run(workers, max(5, LEAST_SHARDS * workers)) for workers in schedule(2, DEFAULT_REPEATS).runs]
    programs = [machine.program() for _ in range(3)]
    levels = levels_of(runs)
    costs = Costs(
        statistics.fmean(programs), statistics.fmean(programs), uncertainty(programs), levels, None, 1.0, 1.0, 20, 1e12, 1.0
    )
    samples = TIMES * 5 * SHARD
    told = estimate(costs, levels[-1], samples)
    started = machine.now
    machine.program()
    return told.seconds, told.low, told.high, machine.run(2, samples // SHARD).ended - started


MACHINES: dict[str, tuple[Callable[[Draw], Course], float, float]] = {
    "steady": (steady, 0.0, 0.12),
    "noise of seconds": (lambda draw: wandering(draw, 4, 0.07), 0.0, WIDEST),
    "drift of minutes": (lambda draw: wandering(draw, 90, 0.05), 0.0, WIDEST),
    "noise of all kinds": (flickering, 0.0, WIDEST),
    "runs that differ": (steady, 0.05, WIDEST),
    "others now and then": (visited, 0.0, 0.2),
}
"""Each with the noise of its runs, and how wide its interval may be in the median."""


@pytest.mark.parametrize("name", MACHINES)
def test_nine_of_ten_runs_lie_inside(name: str) -> None:
    course, of_runs, widest = MACHINES[name]
    inside, widths = 0, []
    for trial in range(TRIALS):
        draw = random.Random(trial)
        told, low, high, took = told_and_took(Machine([*islice(course(draw), 600)], draw, of_runs))
        inside += low <= took <= high
        widths.append(high / told - 1)
    print(f"{name}: {inside / TRIALS:.3f} inside, {statistics.median(widths):.3f} either way")
    assert inside >= COVERED * TRIALS
    assert statistics.median(widths) <= widest


def test_what_is_told_of_a_steady_machine_is_right_in_the_mean() -> None:
    ratios = []
    for trial in range(TRIALS // 2):
        draw = random.Random(trial)
        told, _, _, took = told_and_took(Machine([0.0] * 600, draw, 0.0))
        ratios.append(took / told)
    assert statistics.fmean(ratios) == pytest.approx(1.0, abs=0.01)


def test_noise_is_found_whatever_the_workers() -> None:
    draw = random.Random(5)
    one = [Stretch((speed, speed), 1) for speed in (draw.gauss(1, 0.05) for _ in range(200))]
    two = [Stretch((speed,) * 8, 2) for speed in (draw.gauss(3, 0.15) for _ in range(200))]
    both = of_stretches([one, two])
    assert both.freedom == 398
    # Of 2 and of 12 seconds: a deviation of 5 % over each is one of 5 % times the fourth root of those in a second.
    expected = 0.05 * math.sqrt((math.sqrt(2) + math.sqrt(12)) / 2)
    assert both.spread == pytest.approx(expected, rel=0.1)


def test_a_single_run_is_unsure_by_its_shards() -> None:
    alone = of_stretches([[Stretch((0.9, 1.1, 1.0, 1.0), 1)]])
    assert alone.freedom == 1
    assert alone.spread == pytest.approx(0.08, abs=0.005)
    assert of_stretches([[Stretch((1.0, 1.0), 1), Stretch((1.0, 1.0), 1)]]) == Noise(0.0, 1)


def test_longer_runs_are_surer_but_never_quite() -> None:
    noise = Noise(0.1, 8)
    doubts = [noise.doubt(16, seconds) for seconds in (1, 16, 256, 1e9)]
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[1] == pytest.approx(1.86 * 0.1 * math.sqrt(0.5))
    assert doubts[-1] > 0.09
