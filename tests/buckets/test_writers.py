"""Runs that store the same part again and again at the same time in a bucket, which has no locks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from posegen.dataset.bucket import BucketPath, ConflictError
from posegen.dataset.header import load_header
from posegen.dataset.overlays import commit_part, intact_receipt
from posegen.dataset.verify import verify
from posegen.dataset.write import commit_shard
from tests.dataset.tiny import SCHEMA, make_arrays, make_rows

T = TypeVar("T")

WRITERS, ROUNDS = 6, 8


def at_the_same_time(store: Callable[[int], T]) -> list[T]:
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(store, [*range(WRITERS)] * ROUNDS))


@pytest.mark.slow
def test_writers_of_a_part_all_succeed(bucket: BucketPath) -> None:
    """Also if one has removed the receipt, to store the part, when another looks for what it is in conflict with."""
    numbers, files = {"embedded": 1, "known": 0}, {"vectors/3": [b"one"]}
    stored = at_the_same_time(
        lambda writer: commit_part(bucket, "vectors", 3, 1, "of a text", numbers, files, seconds=writer / 8)
    )
    assert len({receipt.seconds for receipt in stored}) > 1
    assert intact_receipt(bucket, "vectors", 3) in stored


@pytest.mark.slow
def test_writers_of_different_parts_in_one_place_are_in_conflict(bucket: BucketPath) -> None:
    def store(writer: int) -> bool:
        numbers, files = {"embedded": 1, "known": 0}, {"vectors/3": [b"%d" % writer]}
        try:
            commit_part(bucket, "vectors", 3, 1, f"of text {writer}", numbers, files)
        except ConflictError:
            return False
        return True

    assert {*at_the_same_time(store)} == {False, True}


@pytest.mark.slow
def test_writers_of_a_shard_all_succeed(dataset: BucketPath) -> None:
    header, arrays, rows = load_header(dataset), make_arrays(6, 12), make_rows(6, 12)

    def store(writer: int) -> dict[str, str]:
        if writer == 0:
            (dataset / "receipts/00001.json").remove()
        return commit_shard(dataset, header, 1, arrays, rows, SCHEMA, f"run-{writer}", seconds=writer / 8).content

    stored = at_the_same_time(store)
    assert all(content == stored[0] for content in stored)
    commit_shard(dataset, header, 1, arrays, rows, SCHEMA, "last")
    assert verify(dataset) == []
