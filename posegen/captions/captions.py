"""Captions: sentences that describe a sequence, each with its statements.

All variants of a sample have the same wording as far as they show the same: the random numbers belong to the sample, the facts
to the variant. Captions of single segments are made here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.captions.grammar import CHOICES, FINITE, Grammar, capitalized, compile_frame, grammar_of, pair_name, verb_forms
from posegen.captions.segments import Segments
from posegen.captions.sentences import (
    DRAWS,
    FIRST_SLOT,
    JOINING,
    PLACE,
    SLOTS,
    SUBJECT,
    TEMPLATE,
    WHO,
    Actor,
    Phrase,
    Wording,
    actor_phrases,
    caption_inputs,
    fill_frame,
    join_phrases,
    list_phrases,
    narrative,
    phrase_statements,
)
from posegen.captions.statements import Statement, make_statement, order_statement, segment_facts, segment_keys
from posegen.config.schema import Config
from posegen.library.load import Library
from posegen.randomness import Stream, uniform
from posegen.scene import Scenes

__all__ = ["KINDS", "Caption", "label_segments", "write_captions"]

Array = NDArray[Any]
Row = dict[str, Any]
Caption = dict[str, Any]
"""Text, kind and statements.

A statement has actor, kind (action, side, count, speed, direction, order, path, style, partner or people), segment, action and
value. The actor is -1 for a statement about the scene, the segment -1 for one about no single segment; segments are numbered
as the rows list those of the actor. The value is left or right for a side; left, right or around for a direction; slow, normal
or fast for speed; straight, left or right for a path; a number for a count; a number or a kind of person for people; the name
of a style; the number of the actor who is the partner; ``after 0`` or ``during 0``, with the number of the other segment, for
order; ``finished`` for an action whose end is stated, too.
"""

KINDS = ("short", "full", "narrative")

_STYLE_OF_SUBJECT, _STYLE_OF_ACTION = 0, 1
_DETAILS = {"short": "none", "full": "all", "narrative": "some"}
_HALVES = 1 << 10
"""Templates are picked by numbers below this, so the thousands of such a number, even or odd, may decide something else."""
_SUBJECT_PICKS = 3

_Text = tuple[str, list[Statement]]


class _Meeting(NamedTuple):
    """What one of two actors does before, with and after the other one."""

    before: list[Phrase]
    together: list[Phrase]
    after: list[Phrase]


def write_captions(scenes: Scenes, library: Library, config: Config, segments: Segments) -> list[list[Caption]]:
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
    list, for each sequence, of dicts
        A caption of each of :data:`KINDS`. Sequences with equal captions share them, so they must not be changed.
    """
    inputs, grammar = caption_inputs(scenes, library, segments), grammar_of(library)
    sequence = np.repeat(np.arange(len(scenes)), np.diff(inputs.bounds))
    choices = _choices(config, scenes, 0, len(KINDS) * DRAWS).reshape(-1, len(KINDS), DRAWS)
    wordings = []
    for number, kind in enumerate(KINDS):
        own = choices[sequence, number, FIRST_SLOT + inputs.slot % SLOTS]
        clauses = grammar.clauses(inputs.facts, _DETAILS[kind], own)
        wordings.append(Wording(grammar, kind, _DETAILS[kind], inputs, clauses, own.tolist()))
    chosen, themes = choices[:, :, :FIRST_SLOT].tolist(), list(library.themes)
    # Most variants of a sample show what the base shows, and most of the others have the same words.
    by_contents: dict[bytes, list[Caption]] = {}
    written: dict[Any, Caption] = {}
    found = []
    for i, (theme, first, last) in enumerate(zip(scenes.theme.tolist(), inputs.bounds, inputs.bounds[1:], strict=False)):
        contents = inputs.scene[i] + inputs.whole[8 * first : 8 * last]
        if contents not in by_contents:
            by_contents[contents] = _captions(wordings, i, themes[theme], chosen[i], contents, written)
        found.append(by_contents[contents])
    return found


def _choices(config: Config, scenes: Scenes, first: int, count: int) -> Array:
    """Draw numbers below CHOICES, [n, count], from number `first` of the caption stream."""
    draws = uniform(config.seed, scenes.sample, Stream.CAPTION, count, first=first)
    return np.asarray(np.floor(draws * CHOICES), np.int64)


