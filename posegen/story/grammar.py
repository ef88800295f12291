"""From facts to clauses: the words of one language, split up once so that captions are put together by joining.

A clause is what one actor does in one segment, such as "walks briskly in a curve to the left", with the claims that it makes.
Its verb and what stands around it are drawn apart; what stands around is kept, since it comes again with other verbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from posegen.library import Library
from posegen.scene import LEFT, RIGHT
from posegen.story.facts import Facts, Statement, statement
from posegen.story.frames import Frame, Joiner, frame_of, joiner_of, sentence, verb_forms
from posegen.story.keeping import once_for_each_library
from posegen.story.pairs import Meeting, meetings_of
from posegen.story.telling import DIRECTIONS, PATHS, SPEEDS

__all__ = ["CHOICES", "Clause", "Facts", "Grammar", "Statement", "Surroundings", "grammar_of", "statement"]

CHOICES = 1 << 20
"""How many ways of wording a clause are told apart; a choice is a number below this."""

_SIDES = {LEFT: "left", RIGHT: "right"}
_COUNTED = {1: "once", 2: "twice"}
_VERB = "~"
_MOST_SEGMENTS = 1 << 12
_NOT_YET: tuple[None, None] = (None, None)
_BRIEF = 3
"""Words that a verb has at most; one more where few details are told."""

_Detail = tuple[str, str, list[str]]
"""Kind and value of a claim, and the phrases that make it."""


@dataclass(frozen=True, eq=False, slots=True)
class Surroundings:
    """What stands before and behind a verb.

    Attributes
    ----------
    action : name of the action
    before, behind : "slowly " and " in a curve to the left"; ``{their}`` stands for the actor's possessive pronoun, and in the
        verb ``{partner}`` for who does it with the actor
    claims : what verb and surroundings claim together, (kind, value) pairs
    made : the claims as statements, for each actor and segment that they were made for so far
    """

    action: str
    before: str
    behind: str
    claims: tuple[tuple[str, str], ...]
    made: dict[int, list[Statement]] = field(default_factory=dict)

    def statements(self, actor: int, segment: int) -> list[Statement]:
        """Give the claims as made of one segment of an actor; not to be changed."""
        key = actor * _MOST_SEGMENTS + segment
        found = self.made.get(key)
        if found is None:
            # Two meet, the first two: the partner of the one is the other.
            found = [
                statement(actor, kind, segment, self.action, str(1 - actor) if kind == "partner" else value)
                for kind, value in self.claims
            ]
            self.made[key] = found
        return found


Clause = tuple[tuple[str, ...], Surroundings]
"""A verb in all its forms, and what stands around it."""


class Wordings(NamedTuple):
    """Verbs of which each may stand for the same, and the ways of saying the rest: orders of details, each with its phrases."""

    action: str
    verb: tuple[str, ...]
    claims: tuple[tuple[str, str], ...]
    orders: tuple[tuple[_Detail, ...], ...]
    ways: int
    kept: dict[int, Surroundings]


@dataclass(frozen=True, eq=False)
class Grammar:
    """The words of a language, and what was made from them so far. Two are equal only where they are the same.

    Attributes
    ----------
    words : as parsed
    names : of the actions
    forms : of verbs
    then, meanwhile : what joins things that follow one another, and those that are done at the same time
    goes_on, nothing : verbs, in all their forms
    mannered, minor : for each action, whether the style may be told with it, and whether a short caption may leave it out
    meetings : what two who meet are told to do as both
    wordings : by detail and the facts' id, the facts and what a clause may be made of
    frames, sentence_frames : compiled sentences
    kept, labelled : captions of samples and of their segments, by seed and number, with all that they depend on
    """

    words: Mapping[str, Any]
    names: tuple[str, ...]
    forms: tuple[str, ...]
    then: tuple[Joiner, ...]
    meanwhile: tuple[Joiner, ...]
    goes_on: tuple[tuple[str, ...], ...]
    nothing: tuple[tuple[str, ...], ...]
    mannered: tuple[bool, ...]
    minor: tuple[bool, ...]
    meetings: tuple[Meeting, ...]
    wordings: dict[str, dict[int, tuple[Facts, list[Wordings]]]]
    labelled: dict[tuple[int, int], tuple[Any, list[tuple[str, list[Statement]]]]]
    frames: dict[tuple[str, int, str], list[Frame]]
    sentence_frames: dict[tuple[str, bool], list[tuple[Frame, bool]]]
    kept: dict[tuple[int, int], tuple[Any, list[dict[str, Any]]]]

    def clause(self, facts: Facts, detail: str, choice: int) -> Clause:
        """Give a clause for facts.

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
        # By the very object, which is kept so that no other gets its number: hashing facts takes longer than all the rest.
        _, found = self.wordings[detail].get(id(facts), _NOT_YET)
        if found is None:
            found = self._wordings(facts, detail)
            self.wordings[detail][id(facts)] = (facts, found)
        # The choice is read as a number whose digits pick one thing after another, so that all combinations occur.
        choice, digit = divmod(choice, len(found))
        wordings = found[digit]
        choice %= wordings.ways
        around = wordings.kept.get(choice)
        if around is None:
            around = wordings.kept[choice] = _surroundings(wordings, choice)
        return wordings.verb, around

    @property
    def finite(self) -> int:
        """Form that stands behind a subject: the first one."""
        return 0

    def sentences(self, kind: str, several: bool) -> list[tuple[Frame, bool]]:
        """Give the frames of one sentence of all that a ``{subject}`` does, each with whether it names the subject.

        Those that tell one thing apart from what follows are for who does `several`.
        """
        found = self.sentence_frames.get((kind, several))
        if found is None:
            compiled = [(frame_of(template, self.forms), "{subject}" in template) for template in self.words[kind]]
            found = [(frame, named) for frame, named in compiled if several or frame.second < 0]
            self.sentence_frames[kind, several] = found
        return found

    def openings(self, tense: int, theme: str, choice: int) -> list[Frame]:
        """Give the frames of a story's first sentence, in which the ``{subject}`` is left open; `choice` picks the place."""
        place = self._place(theme, choice)
        found = self.frames.get(("open", tense, place))
        if found is None:
            words = self.words["narrative"]["tenses"][tense]["open" if place else "placeless"]
            found = [frame_of(sentence(text.replace("{place}", place)), self.forms) for text in words]
            self.frames["open", tense, place] = found
        return found

    def going_on(self, tense: int, who: str, part: str) -> list[Frame]:
        """Give the frames of a story's sentences behind the first: the `next` ones and the `last` one."""
        found = self.frames.get((part, tense, who))
        if found is None:
            words = self.words["narrative"]["tenses"][tense]
            texts = [text.replace("{again}", again) for again in words["again"][who] for text in words[part]]
            found = self.frames[part, tense, who] = [frame_of(sentence(text), self.forms) for text in texts]
        return found

    def crowd(self, theme: str, number: str, place: int, choice: int) -> str:
        """Say how many people there are, and where."""
        texts = self.words["narrative"]["people"]
        where = self._place(theme, place)
        text = texts[choice % len(texts)].replace("{number}", number)
        return sentence(text.replace(" {place}", f" {where}" if where else ""))

    def _place(self, theme: str, choice: int) -> str:
        places = self.words["places"].get(theme)
        return str(places[choice % len(places)]) if places else ""

    def number(self, count: int) -> str:
        """Give the numeral, in words as far as the language file goes."""
        numbers = self.words["numbers"]
        return str(numbers[count]) if count < len(numbers) else str(count)

    def _wordings(self, facts: Facts, detail: str) -> list[Wordings]:
        name = self.names[facts.action]
        words = self.words["actions"][name]
        if detail == "none":
            facts = Facts(facts.action, together=facts.together)
        orders = [self._details(facts, words, order) for order in self.words["details"]]
        if detail == "some":
            orders = [[(kind, value, _mostly_left_out(phrases)) for kind, value, phrases in order] for order in orders]
        verbs: list[str] = words["verbs"]
        claims: tuple[tuple[str, str], ...] = (("action", ""),)
        together = facts.together and bool(words.get("together"))
        if together:
            verbs, claims = words["together"], (("action", ""), ("partner", ""))
        elif facts.finished and words.get("finished"):
            verbs, claims = words["finished"], (("action", "finished"),)
        elif facts.times == 1 and words.get("once"):
            verbs = words["once"]
        brief = _BRIEF + (detail == "some")
        verbs = [verb for verb in verbs if len(verb.split()) <= brief] or verbs
        found = [self._with(name, verb, claims, orders) for verb in verbs]
        speed = SPEEDS[facts.pace]
        if not together and any(kind == "speed" for kind, _, _ in orders[0]):
            rest = [[told for told in order if told[0] != "speed"] for order in orders]
            found += [
                self._with(name, verb, (*claims, ("speed", speed)), rest)
                for verb in words.get("speed_verbs", {}).get(speed, ())
            ]
        return found

    def _with(self, name: str, verb: str, claims: tuple[tuple[str, str], ...], orders: list[list[_Detail]]) -> Wordings:
        alike = orders if len(orders[0]) > 1 else orders[:1]
        ways = len(alike)
        for _, _, phrases in alike[0]:
            ways *= len(phrases)
        return Wordings(name, verb_forms(verb, self.forms), claims, tuple(tuple(order) for order in alike), ways, {})

    def _details(self, facts: Facts, words: Mapping[str, Any], order: Sequence[str]) -> list[_Detail]:
        values = {
            "side": _SIDES.get(facts.side, ""),
            "direction": DIRECTIONS[facts.direction],
            "speed": SPEEDS[facts.pace],
            "path": PATHS[facts.path],
        }
        details: list[_Detail] = []
        styled = facts.style if words.get("manner") else ""
        for kind in order:
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


