"""Clauses of a text that describe actions in sequence, and the number of people whom it describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from posegen.captions.parser import WORD, lexicon_of, parse_caption
from posegen.library.load import Library

_CLAUSE_ENDS = frozenset(".;!?")
_SUBJECTS = frozenset({"subject", "again"})


def split_clauses(text: str, library: Library) -> tuple[str, ...]:
    """Split a text into clauses that describe actions in sequence.

    Parameters
    ----------
    text : str
    library : Library
        Its language defines which words express a sequence. Actions joined by "and" or "while" are not split.

    Returns
    -------
    tuple of str
        The clauses in order of time, each with the subject of the text. The text itself if it describes one action or several
        people, or if a clause would describe no known action.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> split_clauses("a man walks slowly, then waves while sitting", load_library())
    ('a man walks slowly', 'a man waves while sitting')
    >>> split_clauses("a person walks and waves", load_library())
    ('a person walks and waves',)
    """
    clauses, subject = _clauses(text, library)
    if len(clauses) < 2 or people_in(text, library) > 1:
        return (text,)
    words = [own.words if own.has_subject else [*subject, *own.words] for own in clauses]
    texts = tuple(" ".join(own).replace(" ,", ",") for own in words)
    acts = [any(claim["kind"] == "action" for claim in parse_caption(own, library).statements) for own in texts]
    return texts if all(acts) else (text,)


def people_in(text: str, library: Library) -> int:
    """Return the number of people that a text describes, at least 1."""
    claims = parse_caption(text, library).statements
    stated = [int(claim["value"]) for claim in claims if claim["kind"] == "people" and str(claim["value"]).isdigit()]
    named = [1 + int(claim["actor"]) for claim in claims]
    partners = [1 + int(claim["value"]) for claim in claims if claim["kind"] == "partner"]
    return max([1, *stated, *named, *partners, *_numbered_people(text.lower(), library.words)])


def _numbered_people(text: str, words: Mapping[str, Any]) -> Iterator[int]:
    """Yield the numbers of people such as "three men", which no caption states."""
    joint, numbers = words["several"]["joint"], words["numbers"]
    for pair in (*joint["pair"], *joint["alike"].values()):
        noun = pair.removeprefix(f"{numbers[2]} ")
        yield from (count for count, number in enumerate(numbers) if re.search(rf"\b{number} {noun}\b", text))


@dataclass
class _Clause:
    """Words of a clause, whether they include more than the subject, and whether they introduce the subject."""

    words: list[str] = field(default_factory=list)
    has_content: bool = False
    has_subject: bool = False


def _clauses(text: str, library: Library) -> tuple[list[_Clause], list[str]]:
    """Return the clauses, and the words that introduce the subject."""
    clauses, subject = [_Clause()], list[str]()
    precedes = False  # whether the clause precedes the next one in time, as in "after walking, ..."
    for words, kinds in _phrases(text, library):
        clause = clauses[-1]
        ends = words[0] in _CLAUSE_ENDS and len(words) == 1
        if "then" in kinds or ends or (precedes and clause.has_content and "list" in kinds):
            clauses, precedes = [*clauses, _Clause()], False
        elif "after" in kinds:
            precedes = True
        elif _SUBJECTS & kinds and (not subject or not clause.has_content):
            # Later mentions only repeat the subject.
            clause.words, clause.has_subject = clause.words + (words if not subject else []), clause.has_subject or not subject
            subject = subject or words
        elif clause.has_content or words != [","]:
            clause.words, clause.has_content = clause.words + words, True
    for clause in clauses:
        clause.words = clause.words[:-1] if clause.words[-1:] == [","] else clause.words
    return [clause for clause in clauses if clause.has_content], subject


def _phrases(text: str, library: Library) -> Iterator[tuple[list[str], set[str]]]:
    """Iterate over a text by the longest known phrase at each word: its words as written, and its possible kinds."""
    lexicon = lexicon_of(library)
    written = WORD.findall(text)
    small = [word.lower() for word in written]
    at = 0
    while at < len(small):
        length = lexicon.longest(small, at)
        marks = lexicon.phrases[tuple(small[at : at + length])] if length else []
        yield written[at : at + max(length, 1)], {mark.kind for mark in marks}
        at += max(length, 1)
