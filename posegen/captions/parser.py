"""Parser: turns a text into statements by the words of captions, and explains what it does not understand.

At each word, from left to right, it takes the longest phrase of the lexicon, which holds all phrases that a language file can
make, and what each of them may mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from posegen.captions.grammar import joint_verbs, pair_name, verb_forms
from posegen.captions.segments import Statement, make_statement
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import nearest, printable, shown
from posegen.library.load import Library

ANY = "*"
"""Any action, as :attr:`Meaning.action` of a detail."""

WORD = re.compile(r"[\w'\u2019-]+|[^\w\s]")
"""Words, with their apostrophes and hyphens, and punctuation marks."""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_MOST_COUNTED = 99

_Phrases = Iterator[tuple[str, "Meaning"]]

_SENTENCE_ENDS = frozenset(".;!?")
_MOST_SUGGESTED, _MOST_EXPLAINED = 8, 20
LONGEST_TEXT = 10_000
"""Characters of a text that a command reads."""


class ParsedCaption(NamedTuple):
    """What a text states.

    Attributes
    ----------
    statements : list of dict
        As captions have them; the segments of each actor are numbered as mentioned, from 0.
    unknown : list of str
        Parts of the text that were not understood, as written.
    misplaced : dict of str to str
        Known phrases, as written, and the action that each describes and does not apply to; they are in `unknown`, too.
    place : str
        Theme of the place that is named, or empty.
    """

    statements: list[Statement]
    unknown: list[str]
    misplaced: dict[str, str]
    place: str


def require_readable(text: str) -> None:
    """Raise UsageError if a text given to a command is longer than :data:`LONGEST_TEXT`."""
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"the text has {len(text):,} characters; at most {LONGEST_TEXT:,} are read: shorten it")


def parse_caption(text: str, library: Library) -> ParsedCaption:
    """Parse a caption, or a similar text, by the words of the library's language.

    Parameters
    ----------
    text : str
    library : Library

    Returns
    -------
    ParsedCaption

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> parsed = parse_caption("a man walks slowly, then frobs", load_library())
    >>> parsed.unknown
    ['frobs']
    >>> [(s["kind"], s["value"]) for s in parsed.statements if s["action"] == "walk"]
    [('action', ''), ('speed', 'slow')]
    """
    return _Parser(text, library).parse()


class _Parser:
    """The state of parsing one text: the actor and action described, and what was stated before its verb."""

    def __init__(self, text: str, library: Library) -> None:
        self.lexicon = lexicon_of(library)
        self.text = text
        self.statements: list[Statement] = []
        self.unknown: list[tuple[int, int]] = []
        self.misplaced: dict[str, str] = {}
        self.place = ""
        self.actor = 0
        self.subject: Meaning | None = None
        self.several = 0
        # Whether the next verb describes two actors at once, the kinds of these people, and whether they have interacted.
        self.both = False
        self.pair = ("", "")
        self.met = False
        # Of the clause being parsed: what joins it to the one before, whether it is subordinate, and whether it has its verb.
        self.link = ""
        self.subordinate = False
        self.has_verb = False
        # Whether the next verb describes an action that has only begun.
        self.begins = False
        # Details that still lack a verb.
        self.waiting: list[tuple[tuple[int, int], list[Meaning]]] = []
        # For each actor: actions of its segments, and the last segment that is not a simultaneous one.
        self.actions: dict[int, list[str]] = {}
        self.current: dict[int, int] = {}
        # The last segment of each action of an actor before its latest segment, and what was stated of each segment.
        self.earlier: dict[tuple[int, str], int] = {}
        self.claims: dict[tuple[int, int], list[tuple[str, str]]] = {}

    def parse(self) -> ParsedCaption:
        """Parse the whole text."""
        pieces = [(match.group().lower(), match.span()) for match in WORD.finditer(self.text)]
        words = [word for word, _ in pieces]
        at = 0
        while at < len(words):
            length = self.lexicon.longest(words, at)
            span = pieces[at][1][0], pieces[at + max(length, 1) - 1][1][1]
            meanings = self.lexicon.phrases[tuple(words[at : at + length])] if length else []
            if words[at] in _SENTENCE_ENDS and length <= 1:
                self._assign_details()
                self._expect_verb("then")
            elif not self._take(meanings, span) and any(map(str.isalnum, words[at])):
                self.unknown.append(span)
            at += max(length, 1)
        self._assign_details()
        self.unknown += [span for span, _ in self.waiting]
        return ParsedCaption(self._people() + self.statements, self._unknown_texts(), self.misplaced, self.place)

    def _take(self, meanings: list[Meaning], span: tuple[int, int]) -> bool:
        """Take a phrase for the first thing that it can mean here; return whether there is one."""
        by_kind = {meaning.kind: meaning for meaning in reversed(meanings)}
        if self._take_both(by_kind):
            return True
        if "verb" in by_kind:
            claims = by_kind["verb"].claims
            if self.begins:
                claims = tuple((kind, "begun" if kind == "action" else value) for kind, value in claims)
                self.begins = False
            self._begin_segment(by_kind["verb"].action, claims)
            return True
        if "begins" in by_kind:
            self.begins = True
            return True
        if "continues" in by_kind:
            return self._repeat_segment()
        details = [meaning for meaning in meanings if meaning.kind == "detail"]
        if details:
            self.waiting.append((span, details))
            if self.has_verb:
                self._assign_details()
            return True
        if "during" in by_kind:
            return self._state_during(by_kind["during"].action)
        if "subject" in by_kind and self.subject is None and self.actor == 0:
            self.subject = by_kind["subject"]
            return self._expect_verb(self._link_after_subordinate(self.link))
        if "person" in by_kind:
            self.actor, self.several = by_kind["person"].number, max(self.several, by_kind["person"].number + 1)
            self.both = False
            return self._expect_verb("then" if self.met else "")
        return self._take_link(by_kind, [meaning.who for meaning in meanings if meaning.kind in ("again", "subject")])

    def _take_both(self, by_kind: dict[str, Meaning]) -> bool:
        """Take a phrase that describes two actors at once; return whether it does."""
        if "joint" in by_kind and self.both:
            # Each of the two does its own part of the interaction.
            link = self.link
            for who, actions in enumerate(self.lexicon.interactions[by_kind["joint"].action]):
                self.actor = who
                for number, action in enumerate(actions):
                    self.link = "" if number else link
                    self._begin_segment(action, (("action", ""), ("partner", "")))
            self.met = True
            return True
        if "pair" in by_kind and not self.actions:
            self.both, self.several = True, 2
            self.pair = by_kind["pair"].who, by_kind["pair"].other
            return True
        if "both" in by_kind and (self.several == 2 or len(by_kind) == 1):
            self.both = self.several == 2
            return self._expect_verb("then")
        return False

    def _take_link(self, by_kind: dict[str, Meaning], again: list[str]) -> bool:
        if "after" in by_kind:
            self.subordinate = True
            return self._expect_verb(self.link)
        link = next((kind for kind in ("then", "while") if kind in by_kind), "")
        if link or "list" in by_kind:
            return self._expect_verb(link or self._link_after_subordinate(self.link or "list"))
        if "people" in by_kind:
            self.several = by_kind["people"].number
            self.both = self.several == 2
            return True
        if "place" in by_kind:
            self.place = by_kind["place"].action
            return True
        if again:
            # A second person would be one that the text does not count.
            return self.subject is None or self.subject.who in again or "" in again
        return "filler" in by_kind

    def _expect_verb(self, link: str) -> bool:
        """Expect a verb that is joined by `link`; return True, as every phrase that is taken does."""
        self.link, self.has_verb = link, False
        return True

    def _link_after_subordinate(self, link: str) -> str:
        """Return the link of the next verb: after "after walking" it is `then`."""
        if not self.subordinate or not self.actions.get(self.actor):
            return link
        self.subordinate = False
        return "then"

    def _begin_segment(self, action: str, claims: tuple[tuple[str, str], ...]) -> None:
        actions = self.actions.setdefault(self.actor, [])
        number, before = len(actions), self.current.get(self.actor)
        if actions:
            self.earlier[self.actor, actions[-1]] = number - 1
        actions.append(action)
        for kind, value in claims:
            self._state(kind, number, value)
        if self.link == "while" and before is not None:
            self._state("order", number, f"during {before}")
        else:
            if self.link == "then" and before is not None:
                self._state("order", number, f"after {before}")
            self.current[self.actor] = number
        self.has_verb = True
        self._assign_details()
        self.link = ""

    def _state(self, kind: str, segment: int, value: str) -> None:
        action = self.actions[self.actor][segment]
        if kind == "partner":
            value = str(1 - self.actor)  # only the first two actors interact
        self.claims.setdefault((self.actor, segment), []).append((kind, value))
        self.statements.append(make_statement(self.actor, kind, segment, action, value))

    def _assign_details(self) -> None:
        """Assign the waiting details to the latest segment."""
        actions = self.actions.get(self.actor)
        if not actions:
            return
        for span, meanings in self.waiting:
            meaning = next((meaning for meaning in meanings if self._applies(meaning, actions[-1])), None)
            if meaning is None:
                self.unknown.append(span)
                self.misplaced[self.text[slice(*span)]] = actions[-1]
            else:
                for kind, value in meaning.claims:
                    self._state(kind, len(actions) - 1, value)
        self.waiting.clear()

    def _applies(self, meaning: Meaning, action: str) -> bool:
        """Return whether a detail can be stated of an action."""
        if meaning.action != ANY:
            return meaning.action == action
        words = self.lexicon.actions[action]
        kind, value = meaning.claims[0]
        if kind in ("count", "style"):
            return bool(words.get("count" if kind == "count" else "manner"))
        return value in words.get(kind, {})

    def _repeat_segment(self) -> bool:
        """Repeat the current segment with all that was stated of it; a style is stated once."""
        number = self.current.get(self.actor)
        if number is None:
            return False
        claims = [claim for claim in self.claims[self.actor, number] if claim[0] not in ("order", "style")]
        self._begin_segment(self.actions[self.actor][number], tuple(claims))
        return True

    def _state_during(self, host: str) -> bool:
        """State that the latest segment happens during an earlier one, such as sitting."""
        number = self.earlier.get((self.actor, host))
        if number is not None:
            self._state("order", len(self.actions[self.actor]) - 1, f"during {number}")
        return number is not None

    def _people(self) -> list[Statement]:
        """Return the statements about the people."""
        claims: list[tuple[int, str, str]] = []
        if self.several or self.subject is not None:
            claims.append((-1, "people", str(max(self.several, 1))))
        claims += [(number, "people", who) for number, who in enumerate(self.pair)]
        if self.subject is not None and not self.several:
            claims += [(0, "people", self.subject.who), (0, "style", self.subject.style)]
        return [make_statement(actor, kind, -1, "", value) for actor, kind, value in claims if value]

    def _unknown_texts(self) -> list[str]:
        """Quote what was not understood; adjacent words are one part."""
        parts: list[list[int]] = []
        for first, last in sorted(self.unknown):
            if parts and not self.text[parts[-1][1] : first].strip():
                parts[-1][1] = last
            else:
                parts.append([first, last])
        return [self.text[first:last] for first, last in parts]


def explain_unknown(parsed: ParsedCaption, library: Library) -> list[str]:
    """Explain each part of a text that was not understood, with the nearest known words.

    Parameters
    ----------
    parsed : ParsedCaption
    library : Library

    Returns
    -------
    list of str
        A line for each of the first parts, and one with the number of the others.
    """
    vocabulary = _vocabulary(library)
    lines = []
    for text in parsed.unknown[:_MOST_EXPLAINED]:
        unknown = unknown_words(text, library)
        found = list(dict.fromkeys(near for word in unknown[:_MOST_SUGGESTED] if (near := nearest(word, vocabulary))))
        if text in parsed.misplaced:
            reason = f" does not apply to {shown(parsed.misplaced[text])}"
        elif not unknown:
            reason = "; the words are known, but not in this order"
        else:
            similar = f"the nearest known words: {', '.join(found)}" if found else "no known word is similar"
            reason = f"; {_unknown_text(unknown)}; {similar}"
        lines.append(f"not understood: {shown(text)}{reason}")
    more = len(parsed.unknown) - len(lines)
    return [*lines, f"not understood: {more:,} more parts"] if more else lines


def unknown_words(text: str, library: Library) -> list[str]:
    """Return the words of a text, in lower case and each once, that no phrase of the library's language contains.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> unknown_words("A dog walks, then the dog barks 3 times", load_library())
    ['dog', 'barks']
    """
    vocabulary = _vocabulary(library)
    return list(dict.fromkeys(word for word in split_words(text) if word[0].isalpha() and word not in vocabulary))


@lru_cache(maxsize=8)
def _vocabulary(library: Library) -> frozenset[str]:
    return frozenset(word for phrase in lexicon_of(library).phrases for word in phrase if word[0].isalpha())


def _unknown_text(words: list[str]) -> str:
    return f"unknown word{'s' if len(words) > 1 else ''}: {', '.join(map(printable, words))}"


class Meaning(NamedTuple):
    """One thing that a phrase may mean.

    Attributes
    ----------
    kind : verb, detail, then, while, list, after, subject, again, person, people, pair, both, joint, during, continues, begins,
        place or filler
    action : of a verb; of the seat, for `during`; ANY or one action, for a detail; the interaction, for `joint`; the theme, for
        `place`
    claims : (kind, value) pairs
    who, style : of a subject; `who` is empty for anybody
    other : the kind of person of the other one of a pair
    number : of a person among several, or the number of people
    """

    kind: str
    action: str = ""
    claims: tuple[tuple[str, str], ...] = ()
    who: str = ""
    style: str = ""
    number: int = 0
    other: str = ""


class Lexicon:
    """Phrases of a library's language, as tuples of words, with what they may mean.

    Attributes
    ----------
    actions : the words of each action
    interactions : for each interaction described for both actors at once, the actions of each of the two
    phrases : meanings of each phrase
    """

    def __init__(self, library: Library) -> None:
        words = library.words
        self.actions: Mapping[str, Any] = words["actions"]
        self.interactions = {joint.name: joint.actions for joint in joint_verbs(library)}
        self.phrases: dict[tuple[str, ...], list[Meaning]] = {}
        self._lengths: dict[str, list[int]] = {}
        possessives = dict.fromkeys([*words["their"].values(), *words.get("reading", {}).get("their", ())])
        for text, meaning in [*_phrases(words), *_joint_phrases(words, library)]:
            for possessive in possessives if "{their}" in text else [""]:
                self._add(tuple(split_words(text.replace("{their}", possessive))), meaning)

    def _add(self, phrase: tuple[str, ...], meaning: Meaning) -> None:
        if not phrase:
            return
        meanings = self.phrases.setdefault(phrase, [])
        if meaning not in meanings:
            meanings.append(meaning)
        lengths = self._lengths.setdefault(phrase[0], [])
        if len(phrase) not in lengths:
            lengths.append(len(phrase))
            lengths.sort(reverse=True)

    def longest(self, words: list[str], at: int) -> int:
        """Return the number of words of the longest phrase that begins at a word; 0 for none."""
        for length in self._lengths.get(words[at], ()):
            if at + length <= len(words) and tuple(words[at : at + length]) in self.phrases:
                return length
        return 0


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks, in lower case."""
    return WORD.findall(text.lower())