def _mostly_left_out(phrases: list[str]) -> list[str]:
    """Let three of four details be left out: an empty phrase tells nothing."""
    return phrases + [""] * (3 * len(phrases))


def _surroundings(wordings: Wordings, choice: int) -> Surroundings:
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
    return Surroundings(wordings.action, before, behind, tuple(claims))


@once_for_each_library
def grammar_of(library: Library) -> Grammar:
    """Give the grammar of a library's words."""
    words = library.words
    forms, joining = tuple(words["forms"]), words["joining"]
    return Grammar(
        words=words,
        names=library.actions,
        forms=forms,
        then=tuple(joiner_of(text, forms) for text in joining["then"]),
        meanwhile=tuple(joiner_of(text, forms) for text in joining["while"]),
        goes_on=tuple(verb_forms(verb, forms) for verb in joining["goes_on"]),
        nothing=tuple(verb_forms(verb, forms) for verb in joining["nothing"]),
        mannered=tuple(bool(words["actions"][name].get("manner")) for name in library.actions),
        minor=tuple(bool(words["actions"][name].get("minor")) for name in library.actions),
        meetings=meetings_of(library),
        wordings={"none": {}, "some": {}, "all": {}},
        frames={},
        sentence_frames={},
        kept={},
        labelled={},
    )
