"""From beats to sentences: clauses joined in the order of time, and what they claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from posegen.captions.beats import Actor, Casts
from posegen.captions.facts import Statement, order, styled
from posegen.captions.frames import Frame
from posegen.captions.grammar import Clause, Grammar

__all__ = [
    "DRAWS",
    "FIRST_SLOT",
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
    "told",
]


TEMPLATE, SUBJECT, WHO, JOINING, PLACE, TENSE, FIRST_SLOT = range(7)
"""Which of a caption's numbers words what; those from the last one on word the slots."""

SLOTS = 10
DRAWS = FIRST_SLOT + SLOTS
"""How many numbers a caption takes."""


class Wording(NamedTuple):
    """How captions of one kind are worded, for some sequences at once.

    Attributes
    ----------
    grammar : in which language
    kind, detail : of the captions, and how much of the details they tell
    casts : of whom
    clauses, choices : what is said of each segment, and the number that it was chosen by
    """

    grammar: Grammar
    kind: str
    detail: str
    casts: Casts
    clauses: list[Clause]
    choices: list[int]


Claim = tuple[str, str]
"""Kind and value."""

Spoken = tuple[tuple[str, ...], str, int, str, list[Statement]]
"""A beat in words: its clause in all forms, what stands behind it, its segment and action, and what it claims."""


def spoken(wording: Wording, actor: Actor, style: str, pick: int) -> list[Spoken]:
    """Put each beat of an actor into words; who does nothing that can be told does something, which `pick` chooses.

    `style` is that of the actor, where it is to be told by how something is done.
    """
    grammar, _, detail, casts, clauses, choices = wording
    number, first, places, covers, whiles = actor.number, actor.first, casts.place, casts.over, casts.during
    found: list[Spoken] = []
    said = -1
    claims: Sequence[Claim] = ()
    for row in _main(wording, actor) if detail == "none" else actor.beats:
        clause, choice, over, during = clauses[row], choices[row], covers[row], whiles[row]
        if clause.number == said and during < 0 and (clause.claims == claims or (over < 0 and _known(clause.claims, claims))):
            # Two walks may differ in what is not told here: then the second is not told, or only what lies over it.
            if over < 0:
                continue
            texts = grammar.goes_on[choice % len(grammar.goes_on)]
        else:
            if style and grammar.mannered[clause.number]:
                clause = grammar.clause(styled(casts.facts_of(row), style), detail, choice)
            texts, said, claims = clause.texts, clause.number, clause.claims
            if style and ("style", style) in claims:
                # Told once; by then it is known.
                claims, style = tuple([claim for claim in claims if claim[0] != "style"]), ""
        behind, statements = "", clause.made.get(places[row]) or clause.statements(places[row])
        if over >= 0:
            above = clauses[over]
            text, form = grammar.meanwhile[choice % len(grammar.meanwhile)]
            behind = text + above.texts[form]
            meanwhile = order(number, over - first, above.action, "during", row - first)
            statements = [*statements, *above.statements(places[over]), meanwhile]
        elif during >= 0:
            phrases = grammar.words["actions"][clauses[during].action]["during"]
            behind = " " + phrases[choice % len(phrases)]
            statements = [*statements, order(number, row - first, clause.action, "during", during - first)]
        found.append((texts, behind, row - first, clause.action, statements))
    return found or [(grammar.nothing[pick % len(grammar.nothing)], "", 0, "", [])]


def _known(claims: Sequence[Claim], before: Sequence[Claim]) -> bool:
    """Whether all that an action claims was claimed of it just before; what was counted is told again."""
    return all(claim in before for claim in claims) and not any(kind == "count" for kind, _ in before)


def _main(wording: Wording, actor: Actor) -> list[int]:
    """Leave out what is minor, where something else remains."""
    minor, clauses, over = wording.grammar.minor, wording.clauses, wording.casts.over
    return [row for row in actor.beats if over[row] >= 0 or not minor[clauses[row].number]] or actor.beats


def told(grammar: Grammar, frame: Frame, beats: Sequence[Spoken], offset: int) -> str:
    """Say all beats in one sentence; `offset` picks what joins them."""
    head, first, middle, second, tail = frame
    if second < 0:
        return head + joined(grammar, beats, first, offset) + tail
    alone = head + beats[0][0][first] + beats[0][1] + middle
    return alone + joined(grammar, beats[1:], second, offset) + tail


def joined(grammar: Grammar, beats: Sequence[Spoken], form: int, offset: int) -> str:
    """Join beats in the order of time."""
    text = beats[0][0][form] + beats[0][1]
    if len(beats) > 1:
        then = grammar.then
        for texts, behind, _, _, _ in beats[1:]:
            link, own = then[offset % len(then)]
            text += link + texts[own if own >= 0 else form] + behind
            offset += 1
    return text


def listed(grammar: Grammar, beats: Sequence[Spoken], form: int) -> str:
    """List beats without a word on their order."""
    joining = grammar.words["joining"]
    texts = [beat[0][form] + beat[1] for beat in beats]
    return str(joining["comma"].join(texts[:-1]) + joining["and"] + texts[-1])


def claims_of(actor: int, beats: Sequence[Spoken], ordered: bool) -> list[Statement]:
    """Gather what beats claim; where they are `ordered`, also that each comes after the one before."""
    _, _, before, _, claims = beats[0]
    if len(beats) == 1:
        return claims
    statements = list(claims)
    for _, _, segment, action, claims in beats[1:]:
        statements += claims
        if ordered:
            statements.append(order(actor, segment, action, "after", before))
        before = segment
    return statements


def story(grammar: Grammar, choice: Sequence[int], actor: Actor, beats: Sequence[Spoken], theme: str, who: str) -> str:
    """Tell beats in sentences of one or two each; `who` is how the subject is called from the second one on."""
    joining, subject = choice[JOINING], choice[SUBJECT]
    tense = _tense_of(grammar, choice)
    openings = grammar.openings(tense, theme, choice[PLACE])
    frame = openings[choice[TEMPLATE] % len(openings)]
    text, at, number = "", 0, 0
    while at < len(beats):
        group = beats[at : at + 1 + (joining >> number) % 2]
        if at:
            last = number > 1 and at + 1 == len(beats) and actor.complete
            frames = grammar.going_on(tense, who, "last" if last else "next")
            frame = frames[(subject + 5 * number) % len(frames)]
            text += " "
        text += told(grammar, frame, group, joining + at)
        at += len(group)
        number += 1
    return text


def _tense_of(grammar: Grammar, choice: Sequence[int]) -> int:
    """Number of the tense of a story: the first one mostly."""
    tenses = len(grammar.words["narrative"]["tenses"])
    drawn = choice[TENSE] % (tenses + 2)
    return drawn if drawn < tenses else 0
