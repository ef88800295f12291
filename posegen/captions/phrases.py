"""Events in words, and their sentences: phrases of an actor, joined in the order of time, with their statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from posegen.captions.grammar import Clause, Frame, Grammar
from posegen.captions.inputs import Actor, CaptionInputs
from posegen.captions.segments import Statement, order_statement, with_style

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
    identity : drawn numbers below this name the kind of person, or the place
    """

    grammar: Grammar
    kind: str
    inputs: CaptionInputs
    clauses: list[Clause]
    choices: list[int]
    identity: float


Phrase = tuple[tuple[str, ...], str, int, str, list[Statement]]
"""An event in words: its clause in all forms, the text after it, its segment and action, and its statements."""

CaptionText = tuple[str, list[Statement]]


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
    grammar, kind, inputs, clauses, choices, _ = wording
    number, first, keys, covers, whiles = actor.number, actor.first, inputs.key, inputs.over, inputs.during
    found: list[Phrase] = []
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
                clause = grammar.clause(with_style(facts, style), DETAILS[kind], choice)
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


def fill_frame(grammar: Grammar, frame: Frame, phrases: Sequence[Phrase], offset: int | None) -> str:
    """Return one sentence of all phrases, joined as by :func:`join_phrases`."""
    head, first, middle, second, tail = frame
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
