"""Hard negatives: captions with one statement changed, so that they are false of their scenes.

A statement is located in the text by the phrases of the library and replaced by another of the same kind: another side,
direction, path, speed or count of an action, or another action in the same verb form. A statement is left alone if its phrase
does not occur exactly once, if the changed statement may be true of another part of the scene, or if the caption states more
about the action than that it happens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from typing import Any, NamedTuple

import xxhash

from posegen.captions.grammar import verb_forms
from posegen.library.load import load_library

CHANGED = ("action", "side", "direction", "path", "speed", "count")
"""Kinds of statements that are changed."""

_OTHERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "side": {"left": ("right",), "right": ("left",)},
    "direction": {"left": ("right",), "right": ("left",)},
    "path": {
        "left": ("right", "straight"),
        "right": ("left", "straight"),
        "straight": ("left", "right"),
        "left_circle": ("right_circle",),
        "right_circle": ("left_circle",),
        "left_diagonal": ("right_diagonal",),
        "right_diagonal": ("left_diagonal",),
    },
    "speed": {"slow": ("fast",), "fast": ("slow",)},
}
"""Values that are certainly false where the key is true. A turn may be both to a side and around; normal speed is vague."""
_NOT_OF_ONE_ACTION = ("order", "people")
_MOST_TIMES = 5
_ONCE_TWICE = {1: "once", 2: "twice"}
_PARTNER, _THEIR, _BEFORE, _NEUTRAL_THEIR = "{partner}", "{their}", " ~", "their"
_IMPLIED = {"speed": "speed_verbs", "side": "side_verbs"}
"""Kinds of statements that verbs may imply, and the key of such verbs."""

Statement = tuple[str, str, str]
"""Kind, action and value of a statement."""


class Alternative(NamedTuple):
    """A caption with one false statement, and the kind of that statement (one of :data:`CHANGED`)."""

    text: str
    kind: str


@dataclass(frozen=True)
class _Phrases:
    """The phrases of a library by meaning.

    Attributes
    ----------
    verbs : verbs of each action, each in all forms
    stopped : verbs that an action has only behind a gait, such as "stop walking and stand"
    details : phrases for an action, a kind and a value
    counts : phrases for a number of repetitions
    theirs : possessive pronouns
    """

    verbs: dict[str, tuple[tuple[str, ...], ...]]
    stopped: dict[str, tuple[tuple[str, ...], ...]]
    details: dict[tuple[str, str, str], tuple[str, ...]]
    counts: dict[int, tuple[str, ...]]
    theirs: tuple[str, ...]


@lru_cache(1)
def _phrases() -> _Phrases:
    """Collect the phrases of posegen's own library."""
    words: Mapping[str, Any] = load_library().words
    forms, theirs = tuple(words["forms"]), tuple(sorted(set(words["their"].values())))
    verbs, stopped, details = {}, {}, {}
    for name, own in words["actions"].items():
        listed = [*own["verbs"], *own.get("once", ())]
        verbs[name] = tuple(verb_forms(verb, forms) for verb in dict.fromkeys(listed) if _PARTNER not in verb)
        stopped[name] = tuple(verb_forms(verb, forms) for verb in own.get("stopped", ()))
        for kind in _OTHERS:
            for value, phrases in own.get(kind, {}).items():
                details[name, kind, value] = tuple(phrase.removesuffix(_BEFORE) for phrase in phrases)
        for key in _IMPLIED.values():
            for value, listed in own.get(key, {}).items():
                details[name, key, value] = tuple(form for verb in listed for form in verb_forms(verb, forms))
    counts = {count: tuple(dict.fromkeys(words["counts"][name])) for count, name in _ONCE_TWICE.items()}
    for count in range(len(counts) + 1, len(words["numbers"])):
        counts[count] = tuple(phrase.replace("{number}", words["numbers"][count]) for phrase in words["counts"]["more"])
    return _Phrases(verbs, stopped, details, counts, theirs)


