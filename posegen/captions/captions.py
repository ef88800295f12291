"""Captions: sentences that describe a sequence, each with its statements; and captions of single segments.

All variants of a sample have the same wording as far as they show the same: the random numbers belong to the sample, the facts
to the variant. The clause of each segment comes from :mod:`posegen.captions.grammar`, the phrases of each actor from
:mod:`posegen.captions.phrases`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from posegen.captions.grammar import CHOICES, FINITE, Grammar, grammar_of
from posegen.captions.inputs import Actor, collect_inputs
from posegen.captions.meetings import caption_of_both
from posegen.captions.phrases import (
    FIRST_SEGMENT,
    JOINING,
    PLACE,
    SUBJECT,
    TEMPLATE,
    TENSE,
    WHO,
    CaptionText,
    Phrase,
    Wording,
    actor_phrases,
    fill_frame,
    join_phrases,
    named_theme,
    phrase_statements,
    without_order,
    word_segments,
)
from posegen.captions.segments import (
    Segments,
    Statement,
    make_statement,
    segment_columns,
    segment_facts,
    segment_keys,
    statement_lists,
)
from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.scene import Scenes
from posegen.library.load import Library

KINDS = ("short", "full", "narrative")
"""Kinds of captions. A caption has a text, its kind and statements.

