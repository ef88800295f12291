"""``posegen config``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from posegen.cli.main import main
from posegen.config.load import load_config
from posegen.foundations.yaml_files import parse_yaml
from posegen.library.load import load_library


def printed_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def test_show_prints_a_config_that_loads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = printed_by(capsys, "config", "show", "crowd", "--set", "frames=100", "--set", "story.themes.park=2")
    config = load_config("crowd", ["frames=100", "story.themes.park=2"])
    first, _, rest = text.partition("\n")
    assert first == f"# identity {config.identity(load_library())}"
    assert parse_yaml(rest, "here") == config.as_data()
    path = tmp_path / "again.yaml"
    path.write_text(text, "utf-8")
    assert load_config(path) == config


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed_by(capsys, "config", "diff", "default", "crowd") == "story.actors.max: 1 -> 3\n"
    assert printed_by(capsys, "config", "diff", "full", "default") == "samples: 100000 -> 10000   (does not change samples)\n"
    assert printed_by(capsys, "config", "diff", "full", "full") == "no difference\n"


def test_diff_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("seed: 3\nstore: {chunk: 10}\nlength: {min: 20, max: 30}\n", "utf-8")
    document: list[dict[str, Any]] = json.loads(printed_by(capsys, "config", "diff", "default", str(path), "--json"))
    assert document == [
        {"key": "seed", "a": 0, "b": 3, "content": True},
        {"key": "length", "a": None, "b": {"min": 20, "max": 30}, "content": True},
        {"key": "store.chunk", "a": 20, "b": 10, "content": False},
    ]


def test_presets(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed_by(capsys, "config", "presets").splitlines()
    assert [line.split()[0] for line in lines] == ["crowd", "default", "full", "pairs", "quotas", "smoke"]
    document = json.loads(printed_by(capsys, "config", "presets", "--json"))
    assert [preset["name"] for preset in document] == ["crowd", "default", "full", "pairs", "quotas", "smoke"]
    assert all(Path(preset["path"]).is_file() for preset in document)
