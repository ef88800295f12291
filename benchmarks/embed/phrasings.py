"""Read phrases for actions that captions do not use, and check that they do not.

A phrase is fair if it is not the text of a caption, and if none of its content words is, in any form, a word that the library
has for its actions, be it for writing captions or for understanding texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PHRASES = Path(__file__).parent / "phrasings.yaml"
LIBRARY = Path(__file__).parents[2] / "posegen/library/words/en.yaml"
JUDGED, TRIED = "judged", "tried"

ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e", "y")
SHORTEST_STEM = 3


@dataclass(frozen=True)
class Phrasing:
    """A text, and the actions that it describes."""

    text: str
    actions: tuple[str, ...]


def phrasings(kind: str) -> list[Phrasing]:
    """Return the phrases for evaluation (``judged``) or for development (``tried``)."""
    return [Phrasing(entry["text"], tuple(entry["actions"])) for entry in _document(PHRASES)[kind]]


def words_of_actions() -> dict[str, frozenset[str]]:
    """Return the stems of all words that the library has for each action, written or only understood."""
    document = _document(LIBRARY)
    entries = (document["actions"], document["reading"]["actions"], document["reading"]["counted"])
    names = {name for entry in entries for name in entry}
    return {name: frozenset(stems(" ".join(text for entry in entries for text in _texts(entry.get(name))))) for name in names}


def unfair(phrasing: Phrasing, words: Mapping[str, frozenset[str]], captions: Iterable[str]) -> list[str]:
    """Return why a phrase is unfair; empty if it is fair.

    Parameters
    ----------
    phrasing : Phrasing
    words : mapping of str to frozenset
        Result of :func:`words_of_actions`.
    captions : iterable of str
        All caption texts of the dataset.
    """
    plain = _plain(phrasing.text)
    shared = {word for action in phrasing.actions for word in stems(phrasing.text) & words[action]}
    faults = [f"contains {word!r}, as do captions of {' and '.join(phrasing.actions)}" for word in sorted(shared)]
    return faults + ["is a caption"] * any(_plain(caption) == plain for caption in captions)


@cache
def _document(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def _texts(entry: Any) -> Iterator[str]:
    """Yield all texts of an entry; keys such as `slow` are not among them."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for inner in entry.values():
            yield from _texts(inner)
    elif isinstance(entry, list):
        for inner in entry:
            yield from _texts(inner)


def stems(text: str) -> set[str]:
    """Return the stems of the content words of a text."""
    words = re.findall(r"[a-z]+", re.sub(r"\{[a-z]+\}", " ", text.lower()))
    small = frozenset(_document(PHRASES)["small"])
    return {_stem(word) for word in words if word not in small}


def _stem(word: str) -> str:
    """Remove the ending: shows, showing, showed and show have one stem; so have bat, batter and batting."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > SHORTEST_STEM and word[-1] == word[-2] else word


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))
