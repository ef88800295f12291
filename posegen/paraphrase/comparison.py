"""Comparison: whether a paraphrase states what its caption states, and nothing else.

A paraphrase contains words that the grammar does not know, so it is compared in two ways. By lists of words: it must contain
every side and number of the caption, in their order, and every turn around; it must not add a speed, path, mood, kind of person
or negation, or state a later action first. By the parser of captions: what it understands must be among the caption's
statements, and for each action that it does not find there must be words that it did not understand, which may state it.
Doubtful paraphrases are refused: losing a good one costs little, a false one much.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from posegen.captions.parser import ParsedCaption, parse_caption
from posegen.foundations.errors import UsageError
from posegen.foundations.yaml_files import read_yaml
from posegen.library.load import Library

SAME = "same words"

_FOLDER = Path(__file__).parent / "meanings"
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[.,;:!?]")
_MARKS = frozenset(".,;:!?")
_MOST_WORDS = 4
"""Words of a phrase."""
_SUCCESSION = {"sequence", "backwards"}
"""Kinds of words for actions one after the other; those for `backwards` may have the later one first."""
_REASONS = {"speed": "speed", "who": "people", "way": "path", "mood": "style"}
"""Kinds of words of which a paraphrase has only those of its caption, with the reasons of a refusal."""

_Statement = Mapping[str, Any]
_Claim = tuple[str, str]
"""A kind of words, and a value."""


@dataclass(frozen=True, eq=False)
class Meanings:
    """Phrases of a language with the kinds and values that they state, and words that put the later action first, by place."""

    phrases: Mapping[tuple[str, ...], tuple[_Claim, ...]]
    turning: Mapping[str, Sequence[str]]


def paraphrase_difference(caption: Mapping[str, Any], paraphrase: str, library: Library) -> str:
    """Return in what a paraphrase differs from its caption.

    Parameters
    ----------
    caption : mapping
        With text and statements, as rows have it.
    paraphrase : str
    library : Library
        Of the captions.

    Returns
    -------
    str
        One or two words, such as ``side`` or ``count``; empty where both state the same.
    """
    text, statements = caption["text"], caption["statements"]
    if _letters(text) == _letters(paraphrase):
        return SAME
    meanings = load_meanings(library.words["language"])
    around = any(statement["kind"] == "direction" and statement["value"] == "around" for statement in statements)
    by_words = word_difference(word_claims(text, meanings), word_claims(paraphrase, meanings), turns_around=around)
    return by_words or _statement_difference(statements, parse_caption(text, library), parse_caption(paraphrase, library))


def _statement_difference(stated: Sequence[_Statement], caption: ParsedCaption, paraphrase: ParsedCaption) -> str:
    """Return in what a paraphrase, as it is understood, differs from the statements of its caption; empty where it does not."""
    known = {(statement["kind"], statement["action"], statement["value"]) for statement in stated}
    known |= {("action", statement["action"], "") for statement in stated}
    if not any(s["kind"] == "people" and s["actor"] < 0 and s["value"] != "1" for s in stated):
        known.add(("people", "", "1"))  # a caption without a subject is about one person, too
    for statement in paraphrase.statements:
        kind = str(statement["kind"])
        if kind != "order" and (kind, statement["action"], statement["value"]) not in known:
            return kind
    # Actions in the order in which they are named: neither text names a later one first, or both do.
    own, other = (list(dict.fromkeys(s["action"] for s in text.statements if s["action"])) for text in (caption, paraphrase))
    missing = {statement["action"] for statement in stated} - {statement["action"] for statement in paraphrase.statements}
    if len(missing) > len(paraphrase.unknown):
        return "action left out"
    return "" if [action for action in own if action in other] == [action for action in other if action in own] else "order"


def _letters(text: str) -> list[str]:
    return [letter for letter in text.casefold() if letter.isalnum()]


@cache
def load_meanings(language: str) -> Meanings:
    """Load the lists of words of a language.

    Parameters
    ----------
    language : str
        As the library's words name it, such as ``en``.

    Raises
    ------
    UsageError
        If there are none.
    """
    known = sorted(path.stem for path in _FOLDER.glob("*.yaml"))
    if language not in known:
        msg = f"paraphrases in the language {language!r} cannot be checked; there are lists of words for {', '.join(known)}"
        raise UsageError(msg)
    lists: Mapping[str, Any] = read_yaml(_FOLDER / f"{language}.yaml")
    phrases: dict[tuple[str, ...], tuple[_Claim, ...]] = {}
    for kind, values in lists["phrases"].items():
        for value, texts in (values if isinstance(values, dict) else {"": values}).items():
            for words in (tuple(_TOKEN.findall(text)) for text in texts):
                phrases[words] = (*phrases.get(words, ()), (kind, str(value)))
    return Meanings(phrases, lists["turning"])


def word_claims(text: str, meanings: Meanings) -> list[_Claim]:
    """Return the kinds and values that a text states, in their order, by lists of words.

    The kind ``reversed`` is added if a clause states a later action first.
    """
    tokens = _TOKEN.findall(text.lower().replace("\u2019", "'"))
    return _claims(tokens, meanings) + [("reversed", "")] * _states_later_first(tokens, meanings.turning)


def _claims(tokens: Sequence[str], meanings: Meanings) -> list[tuple[str, str]]:
    """Take the longest known phrase at each word, from left to right; return the kinds and values that they state."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(tokens):
        lengths = range(min(_MOST_WORDS, len(tokens) - at), 0, -1)
        length = next((n for n in lengths if tuple(tokens[at : at + n]) in meanings.phrases), 0)
        if length:
            found += meanings.phrases[tuple(tokens[at : at + length])]
        elif tokens[at].isdigit():
            found.append(("numbers", tokens[at].lstrip("0") or "0"))
        elif tokens[at].endswith("n't"):
            found.append(("negations", ""))
        at += max(length, 1)
    return found


def _states_later_first(tokens: Sequence[str], turning: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a later action is stated first, as in "sits after walking" and "Before sitting, walks"."""
    for before, token, behind in zip([".", *tokens], tokens, [*tokens[1:], ""], strict=False):
        inside = token in turning["inside"] and behind not in turning["behind"]
        if token in turning["beginning"] if before in _MARKS else inside:
            return True
    return False


def word_difference(caption: Sequence[_Claim], paraphrase: Sequence[_Claim], *, turns_around: bool = False) -> str:
    """Return in what a paraphrase differs from its caption by lists of words; empty where it does not.

    Parameters
    ----------
    caption, paraphrase : sequence of (str, str)
        Results of :func:`word_claims`.
    turns_around : bool
        Whether the caption states that somebody turns around.
    """
    own, other = ({kind for kind, _ in claims} for claims in (caption, paraphrase))

    def has_changed(kind: str) -> bool:
        return [claim for claim in caption if claim[0] == kind] != [claim for claim in paraphrase if claim[0] == kind]

    differences = {
        "side": has_changed("sides"),
        "count": has_changed("numbers") or "many" in own ^ other,
        "direction": turns_around and "around" not in other,
        "negation": has_changed("negations"),
        "order": bool({"together", "reversed"} & (own ^ other) or "backwards" in other - own)
        or bool(own & _SUCCESSION and not other & _SUCCESSION),
    }
    if reason := next((reason for reason, differs in differences.items() if differs), ""):
        return reason
    added = sorted(claim for claim in paraphrase if claim[0] in _REASONS and claim not in caption)
    return _REASONS[added[0][0]] if added else ""