def _captions(
    wordings: list[Wording], i: int, theme: str, choices: list[list[int]], contents: bytes, written: dict[Any, Caption]
) -> list[Caption]:
    """Write the captions of sequence `i`; `contents` is all that they depend on, `written` holds those written so far."""
    inputs, actors = wordings[0].inputs, None
    first, last = inputs.bounds[i], inputs.bounds[i + 1]
    shape = inputs.scene[i] + inputs.shape[8 * first : 8 * last]
    found = []
    for wording, choice in zip(wordings, choices, strict=True):
        # The clauses contain all of the facts that is stated, unless a style is yet to be inserted.
        styled = inputs.styled[i] and choice[WHO] % 3 == _STYLE_OF_ACTION
        key = (wording.kind, contents) if styled else (wording.kind, shape, *wording.clauses[first:last])
        caption = written.get(key)
        if caption is None:
            actors = actors or inputs.actors(i)
            write = _caption_of_one if len(actors) == 1 else _caption_of_several
            text, statements = write(wording, actors, theme, choice)
            caption = written[key] = {"text": text, "kind": wording.kind, "statements": statements}
        found.append(caption)
    return found


def label_segments(rows: list[list[list[Row]]], scenes: Scenes, library: Library, config: Config, segments: Segments) -> None:
    """Add to each segment its own caption, as `text` and `statements`.

    Parameters
    ----------
    rows : list, for each sequence, of lists, for each actor, of dicts
        As :func:`posegen.captions.segments.segment_rows` lists them; they are changed.
    scenes : Scenes
    library : Library
    config : Config
    segments : Segments
        The same segments.
    """
    grammar, most = grammar_of(library), scenes.action.shape[1]
    owner = segments.owner
    choices = _choices(config, scenes, len(KINDS) * DRAWS, SLOTS)[owner // most, segments.slot % SLOTS]
    clauses = grammar.clauses(segment_facts(segments, library), "all", choices)
    frames, keys = (choices % len(grammar.labels)).tolist(), segment_keys(segments, owner, most).tolist()
    flat = [segment for cast in rows for actor in cast for segment in actor]
    label = grammar.label
    for segment, clause, frame, key in zip(flat, clauses, frames, keys, strict=True):
        segment["text"] = clause.labels.get(frame) or label(clause, frame)
        segment["statements"] = clause.made.get(key) or clause.statements(key)


def _caption_of_one(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> _Text:
    grammar, kind, (actor,) = wording.grammar, wording.kind, actors
    drawn, joining, style = choice[WHO], choice[JOINING], actor.style
    own = drawn * 2 < CHOICES
    who = actor.who if own else "person"
    style_place = drawn % 3 if style else -1
    words = grammar.words["styles"][style] if style_place == _STYLE_OF_SUBJECT else grammar.words
    phrases = actor_phrases(wording, actor, style if style_place == _STYLE_OF_ACTION else "", joining)
    named, ordered = True, True
    if kind == "narrative":
        text = narrative(grammar, choice, actor, phrases, theme, who)
    else:
        frames = grammar.sentences(kind, len(phrases) > 1)
        frame, named = frames[choice[TEMPLATE] % len(frames)]
        ordered = len(phrases) < 2 or kind != "short" or joining % 2 == 0 or frame.second >= 0
        if ordered:
            text = fill_frame(grammar, frame, phrases, joining >> 1)
        else:
            text = frame.head + list_phrases(grammar, phrases, frame.first) + frame.tail
    if named:
        subjects = words["subjects"][who]
        text = text.replace("{subject}", subjects[choice[SUBJECT] % len(subjects)])
    if "{" in text:
        text = text.replace("{their}", grammar.words["their"][who])
    if kind == "narrative":
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


def _caption_of_several(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> _Text:
    both = _caption_of_both(wording, actors, theme, choice)
    if both is not None:
        return both
    grammar, kind, words = wording.grammar, wording.kind, wording.grammar.words
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
        if ordered:
            text = join_phrases(grammar, phrases, FINITE, choice[JOINING] >> 1)
        else:
            text = list_phrases(grammar, phrases, FINITE)
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
    return text.replace("{their}", words["their"]["person"]), statements


def _caption_of_both(wording: Wording, actors: Sequence[Actor], theme: str, choice: Sequence[int]) -> _Text | None:
    """Describe an interaction for both actors at once, as in "two people shake hands"; a narrative also what surrounds it.

    Return None where the caption is to describe one actor after the other, or not all of the interaction is visible.
    """
    grammar = wording.grammar
    if len(actors) != 2 or not grammar.joint or wording.kind == "full" or choice[TEMPLATE] // _HALVES % 2:
        return None
    split = _split_phrases(wording, actors[0], choice), _split_phrases(wording, actors[1], choice)
    done = tuple(tuple(dict.fromkeys(phrase[3] for phrase in meeting.together)) for meeting in split)
    joint = next((each for each in grammar.joint if each.actions == done), None)
    if joint is None:
        return None
    verb = verb_forms(joint.verbs[choice[JOINING] // _SUBJECT_PICKS % len(joint.verbs)], grammar.forms)
    if wording.kind == "short":
        return _short_of_both(grammar, choice, actors, split, verb)
    return _narrative_of_both(grammar, choice, theme, split, verb)


def _split_phrases(wording: Wording, actor: Actor, choice: Sequence[int]) -> _Meeting:
    phrases = actor_phrases(wording, actor, "", choice[JOINING])
    met = [number for number, phrase in enumerate(phrases) if any(statement["kind"] == "partner" for statement in phrase[4])]
    if not met:
        return _Meeting(phrases, [], [])
    # Waiting between two throws is not stated.
    return _Meeting(phrases[: met[0]], [phrases[number] for number in met], phrases[met[-1] + 1 :])


def _joint_statements(who: int, meeting: _Meeting) -> tuple[list[Statement], int, int]:
    """State each action once, as done with the other actor; return the first and the last segment as well."""
    segments: dict[str, int] = {}
    for _, _, segment, action, _ in meeting.together:
        segments.setdefault(action, segment)
    statements = [
        make_statement(who, kind, segment, action, value)
        for action, segment in segments.items()
        for kind, value in (("action", ""), ("partner", str(1 - who)))
    ]
    numbers = list(segments.values())
    return statements, numbers[0], numbers[-1]


def _short_of_both(
    grammar: Grammar, choice: Sequence[int], actors: Sequence[Actor], split: tuple[_Meeting, _Meeting], verb: tuple[str, ...]
) -> _Text:
    joint = grammar.words["several"]["joint"]
    statements = [make_statement(-1, "people", -1, "", "2")]
    pair = joint["pair"][choice[SUBJECT] % len(joint["pair"])]
    if choice[WHO] % 2:
        pair = pair_name(grammar.words, actors[0].who, actors[1].who)
        statements += [make_statement(actor.number, "people", -1, "", actor.who) for actor in actors]
    head, form, _, _, tail = compile_frame(joint["short"][choice[TEMPLATE] % len(joint["short"])], grammar.forms)
    text = (head + verb[form] + tail).replace("{pair}", pair)
    return text, statements + _joint_statements(0, split[0])[0] + _joint_statements(1, split[1])[0]


def _narrative_of_both(
    grammar: Grammar, choice: Sequence[int], theme: str, split: tuple[_Meeting, _Meeting], verb: tuple[str, ...]
) -> _Text:
    joint, numbered = grammar.words["several"]["joint"], grammar.words["several"]["numbered"]
    texts = [grammar.crowd(theme, grammar.number(2), choice[PLACE], choice[TEMPLATE])]
    statements = [make_statement(-1, "people", -1, "", "2")]
    for who, meeting in enumerate(split):
        if meeting.before:
            texts.append(capitalized(f"{numbered[who]} {join_phrases(grammar, meeting.before, FINITE, choice[JOINING])}."))
            statements += phrase_statements(who, meeting.before, True)
    openings = joint["then" if split[0].before or split[1].before else "story"]
    head, form, _, _, tail = compile_frame(openings[choice[SUBJECT] % len(openings)], grammar.forms)
    texts.append(capitalized(head + verb[form] + tail))
    template = joint["after"][choice[WHO] % len(joint["after"])]
    for who, meeting in enumerate(split):
        own, first, last = _joint_statements(who, meeting)
        statements += own
        if meeting.before:
            before = meeting.before[-1][2]
            statements.append(order_statement(who, first, meeting.together[0][3], "after", before))
        if meeting.after:
            does = join_phrases(grammar, meeting.after, FINITE, choice[JOINING])
            texts.append(capitalized(template.replace("{subject}", numbered[who]).replace("{does}", does)))
            # The second sentence needs no word for "afterwards".
            template = "{subject} {does}."
            statements += phrase_statements(who, meeting.after, True)
            statements.append(order_statement(who, meeting.after[0][2], meeting.after[0][3], "after", last))
    return " ".join(texts).replace("{their}", grammar.words["their"]["person"]), statements
