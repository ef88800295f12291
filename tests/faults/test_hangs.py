"""A shard that takes too long or too much memory does not stop other shards."""

from __future__ import annotations

from pathlib import Path

import pytest

import posegen
from posegen.config.schema import Config
from tests.faults.forks import Forks
from tests.faults.truth import assert_same, files_of

pytestmark = pytest.mark.slow


def test_a_worker_that_hangs_is_replaced(undisturbed: dict[int, Path], forks: Forks, scratch: Path) -> None:
    path = scratch / "dataset"
    # Long enough for a worker to load everything in its first shard on a busy machine.
    options = ("--samples", "10", "--workers", "2", "--shard-timeout", "10")
    ended = forks.generate(path, *options, POSEGEN_FAULT=f"hang:sample=6:once={scratch / 'hung'}")
    assert ended.code == 0, ended.printed
    # The process ends without its exit handlers, which remove joblib's empty folders; a helper process reports that it does so.
    assert "posegen:" not in ended.printed
    assert "Traceback" not in ended.printed
    assert (scratch / "hung").exists()
    assert_same(path, undisturbed[10])


def test_too_little_memory_is_reported(config: Config, undisturbed: dict[int, Path], forks: Forks, scratch: Path) -> None:
    path = scratch / "dataset"
    ended = forks.generate(path, "--samples", "10", POSEGEN_FAULT="memory:sample=6")
    assert ended.code == 1
    assert "1 of 3 shards could not be made" in ended.printed
    assert "shard 1 (samples 4 to 7 of seed 0): there was too little memory; use fewer --workers" in ended.printed
    assert posegen.generate(config, samples=10, workers=1, out=path).shards_made == 1
    assert_same(path, undisturbed[10])


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_an_invalid_timeout_is_refused(seconds: str, forks: Forks, scratch: Path) -> None:
    ended = forks.generate(scratch / "dataset", "--samples", "10", "--shard-timeout", seconds)
    assert (ended.code, ended.printed.count("\n")) == (2, 1)
    assert "shard_timeout must be more than 0 seconds" in ended.printed
    assert files_of(scratch) == []
