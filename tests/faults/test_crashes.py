"""A process that dies at any step leaves a dataset that the next run completes, and wrong data is never read."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.lock import locked
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from posegen.generation.describe import find_status
from posegen.generation.repair import repair
from tests.faults.forks import Forks
from tests.faults.injection import needs_compiler
from tests.faults.steps import die_at
from tests.faults.truth import assert_same, content_of, copy, files_of, shards_to_make

pytestmark = [pytest.mark.slow, needs_compiler]

FILES = range(1, 5)
"""Files of a shard: joints, action, contact and rows."""

METADATA = range(1, 6)
"""Metadata files that creation writes: of the group, of three fields, and a copy of the header."""

FIELDS = range(1, 4)


def commit(shard: int) -> list[str]:
    """List all steps of the commit of a shard, including those of each file."""
    return [
        f"encoded@{shard}",
        f"receipt_removed@{shard}",
        *(f"file_opened@{shard}#{file}" for file in FILES),
        *(f"file_written@{shard}#{file}" for file in FILES),
        *(f"file_placed@{shard}#{file}" for file in FILES),
        f"files_durable@{shard}",
        f"receipt_written@{shard}",
        f"receipt_placed@{shard}",
    ]


def description(samples: int, files: range) -> list[str]:
    """List all steps of writing metadata."""
    return [f"description_{done}@{samples}#{file}" for done in ("written", "placed") for file in files]


CREATION = [*description(0, METADATA), "descriptions_written@0", "header_written@0"]
PUBLICATION = [*description(10, FIELDS), "descriptions_written@10", "header_written@10"]
# The last shard of 10 samples has 2. Before it is made again, the header is reduced to 8.
EXTENSION = [
    *("header_written@0", *description(0, FIELDS), "file_opened@2"),
    *commit(2),
    *("receipt_placed@3", "encoded@4", "descriptions_written@18", "header_written@18"),
]


def crash_and_resume(path: AnyPath, samples: int, step: str, forks: Forks, config: Config, whole: Path) -> None:
    died = forks.generate(path, "--samples", str(samples), **die_at(path, step))
    assert died.code == -signal.SIGKILL, died.printed
    try:
        seen = content_of(path)
    except PosegenError:
        seen = []
    assert seen == content_of(whole)[: len(seen)]
    missing = shards_to_make(path, samples)
    assert posegen.generate(config, samples=samples, workers=1, out=path).shards_made == missing
    assert_same(path, whole)


@pytest.mark.parametrize("step", [*CREATION, *commit(1), *PUBLICATION])
def test_a_run_can_die_at_any_step(
    step: str, config: Config, undisturbed: dict[int, Path], forks: Forks, place: AnyPath
) -> None:
    crash_and_resume(place, 10, step, forks, config, undisturbed[10])


@pytest.mark.parametrize("step", EXTENSION)
def test_an_extension_can_die_at_any_step(
    step: str, config: Config, undisturbed: dict[int, Path], forks: Forks, place: AnyPath
) -> None:
    path = copy(undisturbed[10], place)
    crash_and_resume(path, 18, step, forks, config, undisturbed[18])


def test_what_a_run_that_died_was_to_make_is_known(
    forks: Forks, undisturbed: dict[int, Path], scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scratch / "dataset"
    died = forks.generate(path, "--samples", "18", **die_at(path, "receipt_placed@2"))
    assert died.code == -signal.SIGKILL, died.printed
    assert main(["status", str(path), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["made"], seen["shards"], seen["target"], seen["state"]) == (3, 5, 18, "stopped")
    assert main(["status", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "3 of 5 shards are made.\n" in shown
    assert "Stopped before its end. Run the same `posegen generate` command again" in shown
    with locked(path):
        assert find_status(path).state == "running"
    assert main(["finish", str(path)]) == 1
    assert "2 of 5 shards are missing: 3 to 4.\nRun the same `posegen generate` command again" in capsys.readouterr().out
    # What is requested now counts, also if nothing is to be made for it.
    fewer = shutil.copytree(path, scratch / "fewer")
    assert forks.generate(fewer, "--samples", "9").code == 0
    assert (find_status(fewer).target, find_status(fewer).state) == (find_status(fewer).samples, "complete")
    assert main(["finish", str(fewer)]) == 0
    assert forks.generate(path, "--samples", "18").code == 0
    assert find_status(path).state == "complete"
    assert main(["finish", str(path)]) == 0
    assert_same(path, undisturbed[18])


def test_unfinished_shards_are_removed_if_the_next_run_makes_fewer_samples(
    undisturbed: dict[int, Path], forks: Forks, config: Config, scratch: Path
) -> None:
    path = copy(undisturbed[10], scratch / "dataset")
    died = forks.generate(path, "--samples", "18", **die_at(path, "files_durable@4"))
    assert died.code == -signal.SIGKILL, died.printed
    assert any("c.4." in name for name in files_of(path))
    result = posegen.generate(config, samples=1, workers=1, out=path)
    assert not any("c.4." in name or "00004" in name for name in files_of(path))
    assert verify(path) == []
    # Complete shards are kept, including those after the first ten samples.
    assert result.samples == 16
    assert content_of(path) == content_of(undisturbed[18])[:16]


def test_a_damaged_shard_before_complete_ones_is_made_again(
    config: Config, undisturbed: dict[int, Path], forks: Forks, scratch: Path
) -> None:
    path = scratch / "dataset"
    posegen.generate(config, samples=1, workers=1, out=path)
    # It makes shard 0 again, so that no sample is visible until it ends, and dies in the last shard.
    assert forks.generate(path, "--samples", "18", **die_at(path, "file_written@4#1")).code == -signal.SIGKILL
    hurt = path / "motion.zarr" / "contact" / "c.0.0.0.0.0"
    hurt.write_bytes(hurt.read_bytes()[:-1] + b"?")
    done = repair(path, verify(path), workers=1)
    assert (done.made, done.dropped, done.left) == ((0,), (), ())
    assert verify(path) == []
    assert content_of(path) == content_of(undisturbed[18])[:16]
