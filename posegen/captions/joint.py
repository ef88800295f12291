"""Two who meet, told of both at once: "two people shake hands", "a man and a woman hug"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from posegen.captions.beats import Actor
from posegen.captions.facts import Statement, order, statement
from posegen.captions.frames import frame_of, sentence, verb_forms
from posegen.captions.grammar import Grammar
from posegen.captions.pairs import pair_named
from posegen.captions.sentences import JOINING, PLACE, SUBJECT, TEMPLATE, WHO, Spoken, Wording, claims_of, joined, spoken

__all__ = ["told_of_both"]

_HALVES = 1 << 10
"""The numbers that pick a template are drawn below many: whole thousands of them, even or odd, pick something else."""
_WORDED = 3


class _Split(NamedTuple):
    """What one of the two does before, with and after the other: beats in words."""

    before: list[Spoken]
    together: list[Spoken]
    after: list[Spoken]


def told_of_both(
    wording: Wording, actors: Sequence[Actor], theme: str, choice: Sequence[int]
) -> tuple[str, list[Statement]] | None:
    """Tell what two do with one another as of both.

    Parameters
    ----------
    wording : Wording
        A short caption tells the meeting alone, a narrative one also what leads to it and away.
    actors : sequence of Actor
    theme : str
    choice : sequence of int
        The numbers that pick words.

    Returns
    -------
    str and list of statements, or None
        None where the caption is to tell of one after the other, or not all of the meeting is seen.
    """
    grammar = wording.grammar
    if len(actors) != 2 or not grammar.meetings or wording.kind == "full" or choice[TEMPLATE] // _HALVES % 2:
        return None
    parted = _parted(wording, actors[0], choice), _parted(wording, actors[1], choice)
    done = tuple(tuple(dict.fromkeys(beat[3] for beat in split.together)) for split in parted)
    meeting = next((each for each in grammar.meetings if each.actions == done), None)
    if meeting is None:
        return None
    verb = _forms(meeting.verbs[choice[JOINING] // _WORDED % len(meeting.verbs)], grammar.forms)
    return (
        _alone(grammar, choice, actors, parted, verb)
        if wording.kind == "short"
        else _story(grammar, choice, theme, parted, verb)
    )


@lru_cache(maxsize=1 << 8)
def _forms(pattern: str, forms: tuple[str, ...]) -> tuple[str, ...]:
    return verb_forms(pattern, forms)


def _parted(wording: Wording, actor: Actor, choice: Sequence[int]) -> _Split:
    beats = spoken(wording, actor, "", choice[JOINING])
    met = [number for number, beat in enumerate(beats) if any(claim["kind"] == "partner" for claim in beat[4])]
    if not met:
        return _Split(beats, [], [])
    # Between two throws somebody waits: that goes without saying.
    return _Split(beats[: met[0]], [beats[number] for number in met], beats[met[-1] + 1 :])


def _claims(who: int, split: _Split) -> tuple[list[Statement], int, int]:
    """Claim each action once, as done with the other; and give the first and the last of the segments claimed."""
    claims: dict[str, list[Statement]] = {}
    numbers: dict[str, int] = {}
    for _, _, segment, action, _ in split.together:
        if action not in claims:
            pair = ("action", ""), ("partner", str(1 - who))
            claims[action] = [statement(who, kind, segment, action, value) for kind, value in pair]
            numbers[action] = segment
    segments = list(numbers.values())
    return [claim for found in claims.values() for claim in found], segments[0], segments[-1]


def _alone(
    grammar: Grammar, choice: Sequence[int], actors: Sequence[Actor], parted: tuple[_Split, _Split], verb: tuple[str, ...]
) -> tuple[str, list[Statement]]:
    joint = grammar.words["several"]["joint"]
    claims = [statement(-1, "people", -1, "", "2")]
    pair = joint["pair"][choice[SUBJECT] % len(joint["pair"])]
    if choice[WHO] % 2:
        pair = pair_named(grammar.words, actors[0].who, actors[1].who)
        claims += [statement(actor.number, "people", -1, "", actor.who) for actor in actors]
    head, form, _, _, tail = frame_of(joint["short"][choice[TEMPLATE] % len(joint["short"])], grammar.forms)
    text = (head + verb[form] + tail).replace("{pair}", pair)
    return text, claims + _claims(0, parted[0])[0] + _claims(1, parted[1])[0]


def _story(
    grammar: Grammar, choice: Sequence[int], theme: str, parted: tuple[_Split, _Split], verb: tuple[str, ...]
) -> tuple[str, list[Statement]]:
    joint, numbered = grammar.words["several"]["joint"], grammar.words["several"]["numbered"]
    texts = [grammar.crowd(theme, grammar.number(2), choice[PLACE], choice[TEMPLATE])]
    claims = [statement(-1, "people", -1, "", "2")]
    for who, split in enumerate(parted):
        if split.before:
            texts.append(sentence(f"{numbered[who]} {joined(grammar, split.before, grammar.finite, choice[JOINING])}."))
            claims += claims_of(who, split.before, True)
    opened = joint["then" if parted[0].before or parted[1].before else "story"]
    head, form, _, _, tail = frame_of(opened[choice[SUBJECT] % len(opened)], grammar.forms)
    texts.append(sentence(head + verb[form] + tail))
    after = joint["after"][choice[WHO] % len(joint["after"])]
    for who, split in enumerate(parted):
        found, first, last = _claims(who, split)
        claims += found
        if split.before:
            claims.append(order(who, first, split.together[0][3], "after", split.before[-1][2]))
        if split.after:
            told = joined(grammar, split.after, grammar.finite, choice[JOINING])
            texts.append(sentence(after.replace("{subject}", numbered[who]).replace("{does}", told)))
            # Said once, it goes for both.
            after = "{subject} {does}."
            claims += claims_of(who, split.after, True)
            claims.append(order(who, split.after[0][2], split.after[0][3], "after", last))
    return " ".join(texts).replace("{their}", grammar.words["their"]["person"]), claims
