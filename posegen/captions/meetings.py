"""Captions that describe an interaction for both actors at once, as in "two people shake hands"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from posegen.captions.grammar import FINITE, Grammar, capitalized, compile_frame, pair_name, verb_forms
from posegen.captions.inputs import Actor
from posegen.captions.phrases import (
    JOINING,
    PLACE,
    SUBJECT,
    TEMPLATE,
    WHO,
    CaptionText,
    Phrase,
    Wording,
    actor_phrases,
    join_phrases,
    named_theme,
    phrase_statements,
)
from posegen.captions.segments import Statement, make_statement, order_statement

_HALVES = 1 << 10
"""Templates are picked by numbers below this, so the thousands of such a number, even or odd, may decide something else."""
_SUBJECT_PICKS = 3


class _Meeting(NamedTuple):
    """What one of two actors does before, with and after the other one."""

    before: list[Phrase]
    together: list[Phrase]
    after: list[Phrase]


def caption_of_both(wording: Wording, actors: Sequence[Actor], theme: str, choice: Sequence[int]) -> CaptionText | None:
    """Describe an interaction for both actors at once, as in "two people shake hands"; a narrative also what surrounds it.

    Return None where the caption is to describe one actor after the other, or not all of the interaction is visible.
    """
    grammar, theme = wording.grammar, named_theme(wording, actors, theme, choice)
    if len(actors) != 2 or not grammar.joint or wording.kind == "full" or choice[TEMPLATE] // _HALVES % 2:
        return None
    split = _split_phrases(wording, actors[0], choice), _split_phrases(wording, actors[1], choice)
    done = tuple(tuple(dict.fromkeys(phrase[3] for phrase in meeting.together)) for meeting in split)
    joint = next((each for each in grammar.joint if each.actions == done), None)
    if joint is None:
        return None
    verb = verb_forms(joint.verbs[choice[JOINING] // _SUBJECT_PICKS % len(joint.verbs)], grammar.forms)
    statements = [make_statement(-1, "people", -1, "", "2")]
    if wording.kind == "narrative":
        return _narrative_of_both(grammar, choice, theme, split, verb, statements)
    words = grammar.words["several"]["joint"]
    pair = words["pair"][choice[SUBJECT] % len(words["pair"])]
    if choice[WHO] < wording.identity:
        pair = pair_name(grammar.words, actors[0].who, actors[1].who)
        statements += [make_statement(actor.number, "people", -1, "", actor.who) for actor in actors]
    head, form, _, _, tail = compile_frame(words["short"][choice[TEMPLATE] % len(words["short"])], grammar.forms)
    text = (head + verb[form] + tail).replace("{pair}", pair)
    return text, statements + _joint_statements(0, split[0])[0] + _joint_statements(1, split[1])[0]


def _split_phrases(wording: Wording, actor: Actor, choice: Sequence[int]) -> _Meeting:
    phrases = actor_phrases(wording, actor, "", choice[JOINING])
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
    texts = [grammar.crowd(theme, grammar.number(2), choice[PLACE], choice[TEMPLATE])]
    for who, meeting in enumerate(split):
        if meeting.before:
            texts.append(capitalized(f"{numbered[who]} {join_phrases(grammar, meeting.before, FINITE, choice[JOINING])}."))
            statements += phrase_statements(who, meeting.before, True)
    openings = joint["then" if split[0].before or split[1].before else "story"]
    head, form, _, _, tail = compile_frame(openings[choice[SUBJECT] % len(openings)], grammar.forms)
    texts.append(capitalized(head + verb[form] + tail))
    template = joint["after"][choice[WHO] % len(joint["after"])]
    for who, meeting in enumerate(split):
        own, first, last = _joint_statements(who, meeting)
        statements += own
        if meeting.before:
            before = meeting.before[-1][2]
            statements.append(order_statement(who, first, meeting.together[0][3], "after", before))
        if meeting.after:
            does = join_phrases(grammar, meeting.after, FINITE, choice[JOINING])
            texts.append(capitalized(template.replace("{subject}", numbered[who]).replace("{does}", does)))
            # The second sentence needs no word for "afterwards".
            template = "{subject} {does}."
            statements += phrase_statements(who, meeting.after, True)
            statements.append(order_statement(who, meeting.after[0][2], meeting.after[0][3], "after", last))
    return " ".join(texts).replace("{their}", grammar.words["their"]["person"]), statements
