"""The command that makes a dataset: what it prints where, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posegen.cli.main import main
from tests.cli.conftest import SMALL

COMMAND = ["generate", "--config", "smoke", *(f"--set={setting}" for setting in SMALL), "--workers=1"]


def test_it_prints_the_path_and_the_next_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "my dataset"
    assert main([*COMMAND, "--samples=6", "--out", str(place)]) == 0
    out, error = capsys.readouterr()
    assert f"in {place}." in out
    assert "It holds 6 samples, 30 sequences, " in out
    assert f"  posegen info '{place}'\n" in out
    assert f"  posegen show '{place}' --sample 0 -o sample.gif\n" in out
    assert error.splitlines()[0] == "generate: 0 of 6 samples (0%)"
    assert error.splitlines()[-1].startswith("generate: 6 of 6 samples (100%), ")
    assert "samples/s" in error
    assert main([*COMMAND, "--samples=6", "--out", str(place)]) == 0
    assert f"Nothing to do: {place} is complete.\nIt holds 6 samples" in capsys.readouterr().out


def test_json_is_one_document_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--samples=3", "--out", str(tmp_path), "--json"]) == 0
    out, error = capsys.readouterr()
    document = json.loads(out)
    assert document["path"] == str(tmp_path)
    assert (document["samples"], document["sequences"], document["shards_made"], document["nothing_to_do"]) == (3, 15, 1, False)
    assert document["bytes"] == sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert "3 of 3 samples" in error


def test_quiet_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--samples=2", "--out", str(tmp_path), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_without_a_place_it_goes_to_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*COMMAND, "--samples=1", "--seed=7", "--quiet"]) == 0
    assert (tmp_path / "data" / "smoke-7" / "dataset.json").is_file()
