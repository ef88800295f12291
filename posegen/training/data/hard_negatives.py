"""Hard negatives: a caption with one of its statements changed, so that it is false of its scene.

The words of the library are known, so a statement is found in the text by its own words, and others of the same kind are put
in their place: another side, direction, path, speed or count of an action, or another action in the same form of its verb. What
is not found exactly once is left alone, and so is what may be true of another part of the scene, and an action of which more is
told than that it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import xxhash

from posegen.captions.grammar import verb_forms
from posegen.library.load import load_library

__all__ = ["CHANGED", "Alternative", "Said", "alternatives_of"]


CHANGED = ("action", "side", "direction", "path", "speed", "count")
"""Kinds of statements that are changed."""

_OTHERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "side": {"left": ("right",), "right": ("left",)},
    "direction": {"left": ("right",), "right": ("left",)},
    "path": {"left": ("right", "straight"), "right": ("left", "straight"), "straight": ("left", "right")},
    "speed": {"slow": ("fast",), "fast": ("slow",)},
}
"""What is surely false where the one is true: a turn may be one to a side and around, a speed neither slow nor normal."""
_BESIDE = ("order", "people")
"""What is not told of one action."""
_MOST_TIMES = 5
_ONCE_TWICE = {1: "once", 2: "twice"}
_PARTNER, _THEIR, _BEFORE, _NOBODYS = "{partner}", "{their}", " ~", "their"
_SPEED_VERBS = "speed_verbs"

Said = tuple[str, str, str]
"""A statement's kind, action and value."""


class Alternative(NamedTuple):
    """A caption that is false in one statement, and which of :data:`CHANGED` that is."""

    text: str
    kind: str


@dataclass(frozen=True)
class _Phrases:
    """The words of a library, by what they say.

    Attributes
    ----------
    verbs : of each action its verbs, each in all forms
    details : phrases for an action, a kind and a value
    counts : phrases for a number of times
    theirs : possessive pronouns
    """

    verbs: dict[str, tuple[tuple[str, ...], ...]]
    details: dict[tuple[str, str, str], tuple[str, ...]]
    counts: dict[int, tuple[str, ...]]
    theirs: tuple[str, ...]


@lru_cache(1)
def _phrases() -> _Phrases:
    """Gather the words of posegen's own library."""
    words: Mapping[str, Any] = load_library().words
    actions: Mapping[str, Any] = words["actions"]
    forms, theirs = tuple(words["forms"]), tuple(sorted(set(words["their"].values())))
    verbs, details = {}, {}
    for name, own in actions.items():
        listed = [*own["verbs"], *own.get("once", ())]
        verbs[name] = tuple(verb_forms(verb, forms) for verb in dict.fromkeys(listed) if _PARTNER not in verb)
        for kind in _OTHERS:
            for value, phrases in own.get(kind, {}).items():
                details[name, kind, value] = tuple(phrase.removesuffix(_BEFORE) for phrase in phrases)
        for value, listed in own.get(_SPEED_VERBS, {}).items():
            details[name, _SPEED_VERBS, value] = tuple(form for verb in listed for form in verb_forms(verb, forms))
    return _Phrases(verbs, details, _counts(words), theirs)


