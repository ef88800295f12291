"""Captions: sentences that describe a sequence, each with its statements; and captions of single segments.

A caption has a text, its kind (short, full or narrative) and statements. A statement has actor, kind (action, side, count,
steps, speed, direction, degrees, order, path, return, style, partner or people), segment, action and value. The actor is -1 for
a statement about the scene, the segment -1 for one about no single segment; segments are numbered as the rows list those of the
actor. The value is left or right for a side, which is that of the first step for a gait; left, right or around for a direction;
slow, normal or fast for speed; straight, left, right or a shape for a path; back, or there for the initial position, for a
return; a number for a count, for steps and for degrees; a number or a kind of person for people; the name of a style; the
number of the actor who is the partner; ``after 0`` or ``during 0``, with the number of the other segment, for order;
``finished`` for an action whose end is stated, too, and ``begun`` for one that the end of the clip cuts.

All variants of a sample have the same wording as far as they show the same: the random numbers belong to the sample, the facts
to the variant. The clause of each segment comes from :mod:`posegen.captions.grammar`, the phrases of each actor from
:mod:`posegen.captions.phrases`. An interaction may be described for both actors at once, as in "two people shake hands".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from posegen.captions.grammar import (
    CHOICES,
    FINITE,
    KINDS,
    SEGMENT,
    Frame,
    Grammar,
    capitalized,
    compile_frame,
    grammar_of,
    pair_name,
    verb_forms,
)
from posegen.captions.phrases import (
    Actor,
    CaptionText,
    Draw,
    Phrase,
    Wording,
    actor_phrases,
    collect_inputs,
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
    order_statement,
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

_HALVES = 1 << 10
"""Templates are picked by numbers below this, so the thousands of such a number, even or odd, may decide something else."""
_SUBJECT_PICKS = 3
_SUBJECT_WORDS = 3
"""Words of the longest subject, such as "an unhappy older man", beyond one."""
_SEGMENT_NUMBERS = 10
_FEELINGS = 0.6
"""Share of the captions of a person with a style that state it, unless the words have `feelings`."""
_DRAWS = Draw.FIRST_SEGMENT + _SEGMENT_NUMBERS
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
        For each sequence a list of structs with text, kind and statements: a caption of each kind.
    """
    inputs, grammar = collect_inputs(scenes, library, segments), grammar_of(library, config.captions.style)
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
        own = choices[sequence, k, Draw.FIRST_SEGMENT + inputs.planned % _SEGMENT_NUMBERS]
        wording = word_segments(grammar, kind, inputs, rows, own, identity)
        chosen = choices[distinct, k, : Draw.FIRST_SEGMENT].tolist()
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
    text, statements = (_caption_of_one if len(actors) == 1 else _caption_of_several)(wording, actors, theme, choice)
    written = wording.grammar.kinds[wording.kind]
    return capitalized(text) if choice[Draw.CASE] < written.capital * CHOICES else text, statements


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
    grammar, most = grammar_of(library, config.captions.style), scenes.action.shape[1]
    owner = segments.owner
    choices = _choices(config, scenes, len(KINDS) * _DRAWS, _SEGMENT_NUMBERS)
    choices = choices[owner // most, segments.planned % _SEGMENT_NUMBERS]
    clauses = grammar.clauses(segment_facts(segments, library), SEGMENT, choices)
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
    grammar, (actor,) = wording.grammar, actors
    drawn, style = choice[Draw.WHO], actor.style
    own = drawn < wording.identity
    who = actor.who if own else "person"
    of_subject, of_action = _stated_style(grammar, style, drawn)
    words = grammar.words["styles"][of_subject] if of_subject else grammar.words
    theme = named_theme(wording, [actor], theme, choice)
    written = grammar.kinds[wording.kind]
    for most in range(written.events, 0, -1):
        phrases = actor_phrases(wording, actor, of_action, choice[Draw.JOINING], most)
        text, statements, named = _sentences(wording, actor, phrases, theme, who, choice)
        if len(text.split()) + _SUBJECT_WORDS <= written.words:
            break
    if named:
        subjects = words["subjects"][who]
        text = text.replace("{subject}", subjects[choice[Draw.SUBJECT] % len(subjects)])
        statements = _people_statements(actor.number, who if own else "", of_subject) + statements
    return text.replace("{their}", grammar.words["their"][who]), statements


def _stated_style(grammar: Grammar, style: str, drawn: int) -> tuple[str, str]:
    """Return the style that a caption states of the subject, and the one that it states of an action; empty for none."""
    feelings = grammar.words.get("feelings", _FEELINGS) * _HALVES
    stated = style and drawn % _HALVES < feelings
    return (style, "") if stated and drawn % 2 else ("", style if stated else "")


def _sentences(
    wording: Wording, actor: Actor, phrases: list[Phrase], theme: str, who: str, choice: list[int]
) -> tuple[str, list[Statement], bool]:
    """Return the text and the statements of phrases, and whether the text names the {subject}."""
    grammar, kind, joining = wording.grammar, wording.kind, choice[Draw.JOINING]
    ordered = _is_ordered(grammar, kind, phrases, choice)
    if kind == "narrative":
        if ordered:
            return _narrative(grammar, choice, actor, phrases, theme, who), phrase_statements(actor.number, phrases, True), True
        frame, named = _opening(grammar, choice, theme), True
    else:
        frames = grammar.sentences[kind]
        frame, named = frames[choice[Draw.TEMPLATE] % len(frames)]
    phrases = phrases if ordered else without_order(grammar, phrases)
    text = fill_frame(grammar, frame, phrases, joining if ordered else None)
    return text, phrase_statements(actor.number, phrases, ordered), named


def _is_ordered(grammar: Grammar, kind: str, phrases: Sequence[Phrase], choice: Sequence[int]) -> bool:
    """Return whether a caption states the order of its phrases."""
    return len(phrases) < 2 or choice[Draw.JOINING] >= grammar.kinds[kind].listed * CHOICES


@lru_cache(maxsize=1 << 10)
def _people_statements(number: int, who: str, style: str) -> list[Statement]:
    people = [make_statement(-1, "people", -1, "", "1")]
    if who:
        people.append(make_statement(number, "people", -1, "", who))
    if style:
        people.append(make_statement(number, "style", -1, "", style))
    return people


def _caption_of_several(wording: Wording, actors: list[Actor], theme: str, choice: list[int]) -> CaptionText:
    both = _caption_of_both(wording, actors, theme, choice)
    if both is not None:
        return both
    grammar, kind, words = wording.grammar, wording.kind, wording.grammar.words
    theme = named_theme(wording, actors, theme, choice)
    several: Mapping[str, Any] = words["several"]
    number = grammar.number(len(actors))
    statements = [make_statement(-1, "people", -1, "", str(len(actors)))]
    pair = len(actors) == 2 and kind != "narrative"
    one = choice[Draw.SUBJECT]
    subjects = [several["one"][one % len(several["one"])], several["other"][one % len(several["other"])]]
    clauses = []
    for actor, subject in zip(actors, subjects if pair else several["numbered"], strict=False):
        most = grammar.kinds[kind].events if pair or kind == "narrative" else 1
        style = _stated_style(grammar, actor.style, choice[Draw.WHO])[1]
        phrases = actor_phrases(wording, actor, style, choice[Draw.JOINING], most)
        ordered = _is_ordered(grammar, kind, phrases, choice)
        phrases = phrases if ordered else without_order(grammar, phrases)
        text = join_phrases(grammar, phrases, FINITE, choice[Draw.JOINING] if ordered else None)
        if "{partner}" in text:
            # Only the first two actors interact.
            partners = several["partner"] if pair else [several["numbered"][1 - min(actor.number, 1)]]
            text = text.replace("{partner}", partners[choice[Draw.WHO] % len(partners)])
        clauses.append(f"{subject} {text}")
        statements += phrase_statements(actor.number, phrases, ordered)
    if kind == "narrative":
        text = grammar.crowd(theme, number, choice[Draw.PLACE], choice[Draw.TEMPLATE])
        text = " ".join([text, *(f"{clause}." for clause in clauses)])
    else:
        meanwhile = words["joining"]["meanwhile"]
        text = meanwhile[choice[Draw.JOINING] % len(meanwhile)].join(clauses)
        text = text if pair else several["intro"].replace("{number}", number) + text
        text = f"{text}." if kind == "full" else text
    return text.replace("{their}", words["their"]["person"]), statements


def _tense(grammar: Grammar, choice: Sequence[int]) -> int:
    """Return the number of the tense of a narrative."""
    return choice[Draw.TENSE] % len(grammar.words["narrative"]["tenses"])


def _opening(grammar: Grammar, choice: Sequence[int], theme: str) -> Frame:
    """Return the template of the first sentence of a narrative."""
    openings = grammar.openings(_tense(grammar, choice), theme, choice[Draw.PLACE])
    return openings[choice[Draw.TEMPLATE] % len(openings)]


def _narrative(grammar: Grammar, choice: Sequence[int], actor: Actor, phrases: Sequence[Phrase], theme: str, who: str) -> str:
    """Return phrases as sentences of one or two each; `who` names the subject from the second sentence on."""
    joining, subject = choice[Draw.JOINING], choice[Draw.SUBJECT]
    frame = _opening(grammar, choice, theme)
    follow, last = grammar.continuations(_tense(grammar, choice), who)
    text, at, number = "", 0, 0
    while at < len(phrases):
        group = phrases[at : at + 1 + (joining >> number) % grammar.kinds["narrative"].clauses]
        if at:
            ends = at + 1 == len(phrases) and phrases[at][2] == actor.events[-1] - actor.first
            frames = last if number > 1 and ends and actor.complete else follow
            frame = frames[(subject + 5 * number) % len(frames)]
            text += " "
        text += fill_frame(grammar, frame, group, joining + at)
        at += len(group)
        number += 1
    return text


class _Meeting(NamedTuple):
    """What one of two actors does before, with and after the other one."""

    before: list[Phrase]
    together: list[Phrase]
    after: list[Phrase]


def _caption_of_both(wording: Wording, actors: Sequence[Actor], theme: str, choice: Sequence[int]) -> CaptionText | None:
    """Describe an interaction for both actors at once, as in "two people shake hands"; a narrative also what surrounds it.

    Return None where the caption is to describe one actor after the other, or not all of the interaction is visible.
    """
    grammar, theme = wording.grammar, named_theme(wording, actors, theme, choice)
    if len(actors) != 2 or not grammar.joint or wording.kind == "full" or choice[Draw.TEMPLATE] // _HALVES % 2:
        return None
    split = _split_phrases(wording, actors[0], choice), _split_phrases(wording, actors[1], choice)
    done = tuple(tuple(dict.fromkeys(phrase[3] for phrase in meeting.together)) for meeting in split)
    verbs = grammar.joint.get(done)
    if verbs is None:
        return None
    verb = verb_forms(verbs[choice[Draw.JOINING] // _SUBJECT_PICKS % len(verbs)], grammar.forms)
    statements = [make_statement(-1, "people", -1, "", "2")]
    if wording.kind == "narrative":
        return _narrative_of_both(grammar, choice, theme, split, verb, statements)
    words = grammar.words["several"]["joint"]
    pair = words["pair"][choice[Draw.SUBJECT] % len(words["pair"])]
    if choice[Draw.WHO] < wording.identity:
        pair = pair_name(grammar.words, actors[0].who, actors[1].who)
        statements += [make_statement(actor.number, "people", -1, "", actor.who) for actor in actors]
    head, form, tail = compile_frame(words["short"][choice[Draw.TEMPLATE] % len(words["short"])], grammar.forms)
    text = (head + verb[form] + tail).replace("{pair}", pair)
    return text, statements + _joint_statements(0, split[0])[0] + _joint_statements(1, split[1])[0]


def _split_phrases(wording: Wording, actor: Actor, choice: Sequence[int]) -> _Meeting:
    phrases = actor_phrases(wording, actor, "", choice[Draw.JOINING])
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


def _narrative_of_both(
    grammar: Grammar,
    choice: Sequence[int],
    theme: str,
    split: tuple[_Meeting, _Meeting],
    verb: tuple[str, ...],
    statements: list[Statement],
) -> CaptionText:
    joint, numbered = grammar.words["several"]["joint"], grammar.words["several"]["numbered"]
    texts = [grammar.crowd(theme, grammar.number(2), choice[Draw.PLACE], choice[Draw.TEMPLATE])]
    for who, meeting in enumerate(split):
        if meeting.before:
            texts.append(f"{numbered[who]} {join_phrases(grammar, meeting.before, FINITE, choice[Draw.JOINING])}.")
            statements += phrase_statements(who, meeting.before, True)
    openings = joint["then" if split[0].before or split[1].before else "story"]
    head, form, tail = compile_frame(openings[choice[Draw.SUBJECT] % len(openings)], grammar.forms)
    texts.append(head + verb[form] + tail)
    template = joint["after"][choice[Draw.WHO] % len(joint["after"])]
    for who, meeting in enumerate(split):
        own, first, last = _joint_statements(who, meeting)
        statements += own
        if meeting.before:
            before = meeting.before[-1][2]
            statements.append(order_statement(who, first, meeting.together[0][3], "after", before))
        if meeting.after:
            does = join_phrases(grammar, meeting.after, FINITE, choice[Draw.JOINING])
            texts.append(template.replace("{subject}", numbered[who]).replace("{does}", does))
            # The second sentence needs no word for "afterwards".
            template = "{subject} {does}."
            statements += phrase_statements(who, meeting.after, True)
            statements.append(order_statement(who, meeting.after[0][2], meeting.after[0][3], "after", last))
    return " ".join(texts).replace("{their}", grammar.words["their"]["person"]), statements
