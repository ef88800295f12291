"""The manifest of a dataset that grows, loses shards, is derived from and repaired: it stays true, and is not needed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset import manifest as manifests
from posegen.dataset.header import load_header
from posegen.dataset.layout import MANIFEST_FILE
from posegen.dataset.manifest import Manifest, load_manifest
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from posegen.generation.finish import finish

JOINTS = "motion.zarr/joints/c.{}.0.0.0.0.0"


@pytest.fixture(autouse=True)
def _two_shards_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LEAST_SHARDS", 2)


@pytest.fixture
def dataset(fourteen: Path, tmp_path: Path) -> Path:
    path = tmp_path / "dataset"
    shutil.copytree(fourteen, path)
    finish(path)
    return path


def manifest_of(path: Path) -> Manifest:
    manifest = load_manifest(path, load_header(path))
    assert manifest
    return manifest


def damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def test_it_grows_with_the_dataset(small: Config, dataset: Path) -> None:
    assert manifest_of(dataset).shards == 3
    posegen.generate(small, samples=20, workers=1, out=dataset)
    assert manifest_of(dataset).shards == 5
    assert verify(dataset) == []
    manifest = (dataset / MANIFEST_FILE).read_bytes()
    (dataset / MANIFEST_FILE).unlink()
    assert posegen.generate(small, samples=20, workers=1, out=dataset).nothing_to_do
    assert (dataset / MANIFEST_FILE).read_bytes() == manifest


def test_a_run_that_was_killed_while_it_made_a_shard_again_leaves_none(
    small: Config, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(dataset / JOINTS.format(1))
    monkeypatch.setenv("POSEGEN_FAULT", "raise:sample=5")
    with pytest.raises(PosegenError):
        posegen.generate(small, samples=14, workers=1, out=dataset)
    assert not (dataset / MANIFEST_FILE).exists()
    assert finish(dataset).missing == [(1, 1)]
    monkeypatch.delenv("POSEGEN_FAULT")
    posegen.generate(small, samples=14, workers=1, out=dataset)
    assert manifest_of(dataset).shards == 3
    assert verify(dataset) == []


def test_it_lists_complete_layers(dataset: Path) -> None:
    posegen.derive(dataset, ["velocity"], workers=1)
    assert [text.split()[0] for text in manifest_of(dataset).layers] == ["velocity"]
    before = posegen.open(dataset).arrays("velocity").tobytes()
    damage(dataset / JOINTS.format(0).replace("joints", "velocity"))
    assert [(problem.shard, problem.layer) for problem in verify(dataset)] == [(0, "velocity")]
    posegen.derive(dataset, workers=1)
    assert verify(dataset) == []
    assert [text.split()[0] for text in manifest_of(dataset).layers] == ["velocity"]
    (dataset / "receipts/velocity/00001.json").unlink()
    finish(dataset)
    assert manifest_of(dataset).layers == []
    assert posegen.open(dataset).fields == ("joints", "action", "contact")
    posegen.derive(dataset, workers=1)
    assert posegen.open(dataset).arrays("velocity").tobytes() == before


def test_a_repair_writes_it_again(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(dataset / JOINTS.format(1))
    damage(dataset / MANIFEST_FILE)
    assert main(["verify", str(dataset)]) == 1
    assert "manifest.json: is damaged" in capsys.readouterr().out
    assert main(["verify", str(dataset), "--repair"]) == 0
    assert manifest_of(dataset).shards == 3
    damage(dataset / MANIFEST_FILE)
    assert main(["verify", str(dataset), "--repair"]) == 0
    assert manifest_of(dataset).shards == 3
    assert verify(dataset) == []


def test_info_needs_neither_tables_nor_arrays(fourteen: Path, dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(fourteen), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    for name in ("sequences/part-00002.parquet", "motion.zarr/action/c.0.0.0.0.0"):
        damage(dataset / name)
    assert main(["info", str(dataset), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name in ("samples", "hours", "bytes", "sizes", "actions", "captions", "resampled", "dropped", "fields"):
        assert found[name] == expected[name]


def test_parts_publish_it(small: Config, fourteen: Path, tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    for number in (2, 1):
        posegen.generate(small, samples=14, workers=1, out=path, part=f"{number}/2")
    assert not (path / MANIFEST_FILE).exists()
    finish(path)
    assert manifest_of(path).shards == 3
    assert manifest_of(path).counts is not None
    assert len(posegen.open(path)) == len(posegen.open(fourteen))
