"""Clauses: what one actor does in one segment, such as "walks briskly in a curve to the left", with the claims that it makes.

Verbs and what stands around them are drawn apart. A clause is made once and kept, in all forms of its verb, since it comes
again with other subjects and in other sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from posegen.captions.facts import MOST_SEGMENTS, Statement, statement

__all__ = ["Clause", "Detail", "Wordings", "clause_of", "mostly_left_out", "wordings_of"]

_VERB = "~"

Detail = tuple[str, str, list[str]]
"""Kind and value of a claim, and the phrases that make it."""


@dataclass(eq=False, slots=True)
class Clause:
    """A verb in all its forms with what stands before and behind it; not to be changed.

    Attributes
    ----------
    number, action : of the action, and its name
    verb : in all its forms
    before, behind : "slowly " and " in a curve to the left"; ``{their}`` stands for the actor's possessive pronoun, and in the
        verb ``{partner}`` for who does it with the actor
    claims : what verb and surroundings claim together, (kind, value) pairs
    texts : all of it, in all forms of the verb
    made : the claims as statements, for each place that they were made of so far; see :func:`posegen.captions.facts.place_of`
    labels : what it says by itself, for each frame so far
    """

    number: int
    action: str
    verb: tuple[str, ...]
    before: str
    behind: str
    claims: tuple[tuple[str, str], ...]
    texts: tuple[str, ...]
    made: dict[int, list[Statement]] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)

    def statements(self, place: int) -> list[Statement]:
        """Give the claims as made of one segment of an actor; not to be changed."""
        found = self.made.get(place)
        if found is None:
            actor, segment = divmod(place, MOST_SEGMENTS)
            # Two meet, the first two: the partner of the one is the other.
            found = [
                statement(actor, kind, segment, self.action, str(1 - actor) if kind == "partner" else value)
                for kind, value in self.claims
            ]
            self.made[place] = found
        return found


class Wordings(NamedTuple):
    """A verb that may stand for some facts, and the ways of saying the rest: orders of details, each with its phrases."""

    action: tuple[int, str]
    verb: tuple[str, ...]
    claims: tuple[tuple[str, str], ...]
    orders: tuple[tuple[Detail, ...], ...]
    ways: int
    kept: dict[int, Clause]


def wordings_of(
    action: tuple[int, str], verb: tuple[str, ...], claims: tuple[tuple[str, str], ...], orders: Sequence[Sequence[Detail]]
) -> Wordings:
    """Count the ways of saying something with one verb."""
    alike = orders if len(orders[0]) > 1 else orders[:1]
    ways = len(alike)
    for _, _, phrases in alike[0]:
        ways *= len(phrases)
    return Wordings(action, verb, claims, tuple(tuple(order) for order in alike), ways, {})


def mostly_left_out(phrases: list[str]) -> list[str]:
    """Let three of four details be left out: an empty phrase tells nothing."""
    return phrases + [""] * (3 * len(phrases))


def clause_of(wordings: Wordings, choice: int, clauses: dict[tuple[Any, ...], Clause]) -> Clause:
    """Say something in one of its ways; what comes to the same as one of `clauses` is that very one."""
    choice, digit = divmod(choice, len(wordings.orders))
    before, behind = "", ""
    claims = list(wordings.claims)
    for kind, value, phrases in wordings.orders[digit]:
        choice, digit = divmod(choice, len(phrases))
        phrase = phrases[digit]
        if not phrase:
            continue
        claims.append((kind, value))
        if phrase.endswith(_VERB):
            before += phrase[: -len(_VERB)]
        else:
            behind += f" {phrase}"
    depends = (wordings.action, wordings.verb, before, behind, tuple(claims))
    found = clauses.get(depends)
    if found is None:
        texts = tuple([before + form + behind for form in wordings.verb])
        found = clauses[depends] = Clause(*wordings.action, wordings.verb, before, behind, depends[-1], texts)
    return found
