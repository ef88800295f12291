"""Runs that store the same part again and again at the same time in a bucket, which has no locks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from posegen.dataset.header import load_header
from posegen.dataset.overlays import commit_part, intact_receipt
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.storage.storage import ConflictError
from posegen.dataset.verify import verify
from posegen.dataset.write import commit_shard
from tests.dataset.tiny import make_arrays, make_table

T = TypeVar("T")

WRITERS, ROUNDS = 6, 8


def at_the_same_time(store: Callable[[int], T]) -> list[T]:
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(store, [*range(WRITERS)] * ROUNDS))


@pytest.mark.slow
def test_writers_of_a_part_all_succeed(bucket: BucketPath) -> None:
    """Also if one has removed the receipt, to store the part, when another looks for what it is in conflict with."""
    folder, numbers, files = bucket / "embeddings/tiny", {"embedded": 1, "known": 0}, {"vectors/3": [b"one"]}
    stored = at_the_same_time(
        lambda writer: commit_part(folder, "vectors", 3, 1, "of a text", numbers, files, seconds=writer / 8)
    )
    assert len({receipt.seconds for receipt in stored}) > 1
    assert intact_receipt(folder, "vectors", 3) in stored


@pytest.mark.slow
def test_writers_of_different_parts_in_one_place_are_in_conflict(bucket: BucketPath) -> None:
    def store(writer: int) -> bool:
        numbers, files = {"embedded": 1, "known": 0}, {"vectors/3": [b"%d" % writer]}
        try:
            commit_part(bucket / "embeddings/tiny", "vectors", 3, 1, f"of text {writer}", numbers, files)
        except ConflictError:
            return False
        return True

    assert {*at_the_same_time(store)} == {False, True}


@pytest.mark.slow
def test_writers_of_a_shard_all_succeed(dataset: BucketPath) -> None:
    header, arrays, table = load_header(dataset), make_arrays(6, 12), make_table(6, 12)

    def store(writer: int) -> dict[str, str]:
        if writer == 0:
            (dataset / "receipts/00001.json").remove()
        return commit_shard(dataset, header, 1, arrays, table, f"run-{writer}", seconds=writer / 8).content

    stored = at_the_same_time(store)
    assert all(content == stored[0] for content in stored)
    commit_shard(dataset, header, 1, arrays, table, "last")
    assert verify(dataset) == []
