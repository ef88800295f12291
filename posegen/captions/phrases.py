"""Events in words, and their sentences: phrases of an actor, joined in the order of time, with their statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posegen.captions.grammar import Clause, Frame, Grammar
from posegen.captions.inputs import Actor, CaptionInputs
from posegen.captions.segments import MOST_SEGMENTS, Statement, order_statement, with_style
from posegen.foundations.arrays import Array

DETAILS = {"short": "none", "full": "all", "narrative": "some"}
"""How much clauses state in each kind of caption."""

TEMPLATE, SUBJECT, WHO, JOINING, PLACE, TENSE, FIRST_SEGMENT = range(7)
"""What each random number of a caption decides; those from the last index on word the segments."""


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
        The number by which the clause of each is chosen.
    identity : float
        See :class:`Wording`.
    """
    made = np.empty(len(choices), object)
    made[described] = grammar.clauses(inputs.facts.at(described), DETAILS[kind], choices[described])
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
    if choice[PLACE] >= wording.identity:
        return ""
    actions, clauses = wording.grammar.words["actions"], wording.clauses
    placeless = any(actions[clauses[row].action].get("placeless") for actor in actors for row in actor.events)
    return "" if placeless else theme


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
    grammar, kind, inputs, clauses, choices, beside, _ = wording
    first, keys = actor.first, inputs.key
    found: list[Phrase] = []
    described = -1
    claims: Sequence[tuple[str, str]] = ()
    for row in actor.major if kind == "short" else actor.events:
        clause = clauses[row]
        if clause.number == described and _continues(clause.claims, claims, inputs, row):
            # Two walks may differ in what is not stated here. The second one is then omitted, or only its overlay is stated.
            if inputs.over[row] < 0:
                continue
            texts = grammar.continues[choices[row] % len(grammar.continues)]
        else:
            if style and grammar.takes_style[clause.number]:
                facts = inputs.facts.distinct[int(inputs.facts.number[row])]
                clause = grammar.clause(with_style(facts, style), DETAILS[kind], choices[row])
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


def _continues(claims: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]], inputs: CaptionInputs, row: int) -> bool:
    """Return whether an event is worded as the continuation of the same action, of which claims were made just `before`."""
    if inputs.during[row] >= 0 or any(kind == "count" for kind, _ in before):
        return False  # the count is that of one event
    return claims == before or (all(claim in before for claim in claims) and bool(inputs.over[row] < 0))


def fill_frame(grammar: Grammar, frame: Frame, phrases: Sequence[Phrase], offset: int | None) -> str:
    """Return one sentence of all phrases, joined as by :func:`join_phrases`."""
    head, first, middle, second, tail = frame
    if len(phrases) == 1:
        return head + phrases[0][0][first] + phrases[0][1] + tail
    if second < 0:
        return head + join_phrases(grammar, phrases, first, offset) + tail
    alone = head + phrases[0][0][first] + phrases[0][1] + middle
    return alone + join_phrases(grammar, phrases[1:], second, offset) + tail


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
