"""Events of actors: what captions depend on, events in words, and their sentences, joined in the order of time.

An event is a base segment, together with the arm action that overlays it where one clause states both ("walks while waving"),
or an arm action alone ("waves", of someone who stands, or "waves while seated").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from posegen.captions.grammar import Clause, Frame, Grammar
from posegen.captions.segments import (
    BEGUN,
    MOST_SEGMENTS,
    STOPS,
    SegmentFacts,
    Segments,
    Statement,
    order_statement,
    segment_facts,
    segment_keys,
)
from posegen.foundations.arrays import Array
from posegen.foundations.scene import Persons, Scenes
from posegen.library.load import Library
from posegen.planning.repertoire import NO_GAIT, repertoire

Draw = IntEnum("Draw", "TEMPLATE SUBJECT WHO JOINING PLACE TENSE CASE FIRST_SEGMENT", start=0)
"""What each random number of a caption decides; those from the last index on word the segments."""
_GROWN, _OLDER = 16.0, 60.0
KINDS_OF_PEOPLE = ("girl", "boy", "woman", "man", "older_woman", "older_man")
_NONE = -1


class Actor(NamedTuple):
    """An actor of one sequence.

    `who` is boy, girl, man, woman, older_man or older_woman; `style` is empty for none, or where it is not visible; `complete`
    is as in :class:`posegen.captions.segments.Segments`. Its segments begin at number `first`; `events` are those with which an
    event begins, `major` those of them that a short caption states.
    """

    number: int
    who: str
    style: str
    complete: bool
    first: int
    events: list[int]
    major: list[int]


class CaptionInputs(NamedTuple):
    """All that the captions of some sequences depend on.

    Attributes
    ----------
    bounds : where the segments of each sequence begin
    facts, planned : of each segment; see :class:`posegen.captions.segments.Segments`
    frames : of each segment, how many it lasts
    key : of each segment; see :func:`posegen.captions.segments.segment_keys`
    over : for each segment, the number of the one that overlays it and is stated in the same clause; -1 for none
    during : for each segment, the number of the one that continues meanwhile without being stated again; -1 for none
    scene : of each sequence, what its words depend on in addition to its segments, as bytes
    whole : of each segment, 8 bytes: its planned segment, its role in an event, and its facts
    people : actors of all sequences, with room for `most` each, and `present`
    """

    bounds: list[int]
    facts: SegmentFacts
    planned: Array
    frames: list[int]
    key: list[int]
    over: Array
    during: Array
    scene: list[bytes]
    whole: bytes
    people: list[Actor]
    most: int
    present: list[int]


def collect_inputs(scenes: Scenes, library: Library, segments: Segments) -> CaptionInputs:
    """Collect what captions depend on.

    Parameters
    ----------
    scenes : Scenes
    library : Library
    segments : Segments
        Of these scenes.

    Returns
    -------
    CaptionInputs
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
    waits = (segments.action == repertoire(library).standing) & (segments.change != STOPS)
    minor = (_minor(library)[segments.action] & (over < 0)) | (segments.change == BEGUN)
    every, events, major = (_by_actor(opens & chosen, segments.bounds) for chosen in (True, ~waits, ~minor))
    people = map(
        Actor,
        list(range(most)) * len(scenes),
        [KINDS_OF_PEOPLE[number] for number in who.tolist()],
        [names[number] for number in style.tolist()],
        segments.complete.tolist(),
        segments.bounds.tolist(),
        # Waiting is not stated, and a short caption omits minor events, unless there are no others.
        [own or standing for own, standing in zip(events, every, strict=True)],
        [own or lasting or standing for own, lasting, standing in zip(major, events, every, strict=True)],
    )
    return CaptionInputs(
        bounds=segments.bounds[::most].tolist(),
        facts=facts,
        planned=segments.planned,
        frames=(segments.end - segments.start).tolist(),
        key=segment_keys(segments, owner, most).tolist(),
        over=over,
        during=during,
        scene=[row.tobytes() for row in np.concatenate([scene, cast], axis=1)],
        whole=(shape * len(facts.distinct) + facts.number).tobytes(),
        people=list(people),
        most=most,
        present=scenes.actors.tolist(),
    )


