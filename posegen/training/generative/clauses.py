"""What a text tells one after another, by the words that captions are made of: each thing as a text of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from posegen.captions.reading import lexicon_of, read_caption
from posegen.captions.reading.lexicon import PIECES
from posegen.library import Library

__all__ = ["in_turn"]

_ENDS = frozenset(".;!?")
_NAMES = frozenset({"subject", "again"})


def in_turn(text: str, library: Library) -> tuple[str, ...]:
    """Part a text where it goes on to what is done next.

    Parameters
    ----------
    text : str
    library : Library
        Whose language tells what goes before what. What is told by "and" or "while" is not parted.

    Returns
    -------
    tuple of str
        In the order in which it is done, each beginning with who was named at first. The text as it is where it tells of one
        thing or of several people, or where a part would tell of nothing that is known.

    Examples
    --------
    >>> from posegen.library import load_library
    >>> in_turn("a man walks slowly, then waves while sitting", load_library())
    ('a man walks slowly', 'a man waves while sitting')
    >>> in_turn("a person walks and waves", load_library())
    ('a person walks and waves',)
    """
    parts, subject = _parts(text, library)
    if len(parts) < 2 or _of_several(text, library):
        return (text,)
    told = tuple(" ".join(part.words if part.named else [*subject, *part.words]).replace(" ,", ",") for part in parts)
    acts = [any(claim["kind"] == "action" for claim in read_caption(part, library).statements) for part in told]
    return told if all(acts) else (text,)


def _of_several(text: str, library: Library) -> bool:
    claims = read_caption(text, library).statements
    many = (str(claim["value"]) for claim in claims if claim["kind"] == "people")
    return any(value.isdigit() and int(value) > 1 for value in many) or any(int(claim["actor"]) > 0 for claim in claims)


@dataclass
class _Part:
    """Words, whether they tell of more than who does it, and whether they name who does it at first."""

    words: list[str] = field(default_factory=list)
    tells: bool = False
    named: bool = False


def _parts(text: str, library: Library) -> tuple[list[_Part], list[str]]:
    """Give the parts, and the words that name who does it at first."""
    parts, subject = [_Part()], list[str]()
    before = False  # whether this is what is told as done before the next thing, as in "after walking, ..."
    for words, sorts in _phrases(text, library):
        part = parts[-1]
        if "then" in sorts or (words[0] in _ENDS and len(words) == 1) or (before and part.tells and "list" in sorts):
            parts, before = [*parts, _Part()], False
        elif "after" in sorts:
            before = True
        elif _NAMES & sorts and (not subject or not part.tells):
            # Later it is only said again who does it.
            part.words, part.named = part.words + (words if not subject else []), part.named or not subject
            subject = subject or words
        elif part.tells or words != [","]:
            part.words, part.tells = part.words + words, True
    for part in parts:
        part.words = part.words[:-1] if part.words[-1:] == [","] else part.words
    return [part for part in parts if part.tells], subject


def _phrases(text: str, library: Library) -> Iterator[tuple[list[str], set[str]]]:
    """Go through a text as the reader does: the longest known phrase at each word, as written, and what it may be."""
    lexicon = lexicon_of(library)
    written = PIECES.findall(text)
    small = [word.lower() for word in written]
    at = 0
    while at < len(small):
        length = lexicon.longest(small, at)
        marks = lexicon.phrases[tuple(small[at : at + length])] if length else []
        yield written[at : at + max(length, 1)], {mark.sort for mark in marks}
        at += max(length, 1)
