"""From facts to clauses: the words of one language, split up once so that captions are put together by joining.

A clause is what one actor does in one segment, such as "walks briskly in a curve to the left", with the claims that it
makes. Clauses are kept: a language has some thousands, a dataset millions of uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from posegen.library import Library
from posegen.scene import BOTH, LEFT, RIGHT
from posegen.story.keeping import once_for_each_library
from posegen.story.telling import DIRECTIONS, PATHS, SPEEDS

__all__ = ["CHOICES", "Clause", "Facts", "Grammar", "Statement", "grammar_of", "statement"]

Statement = dict[str, int | str]
"""A claim: actor, kind, segment, action and value."""

CHOICES = 64
"""How many ways of wording a clause are told apart; a choice is a number below this."""

_SIDES = {LEFT: "left", RIGHT: "right"}
_COUNTED = {1: "once", 2: "twice"}
_LEAVES_OUT = 3

_Detail = tuple[str, str, list[str]]
"""Kind and value of a claim, and the phrases that make it."""


class Facts(NamedTuple):
    """What is to be said of one segment; see :class:`posegen.story.telling.Told`.

    What is done 0 times is not counted. `style` is empty where the style is not to be told. What is done `together` is done
    with the partner.
    """

    action: int
    side: int = BOTH
    times: int = 0
    pace: int = 0
    path: int = 0
    direction: int = 0
    finished: bool = False
    style: str = ""
    together: bool = False


@lru_cache(maxsize=1 << 12)
def statement(actor: int, kind: str, segment: int, action: str, value: str) -> Statement:
    """Make a claim. Equal ones are one object, which is not to be changed: a dataset has millions of them."""
    return {"actor": actor, "kind": kind, "segment": segment, "action": action, "value": value}


@dataclass(frozen=True, eq=False, slots=True)
class Clause:
    """Words that say what an actor does.

    Attributes
    ----------
    action : name of the action
    does, doing : "walks slowly", "walking slowly"; ``{their}`` stands for the actor's possessive pronoun, ``{partner}`` for who
        does it with the actor
    claims : what they claim, (kind, value) pairs
    made : the claims as statements, for each actor and segment that they were made for so far
    """

    action: str
    does: str
    doing: str
    claims: tuple[tuple[str, str], ...]
    made: dict[tuple[int, int], list[Statement]]

    def statements(self, actor: int, segment: int) -> list[Statement]:
        """Give the claims as made of one segment of an actor; not to be changed."""
        found = self.made.get((actor, segment))
        if found is None:
            # Two meet, the first two: the partner of the one is the other.
            found = [
                statement(actor, kind, segment, self.action, str(1 - actor) if kind == "partner" else value)
                for kind, value in self.claims
            ]
            self.made[actor, segment] = found
        return found


@dataclass(frozen=True, eq=False)
class Grammar:
    """The words of a language, and the clauses made from them so far. Two are equal only where they are the same."""

    words: Mapping[str, Any]
    names: tuple[str, ...]
    clauses: dict[tuple[Facts, str, int], Clause]
    known_details: dict[Facts, list[_Detail]]

    def clause(self, facts: Facts, detail: str, choice: int) -> Clause:
        """Give the clause for facts.

        Parameters
        ----------
        facts : Facts
        detail : str
            ``none``, ``some`` or ``all`` of what can be told beside the action itself.
        choice : int
            Which of the possible wordings, 0 to CHOICES - 1.

        Returns
        -------
        Clause
        """
        if detail == "none":
            facts = Facts(facts.action, together=facts.together)
        key = (facts, detail, choice)
        found = self.clauses.get(key)
        if found is None:
            found = self.clauses[key] = self._clause(facts, detail, choice)
        return found

    def pick(self, options: Sequence[Any], choice: int, salt: int = 0) -> Any:
        """Pick one of several ways to say something; `salt` makes successive picks by one choice differ."""
        return options[(choice + salt) % len(options)]

    def number(self, count: int) -> str:
        """Give the numeral, in words as far as the language file goes."""
        numbers = self.words["numbers"]
        return str(numbers[count]) if count < len(numbers) else str(count)

    def _clause(self, facts: Facts, detail: str, choice: int) -> Clause:
        words = self.words["actions"][self.names[facts.action]]
        details = self.known_details.get(facts)
        if details is None:
            details = self.known_details[facts] = self._details(facts, words)
        if detail == "some":
            details = [d for i, d in enumerate(details) if (choice + 7 * i) % _LEAVES_OUT]
        verbs, claims = words["verbs"], [("action", "")]
        if facts.together and "together" in words:
            verbs, claims = words["together"], [("action", ""), ("partner", "")]
        elif facts.finished and "finished" in words:
            verbs, claims = words["finished"], [("action", "finished")]
        elif facts.times == 1 and "once" in words and any(kind == "count" for kind, _, _ in details):
            verbs = words["once"]
        # The choice is read as a number whose digits pick one thing after another, so that all combinations occur.
        digits, digit = divmod(choice, len(verbs))
        does, doing = verbs[digit]
        tail = ""
        for kind, value, phrases in details:
            digits, digit = divmod(digits, len(phrases))
            if phrases[digit]:
                tail += f" {phrases[digit]}"
                claims.append((kind, value))
        return Clause(self.names[facts.action], does + tail, doing + tail, tuple(claims), {})

    def _details(self, facts: Facts, words: Mapping[str, Any]) -> list[_Detail]:
        values = {
            "side": _SIDES.get(facts.side, ""),
            "direction": DIRECTIONS[facts.direction],
            "speed": SPEEDS[facts.pace],
            "path": PATHS[facts.path],
        }
        details: list[_Detail] = []
        styled = facts.style if words.get("manner") else ""
        for kind in self.words["details"]:
            if kind == "style":
                if styled:
                    details.append((kind, styled, self.words["styles"][styled]["manner"]))
            elif kind == "speed" and styled:
                continue  # "Walks wearily slowly" says it twice.
            elif kind == "count":
                if facts.times and words.get("count"):
                    details.append((kind, str(facts.times), self._counts(facts.times)))
            elif values[kind] and values[kind] in words.get(kind, {}):
                details.append((kind, values[kind], words[kind][values[kind]]))
        return details

    def _counts(self, count: int) -> list[str]:
        counts = self.words["counts"]
        if count in _COUNTED:
            return list(counts[_COUNTED[count]])
        return [phrase.replace("{number}", self.number(count)) for phrase in counts["more"]]


@once_for_each_library
def grammar_of(library: Library) -> Grammar:
    """Give the grammar of a library's words."""
    return Grammar(library.words, library.actions, {}, {})
