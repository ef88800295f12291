"""Captions: sentences that say what a sequence shows, each with its statements, the claims that it makes as data.

All variants of a sample are worded alike, as far as what they show is alike: the wording is drawn for the sample, the
facts are the variant's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from posegen.config import Config
from posegen.library import Library
from posegen.randomness import Stream, uniform
from posegen.scene import Scenes
from posegen.story.beats import Actor, Casts, facts_of
from posegen.story.frames import frame_of
from posegen.story.grammar import CHOICES, Grammar, Statement, grammar_of, statement
from posegen.story.joint import told_of_both
from posegen.story.sentences import (
    DRAWS,
    JOINING,
    PLACE,
    SLOTS,
    SUBJECT,
    TEMPLATE,
    WHO,
    Spoken,
    Wording,
    claims_of,
    joined,
    listed,
    spoken,
    story,
    tense_of,
    told,
)
from posegen.story.telling import Told, tell

__all__ = ["KINDS", "Caption", "captions", "label_segments"]

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
_KEPT = 1 << 10


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
        What :func:`posegen.story.telling.tell` says of these scenes, if it is known already.

    Returns
    -------
    list, for each sequence, of dicts
        A caption of each of :data:`KINDS`. Sequences that are worded alike share them: they are not to be changed.
    """
    grammar = grammar_of(library)
    casts = Casts(scenes, library, tell(scenes, library, config.fps) if told is None else told)
    draws = uniform(config.seed, scenes.sample, Stream.CAPTION, len(KINDS) * DRAWS)
    choices = np.floor(draws * CHOICES).astype(np.int64)
    themes = list(library.themes)
    found = []
    for i, (theme, sample) in enumerate(zip(scenes.theme.tolist(), scenes.sample.tolist(), strict=True)):
        # Kept, because most variants of a sample show what the base shows.
        depends, kept = casts.all_of(i), grammar.kept.get((config.seed, sample))
        if kept is None or kept[0] != depends:
            written = _captions(grammar, casts.actors(i), themes[theme], choices[i].tolist())
            if kept is None:
                _keep(grammar.kept, (config.seed, sample), (depends, written))
        else:
            written = kept[1]
        found.append(written)
    return found


def _keep(kept: dict[Any, Any], key: tuple[int, int], value: Any) -> None:
    if len(kept) >= _KEPT:
        kept.clear()
    kept[key] = value


def label_segments(segments: list[list[list[Row]]], scenes: Scenes, library: Library, config: Config, told: Told) -> None:
    """Give each told segment its own caption, as `text` and `statements`, in the rows that hold it.

    Parameters
    ----------
    segments : list, for each sequence, of lists, for each actor, of dicts
        As :func:`posegen.story.telling.visible_segments` lists them; they are changed.
    scenes : Scenes
    library : Library
    config : Config
    told : Told
        What is told of the segments.
    """
    grammar = grammar_of(library)
    first = len(KINDS) * DRAWS
    draws = uniform(config.seed, scenes.sample, Stream.CAPTION, first + SLOTS)[:, first:]
    choices = np.floor(draws * CHOICES).astype(np.int64)
    forms = [frame_of(template, grammar.forms) for template in grammar.words["segment"]]
    their, partner = str(grammar.words["their"]["person"]), str(grammar.words["several"]["partner"][0])
    facts, slots = facts_of(told, library), told.slot
    row = 0
    for i, (cast, sample) in enumerate(zip(segments, scenes.sample.tolist(), strict=True)):
        told_of = [len(actor) for actor in cast]
        last = row + sum(told_of)
        depends, kept = (facts[row:last], slots[row:last], told_of), grammar.labelled.get((config.seed, sample))
        if kept is None or kept[0] != depends:
            labels: list[tuple[str, list[Statement]]] = []
            chosen = choices[i].tolist()
            for number, actor in enumerate(cast):
                for k in range(len(actor)):
                    choice = chosen[slots[row + len(labels)] % SLOTS]
                    verb, around = grammar.clause(facts[row + len(labels)], "all", choice)
                    head, form, _, _, tail = forms[choice % len(forms)]
                    text = head + around.before + verb[form] + around.behind + tail
                    if "{" in text:
                        text = text.replace("{their}", their).replace("{partner}", partner)
                    labels.append((text, around.statements(number, k)))
            if kept is None:
                _keep(grammar.labelled, (config.seed, sample), (depends, labels))
        else:
            labels = kept[1]
        for segment, label in zip([segment for actor in cast for segment in actor], labels, strict=True):
            segment["text"], segment["statements"] = label
        row = last