@lru_cache(maxsize=8)
def lexicon_of(library: Library) -> Lexicon:
    """Return the lexicon of a library's language."""
    return Lexicon(library)


def _phrases(words: Mapping[str, Any]) -> _Phrases:
    for name, action in words["actions"].items():
        yield from _action_phrases(words, name, action)
    for name, style in words["styles"].items():
        yield from ((phrase, Meaning("detail", ANY, (("style", name),))) for phrase in style["manner"])
        yield from _subject_phrases(style["subjects"], name)
    yield from _subject_phrases(words["subjects"])
    yield from _count_phrases(words)
    yield from _joining_phrases(words)
    yield from _people_phrases(words)
    yield from _template_phrases(words)
    yield from _place_phrases(words["places"])
    yield from _extra_phrases(words, words.get("reading", {}))


def _kind(who: str) -> str:
    return "" if who == "person" else who


def _subject_phrases(subjects: Mapping[str, Any], style: str = "") -> _Phrases:
    for who, texts in subjects.items():
        yield from ((text, Meaning("subject", who=_kind(who), style=style)) for text in texts)


def _place_phrases(places: Mapping[str, Any]) -> _Phrases:
    for theme, texts in places.items():
        yield from ((text, Meaning("place", theme)) for text in texts)


def _action_phrases(words: Mapping[str, Any], name: str, action: Mapping[str, Any]) -> _Phrases:
    done, ended = (("action", ""),), (("action", "finished"),)
    verbs = [*action["verbs"], *action.get("once", ()), *action.get("stopped", ())]
    yield from _verbs(words, verbs, Meaning("verb", name, done))
    yield from _verbs(words, action.get("finished", ()), Meaning("verb", name, ended))
    partners = [*words["several"]["partner"], *words["several"]["numbered"][:2]]
    together = [verb.replace("{partner}", partner) for verb in action.get("together", ()) for partner in partners]
    yield from _verbs(words, together, Meaning("verb", name, (*done, ("partner", ""))))
    for kind in ("speed", "side"):
        for value, verbs in action.get(f"{kind}_verbs", {}).items():
            yield from _verbs(words, verbs, Meaning("verb", name, (*done, (kind, value))))
    yield from ((phrase, Meaning("during", name)) for phrase in action.get("during", ()))
    for kind in ("side", "direction", "speed", "path", "degrees"):
        for value, phrases in action.get(kind, {}).items():
            yield from ((phrase.removesuffix("~"), Meaning("detail", name, ((kind, value),))) for phrase in phrases)


