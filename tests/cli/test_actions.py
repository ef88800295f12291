"""`posegen actions`: lists and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from posegen.cli.main import main
from posegen.library.load import load_library

NODS = """
family: greetings
actions:
  nod:
    parts: [head]
    layered: true
    enter: 0.3
    exit: 0.3
    cycle: 0.5
    repetitions: [1, 3]
    harmonics: {neck_flexion: {sin: [12]}}
"""
WORDS = "actions: {nod: {verbs: [nods|nodding|nodded|nod]}}"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_action_is_listed_under_its_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["actions", "list"]) == 0
    printed = capsys.readouterr().out.splitlines()
    library = load_library()
    assert {line for line in printed if not line.startswith(" ")} == set(library.families)
    assert sorted(line.split()[0] for line in printed if line.startswith(" ")) == sorted(library.actions)


def test_json_lists_every_property(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["actions", "list", "--json"]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert entries["wave"]["layered"]
    assert entries["wave"]["sided"]
    assert entries["wave"]["parts"] == ["near_arm", "head"]
    assert entries["sit"]["support"] == "seat"


def test_actions_of_an_own_library_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "own"
    (folder / "words").mkdir(parents=True)
    (folder / "actions").mkdir()
    (folder / "actions" / "greetings.yaml").write_text(NODS, encoding="utf-8")
    (folder / "words" / "en.yaml").write_text(WORDS, encoding="utf-8")
    config = tmp_path / "config.yaml"
    config.write_text("story: {library: own}", encoding="utf-8")
    for options in (["--config", str(config)], ["--set", f"story.library={folder}"]):
        assert main(["actions", "list", *options]) == 0
        assert "  nod " in capsys.readouterr().out
    assert main(["actions", "show", "nod", "--config", str(config), "-o", str(tmp_path / "nod.png")]) == 0
    with Image.open(tmp_path / "nod.png") as picture:
        assert picture.width > 100


def test_an_action_is_drawn_as_an_animation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["actions", "show", "bow", "--json"]) == 0
    message = json.loads(capsys.readouterr().out)
    assert message["path"] == "bow.gif"
    with Image.open(tmp_path / "bow.gif") as picture:
        assert getattr(picture, "n_frames", 1) > 20


def test_wider_ranges_are_shown_with_their_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["actions", "show", "squat", "-o", "squat.png"]) == 0
    assert "ankle_dorsiflexion ranges from -62 to 40 degrees: a flat foot under the body's weight" in capsys.readouterr().out
    assert main(["actions", "show", "squat", "-o", "squat.png", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranges"]["ankle_dorsiflexion"][:2] == [-62, 40]


def test_an_unknown_action_is_bad_usage_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["actions", "show", "wve"]) == 2
    assert "did you mean 'wave'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