def _captions(grammar: Grammar, actors: tuple[Actor, ...], theme: str, choices: list[int]) -> list[Caption]:
    return [
        _caption(Wording(grammar, kind, _DETAILS[kind], theme, choices[i * DRAWS : (i + 1) * DRAWS]), actors)
        for i, kind in enumerate(KINDS)
    ]


def _caption(wording: Wording, actors: tuple[Actor, ...]) -> Caption:
    text, statements = _of_one(wording, actors[0]) if len(actors) == 1 else _of_several(wording, actors)
    return {"text": text, "kind": wording.kind, "statements": statements}


def _of_one(wording: Wording, actor: Actor) -> _Said:
    grammar, choice = wording.grammar, wording.choice
    own = choice[WHO] * 2 < CHOICES
    who = actor.who if own else "person"
    manner = choice[WHO] % 3 if actor.style else -1
    words = grammar.words["styles"][actor.style] if manner == _BY_SUBJECT else grammar.words
    subjects = words["subjects"][who]
    subject = subjects[choice[SUBJECT] % len(subjects)]
    beats = spoken(wording, actor, actor.style if manner == _BY_MANNER else "")
    named, ordered = True, True
    if wording.kind == "narrative":
        openings = grammar.openings(tense_of(wording), wording.theme, choice[PLACE])
        text = story(wording, actor, beats, openings[choice[TEMPLATE] % len(openings)], who)
    else:
        frames = grammar.sentences(wording.kind, len(beats) > 1)
        frame, named = frames[choice[TEMPLATE] % len(frames)]
        joining = choice[JOINING]
        ordered = len(beats) < 2 or wording.kind != "short" or joining % 2 == 0 or frame.second >= 0
        if ordered:
            text = told(wording, frame, beats, joining >> 1)
        else:
            text = frame.head + listed(grammar, beats, frame.first) + frame.tail
    if named:
        text = text.replace("{subject}", subject)
    if "{" in text:
        text = text.replace("{their}", grammar.words["their"][who])
    if wording.kind == "narrative":
        text = text[:1].upper() + text[1:]
    claims = claims_of(actor.number, beats, ordered)
    return _Said(
        text,
        _people(actor.number, actor.who if own else "", actor.style if manner == _BY_SUBJECT else "") + claims
        if named
        else claims,
    )


@lru_cache(maxsize=1 << 10)
def _people(number: int, who: str, style: str) -> list[Statement]:
    people = [statement(-1, "people", -1, "", "1")]
    if who:
        people.append(statement(number, "people", -1, "", who))
    if style:
        people.append(statement(number, "style", -1, "", style))
    return people


def _of_several(wording: Wording, actors: tuple[Actor, ...]) -> _Said:
    grammar, choice, words = wording.grammar, wording.choice, wording.grammar.words
    both = told_of_both(wording, actors, grammar.meetings)
    if both is not None:
        return _Said(*both)
    several: Mapping[str, Any] = words["several"]
    number = grammar.number(len(actors))
    statements = [statement(-1, "people", -1, "", str(len(actors)))]
    pair = len(actors) == 2 and wording.kind != "narrative"
    one = choice[SUBJECT]
    subjects = [several["one"][one % len(several["one"])], several["other"][one % len(several["other"])]]
    clauses = []
    for actor, subject in zip(actors, subjects if pair else several["numbered"], strict=False):
        by_manner = actor.style if choice[WHO] % 3 == _BY_MANNER else ""
        beats = spoken(wording, actor, by_manner)
        text = _one_breath(wording, beats)
        if "{partner}" in text:
            # Only the first two meet.
            partners = several["partner"] if pair else [several["numbered"][1 - min(actor.number, 1)]]
            text = text.replace("{partner}", partners[choice[WHO] % len(partners)])
        clauses.append(f"{subject} {text}")
        statements += claims_of(actor.number, beats, _ordered(wording, beats))
    if wording.kind == "narrative":
        text = grammar.crowd(wording.theme, number, choice[PLACE], choice[TEMPLATE])
        text = " ".join([text, *(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)])
    else:
        meanwhile = words["joining"]["meanwhile"]
        text = meanwhile[choice[JOINING] % len(meanwhile)].join(clauses)
        text = text if pair else several["intro"].replace("{number}", number) + text
    return _Said(text.replace("{their}", words["their"]["person"]), statements)


def _ordered(wording: Wording, beats: list[Spoken]) -> bool:
    return len(beats) < 2 or wording.kind != "short" or wording.choice[JOINING] % 2 == 0


def _one_breath(wording: Wording, beats: list[Spoken]) -> str:
    present = wording.grammar.finite
    if _ordered(wording, beats):
        return joined(wording.grammar, beats, present, wording.choice[JOINING] >> 1)
    return listed(wording.grammar, beats, present)