def _counts(words: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    found = {count: tuple(dict.fromkeys(words["counts"][name])) for count, name in _ONCE_TWICE.items()}
    for count in range(len(found) + 1, len(words["numbers"])):
        found[count] = tuple(phrase.replace("{number}", words["numbers"][count]) for phrase in words["counts"]["more"])
    return found


@lru_cache(1 << 14)
def alternatives_of(text: str, statements: tuple[Said, ...], done: tuple[str, ...], most: int) -> tuple[Alternative, ...]:
    """Change one statement of a caption, in up to `most` ways that are of different kinds as far as there are any.

    Parameters
    ----------
    text : str
        The caption.
    statements : tuple of (str, str, str)
        Kind, action and value of each of its statements.
    done : tuple of str
        The actions of its scene, each as often as it is done.
    most : int

    Returns
    -------
    tuple of Alternative
        What is chosen is drawn by a hash of the text.
    """
    told = [action for kind, action, _ in statements if kind not in _BESIDE]
    found: dict[str, list[Alternative]] = {}
    for kind, action, value in statements:
        if kind == "action" and value == "" and told.count(action) == 1:
            changed = _other_action(text, action, frozenset(done))
        elif kind in CHANGED and kind != "action" and done.count(action) == 1:
            changed = _other_value(text, action, kind, value)
        else:
            continue
        if changed is not None:
            found.setdefault(kind, []).append(Alternative(changed, kind))
    # One of each kind in turn, beginning with a kind and one of it by a hash.
    kinds = _turned(sorted(found), _draw(text, "kind"))
    in_turn = [_turned(found[kind], _draw(text, kind)) for kind in kinds]
    rounds = max(map(len, in_turn), default=0)
    return tuple([own[i] for i in range(rounds) for own in in_turn if i < len(own)][:most])


def _other_value(text: str, action: str, kind: str, value: str) -> str | None:
    known = _phrases()
    if kind == "count":
        others = [other for other in range(1, _MOST_TIMES + 1) if other != int(value)]
        to = others[_draw(text, kind, action) % len(others)]
        return _changed(text, _pairs(known.counts.get(int(value), ()), known.counts[to]))
    others_of: tuple[str, ...] = _OTHERS[kind].get(value, ())
    if not others_of:
        return None
    other = others_of[_draw(text, kind, action) % len(others_of)]
    pairs = _pairs(*(known.details.get((action, kind, one), ()) for one in (value, other)))
    if kind == "speed":
        pairs |= _pairs(*(known.details.get((action, _SPEED_VERBS, one), ()) for one in (value, other)))
    return _changed(text, pairs)


def _other_action(text: str, action: str, done: frozenset[str]) -> str | None:
    known = _phrases()
    names = [name for name, verbs in known.verbs.items() if verbs and name not in done]
    if not names:
        return None
    drawn = _draw(text, "action", action)
    verbs = known.verbs[names[drawn % len(names)]]
    other = verbs[drawn // len(names) % len(verbs)]
    spoken = {surface: other[form].replace(_THEIR, their) for surface, form, their in _spoken(action) if surface in text}
    return _changed(text, spoken)


@lru_cache(1 << 10)
def _spoken(action: str) -> tuple[tuple[str, int, str], ...]:
    """List all forms of an action's verbs, with the number of the form and the possessive that it has."""
    known = _phrases()
    return tuple(
        (form.replace(_THEIR, their), number, their)
        for verb in known.verbs.get(action, ())
        for number, form in enumerate(verb)
        for their in (known.theirs if _THEIR in form else (_NOBODYS,))
    )


@lru_cache(1 << 12)
def _pairs_of(of: tuple[str, ...], to: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pair phrases that say one thing with those that say another, in the order in which they are listed."""
    together = [(phrase, to[place % len(to)]) for place, phrase in enumerate(of) if phrase] if to else []
    return tuple(
        (one.replace(_THEIR, their), other.replace(_THEIR, their))
        for one, other in together
        if other
        for their in (_phrases().theirs if _THEIR in one else (_NOBODYS,))
    )


def _pairs(of: tuple[str, ...], to: tuple[str, ...]) -> dict[str, str]:
    # Of a phrase that is listed twice, the first.
    return dict(reversed(_pairs_of(of, to)))


def _changed(text: str, pairs: Mapping[str, str]) -> str | None:
    """Put one of the pairs into a text; None if it is not plain which."""
    spans = [(at, at + len(one)) for one in pairs for at in _places(text, one)]
    # A shorter phrase may lie within a longer one.
    widest = [own for own in spans if not any(own != other and other[0] <= own[0] and own[1] <= other[1] for other in spans)]
    if len(widest) != 1:
        return None
    ((start, end),) = widest
    new = pairs[text[start:end]]
    return None if text[start:end] == new else text[:start] + new + text[end:]


def _places(text: str, phrase: str) -> Iterator[int]:
    """Give the places at which a phrase stands as words of their own."""
    at = text.find(phrase)
    while at >= 0:
        if not (_goes_on(text[max(at - 1, 0) : at]) or _goes_on(text[at + len(phrase) : at + len(phrase) + 1])):
            yield at
        at = text.find(phrase, at + 1)


def _goes_on(letter: str) -> bool:
    return letter.isalnum() or letter == "-"


def _turned(values: list[Any], by: int) -> list[Any]:
    place = by % max(1, len(values))
    return values[place:] + values[:place]


def _draw(*words: str) -> int:
    return xxhash.xxh3_64_intdigest("|".join(words).encode())
