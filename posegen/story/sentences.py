"""From beats to sentences: clauses joined in the order of time, and what they claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from posegen.story.beats import Actor, Beat
from posegen.story.facts import Statement, order, styled
from posegen.story.frames import Frame
from posegen.story.grammar import Grammar

__all__ = [
    "DRAWS",
    "JOINING",
    "PLACE",
    "SLOTS",
    "SUBJECT",
    "TEMPLATE",
    "WHO",
    "Spoken",
    "Wording",
    "claims_of",
    "joined",
    "listed",
    "spoken",
    "story",
    "tense_of",
    "told",
]


TEMPLATE, SUBJECT, WHO, JOINING, PLACE, TENSE, FIRST_SLOT = range(7)
"""Which of a caption's numbers words what; those from the last one on word the slots."""

SLOTS = 10
DRAWS = FIRST_SLOT + SLOTS
"""How many numbers a caption takes."""


class Wording(NamedTuple):
    """How a caption is worded: in which language, of which kind, how fully, set where, and by which numbers."""

    grammar: Grammar
    kind: str
    detail: str
    theme: str
    choice: list[int]


Spoken = tuple[tuple[str, ...], str, str, int, str, list[Statement]]
"""A beat in words: its verb in all forms, what stands before and behind it, its segment and action, and what it claims."""


def spoken(wording: Wording, actor: Actor, style: str) -> list[Spoken]:
    """Put each beat of an actor into words; who does nothing that can be told does something all the same.

    `style` is that of the actor, where it is to be told by how something is done.
    """
    grammar, _, detail, _, choices = wording
    clause, names, number = grammar.clause, grammar.names, actor.number
    found: list[Spoken] = []
    said, claims = -1, None
    beats = actor.beats
    if detail == "none" and len(beats) > 1:
        beats = _main(grammar, beats)
    for (segment, slot, facts), over, during in beats:
        choice = choices[FIRST_SLOT + slot % SLOTS]
        action = facts[0]
        verb, around = clause(facts, detail, choice)
        if action == said and around.claims == claims and during is None:
            # Two walks may differ in what is not told here: then the second is not told, or only what lies over it.
            if over is None:
                continue
            verb, before, behind = grammar.goes_on[choice % len(grammar.goes_on)], "", ""
        else:
            if style and grammar.mannered[action]:
                verb, around = clause(styled(facts, style), detail, choice)
            before, behind, said, claims = around.before, around.behind, action, around.claims
            if style and ("style", style) in claims:
                # Told once; by then it is known.
                claims, style = tuple([claim for claim in claims if claim[0] != "style"]), ""
        statements = around.statements(number, segment)
        if over is not None:
            above, other = clause(over.facts, detail, choices[FIRST_SLOT + over.slot % SLOTS])
            text, form = grammar.meanwhile[choice % len(grammar.meanwhile)]
            behind += text + other.before + above[form] + other.behind
            meanwhile = order(number, over.number, other.action, "during", segment)
            statements = [*statements, *other.statements(number, over.number), meanwhile]
        elif during is not None:
            phrases = grammar.words["actions"][names[during.facts.action]]["during"]
            behind += " " + phrases[choice % len(phrases)]
            statements = [*statements, order(number, segment, around.action, "during", during.number)]
        found.append((verb, before, behind, segment, around.action, statements))
    if not found:
        nothing = grammar.nothing
        found.append((nothing[choices[JOINING] % len(nothing)], "", "", 0, "", []))
    return found


def _main(grammar: Grammar, beats: tuple[Beat, ...]) -> tuple[Beat, ...]:
    """Leave out what is minor, where something else remains."""
    minor = grammar.minor
    return tuple([beat for beat in beats if beat[1] or not minor[beat[0].facts[0]]]) or beats


def told(wording: Wording, frame: Frame, beats: Sequence[Spoken], offset: int) -> str:
    """Say all beats in one sentence; `offset` picks what joins them."""
    head, first, middle, second, tail = frame
    if second < 0:
        return head + joined(wording.grammar, beats, first, offset) + tail
    verb, before, behind, _, _, _ = beats[0]
    alone = head + before + verb[first] + behind + middle
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
    texts = [before + verb[form] + behind for verb, before, behind, _, _, _ in beats]
    return str(joining["comma"].join(texts[:-1]) + joining["and"] + texts[-1])


def claims_of(actor: int, beats: Sequence[Spoken], ordered: bool) -> list[Statement]:
    """Gather what beats claim; where they are `ordered`, also that each comes after the one before."""
    _, _, _, before, _, claims = beats[0]
    if len(beats) == 1:
        return claims
    statements = list(claims)
    for _, _, _, segment, action, claims in beats[1:]:
        statements += claims
        if ordered:
            statements.append(order(actor, segment, action, "after", before))
        before = segment
    return statements


def story(wording: Wording, actor: Actor, beats: Sequence[Spoken], opening: Frame, who: str) -> str:
    """Tell beats in sentences of one or two each; `opening` is the first one's frame."""
    grammar, choice = wording.grammar, wording.choice
    joining, subject = choice[JOINING], choice[SUBJECT]
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
    drawn = wording.choice[TENSE] % (tenses + 2)
    return drawn if drawn < tenses else 0