def _verbs(words: Mapping[str, Any], verbs: Iterable[str], meaning: Meaning) -> _Phrases:
    for verb in verbs:
        yield from ((form, meaning) for form in verb_forms(verb, tuple(words["forms"])))


def _count_phrases(words: Mapping[str, Any]) -> _Phrases:
    counts = words["counts"]
    for times in range(1, _MOST_COUNTED + 1):
        named = [phrase.replace("{number}", number) for number in _numerals(words, times) for phrase in counts["more"]]
        named += {1: counts["once"], 2: counts["twice"]}.get(times, [])
        yield from ((phrase, Meaning("detail", ANY, (("count", str(times)),))) for phrase in named)


def _numerals(words: Mapping[str, Any], number: int) -> list[str]:
    return [str(number), *(str(name) for name in words["numbers"][number : number + 1])]


def _joining_phrases(words: Mapping[str, Any]) -> _Phrases:
    joining = words["joining"]
    for key, kind in (("then", "then"), ("while", "while"), ("meanwhile", "filler")):
        yield from ((_PLACEHOLDER.sub("", text), Meaning(kind)) for text in joining[key])
    yield from ((joining[key], Meaning("list")) for key in ("and", "comma"))
    for key, kind in (("begins", "begins"), ("starts", "filler")):
        yield from _verbs(words, (_PLACEHOLDER.sub("", text).strip() for text in joining.get(key, ())), Meaning(kind))
    yield from _verbs(words, joining["goes_on"], Meaning("continues"))
    yield from _verbs(words, joining["nothing"], Meaning("filler"))


