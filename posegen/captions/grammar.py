"""Grammar: the words of one language, compiled once, and the clauses that they make of facts.

A clause is what one actor does in one segment, such as "walks briskly in a curve to the left", with the claims that it makes.
Its verb and its details are drawn separately. Clauses and templates are built once and reused with other subjects and in other
sentences. Joining clauses into sentences is done in :mod:`posegen.captions.captions`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from posegen.captions.segments import BEGUN, MOST_SEGMENTS, SIDES, STOPS, Facts, SegmentFacts, Statement, make_statement
from posegen.foundations.arrays import Array
from posegen.foundations.constants import DIRECTIONS, PATHS, RETURNS, SHAPES, SPEEDS
from posegen.library.load import Library
from posegen.library.words import Kind, styled_words

CHOICES = 1 << 20
"""Number of ways in which a clause may be worded; a choice is a number below this."""
KINDS = ("short", "full", "narrative")
"""Kinds of captions of a sequence; see :mod:`posegen.captions.captions`."""
FINITE = 0
"""Index of the verb form that follows a subject: the first one of a language."""

_VERB = "~"
_BEGINNING = re.compile(r"(?:^|(?<=\. ))\w")
_MOST_VERB_WORDS = 6
SEGMENT = "segment"
"""Kind of the caption of a single segment, which states all details."""

_Claims = tuple[tuple[str, str], ...]
"""Kinds and values."""
_Detail = tuple[str, str, list[str]]
"""Kind and value of a claim, and the phrases that state it."""


class Frame(NamedTuple):
    """A compiled sentence template: `head`, verb phrase, `tail`; `form` is an index into the forms of the language."""

    head: str
    form: int
    tail: str


Joiner = tuple[str, int]
"""Words that join two clauses, and the form of the second one, -1 for that of the sentence."""


@dataclass(eq=False, slots=True)
class Clause:
    """A verb in all its forms with its details; not to be changed.

    Attributes
    ----------
    number, action : of the action, and its name
    claims : (kind, value) pairs of verb and details
    texts : verb with details, in all forms; contains ``{their}`` for the actor's possessive pronoun and ``{partner}`` for the
        actor with whom it is done
    made : the claims as statements, by segment key; see :func:`posegen.captions.segments.segment_keys`. Clauses with the same
        claims of the same action share it
    labels : texts of the clause alone, by number of the template
    """

    number: int
    action: str
    claims: _Claims
    texts: tuple[str, ...]
    made: dict[int, list[Statement]]
    labels: dict[int, str] = field(default_factory=dict)

    def statements(self, key: int) -> list[Statement]:
        """Return the claims as statements about the segment `key`; not to be changed."""
        found = self.made.get(key)
        if found is None:
            actor, segment = divmod(key, MOST_SEGMENTS)
            # Only the first two actors interact, so each is the partner of the other.
            found = [
                make_statement(actor, kind, segment, self.action, str(1 - actor) if kind == "partner" else value)
                for kind, value in self.claims
            ]
            self.made[key] = found
        return found


class _ClauseTemplate(NamedTuple):
    """One verb for some facts, the orders of details with the phrases of each, and how many clauses these make."""

    action: tuple[int, str]
    verb: tuple[str, ...]
    claims: _Claims
    orders: Sequence[Sequence[_Detail]]
    ways: int
    clauses: dict[int, Clause]


class Grammar:
    """The words of a library's language, and the clauses and templates compiled from them so far.

    Attributes
    ----------
    words : the language file, parsed
    names : of the actions
    forms : names of the verb forms
    then, meanwhile : joiners of successive and of simultaneous clauses
    continues, nothing : verbs in all their forms, for repeating an action and for doing nothing describable
    takes_style : for each action, whether the style may be stated with it
    joint : by the actions of each of two actors, verbs for both at once
    labels, sentences : templates of a segment's own caption, and by kind those of a caption
    kinds : of captions, by name
    """

    def __init__(self, library: Library, style: str) -> None:
        words = styled_words(library.words, style)
        self.words: Mapping[str, Any] = words
        self.names = library.actions
        self.forms = tuple(words["forms"])
        joining, actions = words["joining"], [words["actions"][name] for name in library.actions]
        self.then = tuple(_compile_joiner(text, self.forms) for text in joining["then"])
        self.meanwhile = tuple(_compile_joiner(text, self.forms) for text in joining["while"])
        self.begins = joining.get("begins", ())
        self.continues = tuple(verb_forms(verb, self.forms) for verb in joining["goes_on"])
        self.nothing = tuple(verb_forms(verb, self.forms) for verb in joining["nothing"])
        self.takes_style = tuple(bool(action.get("manner")) for action in actions)
        several = [(library.interactions[name].parts, verbs) for name, verbs in joint_verbs(library).items()]
        self.joint: dict[tuple[tuple[str, ...], ...], list[str]] = dict(reversed(several))
        self.labels = tuple(compile_frame(template, self.forms) for template in words["segment"])
        self.kinds = {kind: Kind.model_validate(words.get("kinds", {}).get(kind, {})) for kind in (*KINDS, SEGMENT)}
        self.templates = cache(self._templates)
        # Of one sentence for all clauses of a subject, each with whether it names the {subject}.
        self.sentences = {
            kind: [(compile_frame(text, self.forms), "{subject}" in text) for text in words[kind]] for kind in ("short", "full")
        }
        self.continuations = cache(self._continuations)
        self._openings = cache(self._compile_openings)
        self._orders_of = cache(self._choose_orders)
        self._made: dict[tuple[Any, ...], Clause] = {}
        self._statements: defaultdict[tuple[Any, ...], dict[int, list[Statement]]] = defaultdict(dict)

    def clause(self, facts: Facts, kind: str, choice: int) -> Clause:
        """Return a clause for facts.

        Parameters
        ----------
        facts : Facts
        kind : str
            Of the caption, which decides what is stated in addition to the action: one of :data:`KINDS`, or SEGMENT.
        choice : int
            Number of the wording, 0 to CHOICES - 1.

        Returns
        -------
        Clause
        """
        # The digits of the choice pick one thing after another, so that all combinations occur.
        found = self.templates(facts, kind)
        choice, digit = divmod(choice, len(found))
        return self._clause(found[digit], choice % found[digit].ways)

    def clauses(self, facts: SegmentFacts, kind: str, choices: Array) -> list[Clause]:
        """Return a clause for each of some segments: what :meth:`clause` returns for each of them."""
        found = [self.templates(each, kind) for each in facts.distinct]
        templates = [each for several in found for each in several]
        verbs = np.array([len(several) for several in found], np.int64)
        ways = np.array([each.ways for each in templates], np.int64)
        count = verbs[facts.number]
        index = (np.cumsum(verbs) - verbs)[facts.number] + choices % count
        way = choices // count % ways[index]
        make, made = self._clause, [each.clauses for each in templates]
        return [made[i].get(w) or make(templates[i], w) for i, w in zip(index.tolist(), way.tolist(), strict=True)]

    def label(self, clause: Clause, number: int) -> str:
        """Return the caption of a segment alone, by the template `number`."""
        found = clause.labels.get(number)
        if found is None:
            head, form, tail = self.labels[number]
            text = (head + clause.texts[form] + tail).replace("{their}", self.words["their"]["person"])
            found = clause.labels[number] = text.replace("{partner}", self.words["several"]["partner"][0])
        return found

    def openings(self, tense: int, theme: str, choice: int) -> list[Frame]:
        """Return the templates of a narrative's first sentence, with ``{subject}`` left open; `choice` picks the place."""
        return self._openings(tense, self._place(theme, choice))

    def crowd(self, theme: str, number: str, place: int, choice: int) -> str:
        """Return a sentence with the number of people and the place."""
        words, where = self.words["narrative"], self._place(theme, place)
        texts = words["people"] if where else words.get("people_placeless") or words["people"]
        text = texts[choice % len(texts)].replace("{number}", number)
        return _plain(text.replace(" {place}", f" {where}" if where else ""))

    def number(self, count: int) -> str:
        """Return the numeral, as a word where the language file has one."""
        numbers = self.words["numbers"]
        return str(numbers[count]) if count < len(numbers) else str(count)

    def _templates(self, facts: Facts, kind: str) -> list[_ClauseTemplate]:
        """Return the clause templates for facts."""
        name, written = self.names[facts.action], self.kinds[kind]
        words, action = self.words["actions"][name], (facts.action, name)
        if facts.change == BEGUN and self.begins:
            claims: _Claims = (("action", "begun"),)
            few = _of_few_words(tuple(words["verbs"]))
            begun = [join_verbs(prefix, verb, self.forms) for prefix in self.begins for verb in few]
            return [self._template(action, verb, claims, [[]]) for verb in begun]
        details = self._details(facts, words)
        for detail, share in written.stated.items():
            claimed, value, phrases = details.get(detail, ("", "", []))
            if value and value not in SHAPES:
                # An empty phrase states nothing.
                omitted = round(len(phrases) * (1 - share) / share) if share else 0
                details[detail] = claimed, value, [*phrases, *[""] * omitted] if share else [""]
        orders = self._orders(details)
        verbs: list[str] = words["verbs"]
        claims = (("action", ""),)
        together = facts.together and bool(words.get("together"))
        if together:
            verbs, claims = words["together"], (("action", ""), ("partner", ""))
        elif facts.finished and words.get("finished"):
            verbs, claims = words["finished"], (("action", "finished"),)
        elif facts.times == 1 and words.get("once"):
            verbs = words["once"]
        verbs = list(_of_few_words(tuple(verbs)))
        # Verbs are listed in the order of their frequency: the first of five is used five times as often as the last.
        ranked = [self._template(action, verb_forms(verb, self.forms), claims, orders) for verb in verbs]
        found = [template for rank, template in enumerate(ranked) for _ in range(len(ranked) - rank)]
        if facts.change == STOPS and words.get("stopped"):
            found = [self._template(action, verb_forms(verb, self.forms), claims, orders) for verb in words["stopped"]]
        if together:
            return found
        for claim, implying, share in self._implying(facts, words, written):
            if not implying or (claim[0] == "speed" and "speed" not in details):
                continue
            # "Takes two steps to the left" is a side-step.
            _, way, _ = details.get("path", ("", "", []))
            unstated = {claim[0], "path"} if claim[0] == "steps" and way in ("left", "right") else {claim[0]}
            rest = self._orders({each: own for each, own in details.items() if each not in unstated})
            implied = (*claims, claim) if claim[1] else claims
            made = [self._template(action, verb_forms(verb, self.forms), implied, rest) for verb in implying]
            found += made * max(1, round(len(found) * share / (1 - share) / max(1, len(made))))
        return found

    def _implying(
        self, facts: Facts, words: Mapping[str, Any], written: Kind
    ) -> Iterator[tuple[tuple[str, str], Sequence[str], float]]:
        """Yield verbs that imply a detail, with the claim, and their share among all verbs; 0 for that by their number."""
        pace, side = SPEEDS[facts.pace], SIDES[facts.side]
        yield ("speed", pace), words.get("speed_verbs", {}).get(pace, ()), 0.0
        yield ("side", side), words.get("side_verbs", {}).get(side, ()), 0.0
        body = words.get("body", ())
        sided = any("{side}" in verb for verb in body)
        if side or not sided:
            yield ("side", side if sided else ""), [verb.replace("{side}", side) for verb in body], written.body
        if facts.steps:
            once, more = self.words["counts"]["steps"]
            steps = once if facts.steps == 1 else more.replace("{number}", self.number(facts.steps))
            yield ("steps", str(facts.steps)), [verb.replace("{steps}", steps) for verb in words.get("step_verbs", ())], 0.5

    def _orders(self, details: Mapping[str, _Detail]) -> list[list[_Detail]]:
        """Return the orders in which details are stated: one if they are fewer than two."""
        orders = self._orders_of(frozenset(details))
        return [[details[kind] for kind in order] for order in orders]

    def _choose_orders(self, kinds: frozenset[str]) -> list[list[str]]:
        orders = [[kind for kind in order if kind in kinds] for order in self.words["details"]]
        return orders if len(orders[0]) > 1 else orders[:1]

    def _template(
        self, action: tuple[int, str], verb: tuple[str, ...], claims: _Claims, orders: list[list[_Detail]]
    ) -> _ClauseTemplate:
        ways = len(orders)
        for _, _, phrases in orders[0]:
            ways *= len(phrases)
        return _ClauseTemplate(action, verb, claims, orders, ways, {})

    def _clause(self, template: _ClauseTemplate, way: int) -> Clause:
        """Return the clause number `way` of a template; clauses with equal contents are one object."""
        found = template.clauses.get(way)
        if found is not None:
            return found
        choice, digit = divmod(way, len(template.orders))
        before, after = "", ""
        claims = list(template.claims)
        for kind, value, phrases in template.orders[digit]:
            choice, digit = divmod(choice, len(phrases))
            phrase = phrases[digit]
            if not phrase:
                continue
            claims.append((kind, value))
            if phrase.endswith(_VERB):
                before += phrase[: -len(_VERB)]
            else:
                after += f" {phrase}"
        contents = (template.action, template.verb, before, after, tuple(claims))
        found = self._made.get(contents)
        if found is None:
            texts = tuple([before + form + after for form in template.verb])
            made = self._statements[template.action, contents[-1]]
            found = self._made[contents] = Clause(*template.action, contents[-1], texts, made)
        template.clauses[way] = found
        return found

    def _details(self, facts: Facts, words: Mapping[str, Any]) -> dict[str, _Detail]:
        """Return what can be stated of facts in addition to the action, by kind."""
        values = {
            "side": SIDES[facts.side],
            "direction": DIRECTIONS[facts.direction],
            "speed": SPEEDS[facts.pace],
            "path": PATHS[facts.path],
            "degrees": str(facts.degrees or ""),
            "return": RETURNS[facts.back],
        }
        details: dict[str, _Detail] = {}
        if facts.style and words.get("manner"):
            details["style"] = ("style", facts.style, self.words["styles"][facts.style]["manner"])
            del values["speed"]  # "Walks wearily slowly" states it twice.
        if facts.times and words.get("count"):
            details["count"] = ("count", str(facts.times), self._counts(facts.times))
        if facts.back and "return" in words:
            # "Walks forward back" and "walks in a circle back" would state two ways.
            if values["path"] not in SHAPES:
                values["path"] = ""
            elif values["return"] != "there":
                values["return"] = ""
        for kind, value in values.items():
            if value and value in words.get(kind, {}):
                details[kind] = (kind, value, words[kind][value])
        if values["side"] in words.get("foot", {}):
            details["foot"] = ("side", values["side"], words["foot"][values["side"]])
        return details

    def _counts(self, count: int) -> list[str]:
        counts = self.words["counts"]
        more = [phrase.replace("{number}", self.number(count)) for phrase in counts["more"]]
        return {1: list(counts["once"]), 2: list(counts["twice"])}.get(count, more)

    def _continuations(self, tense: int, who: str) -> tuple[list[Frame], list[Frame]]:
        """Return the templates of a narrative's sentences after the first: the next ones, and the last one."""
        words = self.words["narrative"]["tenses"][tense]

        def compiled(part: str) -> list[Frame]:
            texts = [text.replace("{again}", again) for again in words["again"][who] for text in words[part]]
            return [compile_frame(_plain(text), self.forms) for text in texts]

        return compiled("next"), compiled("last")

    def _compile_openings(self, tense: int, place: str) -> list[Frame]:
        words = self.words["narrative"]["tenses"][tense]["open" if place else "placeless"]
        return [compile_frame(_plain(text.replace("{place}", place)), self.forms) for text in words]

    def _place(self, theme: str, choice: int) -> str:
        places = self.words["places"].get(theme)
        return str(places[choice % len(places)]) if places else ""


