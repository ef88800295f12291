"""Parser: turns a text into statements by the words of captions, and quotes what it does not understand.

At each word it takes the longest phrase of the lexicon of captions, or a longer one of :mod:`posegen.captions.reading`.
"""

from __future__ import annotations

from typing import NamedTuple

from posegen.captions.lexicon import ANY, WORD, Meaning, lexicon_of
from posegen.captions.reading import Claims, Detail, Verb
from posegen.captions.segments import Statement, make_statement
from posegen.library.load import Library

_SENTENCE_ENDS = frozenset(".;!?")
_SHOWN = {"fillers": "", "modifiers": "modifier", "things": "object", "parts": "object"}
"""Kinds of details that single words are; empty for words that mean nothing by themselves."""
_RELATIONS = {"then": "after", "while": "during"}
_DONE = (("action", ""),)
_LISTED = frozenset(("side", "direction", "speed", "path", "degrees"))
_ANY_NUMBER = frozenset(("object", "other", "modifier", "partner", "order", "action"))
_CHANGING = frozenset(("direction", "path", "backward", "sideways", "in_place", "drunk"))
_MOST_OF_AN_ARC = 300
"""Degrees; more are a circle."""
_MOVED = frozenset(("side", "direction", "path", "steps", "backward", "sideways"))
"""Kinds of details that repeat an action by themselves, as in "steps to the left, then to the right"."""


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
        self.corrections: dict[str, str] = {}
        found = [(match.group().lower().replace("\u2019", "'"), match.span()) for match in WORD.finditer(text)]
        self.words, self.spans = [self._corrected(word) for word, _ in found], [span for _, span in found]
        self.statements: list[Statement] = []
        self.unknown: list[tuple[int, int]] = []
        self.explained: frozenset[int] = frozenset()
        # The segment of a walk whose text names only steps.
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

    @property
    def done(self) -> list[str]:
        """The actions of the current actor's segments so far."""
        return self.actions.setdefault(self.actor, [])

    def parse(self) -> ParsedCaption:
        """Parse the whole text."""
        words, at = self.words, 0
        while at < len(words):
            length, self.once = self.lexicon.longest(words, at), self.reading.is_one(words, at)
            meanings = self.lexicon.phrases[tuple(words[at : at + length])] if length else []
            if any(meaning.kind in ("person", "subject") for meaning in meanings):
                meanings = self._somebody(meanings, at, length)
            if words[at] in _SENTENCE_ENDS and length <= 1:
                self._expect_verb(self.link)
                self._assign_details()
                self._expect_verb("then")
                at += 1
                continue
            taken = self._read(at, length, meanings)
            if not taken:
                taken = max(length, 1)
                span = self.spans[at][0], self.spans[at + taken - 1][1]
                if not self._take(meanings, span) and not self._take_word(at) and any(map(str.isalnum, words[at])):
                    adjacent = self.unknown and not self.text[self.unknown[-1][1] : span[0]].strip()
                    first = self.unknown.pop()[0] if adjacent else span[0]
                    self.unknown.append((first, span[1]))
            at += taken
        self._expect_verb(self.link)
        kinds = {meaning.claims[0][0] for _, meanings in self.waiting for meaning in meanings}
        implied = next((action for kind, action in self.reading.implied.items() if kind in kinds), None)
        if implied and not self.statements and not self.unknown:
            # "Makes a circle" has no verb of its own.
            self._begin_segment(implied)
        self._assign_details()
        statements, unknown = self._people() + self.statements, [self.text[first:last] for first, last in self.unknown]
        return ParsedCaption(statements, unknown, self.corrections, self.place, frozenset(self.single))

    def _somebody(self, meanings: list[Meaning], at: int, length: int) -> list[Meaning]:
        """Return what words for a person mean: who acts, before the verb of a clause; after it the other one, or a limb.

        A man and a woman are two people, also where the text does not count them.
        """
        words, after, first, joined = self.words, at + length, self.subject, self.reading.is_joined(self.words, at)
        begins = joined or not self.has_verb
        if begins and first is not None and first.who and not self.several:
            others = [each for each in meanings if each.kind == "subject" and each.who and _is_male(each) != _is_male(first)]
            if others:
                return [Meaning("person", number=1, who=others[0].who)]
        rest = [meaning for meaning in meanings if meaning.kind != "person"]
        if len(rest) == len(meanings):
            return meanings
        if words[after - 1] not in self.reading.clauses["somebody"]:
            if begins:
                return meanings
            mentioned = max(meaning.number for meaning in meanings if meaning.kind == "person")
            self.several = max(self.several, mentioned + 1 if mentioned else 0)
            return [*rest, _detail("other", " ".join(words[at:after]))]
        if after == len(words):
            return rest
        following = self.lexicon.phrases.get(tuple(words[after : after + self.lexicon.longest(words, after)]), [])
        acts = words[after] in self.reading.verbs or any(each.kind == "verb" for each in following)
        return meanings if joined and acts and not self.reading.is_thing(words, after) else rest

    def _corrected(self, word: str) -> str:
        """Return a word without its typing error."""
        if word in self.lexicon.vocabulary or word in self.reading.vocabulary:
            return word
        meant = self.reading.corrected(word)
        if meant != word:
            self.corrections[word] = meant
        return meant

    def _read(self, at: int, length: int, meanings: list[Meaning]) -> int:
        """Read what people write and captions do not; return the number of words, 0 where nothing longer is found."""
        reading, words, word = self.reading, self.words, self.words[at]
        if at in self.explained and word in reading.verbs:
            return 1
        if word in reading.conditions and length < 2:
            end = reading.end_of_clause(words, at)
            return (reading.end_of_clause(words, end) if end < len(words) and words[end] in reading.verbs else end) - at
        noun, detail = reading.noun(words, at), reading.detail_before_noun(words, at)
        longest = max(length, noun[1] if noun else 1, 2 if word in reading.verbs else 1)
        if detail is not None and detail.length >= longest and (detail.value or not meanings or self.has_verb):
            return self._take_detail(detail, at)
        if noun is not None and noun[1] > length:
            if not self.has_verb or self.done[-1] != noun[0]:  # to play the guitar is one action
                self._begin_segment(noun[0])
            return noun[1]
        if self.both and any(meaning.kind == "joint" for meaning in meanings):
            return 0
        is_verb = word in reading.verbs and at not in self.explained and not reading.is_thing(words, at)
        end = reading.end_of_clause(words, at) if is_verb else at
        found = reading.verb(words, at, end) if is_verb else None
        # "Gets up from the chair" says more than "gets up".
        more = found is not None and at + 1 in found.places and len(found.places) >= length
        if length > 1 and not more:
            return 0
        if number := reading.number(word):
            if reading.counts(words, at):
                self.waiting.append((self.spans[at], [_detail("count", number)]))
                return 1
            return int(word in reading.kinds)
        if not is_verb:
            return 0
        if shown_by := reading.passive(words, at):
            self._begin_segment(shown_by)
            return 1
        if found is None and end == at + 1 and end < len(words) and words[end] in reading.clauses["joins"]:
            # "Raises and lowers the arm": both have one object.
            found = reading.verb(words, at, reading.end_of_clause(words, end + 1))
        if any(meaning.kind == "verb" for meaning in meanings) and (found is None or not found.places):
            return 0
        if found is not None:
            self._begin_found(found, at)
        elif word not in reading.kinds:  # nothing that is known is done, such as "makes", or no known action is
            self._take_details([_detail("modifier", word)], self.spans[at])
        return 1

    def _begin_found(self, found: Verb, at: int) -> None:
        """Begin the segment of a verb that people write."""
        self.explained |= found.places
        joined = self.words[at - 1] in self.reading.clauses["joins"]
        if self.has_verb and self.words[at].endswith("ing") and not joined and not self.link:
            self.link = "while"
        action, claims = found.action, self._begun(found.claims)
        if action == "put_down" and self.done[-1:] and self.done[-1] in self.reading.undone:
            action = "stand"
            self.single.add((self.actor, len(self.done) - 1))
        self._begin_segment(action, claims)

    def _begun(self, claims: Claims) -> Claims:
        """Return the claims of a verb: after words such as "starts to", its action has only begun."""
        begins, self.begins = self.begins, False
        return tuple((kind, "begun" if begins and kind == "action" else value) for kind, value in claims)

    def _take_detail(self, detail: Detail, at: int) -> int:
        """Take a detail that people write; return the number of its words."""
        words, reading, (kind, *_) = self.words, self.reading, detail.kinds
        if detail.length > 1 and kind == "degrees" and words[at + detail.length - 1] in reading.verbs:
            detail = detail._replace(length=detail.length - 1)  # the turn of "a quarter turn" is done
        after, before = at + detail.length, words[at - 1] if at else ""
        span = self.spans[at][0], self.spans[after - 1][1]
        if kind == "steps" and not self._steps_of_gait(before):
            # "Takes two steps" has no other verb.
            self._begin_segment("walk")
            self.stepping = self.actor, len(self.done) - 1
        if detail.value in ("both", ""):
            return detail.length
        # A circle is the path of a gait, and the direction of a turn.
        turned = detail.value.removesuffix("_circle")
        meanings = [_detail(own, turned if own == "direction" else detail.value) for own in detail.kinds]
        self.waiting.append((span, meanings))
        if kind == "steps":
            speeds = [own for word in words[at:after] if (own := reading.detail([word], 0)) and own.kinds[0] == "speed"]
            self.waiting += [(span, [_detail("speed", own.value)]) for own in speeds]
            if before in reading.clauses["back"]:
                self._go_back(span)
        names = after < len(words) and (words[after] in reading.verbs or reading.noun(words, after) is not None)
        if self.has_verb and not (names and before in reading.clauses["before_nouns"]):
            self._assign_details()
        return detail.length

    def _steps_of_gait(self, before: str) -> bool:
        """Return whether steps are those of the latest action: a walk, but not the turn before "and takes two steps"."""
        if before in self.reading.clauses["taking"] and self.done:
            walks = bool(self.lexicon.actions[self.done[-1]].get("path"))
            self.has_verb = walks and (self.has_verb or (before.endswith("ing") and self.link in ("", "list")))
        return self.has_verb

    def _go_back(self, span: tuple[int, int]) -> None:
        """Let the steps of an actor be backward, unless a turn is before them."""
        if "turn" not in self.done[-2:]:
            self.waiting.append((span, [_detail("backward", "backward")]))
            self._assign_details()

    def _take_word(self, at: int) -> bool:
        """Take a single word that motion does not show, or that means nothing by itself."""
        word, clauses = self.words[at], self.reading.clauses
        kind = _SHOWN.get(self.reading.kinds.get(word, ""))
        if kind is None:
            return False
        returns = at + 1 < len(self.words) and self.words[at + 1] in clauses["return"]
        before = self.words[at - 1] if at and word in clauses["back"] and not returns else ""
        walks = len(self.done) > 1 and self.lexicon.actions[self.done[-1]].get("path")
        if before in clauses["steps"]:
            self._go_back(self.spans[at])
        elif before in self.reading.verbs and walks and self.done[-2] != "turn":  # the motion does not lead back
            self._take_details([_detail("start", word)], self.spans[at])
        elif kind and at not in self.explained:
            self._take_details([_detail(kind, word)], self.spans[at])
        return True

    def _take_details(self, meanings: list[Meaning], span: tuple[int, int]) -> None:
        """Take a detail of the latest action, or of the next one if there is no verb yet."""
        self.waiting.append((span, meanings))
        if self.has_verb:
            self._assign_details()

    def _take(self, meanings: list[Meaning], span: tuple[int, int]) -> bool:
        """Take a phrase for the first thing that it can mean here; return whether there is one."""
        by_kind = {meaning.kind: meaning for meaning in reversed(meanings)}
        if self._take_both(by_kind):
            return True
        if verb := by_kind.get("verb"):
            self._begin_segment(verb.action, self._begun(verb.claims))
            taken = self.text[slice(*span)].split()[0].lower() in self.reading.clauses["taking"]
            if taken and "steps" in dict(verb.claims):
                self.stepping = self.actor, len(self.done) - 1
            if verb.number:
                self.single.add((self.actor, len(self.done) - 1))
            return True
        if "begins" in by_kind:
            self.begins = True
            return True
        if "continues" in by_kind:
            return self._repeat_segment()
        details = [meaning for meaning in meanings if meaning.kind == "detail"]
        if details:
            self._take_details(details, span)
            return True
        if "during" in by_kind:
            return self._state_during(by_kind["during"].action)
        if "subject" in by_kind and self.subject is None and self.actor == 0:
            self.subject = by_kind["subject"]
            return self._expect_verb(self._link_after_subordinate(self.link))
        if (person := by_kind.get("person")) and person.number <= max(self.several, 1):
            self.actor, self.several, self.both = person.number, max(self.several, person.number + 1), False
            if person.who and self.subject is not None:
                self.pair = self.subject.who, person.who
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
        if "pair" in by_kind and not self.statements:
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
            # A clause without a verb, but with another side or path, repeats the latest action.
            kinds, action = {meanings[0].claims[0][0] for _, meanings in self.waiting}, self.done[-1]
            if kinds & _MOVED and (kinds != {"side"} or self.lexicon.actions[action].get("side")):
                self._begin_segment(action)
        self.link, self.has_verb = link, False
        return True

    def _link_after_subordinate(self, link: str) -> str:
        """Return the link of the next verb: after "after walking" it is `then`."""
        if not self.subordinate or not self.done:
            return link
        self.subordinate = False
        return "then"

    def _begin_segment(self, action: str, claims: Claims = _DONE) -> None:
        number, before = len(self.done), self.current.get(self.actor)
        if self.done:
            self.earlier[self.actor, self.done[-1]] = number - 1
        self.done.append(action)
        if self.once and self.lexicon.actions[action].get("count") and "count" not in dict(claims):
            claims, self.once = (*claims, ("count", "1")), False
        for kind, value in claims:
            self._state(kind, number, value)
        if before is not None and self.link in _RELATIONS:
            self._state("order", number, f"{_RELATIONS[self.link]} {before}")
        if before is None or self.link != "while":
            self.current[self.actor] = number
        self.has_verb = True
        self._assign_details()
        self.link = ""

    def _state(self, kind: str, segment: int, value: str) -> None:
        if kind == "partner":
            value = str(1 - self.actor)  # only the first two actors interact
        self.claims.setdefault((self.actor, segment), []).append((kind, value))
        self.statements.append(make_statement(self.actor, kind, segment, self.done[segment], value))

    def _assign_details(self) -> None:
        """Assign the waiting details to the latest segment; one that no motion of its action shows is stated all the same."""
        actions = self.done
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
            filler = self.reading.kinds.get(self.text[slice(*span)].lower()) == "fillers"
            if filler and meaning.action not in (ANY, actions[-1]):
                continue  # "slightly" is the angle of a turn only
            for kind, value in meaning.claims:
                stepped = kind == "count" and actions[-1] in self.reading.stepped
                self._state_detail("steps" if stepped else kind, value)
        self.waiting.clear()

    def _state_detail(self, kind: str, value: str) -> None:
        """State a detail of the latest segment, together with what it has of that kind, or of a repetition of it."""
        action, number = self.done[-1], len(self.done) - 1
        claims = self.claims[self.actor, number]
        before = next((known for own, known in claims if own == kind), None)
        stated = dict(claims) | {kind: value}
        if stated.get("path", "").endswith("_circle") and int(stated.get("degrees", "360")) < _MOST_OF_AN_ARC:
            arc = "path", stated["path"].removesuffix("_circle")
            self._replace(action, ("path", stated["path"]), action, arc)
            value = arc[1] if kind == "path" else value
        if before is None or kind in _ANY_NUMBER:
            self._state(kind, number, value)
        elif before != value:
            joined = self.reading.joined.get((kind, frozenset((before, value))))
            if joined:
                claims[claims.index((kind, before))] = kind, joined
                self._replace(action, (kind, before), action, (kind, joined))
            elif kind in _MOVED:
                waiting, self.waiting, self.link = self.waiting, [], "then"
                self._begin_segment(action, (*_DONE, (kind, value)))
                self.waiting = waiting
            else:
                self._state("modifier", number, f"{kind} {value}")

    def _replace(self, action: str, claim: tuple[str, str] | None, new: str, made: tuple[str, str] | None) -> None:
        """Replace the action, and one claim if given, in the statements about the latest segment of the current actor."""
        number = len(self.done) - 1
        for i, each in enumerate(self.statements):
            own = str(each["kind"]), str(each["value"])
            if (each["actor"], each["segment"], each["action"]) == (self.actor, number, action) and claim in (None, own):
                self.statements[i] = make_statement(self.actor, (made or own)[0], number, new, (made or own)[1])

    def _change_action(self, value: str) -> bool:
        """Let a detail make the latest action another one; return whether it is that one, as in walking backward."""
        action = self.done[-1]
        name = "step" if self.stepping == (self.actor, len(self.done) - 1) else action
        changed = self.reading.changes.get(name, {}).get(value, action)
        if changed in self.lexicon.actions and changed != action:
            self._replace(action, None, changed, None)
            action = self.done[-1] = changed
        return any(each.get(value) == action for each in self.reading.changes.values())

    def _applies(self, meaning: Meaning, action: str) -> bool:
        """Return whether a detail can be stated of an action."""
        if meaning.action != ANY:
            return meaning.action == action
        words, (kind, value) = self.lexicon.actions[action], meaning.claims[0]
        if kind in ("count", "style"):
            return bool(words.get("count" if kind == "count" else "manner"))
        return kind in _LISTED and value in words.get(kind, {})

    def _repeat_segment(self) -> bool:
        """Repeat the current segment with all that was stated of it; a style is stated once."""
        number = self.current.get(self.actor)
        if number is None:
            return False
        claims = [claim for claim in self.claims[self.actor, number] if claim[0] not in ("order", "style")]
        self._begin_segment(self.done[number], tuple(claims))
        return True

    def _state_during(self, host: str) -> bool:
        """State that the latest segment happens during an earlier one, such as sitting."""
        number = self.earlier.get((self.actor, host))
        if number is not None:
            self._state("order", len(self.done) - 1, f"during {number}")
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


def _is_male(subject: Meaning) -> bool:
    return not subject.who.endswith(("woman", "girl"))


def _detail(kind: str, value: str) -> Meaning:
    """Return a detail of any action."""
    return Meaning("detail", ANY, ((kind, value),))