@lru_cache(1 << 14)
def alternatives_of(text: str, statements: tuple[Statement, ...], done: tuple[str, ...], most: int) -> tuple[Alternative, ...]:
    """Change one statement of a caption, in up to `most` ways, of different kinds where possible.

    Parameters
    ----------
    text : str
        The caption.
    statements : tuple of (str, str, str)
        Kind, action and value of each statement.
    done : tuple of str
        Actions of the scene, each as often as it is performed.
    most : int

    Returns
    -------
    tuple of Alternative
        The choice is a function of a hash of the text.
    """
    stated = [action for kind, action, _ in statements if kind not in _NOT_OF_ONE_ACTION]
    by_kind: dict[str, list[Alternative]] = {}
    for kind, action, value in statements:
        if kind == "action" and value == "" and stated.count(action) == 1:
            changed = _other_action(text, action, frozenset(done))
        elif kind in CHANGED and kind != "action" and done.count(action) == 1:
            changed = _other_value(text, action, kind, value)
        else:
            continue
        if changed is not None:
            by_kind.setdefault(kind, []).append(Alternative(changed, kind))
    # One of each kind in turn; the first kind, and the first of each kind, are selected by a hash.
    kinds = _rotated(sorted(by_kind), _hash(text, "kind"))
    in_turn = [_rotated(by_kind[kind], _hash(text, kind)) for kind in kinds]
    rounds = max(map(len, in_turn), default=0)
    return tuple([own[i] for i in range(rounds) for own in in_turn if i < len(own)][:most])


def _other_value(text: str, action: str, kind: str, value: str) -> str | None:
    known = _phrases()
    if kind == "count":
        counts = [other for other in range(1, _MOST_TIMES + 1) if other != int(value)]
        count = counts[_hash(text, kind, action) % len(counts)]
        return _replaced(text, _pairs(known.counts.get(int(value), ()), known.counts[count]))
    others: tuple[str, ...] = _OTHERS[kind].get(value, ())
    if not others:
        return None
    other = others[_hash(text, kind, action) % len(others)]
    pairs = _pairs(*(known.details.get((action, kind, one), ()) for one in (value, other)))
    if kind in _IMPLIED:
        pairs = {**pairs, **_pairs(*(known.details.get((action, _IMPLIED[kind], one), ()) for one in (value, other)))}
    return _replaced(text, pairs)


def _other_action(text: str, action: str, done: frozenset[str]) -> str | None:
    known = _phrases()
    names = [name for name, verbs in known.verbs.items() if verbs and name not in done]
    if not names:
        return None
    drawn = _hash(text, "action", action)
    verbs = known.verbs[names[drawn % len(names)]]
    other = verbs[drawn // len(names) % len(verbs)]
    forms = {surface: other[form].replace(_THEIR, their) for surface, form, their in _verb_surfaces(action) if surface in text}
    return _replaced(text, forms)


@lru_cache(1 << 10)
def _verb_surfaces(action: str) -> tuple[tuple[str, int, str], ...]:
    """Return all forms of an action's verbs, each with the index of the form and its possessive."""
    known = _phrases()
    return tuple(
        (form.replace(_THEIR, their), index, their)
        for verb in (*known.verbs.get(action, ()), *known.stopped.get(action, ()))
        for index, form in enumerate(verb)
        for their in (known.theirs if _THEIR in form else (_NEUTRAL_THEIR,))
    )


@lru_cache(1 << 12)
def _pairs(old: tuple[str, ...], new: tuple[str, ...]) -> Mapping[str, str]:
    """Pair phrases of one meaning with phrases of another, in the order in which they are listed."""
    pairs: dict[str, str] = {}
    for one, other in zip(old, cycle(new), strict=False):
        if one and other:
            for their in _phrases().theirs if _THEIR in one else (_NEUTRAL_THEIR,):
                # For a phrase that is listed twice, the first pair counts.
                pairs.setdefault(one.replace(_THEIR, their), other.replace(_THEIR, their))
    return pairs


def _replaced(text: str, pairs: Mapping[str, str]) -> str | None:
    """Replace the one phrase that occurs in a text; None if none or several occur."""
    spans = [(start, start + len(phrase)) for phrase in pairs for start in _occurrences(text, phrase)]
    # A shorter phrase may lie within a longer one.
    widest = [own for own in spans if not any(own != other and other[0] <= own[0] and own[1] <= other[1] for other in spans)]
    if len(widest) != 1:
        return None
    ((start, end),) = widest
    new = pairs[text[start:end]]
    return None if text[start:end] == new else text[:start] + new + text[end:]


def _occurrences(text: str, phrase: str) -> list[int]:
    """Return the positions at which a phrase occurs as whole words; a hyphen joins words."""
    if phrase not in text:
        return []
    return [match.start() for match in re.finditer(rf"(?<![^\W_])(?<!-)(?={re.escape(phrase)}(?!-)(?![^\W_]))", text)]


def _rotated(values: list[Any], by: int) -> list[Any]:
    start = by % max(1, len(values))
    return values[start:] + values[:start]


def _hash(*words: str) -> int:
    return xxhash.xxh3_64_intdigest("|".join(words).encode())
