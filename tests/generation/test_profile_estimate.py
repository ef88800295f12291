"""Estimates of a profile: compared with simulated runs whose every second is known."""

from __future__ import annotations

import heapq
import random
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.foundations.stopwatch import Span
from posegen.generation.profile.estimate import (
    Costs,
    Rate,
    Run,
    estimate,
    limiting_resource,
    measure_rates,
    recommended_shard,
    recommended_workers,
    stage_times,
    usual_shards,
)
from posegen.generation.profile.profile import DEFAULT_REPEATS, LEAST_SHARDS, schedule
from posegen.generation.shard import ShardMeasures

SHARD, PROGRAM, KERNELS, SPAWN, FIRST, GAP, FINISH = 20, 2.0, 0.7, 1.0, 3.0, 0.01, 0.1
TRIALS, COVERED = 200, 0.9


def shard(process: int, started: float, seconds: float, samples: int = SHARD, spans: tuple[Span, ...] = ()) -> ShardMeasures:
    return ShardMeasures(process, samples, started, started + seconds, 10**8, spans)


def simulate(workers: int, samples: int, cycle: float, spread: float, draw: random.Random) -> Run:
    """Return a run of a pool: the next free worker takes the next shard."""
    free = [(SPAWN, worker) for worker in range(workers)]
    heapq.heapify(free)
    shards, new = [], set(range(workers))
    for start in range(0, samples, SHARD):
        count = min(SHARD, samples - start)
        now, worker = heapq.heappop(free)
        seconds = (cycle - GAP) * draw.gauss(1.0, spread) * count / SHARD + (FIRST if worker in new else 0.0)
        new.discard(worker)
        shards.append(shard(worker, now, seconds, count))
        heapq.heappush(free, (now + seconds + GAP, worker))
    ended = max(each.stopped for each in shards) + FINISH
    return Run(workers, SHARD, -0.5, 0.0, ended, tuple(shards), 5000.0, 1000.0)


def costs_of(*rates: Rate, memory: float = 1e10) -> Costs:
    return Costs(PROGRAM, PROGRAM - KERNELS, rates, 1000.0, 5000.0, 20, memory, 10**8)


def rate_of(runs: list[Run]) -> Rate:
    (rate,) = measure_rates(runs)
    return rate


def known(workers: int, cycle: float, first: float, spawn: float, peak_bytes: float) -> Rate:
    return Rate(workers, SHARD, cycle, 0.02, first, spawn, 0.1, peak_bytes)


def command_seconds(workers: int, samples: int, cycle: float, spread: float, draw: random.Random) -> float:
    """Return the duration of a simulated command. With several workers, the program does not load the kernels."""
    return PROGRAM - (KERNELS if workers > 1 else 0.0) + simulate(workers, samples, cycle, spread, draw).ended


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("times", [5, 20, 97])
def test_a_large_run_takes_the_estimated_time(workers: int, times: int) -> None:
    draw = random.Random(7)
    small = rate_of([simulate(workers, 4 * SHARD * workers, 0.8, 0.1, draw) for _ in range(3)])
    samples = times * 4 * SHARD * workers - 13
    expected = estimate(costs_of(small), small, samples)
    seconds = command_seconds(workers, samples, 0.8, 0.1, draw)
    assert expected.low <= seconds <= expected.high
    assert expected.seconds == pytest.approx(seconds, rel=0.1)


@pytest.mark.parametrize("run_spread", [0.0, 0.03, 0.08])
def test_nine_of_ten_runs_lie_inside_the_interval(run_spread: float) -> None:
    """Runs differ by `run_spread`, and shards within a run by a tenth."""
    inside = 0
    for trial in range(TRIALS):
        draw = random.Random(trial)
        runs = [
            simulate(workers, LEAST_SHARDS * workers * SHARD, 0.5 * draw.gauss(1, run_spread), 0.1, draw)
            for workers in schedule(2, DEFAULT_REPEATS)
        ]
        rates = measure_rates(runs)
        expected = estimate(costs_of(*rates), rates[-1], 200 * SHARD)
        seconds = command_seconds(2, 200 * SHARD, 0.5 * draw.gauss(1, run_spread), 0.1, draw)
        inside += expected.low <= seconds <= expected.high
    assert inside >= COVERED * TRIALS


def test_the_estimate_is_unbiased() -> None:
    ratios = []
    for trial in range(50):
        draw = random.Random(trial)
        rate = rate_of([simulate(2, 12 * SHARD, 0.5, 0.05, draw) for _ in range(3)])
        ratios.append(command_seconds(2, 200 * SHARD, 0.5, 0.05, draw) / estimate(costs_of(rate), rate, 200 * SHARD).seconds)
    assert statistics.fmean(ratios) == pytest.approx(1.0, abs=0.01)


def test_starts_do_not_affect_the_long_run_rate() -> None:
    rate = rate_of([simulate(2, 8 * SHARD, 0.5, 0.0, random.Random(1)) for _ in range(3)])
    assert rate.cycle == pytest.approx(0.5, rel=0.01)
    assert rate.first == pytest.approx(0.5 + FIRST, rel=0.02)
    assert (rate.spawn, rate.finish) == (pytest.approx(SPAWN), pytest.approx(FINISH))
    assert rate.samples_per_second == pytest.approx(2 * SHARD / 0.5, rel=0.01)


