"""From beats to sentences: clauses joined in the order of time, and what they claim."""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from posegen.story.beats import Actor
from posegen.story.grammar import Grammar, Statement, statement

__all__ = ["DRAWS", "Draw", "Said", "Wording", "chain", "sentences"]


class Draw(IntEnum):
    """Which of a caption's numbers words what. Those that word the slots follow."""

    TEMPLATE = 0
    SUBJECT = 1
    WHO = 2
    JOINING = 3
    PLACE = 4


_FIRST, _SLOTS = len(Draw), 11
DRAWS = _FIRST + _SLOTS
"""How many numbers a caption takes."""


class Said(NamedTuple):
    """A text, in which ``{their}`` stands for the actor's possessive pronoun, and what it claims."""

    text: str
    statements: list[Statement]


class Wording(NamedTuple):
    """How a caption is worded: in which language, of which kind, how fully, set where, and by which numbers.

    `style` is that of the actor, where it is to be told by how something is done.
    """

    grammar: Grammar
    kind: str
    detail: str
    theme: str
    choice: tuple[int, ...]
    style: str = ""


class _Spoken(NamedTuple):
    """A beat in words, with the segment and the action that it is mainly about."""

    text: str
    segment: int
    action: str
    statements: list[Statement]


def chain(wording: Wording, actor: Actor, form: str) -> Said:
    """Say all that an actor does in one breath, in the form `does` ("walks, then sits down") or `doing`."""
    grammar, choice = wording.grammar, wording.choice[Draw.JOINING]
    joining = grammar.words["joining"]
    spoken = _spoken(wording, actor, form)
    if not spoken:
        return Said(_form(form, grammar.pick(joining["nothing"], choice)), [])
    statements = list(spoken[0].statements)
    for beat in spoken[1:]:
        statements += beat.statements
    if wording.kind == "short" and len(spoken) > 1 and choice % 2:
        listed = joining["comma"].join([beat.text for beat in spoken[:-1]])
        return Said(listed + joining["and"] + spoken[-1].text, statements)
    text = spoken[0].text
    then, offset = joining["then"], choice >> 1
    for i, (before, beat) in enumerate(pairwise(spoken), offset):
        text += then[i % len(then)] + beat.text
        statements.append(_after(actor, before, beat))
    return Said(text, statements)


def sentences(wording: Wording, actor: Actor, subject: str, who: str) -> Said:
    """Tell all that an actor does, a sentence each."""
    grammar, choice = wording.grammar, wording.choice
    words, pick = grammar.words, grammar.pick
    narrative, again = words["narrative"], words["again"][who]
    place = pick(words["places"].get(wording.theme) or [""], choice[Draw.PLACE])
    spoken = _spoken(wording, actor, "does") or [
        _Spoken(_form("does", pick(words["joining"]["nothing"], choice[Draw.JOINING])), 0, "", [])
    ]
    opening = pick(narrative["open"] if place else narrative["placeless"], choice[Draw.TEMPLATE])
    opening = opening.replace("{place}", place).replace("{subject}", subject)
    parts = [opening.replace("{does}", spoken[0].text)]
    statements = list(spoken[0].statements)
    final = len(spoken) - 1 if actor.complete else 0
    for i, (before, beat) in enumerate(pairwise(spoken), 1):
        template = pick(narrative["last" if 1 < i == final else "next"], choice[Draw.JOINING], i)
        template = template.replace("{again}", pick(again, choice[Draw.SUBJECT], i))
        parts.append(template.replace("{does}", beat.text))
        statements += beat.statements
        statements.append(_after(actor, before, beat))
    return Said(" ".join([part[:1].upper() + part[1:] for part in parts]), statements)


def _form(form: str, verb: list[str]) -> str:
    return verb[0] if form == "does" else verb[1]


def _after(actor: Actor, before: _Spoken, beat: _Spoken) -> Statement:
    return statement(actor.number, "order", beat.segment, beat.action, f"after {before.segment}")


def _spoken(wording: Wording, actor: Actor, form: str) -> list[_Spoken]:
    grammar, detail, choices = wording.grammar, wording.detail, wording.choice
    joining, number = grammar.words["joining"], actor.number
    spoken: list[_Spoken] = []
    said, style = "", wording.style
    for (segment, slot, facts), over, during in actor.beats:
        choice = choices[_FIRST + slot % _SLOTS]
        clause = grammar.clause(facts, detail, choice)
        text, statements = clause.does if form == "does" else clause.doing, clause.statements(number, segment)
        if clause.does == said and during is None:
            # Two walks may differ in what is not told here: then the second is not told, or only what lies over it.
            if over is None:
                continue
            text = _form(form, grammar.pick(joining["goes_on"], choice))
        elif style:
            # Told once; by then it is known.
            manner = grammar.clause(facts._replace(style=style), detail, choice)
            if any(kind == "style" for kind, _ in manner.claims):
                text, statements = manner.does if form == "does" else manner.doing, manner.statements(number, segment)
                style = ""
        said = clause.does
        if over is not None:
            other = grammar.clause(over.facts, detail, choices[_FIRST + over.slot % _SLOTS])
            text += grammar.pick(joining["while"], choice) + other.doing
            meanwhile = statement(number, "order", over.number, other.action, f"during {segment}")
            statements = [*statements, *other.statements(number, over.number), meanwhile]
        elif during is not None:
            host = grammar.names[during.facts.action]
            text += " " + grammar.pick(grammar.words["actions"][host]["during"], choice)
            statements = [*statements, statement(number, "order", segment, clause.action, f"during {during.number}")]
        spoken.append(_Spoken(text, segment, clause.action, statements))
    return spoken
