"""Words for two who meet: what they do as both, and who they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from posegen.library import Library

__all__ = ["Meeting", "meetings_of", "pair_named"]


class Meeting(NamedTuple):
    """An interaction that has words for both at once: its name, what each of the two does, and the verbs."""

    name: str
    actions: tuple[tuple[str, ...], tuple[str, ...]]
    verbs: tuple[str, ...]


def meetings_of(library: Library) -> tuple[Meeting, ...]:
    """List the interactions that the language can tell of both at once."""
    words = library.words.get("interactions", {}) if library.words["several"].get("joint") else {}
    known = library.interactions
    return tuple(Meeting(name, known[name].parts, tuple(verbs)) for name, verbs in words.items() if name in known)


def pair_named(words: Mapping[str, Any], one: str, other: str) -> str:
    """Name two people of known kinds: "two men", "a man and a girl"."""
    joint, subjects = words["several"]["joint"], words["subjects"]
    if one == other:
        return str(joint["alike"][one])
    return str(joint["unlike"].replace("{one}", subjects[one][0]).replace("{other}", subjects[other][0]))