def _people_phrases(words: Mapping[str, Any]) -> _Phrases:
    several = words["several"]
    for key, number in (("one", 0), ("other", 1)):
        yield from ((text, Meaning("person", number=number)) for text in several[key])
    yield from ((text, Meaning("person", number=number)) for number, text in enumerate(several["numbered"]))
    for count, number in enumerate(words["numbers"][2:], 2):
        narrative = words["narrative"]
        templates = [several["intro"], *narrative["people"], *narrative.get("people_placeless", ())]
        texts = [text.replace("{place}", "") for text in templates]
        yield from ((text.replace("{number}", str(number)).rstrip(" .:"), Meaning("people", number=count)) for text in texts)


def _joint_phrases(words: Mapping[str, Any], library: Library) -> _Phrases:
    """Return the phrases of descriptions of both actors at once."""
    joint = words["several"].get("joint")
    if not joint:
        return
    for interaction in joint_verbs(library):
        yield from _verbs(words, interaction.verbs, Meaning("joint", interaction.name))
    yield from ((text, Meaning("pair")) for text in joint["pair"])
    kinds = tuple(joint["alike"])
    for one in kinds:
        yield from ((pair_name(words, one, other), Meaning("pair", who=one, other=other)) for other in kinds)
    for key, kind in (("short", "filler"), ("story", "both"), ("then", "both"), ("after", "then")):
        yield from ((piece.rstrip("., "), Meaning(kind)) for text in joint[key] for piece in _PLACEHOLDER.split(text))


