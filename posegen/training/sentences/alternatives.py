"""Hard negatives: a caption with one of its statements changed, so that it is false of its scene.

The words of the library are known, so a statement is found in the text by its own words, and others of the same kind are put
in their place: another side, direction, path, speed or count of an action, or another action in the same form of its verb. What
is not found exactly once is left alone, and so is what may be true of another part of the scene, and an action of which more is
told than that it is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import xxhash

from posegen.library import Library, load_library
from posegen.story.frames import verb_forms

__all__ = ["CHANGED", "Alternative", "Phrases", "alternatives_of", "phrases_of"]

CHANGED = ("action", "side", "direction", "path", "speed", "count")
"""Kinds of statements that are changed."""

_OTHERS = {
    "side": {"left": ("right",), "right": ("left",)},
    "direction": {"left": ("right",), "right": ("left",)},
    "path": {"left": ("right", "straight"), "right": ("left", "straight"), "straight": ("left", "right")},
    "speed": {"slow": ("fast",), "fast": ("slow",)},
}
"""What is surely false where the one is true: a turn may be one to a side and around, a speed neither slow nor normal."""
_BESIDE = ("order", "people", "style")
"""What is not told of one action."""
_MOST_TIMES = 5
_ONCE_TWICE = {1: "once", 2: "twice"}
_PARTNER, _THEIR, _BEFORE = "{partner}", "{their}", " ~"

Pair = tuple[str, str]
"""What stands in a text, and what is put there."""


class Alternative(NamedTuple):
    """A caption that is false in one statement, and which of :data:`CHANGED` that is."""

    text: str
    kind: str


@dataclass(frozen=True)
class Phrases:
    """The words of a library, by what they say.

    Attributes
    ----------
    verbs : dict of str to tuple of tuple of str
        Of each action its verbs, each in all forms.
    details : dict of (str, str, str) to tuple of str
        Phrases for an action, a kind and a value.
    counts : dict of int to tuple of str
    """

    verbs: dict[str, tuple[tuple[str, ...], ...]]
    details: dict[tuple[str, str, str], tuple[str, ...]]
    counts: dict[int, tuple[str, ...]]
    theirs: tuple[str, ...]


@lru_cache(1)
def phrases_of(library: Library | None = None) -> Phrases:
    """Gather the words of a library; of posegen's own unless another is given."""
    words: Mapping[str, Any] = (library or load_library()).words
    forms, theirs = tuple(words["forms"]), tuple(sorted(set(words["their"].values())))
    verbs, details = {}, {}
    for name, own in words["actions"].items():
        listed = [*own["verbs"], *own.get("once", ())]
        verbs[name] = tuple(verb_forms(verb, forms) for verb in dict.fromkeys(listed) if _PARTNER not in verb)
        for kind in _OTHERS:
            for value, phrases in own.get(kind, {}).items():
                details[name, kind, value] = tuple(phrase.removesuffix(_BEFORE) for phrase in phrases)
        for value, listed in own.get("speed_verbs", {}).items():
            every = tuple(form for verb in listed for form in verb_forms(verb, forms))
            details[name, "speed_verbs", value] = every
    return Phrases(verbs, details, _counts(words), theirs)


