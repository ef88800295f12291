"""Phrasings of actions that captions cannot have, and the check that they cannot.

A phrasing is fair if it is the text of no caption, and if none of its words but small ones is a word that the library has for
its actions, in whatever form: neither in their verbs and details nor in what is understood of them without being said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["JUDGED", "TRIED", "Phrasing", "phrasings", "unfair", "words_of_actions"]

PLACE = Path(__file__).parent / "phrasings.yaml"
LIBRARY = Path(__file__).parents[2] / "posegen/library/words/en.yaml"
JUDGED, TRIED = "judged", "tried"

ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e", "y")
SHORTEST_STEM = 3


@dataclass(frozen=True)
class Phrasing:
    """A text, and the actions that it is true of."""

    text: str
    actions: tuple[str, ...]


def phrasings(kind: str) -> list[Phrasing]:
    """Read those that are judged by, or those that methods are tried with."""
    return [Phrasing(entry["text"], tuple(entry["actions"])) for entry in _document(PLACE)[kind]]


def words_of_actions() -> dict[str, frozenset[str]]:
    """Give the stems of all words that the library has for each action, said or only understood."""
    document = _document(LIBRARY)
    entries = (document["actions"], document["reading"]["actions"], document["reading"]["counted"])
    names = {name for entry in entries for name in entry}
    return {name: frozenset(_stems(" ".join(text for entry in entries for text in _texts(entry.get(name))))) for name in names}


def unfair(phrasing: Phrasing, words: Mapping[str, frozenset[str]], captions: Iterable[str]) -> list[str]:
    """Say why a phrasing tells nothing: no entry if it is fair.

    Parameters
    ----------
    phrasing : Phrasing
    words : mapping of str to frozenset
        As of :func:`words_of_actions`.
    captions : iterable of str
        All texts of the dataset.
    """
    plain = _plain(phrasing.text)
    shared = {word for action in phrasing.actions for word in _stems(phrasing.text) & words[action]}
    faults = [f"says {word!r}, as captions of {' and '.join(phrasing.actions)} do" for word in sorted(shared)]
    return faults + ["is a caption"] * any(_plain(caption) == plain for caption in captions)


@cache
def _document(place: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(place.read_text(encoding="utf-8"))
    return document


def _texts(entry: Any) -> Iterator[str]:
    """Walk through all texts of an entry; keys such as `slow` are no words of it."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for inner in entry.values():
            yield from _texts(inner)
    elif isinstance(entry, list):
        for inner in entry:
            yield from _texts(inner)


def _stems(text: str) -> set[str]:
    words = re.findall(r"[a-z]+", re.sub(r"\{[a-z]+\}", " ", text.lower()))
    small = frozenset(_document(PLACE)["small"])
    return {_stem(word) for word in words if word not in small}


def _stem(word: str) -> str:
    """Take the ending off: shows, showing, showed and show are one; so are bat, batter and batting."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > SHORTEST_STEM and word[-1] == word[-2] else word


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))