def _template_phrases(words: Mapping[str, Any]) -> _Phrases:
    """Return words of the sentence templates, such as "can be seen", "after" and "finally"."""
    for template in (*words["short"], *words["full"], *words["segment"]):
        pieces = _PLACEHOLDER.split(template)
        verbs = [i for i, name in enumerate(_PLACEHOLDER.findall(template)) if name != "{subject}"]
        # The words before the first of two verbs put it before the second.
        first = verbs[0] if len(verbs) > 1 else -1
        yield from ((piece, Meaning("after" if i == first else "filler")) for i, piece in enumerate(pieces))
    for tense in words["narrative"]["tenses"]:
        for key, kind in (("open", "filler"), ("placeless", "filler"), ("next", "then"), ("last", "then")):
            yield from ((piece, Meaning(kind)) for text in tense[key] for piece in _PLACEHOLDER.split(text))
        for who, texts in tense["again"].items():
            yield from ((piece, Meaning("again", who=_kind(who))) for text in texts for piece in _PLACEHOLDER.split(text))


def _extra_phrases(words: Mapping[str, Any], extra: Mapping[str, Any]) -> _Phrases:
    """Return the phrases that are understood but that no caption contains: the key ``reading`` of a language file."""
    for key in ("then", "while", "after", "filler"):
        yield from ((text, Meaning(key)) for text in extra.get(key, ()))
    yield from _subject_phrases(extra.get("subjects", {}))
    for name, verbs in extra.get("actions", {}).items():
        yield from _verbs(words, verbs, Meaning("verb", name, (("action", ""),)))
    for name, verbs in extra.get("counted", {}).items():
        for times in range(1, _MOST_COUNTED + 1):
            claims = (("action", ""), ("count", str(times)))
            for number in _numerals(words, times):
                yield from _verbs(words, [verb.replace("{number}", number) for verb in verbs], Meaning("verb", name, claims))
    yield from _place_phrases(extra.get("places", {}))
    for kind, values in extra.get("details", {}).items():
        for value, texts in values.items():
            yield from ((text, Meaning("detail", ANY, ((kind, value),))) for text in texts)
