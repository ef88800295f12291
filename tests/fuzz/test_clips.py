"""A small part of the fuzzing of files of clips: damaged ones are read or refused, without a crash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.keep.clip_fuzz import SHARES, clip_kinds, fuzz_clips, good_files
from benchmarks.keep.fuzz import Tally, read

INPUTS, SEED = 60, 13


@pytest.mark.parametrize("number", range(len(SHARES)))
def test_no_file_of_clips_causes_a_crash(number: int, tmp_path: Path) -> None:
    kind, changed = clip_kinds(tmp_path)[number]
    tally = fuzz_clips(kind, changed, INPUTS, SEED)
    assert tally.crashes == []
    assert tally.refused > INPUTS / 10


def test_valid_files_of_clips_are_accepted(tmp_path: Path) -> None:
    files = good_files(tmp_path)
    for (kind, _), good in zip(clip_kinds(tmp_path), files.values(), strict=True):
        tally = Tally()
        read(kind, good[0], tally)
        assert tally.taken == 1, (kind.name, tally)


def test_mutations_of_arrays_are_reproducible(tmp_path: Path) -> None:
    _, changed = clip_kinds(tmp_path)[3]
    assert [changed(random.Random(3)) for _ in range(5)] == [changed(random.Random(3)) for _ in range(5)]
