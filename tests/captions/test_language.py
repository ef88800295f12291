"""Another language is one more file: captions, segments and the parser use it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import posegen.library
from posegen.captions.captions import describe_segments, write_captions
from posegen.captions.parser import parse_caption
from posegen.captions.segments import find_segments
from posegen.config.schema import Config
from posegen.foundations.errors import UsageError
from posegen.library.load import Library, read_library
from posegen.planning.scenes import plan_scenes
from tests.renumbering import same_statements

PACKAGE = Path(posegen.library.__file__).parent
THEMES = "themes: {strasse: {actions: {stand: 1, walk: 2, turn: 1, wave: 1, clap: 1, point: 1, run: 1}}}"
GERMAN = Path(__file__).with_name("de.yaml").read_text("utf-8")


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A small library of some of posegen's actions, in German."""
    base, addition = (tmp_path_factory.mktemp(name) for name in ("base", "german"))
    (base / "actions").mkdir()
    (base / "words").mkdir()
    (addition / "words").mkdir()
    for family in ("locomotion", "gestures"):
        shutil.copy(PACKAGE / f"actions/{family}.yaml", base / "actions")
    (base / "actions/standing.yaml").write_text(
        "family: standing\nactions: {stand: {parts: [legs, trunk, left_arm, right_arm, head], duration: [1.5, 5]}}"
    )
    (base / "themes.yaml").write_text(THEMES)
    shutil.copy(PACKAGE / "words/en.yaml", base / "words")
    (addition / "words/de.yaml").write_text(GERMAN, encoding="utf-8")
    return read_library(base, addition)


def test_captions_in_it_are_parsed_completely(german: Library) -> None:
    config = Config.model_validate({"population": {"styles": {"neutral": 1}}})
    scenes = plan_scenes(config, german, np.arange(500))
    visible = find_segments(scenes, german, config.fps)
    rows = write_captions(scenes, german, config, visible).to_pylist()
    words = set(re.findall(r"\w+", GERMAN.lower()))
    for row in rows:
        for caption in row:
            assert set(re.findall(r"\w+", caption["text"].lower())) <= words, caption["text"]
            parsed = parse_caption(caption["text"], german)
            assert same_statements(parsed.statements, caption["statements"]), caption["text"]
            assert parsed.unknown == []
    assert len({caption["text"] for row in rows for caption in row}) > 250
    segments = describe_segments(scenes, german, config, visible).to_pylist()
    texts = {segment["text"] for actor in segments for segment in actor}
    assert "dreht sich nach links" in texts
    assert texts & {
        "geht schnell geradeaus",
        "geht schnell vorwärts",
        "spaziert schnell geradeaus",
        "geht mit schnellem Schritt geradeaus",
    }


def test_one_language_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    for name in ("de", "fr"):
        (tmp_path / f"words/{name}.yaml").write_text(GERMAN, encoding="utf-8")
    with pytest.raises(UsageError, match=r"words of 2 languages, de\.yaml and fr\.yaml"):
        read_library(PACKAGE, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('[", wobei sie {tut}"]', '[" und {tut} dabei"]', r"joining\.while\[0\]: .* must end in one of \{tut\}"),
        ('" und dann "', '" und {tun}"', r"joining\.then\[0\]: .* or have none"),
        ("verbs: [geht, spaziert]", "verbs: [geht|gehend]", r"must have the 1 forms tut"),
    ],
)
def test_invalid_templates_are_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words/de.yaml").write_text(GERMAN.replace(old, new), encoding="utf-8")
    base = tmp_path / "base"
    for folder in ("actions", "words"):
        (base / folder).mkdir(parents=True)
    shutil.copy(PACKAGE / "actions/locomotion.yaml", base / "actions")
    shutil.copy(PACKAGE / "words/en.yaml", base / "words")
    (base / "themes.yaml").write_text("themes: {strasse: {actions: {walk: 1}}}")
    with pytest.raises(UsageError, match=reason):
        read_library(base, tmp_path)