def _counts(words: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    found = {count: tuple(dict.fromkeys(words["counts"][name])) for count, name in _ONCE_TWICE.items()}
    for count in range(len(found) + 1, len(words["numbers"])):
        found[count] = tuple(phrase.replace("{number}", words["numbers"][count]) for phrase in words["counts"]["more"])
    return found


def alternatives_of(caption: Mapping[str, Any], row: Mapping[str, Any], phrases: Phrases, most: int) -> list[Alternative]:
    """Change one statement of a caption, in up to `most` ways that are of different kinds as far as there are any.

    Parameters
    ----------
    caption : mapping
        Text and statements.
    row : mapping
        The sequence that it is a caption of, with its actors and their segments.
    phrases : Phrases
    most : int

    Returns
    -------
    list of Alternative
        The same for the same caption and row: what is chosen is drawn by a hash of the text.
    """
    done = [segment["action"] for actor in row["actors"] for segment in actor["segments"]]
    told = [statement["action"] for statement in caption["statements"] if statement["kind"] not in _BESIDE]
    found: dict[str, list[Alternative]] = {}
    for statement in caption["statements"]:
        kind, action = statement["kind"], statement["action"]
        if kind == "action" and statement["value"] == "" and told.count(action) == 1:
            changed = _other_action(caption["text"], action, frozenset(done), phrases)
        elif kind in CHANGED and kind != "action" and done.count(action) == 1:
            changed = _other_value(caption["text"], action, kind, statement["value"], phrases)
        else:
            continue
        if changed is not None:
            found.setdefault(kind, []).append(Alternative(changed, kind))
    # One of each kind in turn, beginning with a kind and one of it by a hash.
    kinds = _turned(sorted(found), _draw(caption["text"], "kind"))
    in_turn = [_turned(found[kind], _draw(caption["text"], kind)) for kind in kinds]
    rounds = max(map(len, in_turn), default=0)
    return [own[i] for i in range(rounds) for own in in_turn if i < len(own)][:most]


def _other_value(text: str, action: str, kind: str, value: str, phrases: Phrases) -> str | None:
    if kind == "count":
        count = int(value)
        others = [other for other in range(1, _MOST_TIMES + 1) if other != count]
        to = others[_draw(text, kind, action) % len(others)]
        pairs = _pairs(phrases.counts.get(count, ()), phrases.counts[to], phrases)
        return _changed(text, pairs)
    others_of = _OTHERS[kind].get(value, ())
    if not others_of:
        return None
    other = others_of[_draw(text, kind, action) % len(others_of)]
    pairs = _pairs(*(phrases.details.get((action, kind, one), ()) for one in (value, other)), phrases)
    if kind == "speed":
        verbs = (phrases.details.get((action, "speed_verbs", one), ()) for one in (value, other))
        pairs = [*pairs, *_pairs(*verbs, phrases)]
    return _changed(text, pairs)


def _other_action(text: str, action: str, done: frozenset[str], phrases: Phrases) -> str | None:
    names = [name for name, verbs in phrases.verbs.items() if verbs and name not in done]
    if not names:
        return None
    drawn = _draw(text, "action", action)
    verbs = phrases.verbs[names[drawn % len(names)]]
    other = verbs[drawn // len(names) % len(verbs)]
    pairs = [pair for verb in phrases.verbs.get(action, ()) for pair in _pairs(verb, other, phrases)]
    return _changed(text, pairs)


def _pairs(of: Sequence[str], to: Sequence[str], phrases: Phrases) -> list[Pair]:
    """Pair phrases that say one thing with those that say another, in the order in which they are listed."""
    if not to:
        return []
    together = [(phrase, to[place % len(to)]) for place, phrase in enumerate(of) if phrase]
    return [
        (one.replace(_THEIR, their), other.replace(_THEIR, their))
        for one, other in together
        if other
        for their in (phrases.theirs if _THEIR in one else phrases.theirs[-1:])
    ]


def _changed(text: str, pairs: Sequence[Pair]) -> str | None:
    """Put one of the pairs into a text; None if it is not plain which."""
    found = {one: other for one, other in reversed(pairs) if one in text}
    longest = [one for one in found if not any(one != other and one in other for other in found)]
    if len(longest) != 1:
        return None
    places = list(_places(text, longest[0]))
    if len(places) != 1:
        return None
    changed = text[: places[0]] + found[longest[0]] + text[places[0] + len(longest[0]) :]
    return None if changed == text else changed


def _places(text: str, phrase: str) -> Iterator[int]:
    """Give the places at which a phrase stands as words of their own."""
    return (match.start() for match in re.finditer(rf"(?<![\w-]){re.escape(phrase)}(?![\w-])", text))


def _turned(values: list[Any], by: int) -> list[Any]:
    place = by % max(1, len(values))
    return values[place:] + values[:place]


def _draw(*words: str) -> int:
    return xxhash.xxh3_64_intdigest("|".join(words).encode())