@lru_cache(maxsize=8)
def grammar_of(library: Library, style: str = "") -> Grammar:
    """Return the grammar of a library's words, for captions of a style; for the words that all styles share by default."""
    return Grammar(library, style)


def joint_verbs(library: Library) -> dict[str, list[str]]:
    """Return the verbs of the interactions that the language can describe for both actors at once, by name."""
    words = library.words.get("interactions", {}) if library.words["several"].get("joint") else {}
    return {name: verbs for name, verbs in words.items() if name in library.interactions}


def pair_name(words: Mapping[str, Any], one: str, other: str) -> str:
    """Return the name of two people of given kinds: "two men", "a man and a girl"."""
    joint, subjects = words["several"]["joint"], words["subjects"]
    if one == other:
        return str(joint["alike"][one])
    return str(joint["unlike"].replace("{one}", subjects[one][0]).replace("{other}", subjects[other][0]))


@lru_cache(maxsize=1 << 12)
def compile_frame(template: str, forms: tuple[str, ...]) -> Frame:
    """Compile a template, such as ``{subject} is {doing}.``; the subject is inserted later."""
    head, form, tail = _placeholder(forms).split(template)
    return Frame(head, forms.index(form), tail)


def _compile_joiner(text: str, forms: tuple[str, ...]) -> Joiner:
    """Compile a joiner, such as `` and then `` or `` before {doing}``."""
    pieces = _placeholder(forms).split(text)
    return (text, -1) if len(pieces) == 1 else (pieces[0], forms.index(pieces[1]))


