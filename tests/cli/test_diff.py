"""`posegen diff`: output and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.header import load_header
from posegen.dataset.write import commit_shard
from posegen.synthesis.synthesize import synthesize


def config(shard: int = 4, seed: int = 0) -> Config:
    return posegen.load_config("smoke", ["frames=40", f"store.shard={shard}", "store.chunk=2"], seed=seed)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    posegen.generate(config(), samples=8, workers=1, out=folder / "a")
    posegen.generate(config(shard=6), samples=8, workers=1, out=folder / "same")
    posegen.generate(config(), samples=6, workers=1, out=folder / "shorter")
    posegen.generate(config(seed=9), samples=8, workers=1, out=folder / "other")
    shutil.copytree(folder / "a", folder / "changed")
    batch = synthesize(config(), [4, 5, 6, 7])
    batch.joints[1, 2, 0, 3, 4, 0] += 0.5
    themes = batch.sequences.column("theme").to_pylist()
    themes[3 * 5 + 4] = "changed"
    table = batch.sequences.set_column(2, "theme", pa.array(themes))
    arrays = {"joints": batch.joints, "action": batch.action, "contact": batch.contact}
    commit_shard(folder / "changed", load_header(folder / "a"), 1, arrays, table, "a-run")
    return folder


@pytest.fixture(autouse=True)
def _beside_them(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders)


def test_the_same_content(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--deep"]):
        assert main(["diff", "a", "same", *options]) == 0
        assert capsys.readouterr() == ("a and same have equal content: 8 samples.\n", "")
    assert main(["diff", "a", "same", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {"a": "a", "b": "same", "equal": True, "samples_different": {}, "differences": [], "identity": {}}


@pytest.mark.parametrize("options", [[], ["--deep"]])
def test_differences_are_listed(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a", "changed", *options]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "joints: sample 5, variant position",
        "rows: sample 7, variant mirror",
        "a and changed differ: joints in 1 sample, rows in 1 sample.",
    ]


def test_samples_in_one_dataset_only_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a", "shorter", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["samples_different"] == {"samples": 2}
    assert document["differences"] == [{"field": "samples", "sample": sample, "variant": None} for sample in (6, 7)]
    assert main(["diff", "shorter", "a"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("sample 6: only in a\n")
    assert out.endswith("shorter and a differ: 2 samples in one dataset only.\n")


def test_different_configs_are_shown_and_differences_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a", "other"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "The configs differ, A -> B:"
    assert lines[1].startswith("  identity: ")
    assert lines[2] == "  seed: 0 -> 9"
    assert lines[3].startswith("joints: sample 0, variant ")
    assert lines[23] == "(the first 20 differences)"
    assert lines[24].startswith("a and other differ: joints in 8 samples, ")
    assert len(lines) == 25