A statement has actor, kind (action, side, count, speed, direction, order, path, style, partner or people), segment, action and
value. The actor is -1 for a statement about the scene, the segment -1 for one about no single segment; segments are numbered
as the rows list those of the actor. The value is left or right for a side; left, right or around for a direction; slow, normal
or fast for speed; straight, left or right for a path; a number for a count; a number or a kind of person for people; the name
of a style; the number of the actor who is the partner; ``after 0`` or ``during 0``, with the number of the other segment, for
order; ``finished`` for an action whose end is stated, too.
"""

_STYLE_OF_SUBJECT, _STYLE_OF_ACTION = 0, 1
_SEGMENT_NUMBERS = 10
_DRAWS = FIRST_SEGMENT + _SEGMENT_NUMBERS
"""Random numbers of a caption."""


def write_captions(scenes: Scenes, library: Library, config: Config, segments: Segments) -> pa.ListArray:
    """Write the captions of each sequence.

    Parameters
    ----------
    scenes : Scenes
        Of one variant.
    library : Library
    config : Config
    segments : Segments
        Of these scenes.

    Returns
    -------
    pyarrow.ListArray
        For each sequence a list of structs with text, kind and statements: a caption of each of :data:`KINDS`.
    """
    inputs, grammar = collect_inputs(scenes, library, segments), grammar_of(library)
    # Most variants of a sample show what the base shows, and most of the others have the same words.
    contents = [
        scene + inputs.whole[8 * first : 8 * last]
        for scene, first, last in zip(inputs.scene, inputs.bounds, inputs.bounds[1:], strict=False)
    ]
    numbers: dict[bytes, int] = {}
    number = [numbers.setdefault(each, len(numbers)) for each in contents]
    distinct = np.unique(number, return_index=True)[1].tolist()
    sequence = np.repeat(np.arange(len(scenes)), np.diff(inputs.bounds))
    rows = np.flatnonzero(np.isin(sequence, distinct))
    choices = _choices(config, scenes, 0, len(KINDS) * _DRAWS).reshape(-1, len(KINDS), _DRAWS)
    casts = [inputs.people[i * inputs.most : i * inputs.most + inputs.present[i]] for i in distinct]
    names, identity = list(library.themes), config.captions.identity * CHOICES
    themes = [names[theme] for theme in scenes.theme[distinct].tolist()]
    written = []
    for k, kind in enumerate(KINDS):
        own = choices[sequence, k, FIRST_SEGMENT + inputs.planned % _SEGMENT_NUMBERS]
        wording = word_segments(grammar, kind, inputs, rows, own, identity)
        chosen = choices[distinct, k, :FIRST_SEGMENT].tolist()
        written += [_caption(wording, *each) for each in zip(casts, themes, chosen, strict=True)]
    texts, statements = zip(*written, strict=True) if written else ((), ())
    kinds = np.arange(len(KINDS))
    columns = {
        "text": pa.array(texts, pa.string()),
        "kind": pa.array(KINDS).take(pa.array(np.repeat(kinds, len(distinct)))),
        "statements": statement_lists(statements),
    }
    order = np.asarray(number, np.int64)[:, None] + kinds * len(distinct)
    offsets = np.arange(0, order.size + 1, len(KINDS), dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, struct_array(columns).take(pa.array(order.ravel())))


def _choices(config: Config, scenes: Scenes, first: int, count: int) -> Array:
    """Draw numbers below CHOICES, [n, count], from number `first` of the caption stream."""
    draws = uniform(config.seed, scenes.sample, Stream.CAPTION, count, first=first)
    return np.asarray(np.floor(draws * CHOICES), np.int64)


def _caption(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> CaptionText:
    return (_caption_of_one if len(actors) == 1 else _caption_of_several)(wording, actors, theme, choice)


def describe_segments(
    scenes: Scenes, library: Library, config: Config, segments: Segments, moving: Array | None = None
) -> pa.ListArray:
    """Describe the visible segments of each actor, each with its own caption.

    Parameters
    ----------
    scenes : Scenes
    library : Library
    config : Config
    segments : Segments
        Of these scenes.
    moving : int [segments], optional
        As for :func:`posegen.captions.segments.segment_columns`.

    Returns
    -------
    pyarrow.ListArray [sequences * actors]
        Lists of structs: the columns of :func:`posegen.captions.segments.segment_columns`, `text` and `statements`. A layered
        segment follows the one that it overlays. The list of an absent actor is empty.
    """
    grammar, most = grammar_of(library), scenes.action.shape[1]
    owner = segments.owner
    choices = _choices(config, scenes, len(KINDS) * _DRAWS, _SEGMENT_NUMBERS)[
        owner // most, segments.planned % _SEGMENT_NUMBERS
    ]
    clauses = grammar.clauses(segment_facts(segments, library), "all", choices)
    frames, keys = (choices % len(grammar.labels)).tolist(), segment_keys(segments, owner, most).tolist()
    label = grammar.label
    texts = [clause.labels.get(frame) or label(clause, frame) for clause, frame in zip(clauses, frames, strict=True)]
    statements = [clause.made.get(key) or clause.statements(key) for clause, key in zip(clauses, keys, strict=True)]
    columns = segment_columns(library, segments, moving)
    columns |= {"text": pa.array(texts, pa.string()), "statements": statement_lists(statements)}
    return pa.ListArray.from_arrays(segments.bounds.astype(np.int32), struct_array(columns))


def struct_array(columns: Mapping[str, pa.Array]) -> pa.StructArray:
    """Return columns of equal length as an array of structs."""
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def _caption_of_one(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> CaptionText:
    grammar, kind, (actor,) = wording.grammar, wording.kind, actors
    drawn, joining, style = choice[WHO], choice[JOINING], actor.style
    own = drawn < wording.identity
    who = actor.who if own else "person"
    style_place = drawn % 3 if style else -1
    words = grammar.words["styles"][style] if style_place == _STYLE_OF_SUBJECT else grammar.words
    phrases = actor_phrases(wording, actor, style if style_place == _STYLE_OF_ACTION else "", joining)
    named, ordered = True, True
    if kind == "narrative":
        text = _narrative(grammar, choice, actor, phrases, named_theme(wording, [actor], theme, choice), who)
    else:
        frames = grammar.sentences(kind, len(phrases) > 1)
        frame, named = frames[choice[TEMPLATE] % len(frames)]
        ordered = len(phrases) < 2 or kind != "short" or joining % 2 == 0 or frame.second >= 0
        phrases = phrases if ordered else without_order(grammar, phrases)
        text = fill_frame(grammar, frame, phrases, joining >> 1 if ordered else None)
    if named:
        subjects = words["subjects"][who]
        text = text.replace("{subject}", subjects[choice[SUBJECT] % len(subjects)])
    if "{" in text:
        text = text.replace("{their}", grammar.words["their"][who])
    if kind != "short":
        text = text[:1].upper() + text[1:]
    statements = phrase_statements(actor.number, phrases, ordered)
    if named:
        named_style = style if style_place == _STYLE_OF_SUBJECT else ""
        statements = _people_statements(actor.number, who if own else "", named_style) + statements
    return text, statements


@lru_cache(maxsize=1 << 10)
def _people_statements(number: int, who: str, style: str) -> list[Statement]:
    people = [make_statement(-1, "people", -1, "", "1")]
    if who:
        people.append(make_statement(number, "people", -1, "", who))
    if style:
        people.append(make_statement(number, "style", -1, "", style))
    return people


def _caption_of_several(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> CaptionText:
    both = caption_of_both(wording, actors, theme, choice)
    if both is not None:
        return both
    grammar, kind, words = wording.grammar, wording.kind, wording.grammar.words
    theme = named_theme(wording, actors, theme, choice)
    several: Mapping[str, Any] = words["several"]
    number = grammar.number(len(actors))
    statements = [make_statement(-1, "people", -1, "", str(len(actors)))]
    pair = len(actors) == 2 and kind != "narrative"
    one = choice[SUBJECT]
    subjects = [several["one"][one % len(several["one"])], several["other"][one % len(several["other"])]]
    clauses = []
    for actor, subject in zip(actors, subjects if pair else several["numbered"], strict=False):
        phrases = actor_phrases(wording, actor, actor.style if choice[WHO] % 3 == _STYLE_OF_ACTION else "", choice[JOINING])
        ordered = len(phrases) < 2 or kind != "short" or choice[JOINING] % 2 == 0
        phrases = phrases if ordered else without_order(grammar, phrases)
        text = join_phrases(grammar, phrases, FINITE, choice[JOINING] >> 1 if ordered else None)
        if "{partner}" in text:
            # Only the first two actors interact.
            partners = several["partner"] if pair else [several["numbered"][1 - min(actor.number, 1)]]
            text = text.replace("{partner}", partners[choice[WHO] % len(partners)])
        clauses.append(f"{subject} {text}")
        statements += phrase_statements(actor.number, phrases, ordered)
    if kind == "narrative":
        text = grammar.crowd(theme, number, choice[PLACE], choice[TEMPLATE])
        text = " ".join([text, *(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)])
    else:
        meanwhile = words["joining"]["meanwhile"]
        text = meanwhile[choice[JOINING] % len(meanwhile)].join(clauses)
        text = text if pair else several["intro"].replace("{number}", number) + text
        text = f"{text[:1].upper()}{text[1:]}." if kind == "full" else text
    return text.replace("{their}", words["their"]["person"]), statements


def _narrative(grammar: Grammar, choice: Sequence[int], actor: Actor, phrases: Sequence[Phrase], theme: str, who: str) -> str:
    """Return phrases as sentences of one or two each; `who` names the subject from the second sentence on."""
    joining, subject = choice[JOINING], choice[SUBJECT]
    tenses = len(grammar.words["narrative"]["tenses"])
    # The first tense is the most frequent one.
    drawn = choice[TENSE] % (tenses + 2)
    tense = drawn if drawn < tenses else 0
    openings = grammar.openings(tense, theme, choice[PLACE])
    frame = openings[choice[TEMPLATE] % len(openings)]
    follow, last = grammar.continuations(tense, who)
    text, at, number = "", 0, 0
    while at < len(phrases):
        group = phrases[at : at + 1 + (joining >> number) % 2]
        if at:
            frames = last if number > 1 and at + 1 == len(phrases) and actor.complete else follow
            frame = frames[(subject + 5 * number) % len(frames)]
            text += " "
        text += fill_frame(grammar, frame, group, joining + at)
        at += len(group)
        number += 1
    return text