def _placeholder(forms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\{{({'|'.join(forms)})\}}")


def _plain(template: str) -> str:
    """Replace runs of blanks in a template by one blank, and a capital letter at its beginning by a small one."""
    text = " ".join(template.split())
    return text[:1].lower() + text[1:]


def capitalized(text: str) -> str:
    """Capitalize the first letter of each sentence."""
    return _BEGINNING.sub(lambda match: match.group().upper(), text)


@cache
def _of_few_words(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the verbs of at most _MOST_VERB_WORDS words; all of them if there is none."""
    return tuple([verb for verb in verbs if len(verb.split()) <= _MOST_VERB_WORDS]) or verbs


@cache
def join_verbs(prefix: str, verb: str, forms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forms of a verb after another one.

    Examples
    --------
    >>> join_verbs("starts|starting to {do}", "nods|nod", ("does", "do"))
    ('starts to nod', 'starting to nod')
    """
    start, form, _ = _placeholder(forms).split(prefix)
    return tuple(own + verb_forms(verb, forms)[forms.index(form)] for own in verb_forms(start, forms))


@cache
def verb_forms(pattern: str, forms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forms of a verb.

    Examples
    --------
    >>> verb_forms("picks|picking something up", ("does", "doing"))
    ('picks something up', 'picking something up')
    """
    words = [word.split("|") for word in pattern.split(" ")]
    return tuple(" ".join([word[i] if len(word) > 1 else word[0] for word in words]) for i in range(len(forms)))