def test_shards_made_beside_idle_workers_do_not_count() -> None:
    # The second worker leaves after three shards; the first one alone is twice as fast.
    shards = [shard(0, 0, 2), shard(1, 0, 2), shard(0, 2, 1), shard(1, 2, 1), shard(0, 3, 1), shard(1, 3, 1)]
    shards += [shard(0, 4, 0.5), shard(0, 4.5, 0.5)]
    assert rate_of([Run(2, SHARD, 0, 0, 5, tuple(shards), 0, 0)]).cycle == pytest.approx(1.0)


def test_a_pause_behind_the_first_shard_counts_once() -> None:
    shards = [shard(0, 0, 2), shard(0, 2.5, 1), shard(0, 3.6, 1), shard(0, 4.7, 1)]
    rate = rate_of([Run(1, SHARD, 0, 0, 6, tuple(shards), 0, 0)])
    assert rate.cycle == pytest.approx(1.1)
    assert rate.first == pytest.approx(2.4)


def test_differences_between_repeated_runs_widen_the_interval() -> None:
    draw = random.Random(3)
    quiet = rate_of([simulate(2, 8 * SHARD, 0.8, 0.01, draw) for _ in range(3)])
    noisy = rate_of([simulate(2, 8 * SHARD, cycle, 0.01, draw) for cycle in (0.7, 0.8, 0.95)])
    assert quiet.uncertainty < 0.03
    assert noisy.uncertainty > 0.2


def test_a_single_shard_is_made_without_workers() -> None:
    two = rate_of([simulate(2, 8 * SHARD, 0.8, 0.0, random.Random(2))])
    assert estimate(costs_of(two), two, SHARD).seconds == pytest.approx(PROGRAM + FIRST + 0.8 + FINISH, abs=0.1)


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 16))
def test_more_samples_never_take_less_time(one: int, other: int, workers: int) -> None:
    rate = known(workers, 0.5, 2.0, 1.0, 1e8)
    few, many = (estimate(costs_of(rate), rate, samples) for samples in sorted((one, other)))
    assert few.seconds <= many.seconds * (1 + 1e-9)
    for expected in (few, many):
        assert 0 < expected.low < expected.seconds < expected.high
        assert expected.seconds / expected.low == pytest.approx(expected.high / expected.seconds)


def test_useless_workers_and_those_without_memory_are_not_recommended() -> None:
    one = known(1, 0.50, 1.0, 0.0, 1e9)
    two = replace(one, workers=2, cycle=0.51)
    four = replace(one, workers=4, cycle=1.01)  # the rate of two workers
    assert recommended_workers(costs_of(one, two, four), 10**6) == two
    assert recommended_workers(costs_of(one, two, memory=2e9), 10**6) == one
    assert recommended_workers(costs_of(one, two, memory=5e8), 10**6) == one


def test_smaller_shards_are_recommended_where_memory_is_short() -> None:
    rate = replace(known(2, 1.04, 2.0, 1.0, 140e6), shard=60)
    assert recommended_shard(costs_of(rate), rate) == 60
    assert recommended_shard(costs_of(rate, memory=300e6), rate) == 40
    assert recommended_shard(costs_of(rate, memory=1e6), rate) == 20


def test_stages_add_up_to_the_shard_and_first_shards_are_left_out() -> None:
    spans = (
        Span("motion", 10.0, 10.5, False),
        Span("hash", 10.7, 10.8, False),
        Span("encode", 10.5, 11.0, False),
        Span("write", 10.9, 11.1, True),
        Span("sync", 11.0, 11.25, False),
    )
    run = Run(1, SHARD, 0, 0, 12, (shard(0, 0.0, 9.0), shard(0, 10.0, 1.5, SHARD, spans)), 0, 0)
    usual = usual_shards([run])
    assert [each.seconds for each in usual] == [1.5]
    times = {stage.name: (round(stage.seconds, 6), round(stage.background, 6)) for stage in stage_times(usual)}
    assert {name: times[name] for name in ("motion", "encode", "hash", "write", "sync", "rest")} == {
        "motion": (0.5, 0), "encode": (0.4, 0), "hash": (0.1, 0), "write": (0, 0.2), "sync": (0.25, 0), "rest": (0.25, 0),
    }  # fmt: skip
    assert sum(seconds for seconds, _ in times.values()) == pytest.approx(1.5)


def test_the_limit_is_what_a_worker_waits_for() -> None:
    def measured(waits: float, *syncs: float) -> list[ShardMeasures]:
        background = tuple(Span("sync", float(i), i + seconds, True) for i, seconds in enumerate(syncs))
        return [shard(0, 0.0, 1.0, SHARD, (Span("sync", 0.0, waits, False), *background))]

    assert limiting_resource(measured(0.1, 0.1), fits_memory=True) == "processor"
    assert limiting_resource(measured(0.6, 0.9, 0.02, 0.02, 0.02), fits_memory=True) == "disk write"
    assert limiting_resource(measured(0.6, 0.2, 0.2, 0.2, 0.3), fits_memory=True) == "sync"
    assert limiting_resource(measured(0.1, 0.1), fits_memory=False) == "memory"
