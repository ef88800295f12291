"""Whether a paraphrase claims what its caption claims, and nothing else.

A paraphrase uses words that the grammar does not know, so it is held against its caption in two ways. By lists of words: every
side and number of the caption is told, in its order; a turn around is; nothing is told of speed, way, mood or who it is that
the caption does not tell; nothing is denied; nothing is told from later to earlier. And by reading it back: whatever the
grammar understands of it must be among the caption's statements, and for each action that is not found there must be words
that were not understood, which may tell it. What cannot be decided is refused: a good paraphrase lost costs little, a false
one much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from posegen.captions.parser import ParsedCaption, parse_caption
from posegen.library.load import Library
from posegen.paraphrase.words import difference, meanings_of, words_of

__all__ = ["SAME", "changed"]

SAME = "same words"
_Statement = Mapping[str, Any]
_Pairs = set[tuple[str, str]]


def changed(caption: Mapping[str, Any], paraphrase: str, library: Library) -> str:
    """Say in what a paraphrase differs from its caption.

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
        A word or two, such as ``side`` or ``count``; empty where it claims the same.
    """
    text, told = caption["text"], caption["statements"]
    if _letters(text) == _letters(paraphrase):
        return SAME
    meanings = meanings_of(library.words["language"])
    around = any(claim["kind"] == "direction" and claim["value"] == "around" for claim in told)
    by_words = difference(words_of(text, meanings), words_of(paraphrase, meanings), turns_around=around)
    return by_words or _read_otherwise(told, parse_caption(paraphrase, library))


def _read_otherwise(told: Sequence[_Statement], reading: ParsedCaption) -> str:
    """Say in what statements that were read differ from those that were told; nothing where they do not."""
    known = {(claim["kind"], claim["action"], claim["value"]) for claim in told}
    known |= {("action", claim["action"], "") for claim in told}
    if not any(claim["kind"] == "people" and claim["actor"] < 0 and claim["value"] != "1" for claim in told):
        known.add(("people", "", "1"))  # a caption without a subject is of one person, too
    for claim in reading.statements:
        kind = str(claim["kind"])
        if kind != "order" and (kind, claim["action"], claim["value"]) not in known:
            return kind
    found = {claim["action"] for claim in reading.statements}
    missing = {claim["action"] for claim in told} - found
    if len(missing) > len(reading.unknown):
        return "action left out"
    return "order" if _out_of_order(told, reading.statements) else ""


def _out_of_order(told: Sequence[_Statement], read: Sequence[_Statement]) -> bool:
    """Whether two actions are read in another order than they are told, or at once where they are not."""
    (before, at_once), (read_before, read_at_once) = _order(told), _order(read)
    for one, other in read_before - before:
        if (other, one) in before | at_once:
            return True
    return any(pair in before or pair[::-1] in before for pair in read_at_once - at_once)


def _order(claims: Sequence[_Statement]) -> tuple[_Pairs, _Pairs]:
    """Pairs of different actions of which the one comes before the other, and, both ways round, those done at once."""
    action = {(claim["actor"], claim["segment"]): str(claim["action"]) for claim in claims if claim["action"]}
    following: dict[tuple[Any, int], set[int]] = {}
    before: _Pairs = set()
    at_once: _Pairs = set()
    for claim in claims:
        if claim["kind"] == "order":
            relation, _, number = str(claim["value"]).partition(" ")
            actor, segment, other = claim["actor"], int(claim["segment"]), int(number)
            if relation == "after":
                following.setdefault((actor, other), set()).add(segment)
            else:
                pair = (action.get((actor, other), ""), action.get((actor, segment), ""))
                at_once |= {pair, pair[::-1]}
    for actor, first in following:
        later = _reached(following, actor, first)
        before |= set(product([action.get((actor, first), "")], (action.get((actor, segment), "") for segment in later)))
    return {pair for pair in before if pair[0] != pair[1]}, at_once


def _reached(following: Mapping[tuple[Any, int], set[int]], actor: Any, first: int) -> set[int]:
    """Give all segments that come after one."""
    reached: set[int] = set()
    waiting = [first]
    while waiting:
        new = following.get((actor, waiting.pop()), set()) - reached
        reached |= new
        waiting += new
    return reached


def _letters(text: str) -> list[str]:
    return [letter for letter in text.casefold() if letter.isalnum()]
