"""Plans: the shards that a run makes, and the runs that are refused."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.config.load import load_config
from posegen.config.schema import CONTENT_VERSION, Config
from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.receipts import complete_prefix
from posegen.foundations.errors import PosegenError, UsageError
from posegen.generation.header import bytes_per_sample, check_same_dataset, new_header
from posegen.generation.plan import MARGIN, Plan, check_space, make_plan
from posegen.generation.shard import ShardJob
from posegen.library.load import load_library

HERE, CONFIG = Path("data/smoke-0"), load_config("smoke")


def header(config: Config | None = None, *, shard: int = 10, samples: int = 0) -> Header:
    config = config or load_config("smoke")
    field = ArrayField("action", ("variant", "part"), (5, 4), (1, 4), "uint16", 65535, {})
    return replace(new_header(config, load_library()), fields=(field,), shard=shard, chunk=5, samples=samples)


def full(*shards: int) -> dict[int, int]:
    return dict.fromkeys(shards, 10)


def planned(existing: Header, complete: dict[int, int], samples: int) -> Plan:
    target = max(samples, existing.samples, complete_prefix(HERE, existing, complete))
    return make_plan(existing.with_samples(target), complete)


def spans(plan: Plan, most: int = 1000) -> list[tuple[int, int, int]]:
    """Number, start and stop of each shard."""
    missing = itertools.islice(itertools.chain.from_iterable(plan.missing), most)
    jobs = [ShardJob(HERE, plan.header, CONFIG, shard, "") for shard in missing]
    return [(job.shard, job.start, job.stop) for job in jobs]


def check(complete: dict[int, int], target: int, bytes_each: float | None, free: int) -> None:
    check_space(HERE, header(), complete, target, bytes_each, free)


@pytest.mark.parametrize(
    ("published", "complete", "samples", "made", "target"),
    [
        (0, {}, 25, [(0, 0, 10), (1, 10, 20), (2, 20, 25)], 25),
        (10, {0: 10, 2: 10}, 30, [(1, 10, 20)], 30),
        (15, {0: 10, 1: 5}, 28, [(1, 10, 20), (2, 20, 28)], 28),  # a partial last shard is made again
        (20, {0: 10, 1: 10}, 20, [], 20),
        (30, {0: 10, 1: 10, 2: 10}, 12, [], 30),  # none is removed
        (30, {0: 10, 2: 10}, 5, [(1, 10, 20)], 30),
    ],
)
def test_missing_shards_are_made(
    published: int, complete: dict[int, int], samples: int, made: list[tuple[int, int, int]], target: int
) -> None:
    plan = planned(header(samples=published), complete, samples)
    assert spans(plan) == made
    assert (plan.header.samples, plan.samples_to_make) == (target, sum(stop - start for _, start, stop in made))


def test_memory_follows_from_the_complete_shards() -> None:
    """A forged header states any number of samples."""
    existing = header(samples=2**52)
    tracemalloc.start()
    plan = planned(existing, full(0, 2), 5)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 100_000
    assert (plan.header.samples, plan.samples_to_make, plan.first) == (2**52, 2**52 - 20, 10)
    assert plan.shards == -(-(2**52) // 10) - 2
    assert spans(plan, 3) == [(1, 10, 20), (3, 30, 40), (4, 40, 50)]
    with pytest.raises(PosegenError, match=r"smoke-0/dataset\.json: states 4,503,599,627,370,496 samples: .* more samples"):
        check_space(HERE, existing, full(0, 2), 2**52, None, 10**12)


@pytest.mark.slow
@given(st.integers(1, 200), st.dictionaries(st.integers(0, 30), st.integers(1, 10)))
def test_a_completed_plan_needs_nothing_more(samples: int, existing: dict[int, int]) -> None:
    plan = planned(header(), existing, samples)
    assert all(stop > start == shard * 10 for shard, start, stop in spans(plan))
    assert plan.shards == len(spans(plan))
    assert plan.first == min((start for _, start, _ in spans(plan)), default=plan.header.samples)
    assert plan.samples_to_make == sum(stop - start for _, start, stop in spans(plan))
    complete = existing | {shard: stop - start for shard, start, stop in spans(plan)}
    again = planned(header(), complete, samples)
    assert spans(again) == []
    assert again.header.samples >= plan.header.samples >= samples


def test_shard_size_and_fields_may_differ() -> None:
    check_same_dataset(header(shard=20, samples=40), header(shard=10), HERE)


def test_other_library_files_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="files of actions, themes or words"):
        check_same_dataset(replace(header(), identity="0" * 32), header(), HERE)


def test_another_content_version_is_refused() -> None:
    existing = replace(header(), content_version=CONTENT_VERSION + 1)
    with pytest.raises(PosegenError, match=f"version {CONTENT_VERSION + 1}.*not extended"):
        check_same_dataset(existing, header(), HERE)


def test_space_is_estimated_from_the_arrays_of_a_new_dataset() -> None:
    assert bytes_per_sample(header()) == 5 * 4 * 2
    check({}, 1_000_000, None, 40_000_000 + MARGIN)
    with pytest.raises(PosegenError, match=r"1,000,000 more samples need about .* must stay free, but only 77.1 MB .*--out"):
        check({}, 1_000_000, None, 10_000_000 + MARGIN)


def test_space_is_estimated_from_measured_samples() -> None:
    complete = full(0) | {1: 5, 4: 10}
    check(full(0), 10, None, 0)
    check(complete, 30, 1e6, 15_000_000 + MARGIN)
    with pytest.raises(PosegenError, match=r"15 more samples need about 15 MB, and 67.1 MB must stay free, but only 82.1 MB"):
        check(complete, 30, 1e6, 15_000_000 + MARGIN - 1)
