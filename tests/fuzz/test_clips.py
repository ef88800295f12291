"""A small part of the fuzzing of files of clips: damaged ones are read or refused, without a crash."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from benchmarks.keep.clip_fuzz import SHARES, clip_kinds, fuzz_clips, good_files
from benchmarks.keep.fuzz import Tally, read
from benchmarks.keep.inputs import Kind

Kinds: TypeAlias = list[tuple[Kind, Callable[[random.Random], bytes]]]

INPUTS, SEED = 60, 13


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    return clip_kinds(tmp_path_factory.mktemp("clips"))


@pytest.mark.parametrize("number", range(len(SHARES)))
def test_no_file_of_clips_causes_a_crash(number: int, all_kinds: Kinds) -> None:
    kind, changed = all_kinds[number]
    tally = fuzz_clips(kind, changed, INPUTS, SEED)
    assert tally.crashes == []
    assert tally.refused > tally.inputs / 10


def test_valid_files_of_clips_are_accepted(all_kinds: Kinds, tmp_path: Path) -> None:
    for (kind, _), good in zip(all_kinds, good_files(tmp_path).values(), strict=True):
        tally = Tally()
        read(kind, good[0], tally)
        assert tally.taken == 1, (kind.name, tally)


def test_mutations_of_arrays_are_reproducible(all_kinds: Kinds) -> None:
    _, changed = all_kinds[3]
    assert [changed(random.Random(3)) for _ in range(5)] == [changed(random.Random(3)) for _ in range(5)]
