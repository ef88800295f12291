"""Captions: sentences that say what a sequence shows, each with its statements, the claims that it makes as data.

All variants of a sample are worded alike, as far as what they show is alike: the wording is drawn for the sample, the
facts are the variant's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from posegen.config import Config
from posegen.library import Library
from posegen.randomness import Stream, uniform
from posegen.scene import Scenes
from posegen.story.beats import Actor, actors_of
from posegen.story.grammar import CHOICES, Grammar, grammar_of, statement
from posegen.story.sentences import DRAWS, Draw, Said, Wording, chain, sentences
from posegen.story.telling import Told, tell

__all__ = ["KINDS", "Caption", "captions"]

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
    facts = tell(scenes, library, config.fps) if told is None else told
    draws = uniform(config.seed, scenes.sample, Stream.CAPTION, len(KINDS) * DRAWS)
    choices = np.floor(draws * CHOICES).astype(np.int64)
    themes = list(library.themes)
    return [
        _captions(grammar, actors, themes[theme], tuple(chosen))
        for actors, theme, chosen in zip(
            actors_of(scenes, library, facts), scenes.theme.tolist(), choices.tolist(), strict=True
        )
    ]


@lru_cache(maxsize=1 << 11)
def _captions(grammar: Grammar, actors: tuple[Actor, ...], theme: str, choices: tuple[int, ...]) -> list[Caption]:
    # Kept, because most variants of a sample show what the base shows, and come next.
    return [
        _caption(Wording(grammar, kind, _DETAILS[kind], theme, choices[i * DRAWS : (i + 1) * DRAWS]), actors)
        for i, kind in enumerate(KINDS)
    ]


def _caption(wording: Wording, actors: tuple[Actor, ...]) -> Caption:
    text, statements = _of_one(wording, actors[0]) if len(actors) == 1 else _of_several(wording, actors)
    return {"text": text, "kind": wording.kind, "statements": statements}


def _of_one(wording: Wording, actor: Actor) -> Said:
    words, grammar = wording.grammar.words, wording.grammar
    own = wording.choice[Draw.WHO] * 2 < CHOICES
    who = actor.who if own else "person"
    styled = bool(actor.style) and _style_told(wording) == _BY_SUBJECT
    subjects = words["styles"][actor.style]["subjects"] if styled else words["subjects"]
    subject = grammar.pick(subjects[who], wording.choice[Draw.SUBJECT])
    people = [statement(-1, "people", -1, "", "1")]
    if own:
        people.append(statement(actor.number, "people", -1, "", who))
    if styled:
        people.append(statement(actor.number, "style", -1, "", actor.style))
    wording = _with_style(wording, actor)
    if wording.kind == "narrative":
        text, statements = sentences(wording, actor, subject, who)
    else:
        template = grammar.pick(words[wording.kind], wording.choice[Draw.TEMPLATE])
        form = "does" if "{does}" in template else "doing"
        text, statements = chain(wording, actor, form)
        text = template.replace("{subject}", subject).replace(f"{{{form}}}", text)
        people = people if "{subject}" in template else []
    return Said(text.replace("{their}", words["their"][who]), people + statements)


def _style_told(wording: Wording) -> int:
    """Whether a caption tells the style by its subject, by how something is done, or, for another number, not at all."""
    return wording.choice[Draw.WHO] % 3


def _with_style(wording: Wording, actor: Actor) -> Wording:
    return wording._replace(style=actor.style if _style_told(wording) == _BY_MANNER else "")


def _of_several(wording: Wording, actors: tuple[Actor, ...]) -> Said:
    words, pick, choice = wording.grammar.words, wording.grammar.pick, wording.choice
    several: Mapping[str, Any] = words["several"]
    number = wording.grammar.number(len(actors))
    statements = [statement(-1, "people", -1, "", str(len(actors)))]
    pair = len(actors) == 2 and wording.kind != "narrative"
    subjects = [pick(several[key], choice[Draw.SUBJECT], salt) for salt, key in enumerate(("one", "other"))]
    clauses = []
    for actor, subject in zip(actors, subjects if pair else several["numbered"], strict=False):
        text, claims = chain(_with_style(wording, actor), actor, "does")
        # Only the first two meet.
        partner = pick(several["partner"], choice[Draw.WHO]) if pair else several["numbered"][1 - min(actor.number, 1)]
        text = text.replace("{partner}", partner)
        clauses.append(f"{subject} {text}")
        statements += claims
    if wording.kind == "narrative":
        place = pick(words["places"].get(wording.theme) or [""], choice[Draw.PLACE])
        opening = pick(words["narrative"]["people"], choice[Draw.TEMPLATE]).replace("{number}", number)
        parts = [opening.replace(" {place}", f" {place}" if place else ""), *(f"{clause}." for clause in clauses)]
        text = " ".join([part[:1].upper() + part[1:] for part in parts])
    else:
        text = pick(words["joining"]["meanwhile"], choice[Draw.JOINING]).join(clauses)
        text = text if pair else several["intro"].replace("{number}", number) + text
    return Said(text.replace("{their}", words["their"]["person"]), statements)
