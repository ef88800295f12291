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
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

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
_SUCCESSION = ("sequence", "backwards")
"""Kinds of words for actions one after the other; those for `backwards` may have the later one first."""
_CLASSES = ("speed", "who", "way", "mood")
_REASONS = {"who": "people", "way": "path", "mood": "style"}

_Statement = Mapping[str, Any]
_Pairs = set[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Meanings:
    """Phrases of a language with the kinds and values that they state, and words that put the later action first, by place."""

    phrases: Mapping[tuple[str, ...], tuple[tuple[str, str], ...]]
    beginning: frozenset[str]
    inside: frozenset[str]
    behind: frozenset[str]


class WordClaims(NamedTuple):
    """What a text states, by the lists of words.

    Attributes
    ----------
    claims : list of (str, str)
        Kinds and values, in their order in the text.
    is_reversed : bool
        Whether a clause states the later action first.
    """

    claims: list[tuple[str, str]]
    is_reversed: bool

    def values(self, *kinds: str) -> list[str]:
        """Return the values of the claims of these kinds."""
        return [value for kind, value in self.claims if kind in kinds]

    def has(self, *kinds: str) -> bool:
        """Return whether there is a claim of these kinds."""
        return any(kind in kinds for kind, _ in self.claims)


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
    return by_words or _statement_difference(statements, parse_caption(paraphrase, library))


def _statement_difference(stated: Sequence[_Statement], parsed: ParsedCaption) -> str:
    """Return in what parsed statements differ from stated ones; empty where they do not."""
    known = {(statement["kind"], statement["action"], statement["value"]) for statement in stated}
    known |= {("action", statement["action"], "") for statement in stated}
    if not any(s["kind"] == "people" and s["actor"] < 0 and s["value"] != "1" for s in stated):
        known.add(("people", "", "1"))  # a caption without a subject is about one person, too
    for statement in parsed.statements:
        kind = str(statement["kind"])
        if kind != "order" and (kind, statement["action"], statement["value"]) not in known:
            return kind
    missing = {statement["action"] for statement in stated} - {statement["action"] for statement in parsed.statements}
    if len(missing) > len(parsed.unknown):
        return "action left out"
    return "order" if _contradicts_order(stated, parsed.statements) else ""


def _contradicts_order(stated: Sequence[_Statement], parsed: Sequence[_Statement]) -> bool:
    """Return whether two actions have another order than stated, or are simultaneous where they were not."""
    (before, at_once), (parsed_before, parsed_at_once) = _order(stated), _order(parsed)
    for one, other in parsed_before - before:
        if (other, one) in before | at_once:
            return True
    return any(pair in before or pair[::-1] in before for pair in parsed_at_once - at_once)


def _order(statements: Sequence[_Statement]) -> tuple[_Pairs, _Pairs]:
    """Return pairs of different actions of which the first is before the second, and, both ways, simultaneous pairs."""
    action = {(s["actor"], s["segment"]): str(s["action"]) for s in statements if s["action"]}
    following: dict[tuple[Any, int], set[int]] = {}
    before: _Pairs = set()
    at_once: _Pairs = set()
    for statement in statements:
        if statement["kind"] == "order":
            relation, _, number = str(statement["value"]).partition(" ")
            actor, segment, other = statement["actor"], int(statement["segment"]), int(number)
            if relation == "after":
                following.setdefault((actor, other), set()).add(segment)
            else:
                pair = (action.get((actor, other), ""), action.get((actor, segment), ""))
                at_once |= {pair, pair[::-1]}
    for actor, first in following:
        later = _later_segments(following, actor, first)
        before |= set(product([action.get((actor, first), "")], (action.get((actor, segment), "") for segment in later)))
    return {pair for pair in before if pair[0] != pair[1]}, at_once


def _later_segments(following: Mapping[tuple[Any, int], set[int]], actor: Any, first: int) -> set[int]:
    """Return all segments after one."""
    later: set[int] = set()
    waiting = [first]
    while waiting:
        new = following.get((actor, waiting.pop()), set()) - later
        later |= new
        waiting += new
    return later


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
    meanings = [(kind, str(value), texts) for kind in ("sides", "numbers") for value, texts in lists[kind].items()]
    plain = ("around", "together", "sequence", "backwards", "many", "negations")
    meanings += [(kind, "", lists[kind]) for kind in plain]
    meanings += [(kind, value, texts) for kind, values in lists["classes"].items() for value, texts in values.items()]
    phrases: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}
    for kind, value, texts in meanings:
        for text in texts:
            words = tuple(_TOKEN.findall(text))
            phrases[words] = (*phrases.get(words, ()), (kind, value))
    turning = lists["turning"]
    return Meanings(phrases, *(frozenset(turning[key]) for key in ("beginning", "inside", "behind")))


def word_claims(text: str, meanings: Meanings) -> WordClaims:
    """Return what a text states, by lists of words.

    Parameters
    ----------
    text : str
    meanings : Meanings

    Returns
    -------
    WordClaims
    """
    tokens = _TOKEN.findall(text.lower().replace("\u2019", "'"))
    return WordClaims(_claims(tokens, meanings), _states_later_first(tokens, meanings))


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


def _states_later_first(tokens: Sequence[str], meanings: Meanings) -> bool:
    """Return whether a later action is stated first, as in "sits after walking" and "Before sitting, walks"."""
    for at, token in enumerate(tokens):
        begins = at == 0 or tokens[at - 1] in _MARKS
        forward = at + 1 < len(tokens) and tokens[at + 1] in meanings.behind
        if begins and token in meanings.beginning:
            return True
        if token in meanings.inside and not begins and not forward:
            return True
    return False


def word_difference(caption: WordClaims, paraphrase: WordClaims, *, turns_around: bool = False) -> str:
    """Return in what a paraphrase differs from its caption by lists of words; empty where it does not.

    Parameters
    ----------
    caption, paraphrase : WordClaims
    turns_around : bool
        Whether the caption states that somebody turns around.
    """
    if caption.values("sides") != paraphrase.values("sides"):
        return "side"
    if caption.values("numbers") != paraphrase.values("numbers") or caption.has("many") != paraphrase.has("many"):
        return "count"
    if turns_around and not paraphrase.has("around"):
        return "direction"
    if caption.values("negations") != paraphrase.values("negations"):
        return "negation"
    if caption.has("together") != paraphrase.has("together") or caption.is_reversed != paraphrase.is_reversed:
        return "order"
    if caption.has(*_SUCCESSION) > paraphrase.has(*_SUCCESSION) or paraphrase.has("backwards") > caption.has("backwards"):
        return "order"
    added = sorted(claim for claim in paraphrase.claims if claim[0] in _CLASSES and claim not in caption.claims)
    return _REASONS.get(added[0][0], added[0][0]) if added else ""
