"""Sentences: the clauses of each actor joined in the order of time, with the statements that they make.

An actor's segments form *events*. An event is a base segment, together with the arm action that overlays it where one clause
states both ("walks while waving"), or an arm action alone ("waves", of someone who stands, or "waves while seated").
:mod:`posegen.captions.captions` makes captions from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.captions.grammar import Clause, Frame, Grammar
from posegen.captions.segments import Segments
from posegen.captions.statements import SegmentFacts, Statement, order_statement, segment_facts, segment_keys, with_style
from posegen.library.load import Library
from posegen.planning.repertoire import NO_GAIT, repertoire
from posegen.scene import Scenes

__all__ = [
    "DRAWS",
    "FIRST_SLOT",
    "JOINING",
    "PLACE",
    "SLOTS",
    "SUBJECT",
    "TEMPLATE",
    "WHO",
    "Actor",
    "CaptionInputs",
    "Phrase",
    "Wording",
    "actor_phrases",
    "caption_inputs",
    "fill_frame",
    "join_phrases",
    "kind_of_person",
    "list_phrases",
    "narrative",
    "phrase_statements",
]

Array = NDArray[Any]

TEMPLATE, SUBJECT, WHO, JOINING, PLACE, TENSE, FIRST_SLOT = range(7)
"""What each random number of a caption decides; those from the last index on word the slots."""
SLOTS = 10
DRAWS = FIRST_SLOT + SLOTS
"""Random numbers of a caption."""

_GROWN, _OLDER = 16.0, 60.0
_KINDS_OF_PEOPLE = ("girl", "boy", "woman", "man", "older_woman", "older_man")
_NONE = -1


class Actor(NamedTuple):
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


class CaptionInputs(NamedTuple):
    """All that the captions of some sequences depend on.

    Attributes
    ----------
    bounds : where the segments of each sequence begin
    facts, slot : of each segment
    key : of each segment; see :func:`posegen.captions.statements.segment_keys`
    over : for each segment, the number of the one that overlays it and is stated in the same clause; -1 for none
    during : for each segment, the number of the one that continues meanwhile without being stated again; -1 for none
    styled : whether a style is visible in each sequence
    scene : of each sequence, what its words depend on in addition to its segments, as bytes
    shape, whole : of each segment, 8 bytes: its slot and its role in an event; and these with its facts
    people : actors of all sequences, each of which has room for `most` and has `present`
    """

    bounds: list[int]
    facts: SegmentFacts
    slot: Array
    key: list[int]
    over: list[int]
    during: list[int]
    styled: list[bool]
    scene: list[bytes]
    shape: bytes
    whole: bytes
    people: list[Actor]
    most: int
    present: list[int]

    def actors(self, i: int) -> list[Actor]:
        """Return the actors of a sequence."""
        return self.people[i * self.most : i * self.most + self.present[i]]


class Wording(NamedTuple):
    """How captions of one kind are worded, for some sequences at once.

    Attributes
    ----------
    grammar : of the language
    kind, detail : of the captions, and how many details they state
    inputs : of the sequences
    clauses, choices : for each segment, its clause and the number that it was chosen by
    """

    grammar: Grammar
    kind: str
    detail: str
    inputs: CaptionInputs
    clauses: list[Clause]
    choices: list[int]


Phrase = tuple[tuple[str, ...], str, int, str, list[Statement]]
"""An event in words: its clause in all forms, the text after it, its segment and action, and its statements."""


def caption_inputs(scenes: Scenes, library: Library, segments: Segments) -> CaptionInputs:
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
    shape = (((segments.slot * most + owner % most) * 2 + opens) * 2 + (over >= 0)) * 2 + (during >= 0)
    opening = np.flatnonzero(opens)
    begins, events = np.searchsorted(opening, segments.bounds).tolist(), opening.tolist()
    people = map(
        Actor,
        list(range(most)) * len(scenes),
        [_KINDS_OF_PEOPLE[number] for number in who.tolist()],
        [names[number] for number in style.tolist()],
        segments.complete.tolist(),
        segments.bounds.tolist(),
        [events[first:last] for first, last in pairwise(begins)],
    )
    return CaptionInputs(
        bounds=segments.bounds[::most].tolist(),
        facts=facts,
        slot=segments.slot,
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
    people, actions = scenes.persons, repertoire(library)
    upright = (actions.gait != NO_GAIT) | (np.arange(len(actions.gait)) == actions.standing)
    visible = np.zeros(len(segments.complete), bool)
    visible[owner[upright[segments.action]]] = True
    grown = (people.age >= _GROWN).astype(np.int64) + (people.age >= _OLDER)
    return (2 * grown + people.male).ravel(), np.where(visible, people.style.ravel(), 0)


def kind_of_person(male: bool, age: float) -> str:
    """Return boy, girl, man, woman, older_man or older_woman."""
    return _KINDS_OF_PEOPLE[2 * ((age >= _GROWN) + (age >= _OLDER)) + male]


def actor_phrases(wording: Wording, actor: Actor, style: str, pick: int) -> list[Phrase]:
    """Return each event of an actor in words.

    Parameters
    ----------
    wording : Wording
    actor : Actor
    style : str
        Style of the actor, where it is stated with an action; else empty.
    pick : int
        Chooses the words for an actor without events.

    Returns
    -------
    list of Phrase
    """
    grammar, _, detail, inputs, clauses, choices = wording
    number, first, keys, covers, whiles = actor.number, actor.first, inputs.key, inputs.over, inputs.during
    found: list[Phrase] = []
    said = -1
    claims: Sequence[tuple[str, str]] = ()
    for row in _main_events(wording, actor) if detail == "none" else actor.events:
        clause, choice, over, during = clauses[row], choices[row], covers[row], whiles[row]
        if clause.number == said and during < 0 and (clause.claims == claims or (over < 0 and _repeats(clause.claims, claims))):
            # Two walks may differ in what is not stated here. The second one is then omitted, or only its overlay is stated.
            if over < 0:
                continue
            texts = grammar.continues[choice % len(grammar.continues)]
        else:
            if style and grammar.takes_style[clause.number]:
                facts = inputs.facts.distinct[int(inputs.facts.number[row])]
                clause = grammar.clause(with_style(facts, style), detail, choice)
            texts, said, claims = clause.texts, clause.number, clause.claims
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


def _main_events(wording: Wording, actor: Actor) -> list[int]:
    """Return the events without minor ones, or all if there are no others."""
    minor, clauses, over = wording.grammar.minor, wording.clauses, wording.inputs.over
    return [row for row in actor.events if over[row] >= 0 or not minor[clauses[row].number]] or actor.events


def fill_frame(grammar: Grammar, frame: Frame, phrases: Sequence[Phrase], offset: int) -> str:
    """Return one sentence of all phrases; `offset` picks the words that join them."""
    head, first, middle, second, tail = frame
    if second < 0:
        return head + join_phrases(grammar, phrases, first, offset) + tail
    alone = head + phrases[0][0][first] + phrases[0][1] + middle
    return alone + join_phrases(grammar, phrases[1:], second, offset) + tail


def join_phrases(grammar: Grammar, phrases: Sequence[Phrase], form: int, offset: int) -> str:
    """Join phrases in the order of time."""
    text = phrases[0][0][form] + phrases[0][1]
    if len(phrases) > 1:
        then = grammar.then
        for texts, after, _, _, _ in phrases[1:]:
            link, own = then[offset % len(then)]
            text += link + texts[own if own >= 0 else form] + after
            offset += 1
    return text


def list_phrases(grammar: Grammar, phrases: Sequence[Phrase], form: int) -> str:
    """List phrases without stating their order."""
    joining = grammar.words["joining"]
    texts = [phrase[0][form] + phrase[1] for phrase in phrases]
    return str(joining["comma"].join(texts[:-1]) + joining["and"] + texts[-1])


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


def narrative(grammar: Grammar, choice: Sequence[int], actor: Actor, phrases: Sequence[Phrase], theme: str, who: str) -> str:
    """Return phrases as sentences of one or two each; `who` names the subject from the second sentence on."""
    joining, subject = choice[JOINING], choice[SUBJECT]
    tenses = len(grammar.words["narrative"]["tenses"])
    # The first tense is the most frequent one.
    drawn = choice[TENSE] % (tenses + 2)
    tense = drawn if drawn < tenses else 0
    openings = grammar.openings(tense, theme, choice[PLACE])
    frame = openings[choice[TEMPLATE] % len(openings)]
    text, at, number = "", 0, 0
    while at < len(phrases):
        group = phrases[at : at + 1 + (joining >> number) % 2]
        if at:
            last = number > 1 and at + 1 == len(phrases) and actor.complete
            frames = grammar.continuations(tense, who, "last" if last else "next")
            frame = frames[(subject + 5 * number) % len(frames)]
            text += " "
        text += fill_frame(grammar, frame, group, joining + at)
        at += len(group)
        number += 1
    return text
