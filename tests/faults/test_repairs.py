"""A repair or a run that dies while it makes a shard again leaves a dataset that is refused until it is whole again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import posegen
from posegen.config.schema import Config
from posegen.dataset.files import remove_durably
from posegen.dataset.layout import MANIFEST_FILE
from posegen.dataset.parts import record_repair
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from posegen.generation.repair import repair
from tests.faults.forks import COMMAND, Forks
from tests.faults.injection import needs_compiler
from tests.faults.steps import die_at
from tests.faults.truth import assert_same, content_of, copy

pytestmark = [pytest.mark.slow, needs_compiler]

STEPS = ["header_written@0", "file_opened@1", "receipt_placed@1", "descriptions_written@8"]


def damaged(source: Path, target: AnyPath) -> AnyPath:
    """Return a copy whose shard 1 of 5 is incomplete."""
    path = copy(source, target)
    remove_durably(path / "sequences/part-00001.parquet")
    return path


def kill(command: str, path: AnyPath, step: str, forks: Forks) -> None:
    """Let a repair or a run of all samples die at a step."""
    options = (
        ("verify", str(path), "--repair", "--quiet") if command == "repair" else (*COMMAND, "--out", str(path), "--samples=18")
    )
    died = forks.run(*options, **die_at(path, step))
    assert died.code == -signal.SIGKILL, died.printed


def complete(command: str, path: AnyPath, config: Config) -> None:
    """Complete what the one command began by the other one."""
    if command == "repair":
        posegen.generate(config, samples=1, workers=1, out=path)
    else:
        assert repair(path, verify(path), workers=1).left == ()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("command", ["repair", "generate"])
def test_a_dataset_is_refused_until_its_damaged_shard_is_made_again(
    command: str, step: str, config: Config, undisturbed: dict[int, Path], forks: Forks, scratch: Path
) -> None:
    path = damaged(undisturbed[18], scratch / "dataset")
    kill(command, path, step, forks)
    with pytest.raises(PosegenError, match=r"4 of 18 samples.*posegen verify .* --repair"):
        posegen.open(path)
    complete(command, path, config)
    assert_same(path, undisturbed[18])


@pytest.mark.parametrize("step", ["file_opened@1", "file_placed@1", "receipt_placed@1"])
@pytest.mark.parametrize("command", ["repair", "generate"])
def test_a_dataset_in_a_bucket_keeps_its_header_while_a_damaged_shard_is_made_again(
    command: str, step: str, config: Config, undisturbed: dict[int, Path], forks: Forks, bucket: BucketPath
) -> None:
    path = damaged(undisturbed[18], bucket / "dataset")
    header = (bucket / "dataset/dataset.json").read()
    kill(command, path, step, forks)
    assert (bucket / "dataset/dataset.json").read() == header
    if step != "receipt_placed@1":
        with pytest.raises(PosegenError, match=r"shard 1: .*the receipt is missing.*Run the same `posegen generate` command"):
            posegen.open(path)
    complete(command, path, config)
    assert_same(path, undisturbed[18])


def test_a_repair_that_died_once_receipts_were_removed_is_completed_as_the_error_states(
    config: Config, undisturbed: dict[int, Path], place: AnyPath
) -> None:
    path = copy(undisturbed[18], place)
    record_repair(path, 18, "a-run")
    for name in ("receipts/00001.json", MANIFEST_FILE):
        remove_durably(path / name)
    with pytest.raises(PosegenError, match=r"shard 1: .*the receipt is missing.*Run the same `posegen generate` command again"):
        posegen.open(path)
    posegen.generate(config, samples=1, workers=1, out=path)
    assert_same(path, undisturbed[18])


def test_a_killed_extension_opens_with_what_is_published(undisturbed: dict[int, Path], forks: Forks, place: AnyPath) -> None:
    path = copy(undisturbed[10], place)
    died = forks.generate(path, "--samples", "18", **die_at(path, "receipt_placed@3"))
    assert died.code == -signal.SIGKILL, died.printed
    assert content_of(path) == content_of(undisturbed[10])[:8]
    assert posegen.open(path).hidden_shards == 2


@pytest.mark.parametrize("lost", ["sequences/part-00000.parquet", "receipts/00000.json"])
def test_an_extension_that_died_while_it_made_a_damaged_shard_is_reported(
    lost: str, undisturbed: dict[int, Path], forks: Forks, place: AnyPath
) -> None:
    """In a bucket, no shard is visible then, so that none is missed, and the dataset is refused until it is repaired."""
    path = copy(undisturbed[10], place)
    remove_durably(path / lost)
    died = forks.generate(path, "--samples", "18", **die_at(path, "file_opened@0"))
    assert died.code == -signal.SIGKILL, died.printed
    problems = verify(path)
    with pytest.raises(PosegenError, match=r"a repair has not finished: 0 of 10 samples are visible"):
        posegen.open(path)
    assert any("a repair has not finished: 0 of 10 samples are visible" in str(problem) for problem in problems), problems
    assert repair(path, problems, workers=1).left == ()
    assert content_of(path) == content_of(undisturbed[10])
