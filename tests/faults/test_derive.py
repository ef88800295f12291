"""Deriving that dies at any step, or whose files are damaged, gives the same result when it is run again."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zarr

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.documents import seal
from posegen.dataset.files import read_file, remove_durably, write_durably
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from posegen.generation.repair import repair
from tests.faults.forks import Forks
from tests.faults.injection import needs_compiler
from tests.faults.steps import die_at
from tests.faults.truth import assert_same, content_of, copy, files_of

pytestmark = pytest.mark.slow

LAYER = "velocity"
MUCH = 1 << 30
STEPS = ["description_placed@0#2", "descriptions_written@0", "file_placed@1#1", "receipt_placed@1"]
"""Steps of adding a layer and of the commit of one of its shards; test_crashes.py tests each step of a commit."""


@pytest.fixture(scope="session")
def derived(undisturbed: dict[int, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of 10 samples with velocities. Read-only."""
    scratch = copy(undisturbed[10], tmp_path_factory.mktemp("derived") / "10")
    posegen.derive(scratch, [LAYER], workers=1)
    return scratch


@needs_compiler
@pytest.mark.parametrize("step", STEPS)
def test_deriving_can_die_at_any_step(
    step: str, place: AnyPath, forks: Forks, undisturbed: dict[int, Path], derived: Path
) -> None:
    path = copy(undisturbed[10], place)
    died = forks.run("derive", str(path), "--add", LAYER, "--workers", "1", **die_at(path, step))
    assert died.code == -signal.SIGKILL, died.printed
    seen = posegen.open(path)
    assert len(seen) == 10
    np.testing.assert_array_equal(seen.arrays("joints"), posegen.open(derived).arrays("joints"))
    if LAYER in seen.header.layers and LAYER not in seen.fields:
        with pytest.raises(PosegenError, match="posegen derive"):
            seen.arrays(LAYER)
    assert not posegen.derive(path, [LAYER], workers=1).nothing_to_do
    assert_same(path, derived)
    assert posegen.derive(path, [LAYER], workers=1).nothing_to_do


@pytest.fixture
def path(place: AnyPath, derived: Path) -> AnyPath:
    return copy(derived, place)


def flip(file: AnyPath) -> None:
    data = bytearray(read_file(file, MUCH))
    data[len(data) // 2] ^= 1
    write_durably(file, bytes(data))


@pytest.mark.parametrize("name", ["motion.zarr/velocity/c.1.0.0.0.0.0", "receipts/velocity/00001.json"])
@pytest.mark.parametrize("harm", [flip, remove_durably])
def test_damage_is_reported_and_only_the_damaged_shard_is_derived_again(
    name: str, harm: Callable[[AnyPath], object], path: AnyPath, derived: Path
) -> None:
    # A receipt that is made again states another duration.
    before = {file: read_file(path / file, MUCH) for file in files_of(path) if "receipts" in file}
    harm(path / name)
    problems = verify(path)
    assert [(problem.shard, problem.file, problem.layer) for problem in problems] == [(1, name, LAYER)]
    with pytest.raises(PosegenError, match=r"shard 1.*(posegen derive|--repair)"):
        posegen.open(path).arrays(LAYER)
    assert posegen.open(path).arrays("joints").shape[0] == 10
    done = repair(path, problems, workers=1)
    assert (done.made, done.derived, done.left) == ((), (LAYER,), ())
    assert_same(path, derived)
    changed = [file for file in before if read_file(path / file, MUCH) != before[file]]
    assert changed == ["receipts/velocity/00001.json"]


def test_fields_derived_from_other_joints_are_reported(path: AnyPath, scratch: Path, config: Config) -> None:
    """The velocities were derived while the samples were other ones, with matching receipts."""
    other = scratch / "other"
    posegen.generate(config.model_copy(update={"seed": 1}), samples=10, workers=1, out=other)
    receipt = json.loads((other / "receipts/00001.json").read_bytes())
    own = json.loads(read_file(path / "receipts/velocity/00001.json", MUCH))
    del own["hash"]
    own["content"]["joints"] = receipt["content"]["joints"]
    write_durably(path / "receipts/velocity/00001.json", seal(own))
    problems = verify(path)
    assert [(problem.shard, problem.layer) for problem in problems] == [(1, LAYER)]
    assert "other joints" in problems[0].what
    assert posegen.derive(path, workers=1).shards_made == 1
    assert verify(path) == []


def test_an_extension_asks_to_derive_again(
    path: AnyPath, config: Config, undisturbed: dict[int, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    result = posegen.generate(config, samples=18, workers=1, out=path)
    assert result.incomplete_layers == (LAYER,)
    assert LAYER not in posegen.open(path).fields
    assert {problem.layer for problem in verify(path)} == {LAYER}
    if isinstance(path, Path):
        raw = zarr.open_group(str(path / "motion.zarr"), mode="r")[LAYER]
        assert raw.shape[0] == 18  # type: ignore[union-attr]
        assert np.isnan(np.asarray(raw[12:])).all()  # type: ignore[index]
    # Shards 0 and 1 are unchanged; shard 2 was partly filled.
    assert posegen.derive(path, workers=1).shards_made == 3
    assert verify(path) == []
    whole = content_of(path)
    assert [sample["joints"] for sample in whole] == [sample["joints"] for sample in content_of(undisturbed[18])]
    assert main(["derive", str(path)]) == 0
    assert "Nothing to do" in capsys.readouterr().out


def test_a_lost_header_is_recovered_with_its_layers(path: AnyPath, derived: Path) -> None:
    remove_durably(path / "dataset.json")
    repair(path, verify(path), workers=1)
    assert_same(path, derived)


def test_a_shard_that_is_made_again_keeps_its_derived_fields(path: AnyPath, derived: Path) -> None:
    flip(path / "motion.zarr/joints/c.1.0.0.0.0.0")
    done = repair(path, verify(path), workers=1)
    assert (done.made, done.left) == ((1,), ())
    assert_same(path, derived)
