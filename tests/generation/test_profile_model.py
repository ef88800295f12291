"""From small runs to large ones: what follows from runs whose every second is known."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.model import Costs, Level, estimate, recommended_shard, recommended_workers
from posegen.generation.profile.noise import Noise, student
from posegen.generation.profile.rates import Run, levels_of
from posegen.generation.profile.stages import binding, stage_times, usual_shards
from posegen.stopwatch import Span

SHARD, PROGRAM, KERNELS, SPAWN, FIRST, GAP, FINISH = 20, 2.0, 0.7, 1.0, 3.0, 0.01, 0.1


def made(process: int, started: float, seconds: float, samples: int = SHARD, spans: tuple[Span, ...] = ()) -> ShardMeasures:
    return ShardMeasures(process, samples, 1000 * samples, started, started + seconds, 0.9 * seconds, 10**8, spans)


def simulated(workers: int, samples: int, cycle: float, spread: float, draw: random.Random) -> Run:
    """A run as a pool does it: whoever is free takes the next shard."""
    free = [(SPAWN, worker) for worker in range(workers)]
    heapq.heapify(free)
    shards, new = [], set(range(workers))
    for start in range(0, samples, SHARD):
        count = min(SHARD, samples - start)
        now, worker = heapq.heappop(free)
        seconds = (cycle - GAP) * draw.gauss(1.0, spread) * count / SHARD + (FIRST if worker in new else 0.0)
        new.discard(worker)
        shards.append(made(worker, now, seconds, count))
        heapq.heappush(free, (now + seconds + GAP, worker))
    ended = max(shard.stopped for shard in shards) + FINISH
    return Run(workers, SHARD, -0.5, 0.0, ended, tuple(shards), 5000.0, 1000.0, 0.0)


def costs_of(*levels: Level, other: Level | None = None, memory: float = 1e10) -> Costs:
    return Costs(PROGRAM, PROGRAM - KERNELS, 0.1, levels, other, 1000.0, 5000.0, 20, memory, 10**8)


def level(runs: list[Run]) -> Level:
    (found,) = levels_of(runs)
    return found


def known(workers: int, shard: int, cycle: float, first: float, spawn: float, peak_bytes: float, spread: float = 0.01) -> Level:
    return Level(workers, shard, cycle, 10.0, Noise(spread, 8), first, spawn, 0.0, 0.1, peak_bytes)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("times", [5, 20, 97])
def test_a_run_many_times_as_large_takes_what_was_predicted(workers: int, times: int) -> None:
    draw = random.Random(7)
    small = [simulated(workers, 4 * SHARD * workers, 0.8, 0.1, draw) for _ in range(3)]
    samples = times * 4 * SHARD * workers - 13
    found = estimate(costs_of(level(small)), level(small), samples)
    # Workers load the kernels, which the program does itself where it makes samples.
    wall = PROGRAM - (KERNELS if workers > 1 else 0.0) + simulated(workers, samples, 0.8, 0.1, draw).ended
    assert found.low <= wall <= found.high
    assert found.seconds == pytest.approx(wall, rel=0.1)
    assert found.high <= 1.25 * found.seconds


def test_starts_do_not_spoil_the_slope() -> None:
    draw = random.Random(1)
    runs = [simulated(2, 8 * SHARD, 0.5, 0.0, draw) for _ in range(3)]
    found = level(runs)
    assert found.cycle == pytest.approx(0.5, rel=0.01)
    assert found.first == pytest.approx(0.5 + FIRST, rel=0.02)
    assert (found.spawn, found.finish) == (pytest.approx(SPAWN), pytest.approx(FINISH))
    assert found.samples_per_second == pytest.approx(2 * SHARD / 0.5, rel=0.01)


def test_shards_made_beside_idle_workers_do_not_count() -> None:
    # The second worker leaves after two shards; what the first makes alone is twice as quick.
    shards = [made(0, 0, 2), made(1, 0, 2), made(0, 2, 1), made(1, 2, 1), made(0, 3, 0.5), made(0, 3.5, 0.5)]
    run = Run(2, SHARD, 0, 0, 4, tuple(shards), 0, 0, 0)
    assert level([run]).cycle == pytest.approx(1.0)


def test_a_pause_behind_the_first_shard_is_paid_once() -> None:
    shards = [made(0, 0, 2), made(0, 2.5, 1), made(0, 3.6, 1), made(0, 4.7, 1)]
    found = level([Run(1, SHARD, 0, 0, 6, tuple(shards), 0, 0, 0)])
    assert found.cycle == pytest.approx(1.1)
    assert found.first == pytest.approx(2.4)


def test_what_repeats_differ_by_widens_the_interval() -> None:
    draw = random.Random(3)
    quiet = level([simulated(2, 8 * SHARD, 0.8, 0.01, draw) for _ in range(3)])
    noisy = level([simulated(2, 8 * SHARD, cycle, 0.01, draw) for cycle in (0.7, 0.8, 0.95)])
    assert quiet.doubt(60) < 0.02
    assert noisy.doubt(60) > 0.2


def test_a_single_shard_is_made_without_workers() -> None:
    two = level([simulated(2, 8 * SHARD, 0.8, 0.0, random.Random(2))])
    found = estimate(costs_of(two), two, SHARD)
    assert found.seconds == pytest.approx(PROGRAM + FIRST + 0.8 + FINISH, abs=0.1)


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 16))
def test_more_samples_never_take_less_and_lie_within_their_interval(one: int, other: int, workers: int) -> None:
    measured = known(workers, SHARD, 0.5, 2.0, 1.0, 1e8)
    few, many = (estimate(costs_of(measured), measured, samples) for samples in sorted((one, other)))
    assert few.seconds <= many.seconds * (1 + 1e-9)
    for found in (few, many):
        assert 0 < found.low < found.seconds < found.high
        assert found.seconds / found.low == pytest.approx(found.high / found.seconds)


def test_workers_that_bring_nothing_or_have_no_memory_are_not_recommended() -> None:
    one = known(1, SHARD, 0.50, 1.0, 0.0, 1e9)
    two = replace(one, workers=2, cycle=0.51)
    four = replace(one, workers=4, cycle=1.01)  # as many samples a second as two
    assert recommended_workers(costs_of(one, two, four), 10**6) == two
    assert recommended_workers(costs_of(one, two, memory=2e9), 10**6) == one
    assert recommended_workers(costs_of(one, two, memory=5e8), 10**6) == one


def test_shards_are_recommended_larger_where_each_costs_much_and_smaller_where_memory_is_short() -> None:
    here = known(2, 40, 1.04, 2.0, 1.0, 140e6)
    costly = costs_of(here, other=replace(here, shard=20, cycle=1.02, peak_bytes=120e6))  # 1 s a shard, 1 ms a sample
    assert recommended_shard(costly, here, 10**6) > 40
    unsure = replace(here, noise=Noise(500.0, 8))
    assert recommended_shard(replace(costly, levels=(unsure,)), unsure, 10**6) == 40
    free = costs_of(here, other=replace(here, shard=20, cycle=0.52, peak_bytes=120e6))
    assert recommended_shard(free, here, 10**6) == 40
    assert recommended_shard(replace(free, memory=350e6), here, 10**6) == 20


def test_stages_add_up_to_the_shard_and_first_shards_are_left_out() -> None:
    spans = (
        Span("motion", 10.0, 10.5, False),
        Span("hash", 10.7, 10.8, False),
        Span("encode", 10.5, 11.0, False),
        Span("write", 10.9, 11.1, True),
        Span("sync", 11.0, 11.25, False),
    )
    run = Run(1, SHARD, 0, 0, 12, (made(0, 0.0, 9.0), made(0, 10.0, 1.5, SHARD, spans)), 0, 0, 0)
    usual = usual_shards([run])
    assert [shard.seconds for shard in usual] == [1.5]
    found = {stage.name: (round(stage.seconds, 6), round(stage.behind, 6)) for stage in stage_times(usual)}
    assert {name: found[name] for name in ("motion", "encode", "hash", "write", "sync", "rest")} == {
        "motion": (0.5, 0), "encode": (0.4, 0), "hash": (0.1, 0), "write": (0, 0.2), "sync": (0.25, 0), "rest": (0.25, 0),
    }  # fmt: skip
    assert sum(seconds for seconds, _ in found.values()) == pytest.approx(1.5)


def test_what_binds_is_what_a_worker_waits_for() -> None:
    def shard(waits: float, *syncs: float) -> list[ShardMeasures]:
        behind = tuple(Span("sync", float(i), i + seconds, True) for i, seconds in enumerate(syncs))
        return [made(0, 0.0, 1.0, SHARD, (Span("sync", 0.0, waits, False), *behind))]

    assert binding(shard(0.1, 0.1), fits_memory=True) == "processor"
    assert binding(shard(0.6, 0.9, 0.02, 0.02, 0.02), fits_memory=True) == "disk write"
    assert binding(shard(0.6, 0.2, 0.2, 0.2, 0.3), fits_memory=True) == "sync"
    assert binding(shard(0.1, 0.1), fits_memory=False) == "memory"


def test_quantiles_are_students() -> None:
    found = [student(freedom) for freedom in range(1, 200)]
    assert found == sorted(found, reverse=True)
    assert found[14] == pytest.approx(1.753, abs=0.01)
    assert math.isclose(found[-1], 1.653, abs_tol=0.003)
