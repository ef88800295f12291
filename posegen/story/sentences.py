"""From beats to sentences: clauses joined in the order of time, and what they claim."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from posegen.story.beats import Actor, Beat
from posegen.story.frames import Frame
from posegen.story.grammar import Grammar, Statement, statement

__all__ = ["DRAWS", "SLOTS", "Draw", "Spoken", "Wording", "claims_of", "joined", "listed", "spoken", "story", "told"]


class Draw(IntEnum):
    """Which of a caption's numbers words what. Those that word the slots follow."""

    TEMPLATE = 0
    SUBJECT = 1
    WHO = 2
    JOINING = 3
    PLACE = 4
    TENSE = 5


_FIRST, SLOTS = len(Draw), 10
DRAWS = _FIRST + SLOTS
"""How many numbers a caption takes."""


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


class Spoken(NamedTuple):
    """A beat in words: its verb in all forms, what stands around it, the segment and action it is about, and its claims."""

    verb: tuple[str, ...]
    before: str
    behind: str
    segment: int
    action: str
    statements: list[Statement]


def spoken(wording: Wording, actor: Actor) -> list[Spoken]:
    """Put each beat of an actor into words; who does nothing that can be told does something all the same."""
    grammar, detail, choices = wording.grammar, wording.detail, wording.choice
    number, names, style = actor.number, grammar.names, wording.style
    found: list[Spoken] = []
    said, claims = -1, None
    beats = actor.beats
    if detail == "none" and len(beats) > 1:
        beats = _main(grammar, beats)
    for (segment, slot, facts), over, during in beats:
        choice = choices[_FIRST + slot % SLOTS]
        action = facts.action
        verb, around = grammar.clause(facts, detail, choice)
        statements = around.statements(number, segment)
        if action == said and around.claims == claims and during is None:
            # Two walks may differ in what is not told here: then the second is not told, or only what lies over it.
            if over is None:
                continue
            verb, before, behind = grammar.goes_on[choice % len(grammar.goes_on)], "", ""
        else:
            if style and grammar.mannered[action]:
                verb, around = grammar.clause(facts._replace(style=style), detail, choice)
                statements = around.statements(number, segment)
            before, behind, said, claims = around.before, around.behind, action, around.claims
            if style and ("style", style) in claims:
                # Told once; by then it is known.
                claims, style = tuple([claim for claim in claims if claim[0] != "style"]), ""
        if over is not None:
            other_verb, other = grammar.clause(over.facts, detail, choices[_FIRST + over.slot % SLOTS])
            text, form = grammar.meanwhile[choice % len(grammar.meanwhile)]
            behind += text + other.before + other_verb[form] + other.behind
            meanwhile = statement(number, "order", over.number, names[over.facts.action], f"during {segment}")
            statements = [*statements, *other.statements(number, over.number), meanwhile]
        elif during is not None:
            phrases = grammar.words["actions"][names[during.facts.action]]["during"]
            behind += " " + phrases[choice % len(phrases)]
            statements = [*statements, statement(number, "order", segment, names[action], f"during {during.number}")]
        found.append(Spoken(verb, before, behind, segment, names[action], statements))
    if not found:
        nothing = grammar.nothing
        found.append(Spoken(nothing[choices[Draw.JOINING] % len(nothing)], "", "", 0, "", []))
    return found


def _main(grammar: Grammar, beats: tuple[Beat, ...]) -> tuple[Beat, ...]:
    """Leave out what is minor, where something else remains."""
    minor = grammar.minor
    return tuple([beat for beat in beats if beat.over or not minor[beat.segment.facts.action]]) or beats


def told(wording: Wording, frame: Frame, beats: Sequence[Spoken], offset: int) -> str:
    """Say all beats in one sentence; `offset` picks what joins them."""
    head, first, middle, second, tail = frame
    if second < 0:
        return head + joined(wording.grammar, beats, first, offset) + tail
    beat = beats[0]
    alone = head + beat.before + beat.verb[first] + beat.behind + middle
    return alone + joined(wording.grammar, beats[1:], second, offset) + tail


def joined(grammar: Grammar, beats: Sequence[Spoken], form: int, offset: int) -> str:
    """Join beats in the order of time."""
    verb, before, text, _, _, _ = beats[0]
    text = before + verb[form] + text
    if len(beats) > 1:
        then = grammar.then
        for verb, before, behind, _, _, _ in beats[1:]:
            link, own = then[offset % len(then)]
            text += link + before + verb[own if own >= 0 else form] + behind
            offset += 1
    return text


def listed(grammar: Grammar, beats: Sequence[Spoken], form: int) -> str:
    """List beats without a word on their order."""
    joining = grammar.words["joining"]
    texts = [beat.before + beat.verb[form] + beat.behind for beat in beats]
    return str(joining["comma"].join(texts[:-1]) + joining["and"] + texts[-1])


def claims_of(actor: int, beats: Sequence[Spoken], ordered: bool) -> list[Statement]:
    """Gather what beats claim; where they are `ordered`, also that each comes after the one before."""
    statements = list(beats[0].statements)
    before = beats[0].segment
    for beat in beats[1:]:
        statements += beat.statements
        if ordered:
            statements.append(statement(actor, "order", beat.segment, beat.action, f"after {before}"))
        before = beat.segment
    return statements


def story(wording: Wording, actor: Actor, beats: Sequence[Spoken], opening: Frame, who: str) -> str:
    """Tell beats in sentences of one or two each; `opening` is the first one's frame."""
    grammar, choice = wording.grammar, wording.choice
    joining, subject = choice[Draw.JOINING], choice[Draw.SUBJECT]
    tense = tense_of(wording)
    text, at, number = "", 0, 0
    while at < len(beats):
        group = beats[at : at + 1 + (joining >> number) % 2]
        frame = opening
        if at:
            last = number > 1 and at + 1 == len(beats) and actor.complete
            frames = grammar.going_on(tense, who, "last" if last else "next")
            frame = frames[(subject + 5 * number) % len(frames)]
            text += " "
        text += told(wording, frame, group, joining + at)
        at += len(group)
        number += 1
    return text


def tense_of(wording: Wording) -> int:
    """Number of the tense of a story: the first one mostly."""
    tenses = len(wording.grammar.words["narrative"]["tenses"])
    drawn = wording.choice[Draw.TENSE] % (tenses + 2)
    return drawn if drawn < tenses else 0
