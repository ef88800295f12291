"""Parser: turns a text into statements by the words of captions, and explains what it does not understand.

At each word, from left to right, it takes the longest phrase of the :mod:`posegen.captions.lexicon`.
"""

from __future__ import annotations

from typing import NamedTuple

from posegen.captions.lexicon import ANY, WORD, Meaning, lexicon_of, split_words
from posegen.captions.statements import Statement, make_statement
from posegen.library.load import Library
from posegen.wording import nearest, shown

_SENTENCE_ENDS = frozenset(".;!?")
_MOST_SUGGESTED = 8


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
        # Details that still lack a verb.
        self.waiting: list[tuple[tuple[int, int], list[Meaning]]] = []
        # For each actor: actions of its segments, and the last segment that is not a simultaneous one.
        self.actions: dict[int, list[str]] = {}
        self.current: dict[int, int] = {}

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
            elif not self._take(meanings, span) and words[at][0].isalnum():
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
            self._begin_segment(by_kind["verb"].action, by_kind["verb"].claims)
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
        claims = [
            (str(statement["kind"]), str(statement["value"]))
            for statement in self.statements
            if (statement["actor"], statement["segment"]) == (self.actor, number)
            and statement["kind"] not in ("order", "style")
        ]
        self._begin_segment(self.actions[self.actor][number], tuple(claims))
        return True

    def _state_during(self, host: str) -> bool:
        """State that the latest segment happens during an earlier one, such as sitting."""
        actions = self.actions.get(self.actor, [])
        hosts = [number for number, action in enumerate(actions[:-1]) if action == host]
        if hosts:
            self._state("order", len(actions) - 1, f"during {hosts[-1]}")
        return bool(hosts)

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
        A line for each part.
    """
    vocabulary = {word for phrase in lexicon_of(library).phrases for word in phrase if word[0].isalpha()}
    lines = []
    for text in parsed.unknown:
        words = split_words(text)
        unknown = [word for word in words[:_MOST_SUGGESTED] if word not in vocabulary]
        found = list(dict.fromkeys(near for word in unknown if (near := nearest(word, vocabulary))))
        if text in parsed.misplaced:
            reason = f" does not apply to {shown(parsed.misplaced[text])}"
        elif all(word in vocabulary or not word[0].isalpha() for word in words):
            reason = "; the words are known, but not in this order"
        else:
            reason = f"; the nearest known words: {', '.join(found)}" if found else "; no known word is similar"
        lines.append(f"not understood: {shown(text)}{reason}")
    return lines
