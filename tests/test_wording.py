"""Tables in narrow terminals, and characters that nobody sees in text that becomes captions or labels."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posegen.dataset.table_files import read_table
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import hidden_character, table
from posegen.foundations.yaml_files import parse_yaml
from posegen.library.load import load_library
from posegen.training.data.own_clips import read_own_clips

WIDTHS = (60, 80)
HIDDEN = ["\x1b", "\x07", "\x00", "\x7f", "\x85", "\u202e", "\u2066", "\u200f", "\u2028", "\u2029", "\ufeff", "\U000e0041"]
WORDS = "a row of some words that are many more than a terminal has room for"


@pytest.mark.parametrize("width", WIDTHS)
def test_words_of_a_table_wrap_in_a_narrow_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    text = table(("", "samples", "time", ""), [(WORDS, "1,000,000,000", "31m 44s", "more than is free")], "Estimated costs")
    title, *lines = text.splitlines()
    assert title == "Estimated costs"
    assert max(map(len, lines)) < width
    assert len(lines) > 3
    assert set(text.split()) >= {*WORDS.split(), "1,000,000,000", "31m", "44s", "samples", "more", "free"}


@given(st.integers(30, 120), st.lists(st.lists(st.integers(0, 10**15), min_size=5, max_size=5), min_size=1, max_size=4))
def test_no_number_is_cut_at_any_width(width: int, rows: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr(sys.stdout, "isatty", lambda: True)
        numbers = [[f"{number}" for number in row] for row in rows]
        text = table(("a", "b", "c", "d", "e"), [["a row of some words", *row[1:]] for row in numbers])
    assert set(text.split()) >= {number for row in numbers for number in row[1:]}


@pytest.mark.parametrize("char", [*HIDDEN, "\ud800"])
def test_hidden_characters_are_found_by_name(char: str) -> None:
    assert hidden_character(f"walks{char}").startswith(f"U+{ord(char):04X} (")


@given(st.text())
@example("r\u00e9sum\u00e9, \u0645\u06cc\u200c\u0631\u0648\u0645, \U0001f468\u200d\U0001f467")
def test_text_without_hidden_characters_has_none_of_their_categories(text: str) -> None:
    found = {unicodedata.category(char) for char in text if char not in "\u200c\u200d"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert bool(hidden_character(text)) == bool(found)


@pytest.mark.parametrize("char", [char for char in HIDDEN if char != "\x00"])
@pytest.mark.parametrize("template", ['word: "a{}b"', '"a{}b": 1', 'words: [x, {{y: "{}"}}]'])
def test_yaml_refuses_hidden_characters(char: str, template: str) -> None:
    escaped = template.format(f"\\U{ord(char):08X}")
    with pytest.raises(UsageError, match=rf"^mine: has the character U\+{ord(char):04X} \(.*line 2\)$"):
        parse_yaml(f"# text\n{escaped}", "mine")


@pytest.mark.parametrize("char", [r"\e", r"\u202E", r"\n", r"\t"])
def test_words_and_names_of_an_own_library_are_plain(char: str, tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en.yaml").write_text(
        f'actions: {{walk: {{verbs: ["walks|walking|walked|walk{char} on"]}}}}', "utf-8"
    )
    with pytest.raises(UsageError, match=r"words/en\.yaml: (actions\.walk\.verbs\.0: )?.*the character U\+"):
        load_library(tmp_path)


def test_labels_and_names_of_columns_are_plain(tmp_path: Path) -> None:
    joints = np.zeros((20, 22, 3), np.float32)
    labels = np.array(["walk", "run\x1b[2J"])
    np.savez(tmp_path / "own.npz", joints=joints, offsets=np.array([0, 10, 20]), fps=25, classes=labels)
    with pytest.raises(UsageError, match=r"own\.npz: the label 'run\\x1b\[2J' has the character U\+001B"):
        read_own_clips(tmp_path / "own.npz", 25)
    for name in ("walk", "run\u202e"):
        (tmp_path / "clips" / name).mkdir(parents=True)
        np.save(tmp_path / "clips" / name / "a.npy", joints)
    with pytest.raises(UsageError, match=r"has the character U\+202E"):
        read_own_clips(tmp_path / "clips", 25)
    (tmp_path / "own.csv").write_text("text,mo\u202eod\na,b\n", "utf-8")
    with pytest.raises(UsageError, match=r"own\.csv: the name of the column .* has the character U\+202E"):
        read_table(tmp_path / "own.csv")
