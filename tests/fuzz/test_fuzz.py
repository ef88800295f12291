"""A small part of what the judge does: broken files of every kind are taken or refused, and none of them breaks posegen."""

from __future__ import annotations

import random

import pytest

from benchmarks.keep import tally as tallies
from benchmarks.keep.fuzz import fuzz
from benchmarks.keep.inputs import kinds
from benchmarks.keep.mutations import changed_bytes
from benchmarks.keep.tally import Kind, Tally, read, written
from posegen.errors import UsageError

SEED = 11
INPUTS = 5
"""For each hundredth of a kind's share."""


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> list[Kind]:
    return kinds(tmp_path_factory.mktemp("fuzz"))


def test_shares_are_of_a_hundred(all_kinds: list[Kind]) -> None:
    assert sum(kind.share for kind in all_kinds) == 100


@pytest.mark.parametrize("number", range(8))
def test_nothing_breaks(number: int, all_kinds: list[Kind]) -> None:
    kind = all_kinds[number]
    inputs = INPUTS * kind.share
    tally = fuzz(kind, inputs, SEED)
    assert tally.crashes == []
    assert tally.inputs >= inputs
    # Mutations that break everything, or nothing, would try little.
    assert tally.refused > inputs / 2
    # Few of the changes to a sealed document leave it a good one.
    assert tally.taken or inputs < 100 or "zarr" in kind.name


def test_good_files_are_taken(all_kinds: list[Kind]) -> None:
    for kind in all_kinds:
        tally = Tally()
        for document in kind.documents:
            read(kind, written(kind, document, random.Random(0)), tally)
        # A description must be what the header describes, byte by byte.
        assert tally.taken == (0 if "zarr" in kind.name else len(kind.documents)), (kind.name, tally)
        assert tally.crashes == []


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (ZeroDivisionError("x"), "ZeroDivisionError"),
        (MemoryError(), "MemoryError"),
        (UsageError(""), "a message of 0 characters"),
        (UsageError("TypeError: x"), "shows a fault of the program"),
    ],
)
def test_what_breaks_is_kept(outcome: Exception, told: str) -> None:
    def broken(_data: bytes) -> None:
        raise outcome

    tally = fuzz(Kind("anything", 1, [{"a": 1}], False, broken), 10, SEED)
    assert len(tally.crashes) == tally.inputs >= 10
    assert all(told in crash["what"] for crash in tally.crashes)


def test_what_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def hanging(_data: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr(tallies, "SECONDS", 0.05)
    tally = fuzz(Kind("anything", 1, [{"a": 1}], False, hanging), 2, SEED)
    assert len(tally.crashes) == tally.inputs
    assert tally.slowest >= 0.05


def test_bytes_change_in_the_same_way_each_time() -> None:
    texts = [b"samples: 5", b"{a: [1, 2]}"]
    changed = [[changed_bytes(texts, draw) for _ in range(50)] for draw in map(random.Random, (1, 1, 2))]
    assert changed[0] == changed[1] != changed[2]
