"""A small part of `make judge SECTION=keep`: damaged files of every kind are accepted or refused, without a crash."""

from __future__ import annotations

import random

import pytest

from benchmarks.keep import fuzz as fuzzing
from benchmarks.keep.fuzz import Tally, fuzz, read, written
from benchmarks.keep.inputs import Kind, kinds
from benchmarks.keep.mutations import changed_bytes
from posegen.foundations.errors import UsageError

SEED = 11
INPUTS = 5
"""Number of files per hundredth of a kind's share."""


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> list[Kind]:
    return kinds(tmp_path_factory.mktemp("fuzz"))


def test_shares_sum_to_a_hundred(all_kinds: list[Kind]) -> None:
    assert sum(kind.share for kind in all_kinds) == 100


@pytest.mark.parametrize("number", range(8))
def test_no_file_causes_a_crash(number: int, all_kinds: list[Kind]) -> None:
    kind = all_kinds[number]
    inputs = INPUTS * kind.share
    tally = fuzz(kind, inputs, SEED)
    assert tally.crashes == []
    assert tally.inputs >= inputs
    # Mutations that are always or never accepted would test little.
    assert tally.refused > inputs / 2
    # Few changes to a sealed document leave it valid.
    assert tally.taken or inputs < 100 or "zarr" in kind.name


def test_valid_files_are_accepted(all_kinds: list[Kind]) -> None:
    for kind in all_kinds:
        tally = Tally()
        for document in kind.documents:
            read(kind, written(kind, document, random.Random(0)), tally)
        # Metadata must match the header byte for byte.
        assert tally.taken == (0 if "zarr" in kind.name else len(kind.documents)), (kind.name, tally)
        assert tally.crashes == []


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (ZeroDivisionError("x"), "ZeroDivisionError"),
        (MemoryError(), "MemoryError"),
        (UsageError(""), "a message of 0 characters"),
        (UsageError("TypeError: x"), "shows a fault of the program"),
    ],
)
def test_crashes_are_recorded(outcome: Exception, message: str) -> None:
    def broken(_data: bytes) -> None:
        raise outcome

    tally = fuzz(Kind("anything", 1, [{"a": 1}], False, broken), 10, SEED)
    assert len(tally.crashes) == tally.inputs >= 10
    assert all(message in crash["what"] for crash in tally.crashes)


def test_hanging_reads_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def hanging(_data: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzzing, "SECONDS", 0.05)
    tally = fuzz(Kind("anything", 1, [{"a": 1}], False, hanging), 2, SEED)
    assert len(tally.crashes) == tally.inputs
    assert tally.slowest >= 0.05


def test_mutations_are_reproducible() -> None:
    texts = [b"samples: 5", b"{a: [1, 2]}"]
    changed = [[changed_bytes(texts, draw) for _ in range(50)] for draw in map(random.Random, (1, 1, 2))]
    assert changed[0] == changed[1] != changed[2]
