"""From facts to clauses: the words of one language, split up once so that captions are put together by joining.

A clause is what one actor does in one segment, such as "walks briskly in a curve to the left", with the claims that it makes.
Its verb and what stands around it are drawn apart; what stands around is kept, since it comes again with other verbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.captions.clauses import Clause, Detail, Wordings, clause_of, mostly_left_out, wordings_of
from posegen.captions.facts import Facts, Known, Statement, statement
from posegen.captions.frames import Frame, Joiner, frame_of, joiner_of, sentence, verb_forms
from posegen.captions.pairs import Meeting, meetings_of
from posegen.library import Library
from posegen.library.keeping import once_for_each_library
from posegen.library.terms import DIRECTIONS, PATHS, SPEEDS
from posegen.scene import LEFT, RIGHT

__all__ = ["CHOICES", "Clause", "Facts", "Grammar", "Statement", "grammar_of", "statement"]

Array = NDArray[Any]

CHOICES = 1 << 20
"""How many ways of wording a clause are told apart; a choice is a number below this."""

_SIDES = {LEFT: "left", RIGHT: "right"}
_COUNTED = {1: "once", 2: "twice"}
_BRIEF = 3
"""Words that a verb has at most; one more where few details are told."""


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
    wordings : by detail and facts, what a clause may be made of
    verbs : in all their forms
    made : all clauses so far, by all that they hold
    labels, frames, sentence_frames : compiled sentences
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
    labels: tuple[Frame, ...]
    verbs: dict[str, tuple[str, ...]]
    wordings: dict[str, dict[Facts, list[Wordings]]]
    made: dict[tuple[Any, ...], Clause]
    frames: dict[tuple[str, int, str], list[Frame]]
    sentence_frames: dict[tuple[str, bool], list[tuple[Frame, bool]]]

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
        # The choice is read as a number whose digits pick one thing after another, so that all combinations occur.
        found = self._wordings_of(facts, detail)
        choice, digit = divmod(choice, len(found))
        return self._made(found[digit], choice % found[digit].ways)

    def clauses(self, facts: Known, detail: str, choices: Array) -> list[Clause]:
        """Give a clause for each of some segments: what :meth:`clause` gives for one after another."""
        found = [self._wordings_of(each, detail) for each in facts.distinct]
        wordings = [each for several in found for each in several]
        verbs, ways = (
            np.array([len(several) for several in found], np.int64),
            np.array([each.ways for each in wordings], np.int64),
        )
        count = verbs[facts.number]
        place = (np.cumsum(verbs) - verbs)[facts.number] + choices % count
        way = choices // count % ways[place]
        made, kept = self._made, [each.kept for each in wordings]
        return [kept[p].get(w) or made(wordings[p], w) for p, w in zip(place.tolist(), way.tolist(), strict=True)]

    def label(self, clause: Clause, number: int) -> str:
        """Say a clause by itself, in the `number`-th way that there is for a segment."""
        found = clause.labels.get(number)
        if found is None:
            head, form, _, _, tail = self.labels[number]
            text = (head + clause.texts[form] + tail).replace("{their}", self.words["their"]["person"])
            found = clause.labels[number] = text.replace("{partner}", self.words["several"]["partner"][0])
        return found

    def _wordings_of(self, facts: Facts, detail: str) -> list[Wordings]:
        found = self.wordings[detail].get(facts)
        if found is None:
            # Where no details are told, most facts come to the same; what is done once is not told as if it were done often.
            once = int(facts.times == 1)
            said = Facts(facts.action, times=once, together=facts.together) if detail == "none" else facts
            found = self._wordings(facts, detail) if said == facts else self._wordings_of(said, detail)
            self.wordings[detail][facts] = found
        return found

    def _made(self, wordings: Wordings, way: int) -> Clause:
        found = wordings.kept.get(way)
        if found is None:
            found = wordings.kept[way] = clause_of(wordings, way, self.made)
        return found

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
        words, action = self.words["actions"][name], (facts.action, name)
        orders = [self._details(facts, words, order) for order in self.words["details"]] if detail != "none" else [[]]
        if detail == "some":
            orders = [[(kind, value, mostly_left_out(phrases)) for kind, value, phrases in order] for order in orders]
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
        found = [wordings_of(action, self._forms_of(verb), claims, orders) for verb in verbs]
        speed = SPEEDS[facts.pace]
        if not together and any(kind == "speed" for kind, _, _ in orders[0]):
            rest = [[told for told in order if told[0] != "speed"] for order in orders]
            found += [
                wordings_of(action, self._forms_of(verb), (*claims, ("speed", speed)), rest)
                for verb in words.get("speed_verbs", {}).get(speed, ())
            ]
        return found

    def _forms_of(self, verb: str) -> tuple[str, ...]:
        found = self.verbs.get(verb)
        if found is None:
            found = self.verbs[verb] = verb_forms(verb, self.forms)
        return found

    def _details(self, facts: Facts, words: Mapping[str, Any], order: Sequence[str]) -> list[Detail]:
        values = {
            "side": _SIDES.get(facts.side, ""),
            "direction": DIRECTIONS[facts.direction],
            "speed": SPEEDS[facts.pace],
            "path": PATHS[facts.path],
        }
        details: list[Detail] = []
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
        labels=tuple(frame_of(template, forms) for template in words["segment"]),
        verbs={},
        made={},
        frames={},
        sentence_frames={},
    )
