"""Planning: which shards a run makes, and when it refuses to run at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.config.load import load_config
from posegen.config.schema import CONTENT_VERSION, Config
from posegen.dataset.layout import ArrayField, Header
from posegen.errors import PosegenError, UsageError
from posegen.generation.plan import (
    MARGIN,
    Plan,
    Span,
    adopt,
    bytes_per_sample,
    check_space,
    make_plan,
    new_header,
    target_samples,
)
from posegen.library.load import load_library

HERE = Path("data/smoke-0")


def header(config: Config | None = None, *, shard: int = 10, samples: int = 0) -> Header:
    config = config or load_config("smoke")
    field = ArrayField("action", ("variant", "part"), (5, 4), (1, 4), "uint16", 65535, {})
    return replace(new_header(config, load_library(), (field,)), shard=shard, chunk=5, samples=samples)


def full(*shards: int) -> dict[int, int]:
    return dict.fromkeys(shards, 10)


def planned(there: Header, complete: dict[int, int], samples: int) -> Plan:
    return make_plan(HERE, there, complete, target_samples(HERE, there, complete, samples))


def spans(plan: Plan) -> list[Span]:
    return [plan.span(shard) for shard in plan.shards]


def check(complete: dict[int, int], target: int, bytes_each: float | None, free: int) -> None:
    check_space(HERE, header(), complete, target, bytes_each, free)


def test_a_new_dataset_is_made_whole() -> None:
    plan = planned(header(), {}, 25)
    assert spans(plan) == [Span(0, 0, 10), Span(1, 10, 20), Span(2, 20, 25)]
    assert (plan.target, plan.samples_to_make) == (25, 25)


def test_what_is_missing_is_made() -> None:
    plan = planned(header(samples=10), full(0, 2), 30)
    assert spans(plan) == [Span(1, 10, 20)]
    assert (plan.target, plan.samples_to_make) == (30, 10)


def test_an_extension_makes_a_partial_last_shard_again() -> None:
    plan = planned(header(samples=15), full(0) | {1: 5}, 28)
    assert spans(plan) == [Span(1, 10, 20), Span(2, 20, 28)]
    assert plan.samples_to_make == 18


def test_a_finished_dataset_needs_nothing() -> None:
    plan = planned(header(samples=20), full(0, 1), 20)
    assert spans(plan) == []
    assert plan.samples_to_make == 0


def test_fewer_samples_than_there_are_change_nothing() -> None:
    plan = planned(header(samples=30), full(0, 1, 2), 12)
    assert spans(plan) == []
    assert plan.target == 30


def test_a_published_sample_that_is_gone_is_made_again_though_fewer_are_asked_for() -> None:
    assert spans(planned(header(samples=30), full(0, 2), 5)) == [Span(1, 10, 20)]


@given(st.integers(1, 200), st.dictionaries(st.integers(0, 30), st.integers(1, 10)))
def test_after_its_spans_are_made_a_plan_needs_nothing_more(samples: int, there: dict[int, int]) -> None:
    plan = planned(header(), there, samples)
    assert all(span.stop > span.start == span.shard * 10 for span in spans(plan))
    assert plan.samples_to_make == sum(span.stop - span.start for span in spans(plan))
    complete = there | {span.shard: span.stop - span.start for span in spans(plan)}
    again = planned(header(), complete, samples)
    assert spans(again) == []
    assert again.target >= plan.target >= samples


def test_the_dataset_that_is_there_keeps_its_shards_and_fields() -> None:
    there, wanted = header(shard=20, samples=40), header(shard=10)
    assert adopt(there, wanted, HERE) is there


def test_another_identity_is_refused_with_the_difference() -> None:
    wanted = header(load_config("smoke", ["story.layering=0.5", "store.shard=40"], seed=3))
    with pytest.raises(UsageError) as refusal:
        adopt(header(), wanted, HERE)
    message = str(refusal.value)
    assert "data/smoke-0" in message
    assert "seed: 0 -> 3" in message
    assert "story.layering: 0.35 -> 0.5" in message
    assert "store" not in message
    assert "--out" in message


def test_other_library_files_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="files of actions, themes or words"):
        adopt(replace(header(), identity="0" * 32), header(), HERE)


def test_another_content_version_is_refused() -> None:
    there = replace(header(), content_version=CONTENT_VERSION + 1)
    with pytest.raises(PosegenError, match=f"version {CONTENT_VERSION + 1}.*not extended"):
        adopt(there, header(), HERE)


def test_space_is_estimated_from_the_arrays_before_anything_is_there() -> None:
    assert bytes_per_sample(header()) == 5 * 4 * 2
    check({}, 1_000_000, None, 40_000_000 + MARGIN)
    with pytest.raises(PosegenError, match=r"1,000,000 more samples need about .* free .*--out"):
        check({}, 1_000_000, None, 10_000_000 + MARGIN)


def test_space_is_estimated_from_what_was_measured() -> None:
    complete = full(0) | {1: 5, 4: 10}
    check(complete, 30, 1e6, 15_000_000 + MARGIN)
    with pytest.raises(PosegenError, match="15 more samples need about 15 MB"):
        check(complete, 30, 1e6, 15_000_000 + MARGIN - 1)


def test_a_finished_dataset_needs_no_space() -> None:
    check(full(0), 10, None, 0)
