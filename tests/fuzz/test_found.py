"""Regression tests for what fuzzing found."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import pytest
import xxhash

from posegen.config.load import load_config
from posegen.dataset.documents import Origin, seal, unseal
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.yaml_files import LARGEST_FILE, parse_yaml, read_yaml
from posegen.library.load import load_library
from posegen.library.words import check_words


@pytest.mark.parametrize("half", [b"\\ud800", b"\xed\xa0\x80"])
def test_half_a_character_in_a_sealed_document(half: bytes) -> None:
    source = Origin("dataset.json", "Repair it.")
    good = seal({"name": 'a "quoted"\t\x01 ü'})
    assert unseal(good, source) == {"name": 'a "quoted"\t\x01 ü'}
    body = b'"name":"' + half + b'"}'
    data = b'{"hash":"' + xxhash.xxh3_128_hexdigest(body).encode() + b'",' + body
    with pytest.raises(PosegenError, match="is not valid JSON"):
        unseal(data, source)


def test_half_a_character_in_yaml() -> None:
    with pytest.raises(UsageError, match="here: is not valid text; write it in UTF-8"):
        parse_yaml("\ud800", "here")


def test_a_number_of_thousands_of_digits() -> None:
    with pytest.raises(UsageError, match=r"samples: .* \(got a number too long to show\)"):
        load_config("smoke", samples=10**5000)


def test_a_file_that_cannot_be_read() -> None:
    """Some kernel files claim to be plain files, but reading them blocks or fails."""
    file = Path("/proc/kmsg")
    if not file.exists():
        pytest.skip("there is no such file here")
    # Whether it can be opened depends on the user, and sometimes it has content.
    with suppress(UsageError):
        said = read_yaml(file)
        assert said is None or str(said).startswith(("<", "{'<"))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("next", ["Then he nods."], r"next\[0\].*must have \{again\} once"),
        ("last", ["{again} and {again}."], r"last\[0\].*must have \{again\} once"),
        ("again", {"man": ["he nods"]}, r"again\.man\[0\].*must have one of"),
    ],
)
def test_a_sentence_of_a_story_without_its_clause(key: str, value: object, problem: str) -> None:
    """Such words were accepted, and the first story that used them ended in a ValueError."""
    library = load_library()
    words = deepcopy({**library.words})
    tense = words["narrative"]["tenses"][0]
    tense[key] = {**tense[key], **value} if isinstance(value, dict) else value
    with pytest.raises(UsageError, match=problem):
        check_words(words, library.entries, library.styles, "words.yaml")


def test_a_hundred_thousand_unknown_keys_are_reported_fast(tmp_path: Path) -> None:
    """Guessing a known key for each took a minute; now only ten are guessed."""
    guesses: list[str] = []
    file = tmp_path / "a.yaml"
    file.write_text("\n".join(f"k{number}: 1" for number in range(50_000)))
    assert file.stat().st_size < LARGEST_FILE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("posegen.foundations.validation.did_you_mean", lambda name, _: guesses.append(name) or "")
        with pytest.raises(UsageError, match="and 49,990 more problems"):
            load_config(file)
    assert len(guesses) == 10