def _by_actor(chosen: Array, bounds: Array) -> list[list[int]]:
    """Return the numbers of the chosen segments of each actor, whose segments begin at `bounds`."""
    rows = np.flatnonzero(chosen)
    begins, numbers = np.searchsorted(rows, bounds).tolist(), rows.tolist()
    return [numbers[first:last] for first, last in pairwise(begins)]


@lru_cache(maxsize=8)
def _minor(library: Library) -> Array:
    """Return which actions of a library a short caption may omit."""
    return np.array([bool(library.words["actions"][name].get("minor")) for name in library.actions])


def _events(segments: Segments, owner: Array, library: Library) -> tuple[Array, Array, Array]:
    """Return whether each segment begins an event, and the columns `over` and `during` of :class:`CaptionInputs`."""
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


class Wording(NamedTuple):
    """How captions of one kind are worded, for some sequences at once.

    Attributes
    ----------
    grammar : of the language
    kind : of the captions
    inputs : of the sequences
    clauses, choices : for each segment, its clause and the number that it was chosen by
    beside : for events with a second segment, the words for it, which follow the clause, and their statements
    identity : drawn numbers below this name the kind of person, or the place
    """

    grammar: Grammar
    kind: str
    inputs: CaptionInputs
    clauses: list[Clause]
    choices: list[int]
    beside: dict[int, tuple[str, list[Statement]]]
    identity: float


Phrase = tuple[tuple[str, ...], str, int, str, list[Statement]]
"""An event in words: its clause in all forms, the text after it, its segment and action, and its statements."""

CaptionText = tuple[str, list[Statement]]


def word_segments(
    grammar: Grammar, kind: str, inputs: CaptionInputs, described: Array, choices: Array, identity: float
) -> Wording:
    """Choose the words for segments.

    Parameters
    ----------
    grammar : Grammar
    kind : str
        Of the captions.
    inputs : CaptionInputs
    described : int [k]
        Numbers of the segments that are to be described.
    choices : int [segments]
        The number that chooses the clause of each.
    identity : float
        See :class:`Wording`.
    """
    made = np.empty(len(choices), object)
    made[described] = grammar.clauses(inputs.facts.at(described), kind, choices[described])
    clauses, picks, keys, actions = made.tolist(), choices.tolist(), inputs.key, grammar.words["actions"]
    beside = {}
    for row in described[(inputs.over[described] >= 0) | (inputs.during[described] >= 0)].tolist():
        over, host = int(inputs.over[row]), int(inputs.during[row])
        actor, number = divmod(keys[row], MOST_SEGMENTS)
        if over >= 0:
            text, form = grammar.meanwhile[picks[row] % len(grammar.meanwhile)]
            above, segment = clauses[over], keys[over] % MOST_SEGMENTS
            meanwhile = order_statement(actor, segment, above.action, "during", number)
            beside[row] = text + above.texts[form], [*above.statements(keys[over]), meanwhile]
        else:
            phrases = actions[clauses[host].action]["during"]
            during = order_statement(actor, number, clauses[row].action, "during", keys[host] % MOST_SEGMENTS)
            beside[row] = " " + phrases[picks[row] % len(phrases)], [during]
    return Wording(grammar, kind, inputs, clauses, picks, beside, identity)


def named_theme(wording: Wording, actors: Sequence[Actor], theme: str, choice: Sequence[int]) -> str:
    """Return the theme whose place the caption names: empty for most captions, and where an action does not fit every place."""
    if choice[Draw.PLACE] >= wording.identity:
        return ""
    actions, clauses = wording.grammar.words["actions"], wording.clauses
    placeless = any(actions[clauses[row].action].get("placeless") for actor in actors for row in actor.events)
    return "" if placeless else theme


