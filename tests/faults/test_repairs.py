"""A repair or a run that dies while it makes a shard again leaves a dataset that is refused until it is whole again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import posegen
from posegen.config.schema import Config
from posegen.dataset.bucket import AnyPath
from posegen.dataset.files import remove_durably
from posegen.dataset.verify import verify
from posegen.errors import PosegenError
from posegen.generation.repair import repair
from tests.faults.forks import Forks
from tests.faults.truth import assert_same, content_of, copy

pytestmark = pytest.mark.slow

STEPS = ["header_written@4", "encoded@1", "receipt_placed@1", "descriptions_written@18"]


def damaged(source: Path, target: AnyPath) -> AnyPath:
    """Return a copy whose shard 1 of 5 is incomplete."""
    path = copy(source, target)
    remove_durably(path / "sequences/part-00001.parquet")
    return path


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("command", ["repair", "generate"])
def test_a_dataset_is_refused_until_its_damaged_shard_is_made_again(
    command: str, step: str, config: Config, undisturbed: dict[int, Path], forks: Forks, place: AnyPath
) -> None:
    path = damaged(undisturbed[18], place)
    if command == "repair":
        died = forks.run("verify", str(path), "--repair", "--quiet", POSEGEN_CRASH_AT=step)
    else:
        died = forks.generate(path, "--samples", "18", POSEGEN_CRASH_AT=step)
    assert died.code == -signal.SIGKILL, died.printed
    with pytest.raises(PosegenError, match=r"4 of 18 samples.*posegen verify .* --repair"):
        posegen.open(path)
    if command == "repair":
        posegen.generate(config, samples=1, workers=1, out=path)
    else:
        assert repair(path, verify(path), workers=1).left == ()
    assert_same(path, undisturbed[18])


def test_a_killed_extension_opens_with_what_is_published(undisturbed: dict[int, Path], forks: Forks, place: AnyPath) -> None:
    path = copy(undisturbed[10], place)
    died = forks.generate(path, "--samples", "18", POSEGEN_CRASH_AT="receipt_placed@3")
    assert died.code == -signal.SIGKILL, died.printed
    assert content_of(path) == content_of(undisturbed[10])[:8]
    assert posegen.open(path).hidden_shards == 2
