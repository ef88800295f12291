"""Parser: turns a text into statements by the words of captions, and explains what it does not understand.

At each word, from left to right, it takes the longest phrase of the lexicon of captions, or a longer one that people write; see
:mod:`posegen.captions.reading`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from posegen.captions.lexicon import ANY, WORD, Meaning, lexicon_of, split_words
from posegen.captions.reading import Detail
from posegen.captions.segments import Statement, make_statement
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import nearest, printable, shown
from posegen.library.load import Library

_SENTENCE_ENDS = frozenset(".;!?")
_NOTHING = "nothing"
_SHOWN = {"fillers": _NOTHING, "modifiers": "modifier", "things": "object", "parts": "object"}
_LISTED = frozenset(("side", "direction", "speed", "path", "degrees"))
_ANY_NUMBER = frozenset(("object", "modifier", "partner", "order", "action"))
_CHANGING = frozenset(("direction", "path", "backward", "sideways", "in_place", "drunk"))
_MOST_OF_AN_ARC = 300
"""Degrees; more are a circle."""
_MOVED = frozenset(("side", "direction", "path", "steps", "backward", "sideways"))
"""Kinds of details of which one alone repeats an action, as in "steps to the left, then to the right"."""
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
    corrections : dict of str to str
        Words with typing errors, and how they were read.
    place : str
        Theme of the place that is named, or empty.
    single : frozenset of (int, int)
        Actor and segment of what is done once by its words, such as "does a squat", which states no count.
    """

    statements: list[Statement]
    unknown: list[str]
    corrections: dict[str, str]
    place: str
    single: frozenset[tuple[int, int]] = frozenset()


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
        self.reading = self.lexicon.reading
        self.text = text
        self.statements: list[Statement] = []
        self.unknown: list[tuple[int, int]] = []
        self.corrections: dict[str, str] = {}
        self.explained: frozenset[int] = frozenset()
        # The segment of a walk of which only steps are named.
        self.stepping = (-1, -1)
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
        self.single: set[tuple[int, int]] = set()
        # Whether the word that is read names one repetition.
        self.once = False
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
        pieces = [(match.group().lower().replace("\u2019", "'"), match.span()) for match in WORD.finditer(self.text)]
        words = [self._corrected(word) for word, _ in pieces]
        at = 0
        while at < len(words):
            length, self.once = self.lexicon.longest(words, at), self._is_one(words, at)
            meanings = self.lexicon.phrases[tuple(words[at : at + length])] if length else []
            spans = [span for _, span in pieces[at:]]
            if words[at] in _SENTENCE_ENDS and length <= 1:
                self._expect_verb(self.link)
                self._assign_details()
                self._expect_verb("then")
                at += 1
                continue
            taken = self._read(words, at, length, meanings, spans)
            if not taken:
                taken = max(length, 1)
                span = spans[0][0], spans[taken - 1][1]
                if not self._take(meanings, span) and not self._take_word(words, at, span) and any(map(str.isalnum, words[at])):
                    self.unknown.append(span)
            at += taken
        self._expect_verb(self.link)
        kinds = {meaning.claims[0][0] for _, meanings in self.waiting for meaning in meanings}
        implied = next((action for kind, action in self.reading.implied.items() if kind in kinds), None)
        if implied and not self.actions and not self.unknown:
            # "Makes a circle" has no verb of its own.
            self._begin_segment(implied, (("action", ""),))
        self._assign_details()
        return ParsedCaption(
            self._people() + self.statements, self._unknown_texts(), self.corrections, self.place, frozenset(self.single)
        )

    def _corrected(self, word: str) -> str:
        """Return a word without its typing error."""
        if word in self.lexicon.vocabulary or word in self.reading.vocabulary:
            return word
        meant = self.reading.corrected(word)
        if meant != word:
            self.corrections[word] = meant
        return meant

    def _read(self, words: list[str], at: int, length: int, meanings: list[Meaning], spans: list[tuple[int, int]]) -> int:
        """Read what people write and captions do not; return the number of words, 0 where nothing longer is found."""
        reading = self.reading
        if at in self.explained and words[at] in reading.verbs:
            return 1
        if words[at] in reading.conditions and length < 2:
            end = self._end_of_clause(words, at)
            return (self._end_of_clause(words, end) if end < len(words) and words[end] in reading.verbs else end) - at
        noun = reading.noun(words, at)
        detail = reading.detail(words, at)
        if detail is not None and detail.length > 1:
            # "Right arm circles" are arm circles with the right arm.
            named = next(
                (i for i in range(1, detail.length) if (own := reading.noun(words, at + i)) and i + own[1] > detail.length), 0
            )
            detail = reading.detail(words[: at + named], at) if named else detail
        longest = max(length, noun[1] if noun else 1, 2 if words[at] in reading.verbs else 1)
        if detail is not None and detail.length >= longest and (detail.value or not meanings or self.has_verb):
            return self._take_detail(detail, words, at, spans)
        if noun is not None and noun[1] > length:
            if not self.has_verb or self.actions[self.actor][-1] != noun[0]:  # to play the guitar is one action
                self._begin_segment(noun[0], (("action", ""),))
            return noun[1]
        if self.both and any(meaning.kind == "joint" for meaning in meanings):
            return 0
        is_verb = words[at] in reading.verbs and at not in self.explained and not self._is_thing(words, at)
        end = self._end_of_clause(words, at) if is_verb else at
        found = reading.verb(words, at, end) if is_verb else None
        # "Gets up from the chair" says more than "gets up".
        more = found is not None and at + 1 in found.places and len(found.places) >= length
        if length > 1 and not more:
            return 0
        if number := reading.number(words[at]):
            return self._take_number(number, words, at, spans)
        if not is_verb:
            return 0
        if shown_by := reading.passive(words, at):
            self._begin_segment(shown_by, (("action", ""),))
            return 1
        if found is None and end == at + 1 and end < len(words) and words[end] in self.reading.clauses["joins"]:
            # "Raises and lowers the arm": both have one object.
            found = reading.verb(words, at, self._end_of_clause(words, end + 1))
        named = any(meaning.kind == "verb" for meaning in meanings)
        if named and (found is None or not found.places):
            return 0
        if found is None:
            # Nothing that is known is done, such as "makes", or no known action is.
            return 1 if words[at] in reading.kinds else self._take_detail(Detail(1, ("modifier",), words[at]), [""], 0, spans)
        self.explained |= found.places
        if self.has_verb and words[at].endswith("ing") and words[at - 1] not in self.reading.clauses["joins"] and not self.link:
            self.link = "while"
        claims, action = found.claims, found.action
        if self.begins:
            claims, self.begins = (("action", "begun"),), False
        if action == "put_down" and self.actions.get(self.actor, [""])[-1] in reading.undone:
            action = "stand"
            self.single.add((self.actor, len(self.actions[self.actor]) - 1))
        self._begin_segment(action, claims)
        return 1

    def _is_thing(self, words: list[str], at: int) -> bool:
        """Return whether a word that could be a verb names a thing, as in "a heavy box"."""
        before, kinds = words[at - 1] if at else "", self.reading.kinds
        return words[at] in kinds and (before in self.reading.clauses["before_nouns"] or kinds.get(before) == "modifiers")

    def _is_one(self, words: list[str], at: int) -> bool:
        """Return whether a word names one of what is done, as in "a quick jump"."""
        adjective = at > 1 and (words[at - 1] in ("left", "right") or self.reading.kinds.get(words[at - 1]) == "modifiers")
        before = words[at - 1 - adjective] if at else ""
        return before in self.reading.clauses["one"] and not words[at].endswith(("s", "ing"))

    def _take_detail(self, detail: Detail, words: list[str], at: int, spans: list[tuple[int, int]]) -> int:
        if detail.length > 1 and detail.kinds[0] == "degrees" and words[at + detail.length - 1] in self.reading.verbs:
            detail = detail._replace(length=detail.length - 1)  # the turn of "a quarter turn" is done
        span = spans[0][0], spans[detail.length - 1][1]
        if detail.kinds[0] == "steps" and not self._steps_of_gait(words[at - 1] if at else ""):
            # "Takes two steps" has no other verb.
            self._begin_segment("walk", (("action", ""),))
            self.stepping = self.actor, len(self.actions[self.actor]) - 1
        if detail.value in ("both", ""):
            return detail.length
        # A circle is the path of a gait, and the direction of a turn.
        values = {kind: detail.value.removesuffix("_circle") if kind == "direction" else detail.value for kind in detail.kinds}
        self.waiting.append((span, [Meaning("detail", ANY, (claim,)) for claim in values.items()]))
        if detail.kinds[0] == "steps":
            speeds = [each for word in words[at : at + detail.length] if (each := self.reading.detail([word], 0))]
            self.waiting += [
                (span, [Meaning("detail", ANY, (("speed", each.value),))]) for each in speeds if each.kinds[0] == "speed"
            ]
        if detail.kinds[0] == "steps" and at and words[at - 1] in self.reading.clauses["back"]:
            self._go_back(span)
        after = at + detail.length
        names = after < len(words) and (words[after] in self.reading.verbs or self.reading.noun(words, after) is not None)
        if self.has_verb and not (names and at and words[at - 1] in self.reading.clauses["before_nouns"]):
            self._assign_details()
        return detail.length

    def _steps_of_gait(self, before: str) -> bool:
        """Return whether steps are those of the latest action: a walk, but not the turn before "and takes two steps"."""
        takes, actions = before in self.reading.clauses["taking"], self.actions.get(self.actor)
        if not takes or not actions:
            return self.has_verb
        walks = bool(self.lexicon.actions[actions[-1]].get("path"))
        self.has_verb = walks and (self.has_verb or (before.endswith("ing") and self.link in ("", "list")))
        return self.has_verb

    def _take_number(self, number: str, words: list[str], at: int, spans: list[tuple[int, int]]) -> int:
        """Take the number of what is done, as in "two quick jumps"."""
        for i in range(at + 1, min(at + 4, len(words))):
            if words[i] in self.reading.verbs or self.reading.noun(words, i):
                self.waiting.append((spans[0], [Meaning("detail", ANY, (("count", number),))]))
                return 1
            if words[i] not in self.reading.kinds:
                break
        return int(words[at] in self.reading.kinds)

    def _end_of_clause(self, words: list[str], at: int) -> int:
        """Return where the clause of a verb ends: before the next verb, or what joins it."""
        for i in range(at + 1, len(words)):
            word = words[i]
            if word in _SENTENCE_ENDS or word == "," or word in self.reading.clauses["links"]:
                return i
            if (
                word in self.reading.verbs
                and (word not in self.reading.kinds or words[i - 1] in self.reading.clauses["joins"])
                and words[i - 1] not in self.reading.clauses["before_nouns"]
                and self.reading.kinds.get(words[i - 1]) != "modifiers"
            ):
                return i - 1 if words[i - 1] in self.reading.clauses["joins"] and i - 1 > at else i
        return len(words)

    def _go_back(self, span: tuple[int, int]) -> None:
        """Let the steps of an actor be backward, unless a turn is before them."""
        actions = self.actions.get(self.actor, [])
        if "turn" not in actions[-2:]:
            self.waiting.append((span, [Meaning("detail", ANY, (("backward", "backward"),))]))
            self._assign_details()

    def _walks_on(self) -> bool:
        """Return whether an actor who walks back has not turned before, so that the motion does not lead back."""
        actions = self.actions.get(self.actor, [])
        return len(actions) > 1 and bool(self.lexicon.actions[actions[-1]].get("path")) and actions[-2] != "turn"

    def _take_word(self, words: list[str], at: int, span: tuple[int, int]) -> bool:
        """Take a single word that motion does not show, or that means nothing by itself."""
        word = words[at]
        if not (kind := _SHOWN.get(self.reading.kinds.get(word, ""))):
            return False
        clauses = self.reading.clauses
        after = at + 1 < len(words) and words[at + 1] in clauses["return"]
        if words[at] in clauses["back"] and at and words[at - 1] in clauses["steps"] and not after:
            self._go_back(span)
        elif words[at] in clauses["back"] and at and words[at - 1] in self.reading.verbs and not after and self._walks_on():
            self._take_detail(Detail(1, ("start",), word), [word], 0, [span])
        elif kind != _NOTHING and at not in self.explained:
            self._take_detail(Detail(1, (kind,), word), [word], 0, [span])
        return True

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
            if by_kind["verb"].number:
                self.single.add((self.actor, len(self.actions[self.actor]) - 1))
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
        if "person" in by_kind and by_kind["person"].number <= max(self.several, 1):
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
        if self.waiting and self.link and not self.has_verb and self.current.get(self.actor) is not None:
            self._repeat_moved()
        self.link, self.has_verb = link, False
        return True

    def _repeat_moved(self) -> None:
        """Repeat the latest action where a clause has no verb, but another side or path."""
        kinds, action = {meanings[0].claims[0][0] for _, meanings in self.waiting}, self.actions[self.actor][-1]
        if kinds & _MOVED and (kinds != {"side"} or self.lexicon.actions[action].get("side")):
            self._begin_segment(action, (("action", ""),))

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
        if self.once and self.lexicon.actions[action].get("count") and "count" not in dict(claims):
            claims, self.once = (*claims, ("count", "1")), False
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
        """Assign the waiting details to the latest segment; one that no motion of its action shows is stated all the same."""
        actions = self.actions.get(self.actor)
        if not actions:
            return
        for span, meanings in self.waiting:
            kind, value = meanings[0].claims[0]
            words = self.lexicon.actions[actions[-1]]
            arm_circles = value == "circle" and not words.get(kind)
            if kind in _CHANGING and self._change_action(value) and (kind not in _LISTED or arm_circles):
                continue  # the action states it
            meaning = next((each for each in meanings if self._applies(each, actions[-1])), meanings[0])
            if ("path", "back_and_forth") in meaning.claims and not words.get("path"):
                continue  # arms that are moved up and down
            if (
                meaning.action not in (ANY, actions[-1])
                and self.reading.kinds.get(self.text[slice(*span)].lower()) == "fillers"
            ):
                continue  # "slightly" is the angle of a turn only
            for kind, value in meaning.claims:
                stepped = kind == "count" and actions[-1] in self.reading.stepped
                self._state_detail("steps" if stepped else kind, value)
        self.waiting.clear()

    def _state_detail(self, kind: str, value: str) -> None:
        """State a detail of the latest segment, together with what it has of that kind, or of a repetition of it."""
        actions = self.actions[self.actor]
        number = len(actions) - 1
        claims = self.claims[self.actor, number]
        before = next((known for own, known in claims if own == kind), None)
        stated = dict(claims) | {kind: value}
        if stated.get("path", "").endswith("_circle") and int(stated.get("degrees", "360")) < _MOST_OF_AN_ARC:
            arc = "path", stated["path"].removesuffix("_circle")
            self._replace(number, actions[-1], ("path", stated["path"]), actions[-1], arc)
            value = arc[1] if kind == "path" else value
        if before is None or kind in _ANY_NUMBER:
            self._state(kind, number, value)
        elif before != value:
            joined = self.reading.joined.get((kind, frozenset((before, value))))
            if joined:
                claims[claims.index((kind, before))] = kind, joined
                self._replace(number, actions[-1], (kind, before), actions[-1], (kind, joined))
            elif kind in _MOVED:
                waiting, self.waiting, self.link = self.waiting, [], "then"
                self._begin_segment(actions[-1], (("action", ""), (kind, value)))
                self.waiting = waiting
            else:
                self._state("modifier", number, f"{kind} {value}")

    def _replace(self, number: int, action: str, claim: tuple[str, str] | None, new: str, made: tuple[str, str] | None) -> None:
        """Replace the action, and one claim if given, in the statements about a segment of the current actor."""
        for i, each in enumerate(self.statements):
            own = str(each["kind"]), str(each["value"])
            if (each["actor"], each["segment"], each["action"]) == (self.actor, number, action) and claim in (None, own):
                self.statements[i] = make_statement(self.actor, (made or own)[0], number, new, (made or own)[1])

    def _change_action(self, value: str) -> bool:
        """Let a detail make the latest action another one; return whether it is that one, as in walking backward."""
        actions = self.actions[self.actor]
        number = len(actions) - 1
        name = "step" if self.stepping == (self.actor, number) else actions[-1]
        changed = self.reading.changes.get(name, {}).get(value)
        if changed is not None and changed in self.lexicon.actions and changed != actions[-1]:
            self._replace(number, actions[-1], None, changed, None)
            actions[-1] = changed
        return any(each.get(value) == actions[-1] for each in self.reading.changes.values())

    def _applies(self, meaning: Meaning, action: str) -> bool:
        """Return whether a detail can be stated of an action."""
        if meaning.action != ANY:
            return meaning.action == action
        words = self.lexicon.actions[action]
        kind, value = meaning.claims[0]
        if kind in ("count", "style"):
            return bool(words.get("count" if kind == "count" else "manner"))
        return kind in _LISTED and value in words.get(kind, {})

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
    vocabulary, read = _vocabulary(library), lexicon_of(library).reading.vocabulary
    lines = []
    for text in parsed.unknown[:_MOST_EXPLAINED]:
        unknown = [word for word in unknown_words(text, library) if word not in read]
        found = list(dict.fromkeys(near for word in unknown[:_MOST_SUGGESTED] if (near := nearest(word, vocabulary))))
        if not unknown:
            reason = "; the words are known, but not in this order"
        else:
            similar = f"the nearest known words: {', '.join(found)}" if found else "no known word is similar"
            reason = f"; {_unknown_text(unknown)}; {similar}"
        lines.append(f"not understood: {shown(text)}{reason}")
    more = len(parsed.unknown) - len(lines)
    lines += [f"read as {shown(meant)}: {shown(word)}" for word, meant in list(parsed.corrections.items())[:_MOST_EXPLAINED]]
    return [*lines, f"not understood: {more:,} more parts"] if more else lines


def unknown_words(text: str, library: Library) -> list[str]:
    """Return the words of a text, in lower case and each once, that no phrase of the library's language contains.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> unknown_words("A dog walks, then the dog barks 3 times", load_library())
    ['dog', 'barks']
    """
    known = lexicon_of(library).vocabulary
    return list(dict.fromkeys(word for word in split_words(text) if word[0].isalpha() and word not in known))


@lru_cache(maxsize=8)
def _vocabulary(library: Library) -> frozenset[str]:
    return frozenset(word for phrase in lexicon_of(library).phrases for word in phrase if word[0].isalpha())


def _unknown_text(words: list[str]) -> str:
    return f"unknown word{'s' if len(words) > 1 else ''}: {', '.join(map(printable, words))}"
