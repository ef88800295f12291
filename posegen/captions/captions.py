"""Captions: sentences that say what a sequence shows, each with its statements, the claims that it makes as data.

All variants of a sample are worded alike, as far as what they show is alike: the wording is drawn for the sample, the
facts are the variant's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.captions.beats import Actor, Casts, casts_of
from posegen.captions.facts import Statement, facts_of, place_of, statement
from posegen.captions.grammar import CHOICES, grammar_of
from posegen.captions.joint import told_of_both
from posegen.captions.sentences import (
    DRAWS,
    FIRST_SLOT,
    JOINING,
    PLACE,
    SLOTS,
    SUBJECT,
    TEMPLATE,
    WHO,
    Wording,
    claims_of,
    joined,
    listed,
    spoken,
    story,
    told,
)
from posegen.captions.telling import Told, tell
from posegen.config.schema import Config
from posegen.library import Library
from posegen.randomness import Stream, uniform
from posegen.scene import Scenes

__all__ = ["KINDS", "Caption", "captions", "label_segments"]

Array = NDArray[Any]
Row = dict[str, Any]
Caption = dict[str, Any]
"""Text, kind and statements.

A statement is a claim: actor, kind (action, side, count, speed, direction, order, path, style, partner or people), segment,
action and value. The actor is -1 where the scene is meant, the segment -1 where no single one is; segments are numbered as
those that are told of the actor. The value is left or right for a side, left, right or around for a direction, slow, normal or
fast for speed, straight, left or right for a path, a number for a count; for people a number or what kind of person; the name
of a style; the number of the actor who is the partner; ``after 0`` or ``during 0``, with the number of the other segment, for
order; ``finished`` for an action of which its end is told too.
"""

KINDS = ("short", "full", "narrative")

_BY_SUBJECT, _BY_MANNER = 0, 1
_DETAILS = {"short": "none", "full": "all", "narrative": "some"}


class _Said(NamedTuple):
    text: str
    statements: list[Statement]


def captions(scenes: Scenes, library: Library, config: Config, *, told: Told | None = None) -> list[list[Caption]]:
    """Write the captions of each sequence.

    Parameters
    ----------
    scenes : Scenes
        Of one variant.
    library : Library
    config : Config
    told : Told, optional
        What :func:`posegen.captions.telling.tell` says of these scenes, if it is known already.

    Returns
    -------
    list, for each sequence, of dicts
        A caption of each of :data:`KINDS`. Sequences that are worded alike share them: they are not to be changed.
    """
    casts = casts_of(scenes, library, tell(scenes, library, config.fps) if told is None else told)
    sequence = np.repeat(np.arange(len(scenes)), np.diff(casts.bounds))
    choices = _choices(config, scenes, 0, len(KINDS) * DRAWS).reshape(-1, len(KINDS), DRAWS)
    wordings = [
        _wording(library, casts, kind, choices[sequence, number, FIRST_SLOT + casts.slot % SLOTS])
        for number, kind in enumerate(KINDS)
    ]
    chosen, themes = choices[:, :, :FIRST_SLOT].tolist(), list(library.themes)
    # Most variants of a sample show what the base shows, and most of the others what is said alike.
    alike: dict[bytes, list[Caption]] = {}
    kept: dict[Any, Caption] = {}
    found = []
    for i, (theme, first, last) in enumerate(zip(scenes.theme.tolist(), casts.bounds, casts.bounds[1:], strict=False)):
        depends = casts.scene[i] + casts.whole[8 * first : 8 * last]
        if depends not in alike:
            alike[depends] = _captions(wordings, i, themes[theme], chosen[i], depends, kept)
        found.append(alike[depends])
    return found


def _choices(config: Config, scenes: Scenes, first: int, count: int) -> Array:
    """Numbers below CHOICES, [n, count]: those from the `first` one on that words take."""
    draws = uniform(config.seed, scenes.sample, Stream.CAPTION, count, first=first)
    return np.asarray(np.floor(draws * CHOICES), np.int64)


def _wording(library: Library, casts: Casts, kind: str, choices: Array) -> Wording:
    grammar, detail = grammar_of(library), _DETAILS[kind]
    return Wording(grammar, kind, detail, casts, grammar.clauses(casts.facts, detail, choices), choices.tolist())


def _captions(
    wordings: list[Wording], i: int, theme: str, choices: list[list[int]], depends: bytes, kept: dict[Any, Caption]
) -> list[Caption]:
    """Write the captions of sequence `i`; `depends` is all that they depend on, `kept` are those written so far."""
    casts, actors = wordings[0].casts, None
    first, last = casts.bounds[i], casts.bounds[i + 1]
    shape = casts.scene[i] + casts.shape[8 * first : 8 * last]
    written = []
    for wording, choice in zip(wordings, choices, strict=True):
        # The clauses say all of the segments' facts that is told, unless a style is yet to be put in.
        by_manner = casts.styled[i] and choice[WHO] % 3 == _BY_MANNER
        key = (wording.kind, depends) if by_manner else (wording.kind, shape, *wording.clauses[first:last])
        caption = kept.get(key)
        if caption is None:
            actors = actors or casts.actors(i)
            caption = kept[key] = _caption(wording, actors, theme, choice)
        written.append(caption)
    return written


def label_segments(segments: list[list[list[Row]]], scenes: Scenes, library: Library, config: Config, told: Told) -> None:
    """Give each told segment its own caption, as `text` and `statements`, in the rows that hold it.

    Parameters
    ----------
    segments : list, for each sequence, of lists, for each actor, of dicts
        As :func:`posegen.captions.telling.visible_segments` lists them; they are changed.
    scenes : Scenes
    library : Library
    config : Config
    told : Told
        What is told of the segments.
    """
    grammar, most = grammar_of(library), scenes.action.shape[1]
    owner = told.owner
    choices = _choices(config, scenes, len(KINDS) * DRAWS, SLOTS)[owner // most, told.slot % SLOTS]
    clauses = grammar.clauses(facts_of(told, library), "all", choices)
    frames, places = (choices % len(grammar.labels)).tolist(), place_of(told, owner, most).tolist()
    rows = [segment for cast in segments for actor in cast for segment in actor]
    label = grammar.label
    for segment, clause, frame, place in zip(rows, clauses, frames, places, strict=True):
        segment["text"] = clause.labels.get(frame) or label(clause, frame)
        segment["statements"] = clause.made.get(place) or clause.statements(place)


def _caption(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> Caption:
    write = _of_one if len(actors) == 1 else _of_several
    text, statements = write(wording, actors, theme, choice)
    return {"text": text, "kind": wording.kind, "statements": statements}


def _of_one(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> _Said:
    grammar, kind, (actor,) = wording.grammar, wording.kind, actors
    drawn, joining, style = choice[WHO], choice[JOINING], actor.style
    own = drawn * 2 < CHOICES
    who = actor.who if own else "person"
    manner = drawn % 3 if style else -1
    words = grammar.words["styles"][style] if manner == _BY_SUBJECT else grammar.words
    beats = spoken(wording, actor, style if manner == _BY_MANNER else "", joining)
    named, ordered = True, True
    if kind == "narrative":
        text = story(grammar, choice, actor, beats, theme, who)
    else:
        frames = grammar.sentences(kind, len(beats) > 1)
        frame, named = frames[choice[TEMPLATE] % len(frames)]
        ordered = len(beats) < 2 or kind != "short" or joining % 2 == 0 or frame.second >= 0
        if ordered:
            text = told(grammar, frame, beats, joining >> 1)
        else:
            text = frame.head + listed(grammar, beats, frame.first) + frame.tail
    if named:
        subjects = words["subjects"][who]
        text = text.replace("{subject}", subjects[choice[SUBJECT] % len(subjects)])
    if "{" in text:
        text = text.replace("{their}", grammar.words["their"][who])
    if kind == "narrative":
        text = text[:1].upper() + text[1:]
    claims = claims_of(actor.number, beats, ordered)
    if named:
        claims = _people(actor.number, who if own else "", style if manner == _BY_SUBJECT else "") + claims
    return _Said(text, claims)


@lru_cache(maxsize=1 << 10)
def _people(number: int, who: str, style: str) -> list[Statement]:
    people = [statement(-1, "people", -1, "", "1")]
    if who:
        people.append(statement(number, "people", -1, "", who))
    if style:
        people.append(statement(number, "style", -1, "", style))
    return people


def _of_several(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> _Said:
    grammar, kind, words = wording.grammar, wording.kind, wording.grammar.words
    both = told_of_both(wording, actors, theme, choice)
    if both is not None:
        return _Said(*both)
    several: Mapping[str, Any] = words["several"]
    number = grammar.number(len(actors))
    statements = [statement(-1, "people", -1, "", str(len(actors)))]
    pair = len(actors) == 2 and kind != "narrative"
    one = choice[SUBJECT]
    subjects = [several["one"][one % len(several["one"])], several["other"][one % len(several["other"])]]
    clauses = []
    for actor, subject in zip(actors, subjects if pair else several["numbered"], strict=False):
        beats = spoken(wording, actor, actor.style if choice[WHO] % 3 == _BY_MANNER else "", choice[JOINING])
        ordered = len(beats) < 2 or kind != "short" or choice[JOINING] % 2 == 0
        finite = grammar.finite
        text = joined(grammar, beats, finite, choice[JOINING] >> 1) if ordered else listed(grammar, beats, finite)
        if "{partner}" in text:
            # Only the first two meet.
            partners = several["partner"] if pair else [several["numbered"][1 - min(actor.number, 1)]]
            text = text.replace("{partner}", partners[choice[WHO] % len(partners)])
        clauses.append(f"{subject} {text}")
        statements += claims_of(actor.number, beats, ordered)
    if kind == "narrative":
        text = grammar.crowd(theme, number, choice[PLACE], choice[TEMPLATE])
        text = " ".join([text, *(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)])
    else:
        meanwhile = words["joining"]["meanwhile"]
        text = meanwhile[choice[JOINING] % len(meanwhile)].join(clauses)
        text = text if pair else several["intro"].replace("{number}", number) + text
    return _Said(text.replace("{their}", words["their"]["person"]), statements)
