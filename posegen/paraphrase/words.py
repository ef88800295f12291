"""What words of a text bear on its claims, by lists of a language: which must stay, and which must not come in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from posegen.errors import UsageError
from posegen.yaml_files import read_yaml

__all__ = ["Meanings", "Words", "difference", "meanings_of", "words_of"]

_FOLDER = Path(__file__).parent / "meanings"
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[.,;:!?]")
_MARKS = frozenset(".,;:!?")
_LONGEST_PHRASE = 4


class _Sense(NamedTuple):
    """What a phrase tells: a sort of thing, such as `side`, and which one."""

    sort: str
    value: str


@dataclass(frozen=True, eq=False)
class Meanings:
    """Phrases of a language, as tuples of words, and what each tells; words that turn the order of time round, and where."""

    phrases: Mapping[tuple[str, ...], tuple[_Sense, ...]]
    beginning: frozenset[str]
    inside: frozenset[str]
    behind: frozenset[str]


class Words(NamedTuple):
    """What a text tells by the lists.

    Attributes
    ----------
    sides, numbers : tuple of str
        In the order in which they are told.
    around, together, sequence, backwards, turned, many : bool
        Whether something is told as a turn around, as done at the same time, one after another, by words that may tell from
        later to earlier, in a clause that does, as done so many times.
    classes : frozenset of (str, str)
        Speeds, sorts of people, ways and moods.
    negations : int
    """

    sides: tuple[str, ...]
    numbers: tuple[str, ...]
    around: bool
    together: bool
    sequence: bool
    backwards: bool
    turned: bool
    many: bool
    classes: frozenset[tuple[str, str]]
    negations: int


@cache
def meanings_of(language: str) -> Meanings:
    """Give the lists of a language.

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
        msg = f"captions of the language {language!r} cannot be checked in other words; there are lists for {', '.join(known)}"
        raise UsageError(msg)
    return _read(read_yaml(_FOLDER / f"{language}.yaml"))


def _read(lists: Mapping[str, Any]) -> Meanings:
    phrases: dict[tuple[str, ...], tuple[_Sense, ...]] = {}

    def add(texts: Sequence[str], sense: _Sense) -> None:
        for text in texts:
            words = tuple(_TOKEN.findall(text))
            phrases[words] = (*phrases.get(words, ()), sense)

    for sort in ("sides", "numbers"):
        for value, texts in lists[sort].items():
            add(texts, _Sense(sort, str(value)))
    for sort in ("around", "together", "sequence", "backwards", "many", "negations"):
        add(lists[sort], _Sense(sort, ""))
    for kind, values in lists["classes"].items():
        for value, texts in values.items():
            add(texts, _Sense(kind, value))
    turning = lists["turning"]
    return Meanings(phrases, *(frozenset(turning[key]) for key in ("beginning", "inside", "behind")))


def words_of(text: str, meanings: Meanings) -> Words:
    """Look through a text.

    Parameters
    ----------
    text : str
    meanings : Meanings

    Returns
    -------
    Words
    """
    tokens = _TOKEN.findall(text.lower().replace("\u2019", "'"))
    senses = [sense for at in _phrases(tokens, meanings) for sense in at]
    told = {sense.sort for sense in senses}
    numbers = tuple(sense.value for sense in senses if sense.sort == "numbers")
    return Words(
        sides=tuple(sense.value for sense in senses if sense.sort == "sides"),
        numbers=numbers,
        around="around" in told,
        together="together" in told,
        sequence=bool(told & {"sequence", "backwards"}),
        backwards="backwards" in told,
        turned=_turned(tokens, meanings),
        many="many" in told,
        classes=frozenset((s.sort, s.value) for s in senses if s.sort in ("speed", "who", "way", "mood")),
        negations=sum(sense.sort == "negations" for sense in senses),
    )


def _phrases(tokens: Sequence[str], meanings: Meanings) -> list[tuple[_Sense, ...]]:
    """Take the longest known phrase at each word, from left to right."""
    found: list[tuple[_Sense, ...]] = []
    at = 0
    while at < len(tokens):
        length = next(
            (
                n
                for n in range(_LONGEST_PHRASE, 0, -1)
                if tuple(tokens[at : at + n]) in meanings.phrases and at + n <= len(tokens)
            ),
            0,
        )
        if length:
            found.append(meanings.phrases[tuple(tokens[at : at + length])])
        elif tokens[at].isdigit():
            found.append((_Sense("numbers", tokens[at].lstrip("0") or "0"),))
        elif tokens[at].endswith("n't"):
            found.append((_Sense("negations", ""),))
        at += max(length, 1)
    return found


def _turned(tokens: Sequence[str], meanings: Meanings) -> bool:
    """Whether what comes later is told first, as in "sits after walking" and "Before sitting, walks"."""
    for at, token in enumerate(tokens):
        begins = at == 0 or tokens[at - 1] in _MARKS
        forward = at + 1 < len(tokens) and tokens[at + 1] in meanings.behind
        if token in meanings.beginning and begins:
            return True
        if token in meanings.inside and not begins and not forward:
            return True
    return False


def difference(caption: Words, paraphrase: Words, *, turns_around: bool = False) -> str:
    """Say in a word or two in what a paraphrase differs from its caption by the lists; nothing where it does not.

    Parameters
    ----------
    caption, paraphrase : Words
    turns_around : bool
        Whether the caption claims that somebody turns around.
    """
    if caption.sides != paraphrase.sides:
        return "side"
    if caption.numbers != paraphrase.numbers or caption.many != paraphrase.many:
        return "count"
    if turns_around and not paraphrase.around:
        return "direction"
    if caption.negations != paraphrase.negations:
        return "negation"
    if caption.together != paraphrase.together or caption.sequence > paraphrase.sequence:
        return "order"
    if paraphrase.backwards > caption.backwards or paraphrase.turned != caption.turned:
        return "order"
    other = sorted(paraphrase.classes - caption.classes)
    return {"who": "people", "way": "path", "mood": "style"}.get(other[0][0], other[0][0]) if other else ""
