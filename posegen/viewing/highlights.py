"""Find the words of a caption that describe each segment, so that they can be highlighted while it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from posegen.captions.parser import WORD, Lexicon, Meaning, lexicon_of
from posegen.library.load import Library

Piece = tuple[str, list[tuple[int, int]]]
"""Text, and the segments that it describes: number of the actor, and of the actor's segment."""

_ENDS = frozenset({"then", "while", "list", "after", "both", "person", "again", "during"})
"""Kinds of phrases that end a clause."""
_STOPS = frozenset(".;!?,")


def pieces_of(text: str, statements: Sequence[Mapping[str, Any]], library: Library) -> list[Piece]:
    """Divide a caption into pieces, each of which describes some segments, or none.

    Parameters
    ----------
    text : str
    statements : sequence of mappings
        Those of the caption.
    library : Library
        Its language has the words of the actions.

    Returns
    -------
    list of (str, list of (int, int))
        The texts, joined, are the caption.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> def statement(segment, action):
    ...     return {"actor": 0, "kind": "action", "segment": segment, "action": action, "value": ""}
    >>> pieces_of("A man walks, then waves.", [statement(0, "walk"), statement(1, "wave")], load_library())
    [('A man ', []), ('walks', [(0, 0)]), (', then ', []), ('waves', [(0, 1)]), ('.', [])]
    """
    stated = [statement for statement in statements if statement["kind"] == "action"]
    pieces: list[Piece] = []
    done, begin, shown = 0, 0, list[tuple[int, int]]()
    end = 0
    for first, last, meanings in [*_phrases(text, lexicon_of(library)), (len(text), len(text), None)]:
        described = _described(meanings or [], stated, lexicon_of(library))
        if shown and (described or meanings is None or _ends_clause(text[first:last], meanings)):
            pieces += [(text[done:begin], []), (text[begin:end], shown)]
            done, shown = end, []
        if described:
            begin, shown = first, described
        end = last
    return [piece for piece in [*pieces, (text[done:], [])] if piece[0]]


def _phrases(text: str, lexicon: Lexicon) -> Iterator[tuple[int, int, list[Meaning]]]:
    """Yield the start and end of the longest known phrase at each word, and what it may mean."""
    found = [(match.group().lower(), *match.span()) for match in WORD.finditer(text)]
    words = [word for word, _, _ in found]
    at = 0
    while at < len(words):
        length = lexicon.longest(words, at)
        yield found[at][1], found[at + max(length, 1) - 1][2], lexicon.phrases[tuple(words[at : at + length])] if length else []
        at += max(length, 1)


def _ends_clause(phrase: str, meanings: Sequence[Meaning]) -> bool:
    return phrase[0] in _STOPS or any(meaning.kind in _ENDS for meaning in meanings)


def _described(meanings: Sequence[Meaning], stated: list[Mapping[str, Any]], lexicon: Lexicon) -> list[tuple[int, int]]:
    """Return the segments that a phrase describes, and remove their statements from those that are still to be found."""
    for meaning in meanings:
        if meaning.kind == "verb":
            required: list[tuple[int | None, str]] = [(None, meaning.action)]
        elif meaning.kind == "joint":
            required = [(actor, name) for actor, names in enumerate(lexicon.interactions[meaning.action]) for name in names]
        else:
            continue
        found = []
        for actor, action in required:
            match = next((s for s in stated if s["action"] == action and actor in (None, s["actor"])), None)
            if match is not None:
                stated.remove(match)
                found.append((int(match["actor"]), int(match["segment"])))
        if found:
            return found
    return []
