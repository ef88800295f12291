"""Captions: sentences that describe a sequence, each with its statements; and captions of single segments.

All variants of a sample have the same wording as far as they show the same: the random numbers belong to the sample, the facts
to the variant. An actor's segments form *events*. An event is a base segment, together with the arm action that overlays it
where one clause states both ("walks while waving"), or an arm action alone ("waves", of someone who stands, or "waves while
seated"). The clause of each segment comes from :mod:`posegen.captions.grammar`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posegen.arrays import Array
from posegen.captions.grammar import (
    CHOICES,
    FINITE,
    Clause,
    Frame,
    Grammar,
    capitalized,
    compile_frame,
    grammar_of,
    pair_name,
    verb_forms,
)
from posegen.captions.segments import (
    SegmentFacts,
    Segments,
    Statement,
    make_statement,
    order_statement,
    segment_facts,
    segment_keys,
    with_style,
)
from posegen.config.schema import Config
from posegen.library.load import Library
from posegen.planning.repertoire import NO_GAIT, repertoire
from posegen.randomness import Stream, uniform
from posegen.scene import Persons, Scenes

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

_TEMPLATE, _SUBJECT, _WHO, _JOINING, _PLACE, _TENSE, _FIRST_SEGMENT = range(7)
"""What each random number of a caption decides; those from the last index on word the segments."""
_SEGMENT_NUMBERS = 10
_DRAWS = _FIRST_SEGMENT + _SEGMENT_NUMBERS
"""Random numbers of a caption."""

_GROWN, _OLDER = 16.0, 60.0
KINDS_OF_PEOPLE = ("girl", "boy", "woman", "man", "older_woman", "older_man")
_NONE = -1


class _Actor(NamedTuple):
    """An actor of one sequence.

    `who` is boy, girl, man, woman, older_man or older_woman; `style` is empty for none, or where it is not visible; `complete`
    is as in :class:`posegen.captions.segments.Segments`. Its segments begin at number `first`; `events` are those with which an
    event begins.
    """

    number: int
    who: str
    style: str
    complete: bool
    first: int
    events: list[int]


class _CaptionInputs(NamedTuple):
    """All that the captions of some sequences depend on.

    Attributes
    ----------
    bounds : where the segments of each sequence begin
    facts, planned : of each segment; see :class:`posegen.captions.segments.Segments`
    key : of each segment; see :func:`posegen.captions.segments.segment_keys`
    over : for each segment, the number of the one that overlays it and is stated in the same clause; -1 for none
    during : for each segment, the number of the one that continues meanwhile without being stated again; -1 for none
    styled : whether a style is visible in each sequence
    scene : of each sequence, what its words depend on in addition to its segments, as bytes
    shape, whole : of each segment, 8 bytes: its planned segment and its role in an event; and these with its facts
    people : actors of all sequences, each of which has room for `most` and has `present`
    """

    bounds: list[int]
    facts: SegmentFacts
    planned: Array
    key: list[int]
    over: list[int]
    during: list[int]
    styled: list[bool]
    scene: list[bytes]
    shape: bytes
    whole: bytes
    people: list[_Actor]
    most: int
    present: list[int]


class _Wording(NamedTuple):
    """How captions of one kind are worded, for some sequences at once.

    Attributes
    ----------
    grammar : of the language
    kind : of the captions
    inputs : of the sequences
    clauses, choices : for each segment, its clause and the number that it was chosen by
    identity : drawn numbers below this name the kind of person, or the place
    """

    grammar: Grammar
    kind: str
    inputs: _CaptionInputs
    clauses: list[Clause]
    choices: list[int]
    identity: float


_Phrase = tuple[tuple[str, ...], str, int, str, list[Statement]]
"""An event in words: its clause in all forms, the text after it, its segment and action, and its statements."""


class _Meeting(NamedTuple):
    """What one of two actors does before, with and after the other one."""

    before: list[_Phrase]
    together: list[_Phrase]
    after: list[_Phrase]


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
    inputs, grammar = _caption_inputs(scenes, library, segments), grammar_of(library)
    sequence = np.repeat(np.arange(len(scenes)), np.diff(inputs.bounds))
    choices = _choices(config, scenes, 0, len(KINDS) * _DRAWS).reshape(-1, len(KINDS), _DRAWS)
    wordings = []
    for number, kind in enumerate(KINDS):
        own = choices[sequence, number, _FIRST_SEGMENT + inputs.planned % _SEGMENT_NUMBERS]
        clauses = grammar.clauses(inputs.facts, _DETAILS[kind], own)
        wordings.append(_Wording(grammar, kind, inputs, clauses, own.tolist(), config.captions.identity * CHOICES))
    chosen, themes = choices[:, :, :_FIRST_SEGMENT].tolist(), list(library.themes)
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
    wordings: list[_Wording], i: int, theme: str, choices: list[list[int]], contents: bytes, written: dict[Any, Caption]
) -> list[Caption]:
    """Write the captions of sequence `i`; `contents` is all that they depend on, `written` holds those written so far."""
    inputs = wordings[0].inputs
    first, last = inputs.bounds[i], inputs.bounds[i + 1]
    shape = inputs.scene[i] + inputs.shape[8 * first : 8 * last]
    found = []
    for wording, choice in zip(wordings, choices, strict=True):
        # The clauses contain all of the facts that is stated, unless a style is yet to be inserted.
        styled = inputs.styled[i] and choice[_WHO] % 3 == _STYLE_OF_ACTION
        key = (wording.kind, contents) if styled else (wording.kind, shape, *wording.clauses[first:last])
        caption = written.get(key)
        if caption is None:
            actors = inputs.people[i * inputs.most : i * inputs.most + inputs.present[i]]
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
    choices = _choices(config, scenes, len(KINDS) * _DRAWS, _SEGMENT_NUMBERS)[
        owner // most, segments.planned % _SEGMENT_NUMBERS
    ]
    clauses = grammar.clauses(segment_facts(segments, library), "all", choices)
    frames, keys = (choices % len(grammar.labels)).tolist(), segment_keys(segments, owner, most).tolist()
    flat = [segment for cast in rows for actor in cast for segment in actor]
    label = grammar.label
    for segment, clause, frame, key in zip(flat, clauses, frames, keys, strict=True):
        segment["text"] = clause.labels.get(frame) or label(clause, frame)
        segment["statements"] = clause.made.get(key) or clause.statements(key)


def _caption_of_one(wording: _Wording, actors: list[_Actor], theme: str, choice: list[int]) -> _Text:
    grammar, kind, (actor,) = wording.grammar, wording.kind, actors
    drawn, joining, style = choice[_WHO], choice[_JOINING], actor.style
    own = drawn < wording.identity
    who = actor.who if own else "person"
    style_place = drawn % 3 if style else -1
    words = grammar.words["styles"][style] if style_place == _STYLE_OF_SUBJECT else grammar.words
    phrases = _actor_phrases(wording, actor, style if style_place == _STYLE_OF_ACTION else "", joining)
    named, ordered = True, True
    if kind == "narrative":
        text = _narrative(grammar, choice, actor, phrases, _named_theme(wording, [actor], theme, choice), who)
    else:
        frames = grammar.sentences(kind, len(phrases) > 1)
        frame, named = frames[choice[_TEMPLATE] % len(frames)]
        ordered = len(phrases) < 2 or kind != "short" or joining % 2 == 0 or frame.second >= 0
        text = _fill_frame(grammar, frame, phrases, joining >> 1 if ordered else None)
    if named:
        subjects = words["subjects"][who]
        text = text.replace("{subject}", subjects[choice[_SUBJECT] % len(subjects)])
    if "{" in text:
        text = text.replace("{their}", grammar.words["their"][who])
    if kind != "short":
        text = text[:1].upper() + text[1:]
    statements = _phrase_statements(actor.number, phrases, ordered)
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


def _caption_of_several(wording: _Wording, actors: list[_Actor], theme: str, choice: list[int]) -> _Text:
    both = _caption_of_both(wording, actors, theme, choice)
    if both is not None:
        return both
    grammar, kind, words = wording.grammar, wording.kind, wording.grammar.words
    theme = _named_theme(wording, actors, theme, choice)
    several: Mapping[str, Any] = words["several"]
    number = grammar.number(len(actors))
    statements = [make_statement(-1, "people", -1, "", str(len(actors)))]
    pair = len(actors) == 2 and kind != "narrative"
    one = choice[_SUBJECT]
    subjects = [several["one"][one % len(several["one"])], several["other"][one % len(several["other"])]]
    clauses = []
    for actor, subject in zip(actors, subjects if pair else several["numbered"], strict=False):
        phrases = _actor_phrases(wording, actor, actor.style if choice[_WHO] % 3 == _STYLE_OF_ACTION else "", choice[_JOINING])
        ordered = len(phrases) < 2 or kind != "short" or choice[_JOINING] % 2 == 0
        text = _join_phrases(grammar, phrases, FINITE, choice[_JOINING] >> 1 if ordered else None)
        if "{partner}" in text:
            # Only the first two actors interact.
            partners = several["partner"] if pair else [several["numbered"][1 - min(actor.number, 1)]]
            text = text.replace("{partner}", partners[choice[_WHO] % len(partners)])
        clauses.append(f"{subject} {text}")
        statements += _phrase_statements(actor.number, phrases, ordered)
    if kind == "narrative":
        text = grammar.crowd(theme, number, choice[_PLACE], choice[_TEMPLATE])
        text = " ".join([text, *(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)])
    else:
        meanwhile = words["joining"]["meanwhile"]
        text = meanwhile[choice[_JOINING] % len(meanwhile)].join(clauses)
        text = text if pair else several["intro"].replace("{number}", number) + text
        text = f"{text[:1].upper()}{text[1:]}." if kind == "full" else text
    return text.replace("{their}", words["their"]["person"]), statements


def _named_theme(wording: _Wording, actors: Sequence[_Actor], theme: str, choice: Sequence[int]) -> str:
    """Return the theme whose place the caption names: empty for most captions, and where an action does not fit every place."""
    actions, clauses = wording.grammar.words["actions"], wording.clauses
    placeless = any(actions[clauses[row].action].get("placeless") for actor in actors for row in actor.events)
    return "" if placeless or choice[_PLACE] >= wording.identity else theme


def _caption_of_both(wording: _Wording, actors: Sequence[_Actor], theme: str, choice: Sequence[int]) -> _Text | None:
    """Describe an interaction for both actors at once, as in "two people shake hands"; a _narrative also what surrounds it.

    Return None where the caption is to describe one actor after the other, or not all of the interaction is visible.
    """
    grammar, theme = wording.grammar, _named_theme(wording, actors, theme, choice)
    if len(actors) != 2 or not grammar.joint or wording.kind == "full" or choice[_TEMPLATE] // _HALVES % 2:
        return None
    split = _split_phrases(wording, actors[0], choice), _split_phrases(wording, actors[1], choice)
    done = tuple(tuple(dict.fromkeys(phrase[3] for phrase in meeting.together)) for meeting in split)
    joint = next((each for each in grammar.joint if each.actions == done), None)
    if joint is None:
        return None
    verb = verb_forms(joint.verbs[choice[_JOINING] // _SUBJECT_PICKS % len(joint.verbs)], grammar.forms)
    statements = [make_statement(-1, "people", -1, "", "2")]
    if wording.kind == "narrative":
        return _narrative_of_both(grammar, choice, theme, split, verb, statements)
    words = grammar.words["several"]["joint"]
    pair = words["pair"][choice[_SUBJECT] % len(words["pair"])]
    if choice[_WHO] < wording.identity:
        pair = pair_name(grammar.words, actors[0].who, actors[1].who)
        statements += [make_statement(actor.number, "people", -1, "", actor.who) for actor in actors]
    head, form, _, _, tail = compile_frame(words["short"][choice[_TEMPLATE] % len(words["short"])], grammar.forms)
    text = (head + verb[form] + tail).replace("{pair}", pair)
    return text, statements + _joint_statements(0, split[0])[0] + _joint_statements(1, split[1])[0]


def _split_phrases(wording: _Wording, actor: _Actor, choice: Sequence[int]) -> _Meeting:
    phrases = _actor_phrases(wording, actor, "", choice[_JOINING])
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
) -> _Text:
    joint, numbered = grammar.words["several"]["joint"], grammar.words["several"]["numbered"]
    texts = [grammar.crowd(theme, grammar.number(2), choice[_PLACE], choice[_TEMPLATE])]
    for who, meeting in enumerate(split):
        if meeting.before:
            texts.append(capitalized(f"{numbered[who]} {_join_phrases(grammar, meeting.before, FINITE, choice[_JOINING])}."))
            statements += _phrase_statements(who, meeting.before, True)
    openings = joint["then" if split[0].before or split[1].before else "story"]
    head, form, _, _, tail = compile_frame(openings[choice[_SUBJECT] % len(openings)], grammar.forms)
    texts.append(capitalized(head + verb[form] + tail))
    template = joint["after"][choice[_WHO] % len(joint["after"])]
    for who, meeting in enumerate(split):
        own, first, last = _joint_statements(who, meeting)
        statements += own
        if meeting.before:
            before = meeting.before[-1][2]
            statements.append(order_statement(who, first, meeting.together[0][3], "after", before))
        if meeting.after:
            does = _join_phrases(grammar, meeting.after, FINITE, choice[_JOINING])
            texts.append(capitalized(template.replace("{subject}", numbered[who]).replace("{does}", does)))
            # The second sentence needs no word for "afterwards".
            template = "{subject} {does}."
            statements += _phrase_statements(who, meeting.after, True)
            statements.append(order_statement(who, meeting.after[0][2], meeting.after[0][3], "after", last))
    return " ".join(texts).replace("{their}", grammar.words["their"]["person"]), statements


def _caption_inputs(scenes: Scenes, library: Library, segments: Segments) -> _CaptionInputs:
    """Collect what captions depend on.

    Parameters
    ----------
    scenes : Scenes
    library : Library
    segments : Segments
        Of these scenes.

    Returns
    -------
    _CaptionInputs
    """
    most, owner = scenes.action.shape[1], segments.owner
    opens, over, during = _events(segments, owner, library)
    unfinished = np.zeros(len(owner), bool)
    # The actor does not leave the seat before the arm action is over, so getting up is not stated with sitting down.
    unfinished[during[during >= 0]] = True
    who, style = _people(scenes, segments, owner, library)
    cast = np.stack([who, style, segments.complete], axis=-1).reshape(len(scenes), most * 3)
    scene = np.stack([scenes.sample, scenes.theme, scenes.actors], axis=1).astype(np.int64)
    facts, names = segment_facts(segments, library, unfinished), ["", *list(library.styles)[1:]]
    shape = (((segments.planned * most + owner % most) * 2 + opens) * 2 + (over >= 0)) * 2 + (during >= 0)
    opening = np.flatnonzero(opens)
    begins, events = np.searchsorted(opening, segments.bounds).tolist(), opening.tolist()
    people = map(
        _Actor,
        list(range(most)) * len(scenes),
        [KINDS_OF_PEOPLE[number] for number in who.tolist()],
        [names[number] for number in style.tolist()],
        segments.complete.tolist(),
        segments.bounds.tolist(),
        [events[first:last] for first, last in pairwise(begins)],
    )
    return _CaptionInputs(
        bounds=segments.bounds[::most].tolist(),
        facts=facts,
        planned=segments.planned,
        key=segment_keys(segments, owner, most).tolist(),
        over=over.tolist(),
        during=during.tolist(),
        styled=[any(styles) for styles in style.reshape(-1, most).tolist()],
        scene=[row.tobytes() for row in np.concatenate([scene, cast], axis=1)],
        shape=shape.tobytes(),
        whole=(shape * len(facts.distinct) + facts.number).tobytes(),
        people=list(people),
        most=most,
        present=scenes.actors.tolist(),
    )


def _events(segments: Segments, owner: Array, library: Library) -> tuple[Array, Array, Array]:
    """Return whether each segment begins an event, and the columns `over` and `during` of :class:`_CaptionInputs`."""
    actions = repertoire(library)
    gait = actions.gait[segments.action] != NO_GAIT
    # The base segment before, which it may overlay.
    host = np.maximum.accumulate(np.where(segments.layered, _NONE, np.arange(len(owner))))
    inside = segments.layered & (host != _NONE) & (owner[host] == owner) & (segments.start < segments.end[host])
    walking = np.flatnonzero(inside & gait[host])
    hosts, first = np.unique(host[walking], return_index=True)
    over = np.full(len(owner), _NONE)
    # Standing while doing something with the arms is not stated.
    opens = segments.layered | (segments.action != actions.standing) | ~segments.covered
    over[hosts] = walking[first]
    opens[walking[first]] = False
    return opens, over, np.where(inside & actions.seated[segments.action[host]] & opens, host, _NONE)


def _people(scenes: Scenes, segments: Segments, owner: Array, library: Library) -> tuple[Array, Array]:
    """Return the kind of person and the style of each actor; 0 for no style, which is visible in standing and gaits only."""
    actions = repertoire(library)
    upright = (actions.gait != NO_GAIT) | (np.arange(len(actions.gait)) == actions.standing)
    visible = np.zeros(len(segments.complete), bool)
    visible[owner[upright[segments.action]]] = True
    return kinds_of_people(scenes.persons).ravel(), np.where(visible, scenes.persons.style.ravel(), 0)


def kinds_of_people(people: Persons) -> Array:
    """Return the index into :data:`KINDS_OF_PEOPLE` of each person."""
    return np.asarray(2 * ((people.age >= _GROWN).astype(np.int64) + (people.age >= _OLDER)) + people.male)


def _actor_phrases(wording: _Wording, actor: _Actor, style: str, pick: int) -> list[_Phrase]:
    """Return each event of an actor in words.

    Parameters
    ----------
    wording : _Wording
    actor : _Actor
    style : str
        Style of the actor, where it is stated with an action; else empty.
    pick : int
        Chooses the words for an actor without events.

    Returns
    -------
    list of _Phrase
    """
    grammar, kind, inputs, clauses, choices, _ = wording
    number, first, keys, covers, whiles = actor.number, actor.first, inputs.key, inputs.over, inputs.during
    found: list[_Phrase] = []
    described = -1
    claims: Sequence[tuple[str, str]] = ()
    events = actor.events
    if kind == "short":
        # A short caption omits minor events, unless there are no others.
        events = [row for row in events if covers[row] >= 0 or not grammar.minor[clauses[row].number]] or events
    for row in events:
        clause, choice, over, during = clauses[row], choices[row], covers[row], whiles[row]
        if (
            clause.number == described
            and during < 0
            and (clause.claims == claims or (over < 0 and _repeats(clause.claims, claims)))
        ):
            # Two walks may differ in what is not stated here. The second one is then omitted, or only its overlay is stated.
            if over < 0:
                continue
            texts = grammar.continues[choice % len(grammar.continues)]
        else:
            if style and grammar.takes_style[clause.number]:
                facts = inputs.facts.distinct[int(inputs.facts.number[row])]
                clause = grammar.clause(with_style(facts, style), _DETAILS[kind], choice)
            texts, described, claims = clause.texts, clause.number, clause.claims
            if style and ("style", style) in claims:
                # A style is stated once.
                claims, style = tuple([claim for claim in claims if claim[0] != "style"]), ""
        after, statements = "", clause.made.get(keys[row]) or clause.statements(keys[row])
        if over >= 0:
            above = clauses[over]
            text, form = grammar.meanwhile[choice % len(grammar.meanwhile)]
            after = text + above.texts[form]
            meanwhile = order_statement(number, over - first, above.action, "during", row - first)
            statements = [*statements, *above.statements(keys[over]), meanwhile]
        elif during >= 0:
            phrases = grammar.words["actions"][clauses[during].action]["during"]
            after = " " + phrases[choice % len(phrases)]
            statements = [*statements, order_statement(number, row - first, clause.action, "during", during - first)]
        found.append((texts, after, row - first, clause.action, statements))
    return found or [(grammar.nothing[pick % len(grammar.nothing)], "", 0, "", [])]


def _repeats(claims: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]]) -> bool:
    """Return whether all claims of an action were made of it just before; a count is stated again."""
    return all(claim in before for claim in claims) and not any(kind == "count" for kind, _ in before)


def _fill_frame(grammar: Grammar, frame: Frame, phrases: Sequence[_Phrase], offset: int | None) -> str:
    """Return one sentence of all phrases, joined as by :func:`_join_phrases`."""
    head, first, middle, second, tail = frame
    if second < 0:
        return head + _join_phrases(grammar, phrases, first, offset) + tail
    alone = head + phrases[0][0][first] + phrases[0][1] + middle
    return alone + _join_phrases(grammar, phrases[1:], second, offset) + tail


def _join_phrases(grammar: Grammar, phrases: Sequence[_Phrase], form: int, offset: int | None) -> str:
    """Join phrases in the order of time by the words that `offset` picks; with None, list them without stating their order."""
    if offset is None:
        return _list_phrases(grammar.words["joining"], [phrase[0][form] + phrase[1] for phrase in phrases])
    text = phrases[0][0][form] + phrases[0][1]
    if len(phrases) > 1:
        then = grammar.then
        for texts, after, _, _, _ in phrases[1:]:
            link, own = then[offset % len(then)]
            text += link + texts[own if own >= 0 else form] + after
            offset += 1
    return text


def _list_phrases(joining: Mapping[str, str], listed: Sequence[str]) -> str:
    """Join phrases by commas, and by "and" before the last one and where a comma would be between two equal words."""
    text = listed[0]
    for k, phrase in enumerate(listed[1:], 1):
        equal = text.rpartition(" ")[2] == phrase.partition(" ")[0]
        text += joining["and" if equal or k == len(listed) - 1 else "comma"] + phrase
    return text


def _phrase_statements(actor: int, phrases: Sequence[_Phrase], ordered: bool) -> list[Statement]:
    """Collect the statements of phrases; where they are `ordered`, also that each follows the one before."""
    _, _, before, _, own = phrases[0]
    if len(phrases) == 1:
        return own
    statements = list(own)
    for _, _, segment, action, own in phrases[1:]:
        statements += own
        if ordered:
            statements.append(order_statement(actor, segment, action, "after", before))
        before = segment
    return statements


def _narrative(grammar: Grammar, choice: Sequence[int], actor: _Actor, phrases: Sequence[_Phrase], theme: str, who: str) -> str:
    """Return phrases as sentences of one or two each; `who` names the subject from the second sentence on."""
    joining, subject = choice[_JOINING], choice[_SUBJECT]
    tenses = len(grammar.words["narrative"]["tenses"])
    # The first tense is the most frequent one.
    drawn = choice[_TENSE] % (tenses + 2)
    tense = drawn if drawn < tenses else 0
    openings = grammar.openings(tense, theme, choice[_PLACE])
    frame = openings[choice[_TEMPLATE] % len(openings)]
    text, at, number = "", 0, 0
    while at < len(phrases):
        group = phrases[at : at + 1 + (joining >> number) % 2]
        if at:
            last = number > 1 and at + 1 == len(phrases) and actor.complete
            frames = grammar.continuations(tense, who, "last" if last else "next")
            frame = frames[(subject + 5 * number) % len(frames)]
            text += " "
        text += _fill_frame(grammar, frame, group, joining + at)
        at += len(group)
        number += 1
    return text