def actor_phrases(wording: Wording, actor: Actor, style: str, pick: int, most: int | None = None) -> list[Phrase]:
    """Return the events of an actor in words.

    Parameters
    ----------
    wording : Wording
    actor : Actor
    style : str
        Style of the actor, where it is stated with an action; else empty.
    pick : int
        Chooses the words for an actor without events.
    most : int, optional
        Number of events; all by default.

    Returns
    -------
    list of Phrase
    """
    grammar, kind, inputs, clauses, choices, beside, _ = wording
    first, keys = actor.first, inputs.key
    found: list[Phrase] = []
    described = -1
    claims: Sequence[tuple[str, str]] = ()
    rows = _stated_events(actor, inputs.frames, kind, most)
    omitted = {clauses[row].number for row in actor.events if row not in rows}
    for row in rows:
        clause = clauses[row]
        if clause.number in omitted and any(claim == "count" for claim, _ in clause.claims):
            # The count is that of one event; of two, it would be false of the action.
            facts = inputs.facts.distinct[int(inputs.facts.number[row])]
            clause = grammar.clause(facts._replace(times=0), kind, choices[row])
        if clause.number == described and _continues(clause.claims, claims, inputs, row):
            # Two walks may differ in what is not stated here. The second one is then omitted, or only its overlay is stated.
            if inputs.over[row] < 0:
                continue
            texts = grammar.continues[choices[row] % len(grammar.continues)]
        else:
            if style and grammar.takes_style[clause.number]:
                facts = inputs.facts.distinct[int(inputs.facts.number[row])]
                clause = grammar.clause(facts._replace(style=style), kind, choices[row])
            texts, described, claims = clause.texts, clause.number, clause.claims
            if style and ("style", style) in claims:
                # A style is stated once.
                claims, style = tuple([claim for claim in claims if claim[0] != "style"]), ""
        after, statements = "", clause.made.get(keys[row]) or clause.statements(keys[row])
        if row in beside:
            after, more = beside[row]
            statements = statements + more
        found.append((texts, after, row - first, clause.action, statements))
    return found or [(grammar.nothing[pick % len(grammar.nothing)], "", 0, "", [])]


def _stated_events(actor: Actor, frames: Sequence[int], kind: str, most: int | None) -> Sequence[int]:
    """Return the events of an actor that a caption states: the longest `most`, but minor ones only if there is room."""
    rows = actor.major if kind == "short" else actor.events
    if most is None or len(rows) <= most:
        return rows
    major = frozenset(actor.major)
    return sorted(sorted(rows, key=lambda row: (row not in major, -frames[row]))[:most])


def _continues(claims: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]], inputs: CaptionInputs, row: int) -> bool:
    """Return whether an event is worded as the continuation of the same action, after the claims just `before`."""
    if inputs.during[row] >= 0 or any(kind == "count" for kind, _ in before):
        return False  # the count is that of one event
    return claims == before or (all(claim in before for claim in claims) and bool(inputs.over[row] < 0))


def fill_frame(grammar: Grammar, frame: Frame, phrases: Sequence[Phrase], offset: int | None) -> str:
    """Return one sentence of all phrases, joined as by :func:`join_phrases`."""
    return frame.head + join_phrases(grammar, phrases, frame.form, offset) + frame.tail


def join_phrases(grammar: Grammar, phrases: Sequence[Phrase], form: int, offset: int | None) -> str:
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


def without_order(grammar: Grammar, phrases: list[Phrase]) -> list[Phrase]:
    """Return phrases as they are listed without stating their order: those that state two actions last.

    In "walking while waving and kicking", one would walk while kicking, too.
    """
    if any(texts in grammar.continues for texts, *_ in phrases):
        return phrases
    return sorted(phrases, key=lambda phrase: bool(phrase[1]))


def _list_phrases(joining: Mapping[str, str], listed: Sequence[str]) -> str:
    """Join phrases by commas, and by "and" before the last one and where a comma would be between two equal words."""
    text = listed[0]
    for k, phrase in enumerate(listed[1:], 1):
        equal = text.rpartition(" ")[2] == phrase.partition(" ")[0]
        text += joining["and" if equal or k == len(listed) - 1 else "comma"] + phrase
    return text


def phrase_statements(actor: int, phrases: Sequence[Phrase], ordered: bool) -> list[Statement]:
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
