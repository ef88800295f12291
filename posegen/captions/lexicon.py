"""Lexicon: all phrases that a language file can make, and what each of them may mean."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from posegen.captions.grammar import joint_verbs, pair_name, verb_forms
from posegen.captions.reading import reading_of
from posegen.captions.segments import SIDES
from posegen.foundations.errors import UsageError
from posegen.library.load import Library
from posegen.library.words import styled_words

ANY = "*"
"""Any action, as :attr:`Meaning.action` of a detail."""

WORD = re.compile(r"[\w'\u2019-]+|[^\w\s]")
"""Words, with their apostrophes and hyphens, and punctuation marks."""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_MOST_COUNTED = 99
LONGEST_TEXT = 10_000
"""Characters of a text that a command reads."""
_ACTION_DETAILS = {kind: kind for kind in ("side", "direction", "speed", "path", "degrees", "return")} | {"foot": "side"}
"""Keys of an action's details, and the kinds of their claims."""

_Phrases = Iterator[tuple[str, "Meaning"]]


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
    number : of a person among several, or the number of people; 1 for a verb of what is done once
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
        self.interactions = {name: library.interactions[name].parts for name in joint_verbs(library)}
        self.phrases: dict[tuple[str, ...], list[Meaning]] = {}
        self.reading = reading_of(str(words["language"]), tuple(map(str, words["numbers"])))
        possessives = dict.fromkeys([*words["their"].values(), *words.get("reading", {}).get("their", ())])
        for text, meaning in [*_phrases(words), *_joint_phrases(words, library)]:
            for possessive in possessives if "{their}" in text else [""]:
                meanings = self.phrases.setdefault(tuple(split_words(text.replace("{their}", possessive))), [])
                if meaning not in meanings:
                    meanings.append(meaning)
        self.phrases.pop((), None)
        lengths = defaultdict[str, set[int]](set)
        for phrase in self.phrases:
            lengths[phrase[0]].add(len(phrase))
        self._lengths = {word: sorted(own, reverse=True) for word, own in lengths.items()}
        self.vocabulary = frozenset(word for phrase in self.phrases for word in phrase)

    def longest(self, words: list[str], at: int) -> int:
        """Return the number of words of the longest phrase that begins at a word; 0 for none."""
        for length in self._lengths.get(words[at], ()):
            if at + length <= len(words) and tuple(words[at : at + length]) in self.phrases:
                return length
        return 0


def require_readable(text: str) -> None:
    """Raise UsageError if a text given to a command is longer than :data:`LONGEST_TEXT`."""
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"the text has {len(text):,} characters; at most {LONGEST_TEXT:,} are read: shorten it")


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks, in lower case."""
    return WORD.findall(text.lower())


def known_phrases(text: str, library: Library) -> Iterator[tuple[int, int, list[Meaning]]]:
    """Yield the start and end of the longest known phrase at each word of a text, or of the word, and what it may mean."""
    lexicon = lexicon_of(library)
    found = [(match.group().lower(), *match.span()) for match in WORD.finditer(text)]
    words = [word for word, _, _ in found]
    at = 0
    while at < len(words):
        length = lexicon.longest(words, at)
        end = at + max(length, 1)
        yield found[at][1], found[end - 1][2], lexicon.phrases[tuple(words[at:end])] if length else []
        at = end


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
def lexicon_of(library: Library) -> Lexicon:
    """Return the lexicon of a library's language."""
    return Lexicon(library)


def _phrases(words: Mapping[str, Any]) -> _Phrases:
    for name, action in words["actions"].items():
        yield from _action_phrases(words, name, action)
    for name, style in words["styles"].items():
        yield from ((phrase, Meaning("detail", ANY, (("style", name),))) for phrase in style["manner"])
        yield from _subject_phrases(style["subjects"], name)
    for styled in (words, *(styled_words(words, style) for style in words.get("caption_styles", ()))):
        yield from _subject_phrases(styled["subjects"])
        yield from _count_phrases(styled)
        yield from _joining_phrases(styled)
        yield from _people_phrases(styled)
        yield from _template_phrases(styled)
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
    yield from _verbs(words, [*action["verbs"], *action.get("stopped", ())], Meaning("verb", name, done))
    yield from _verbs(words, action.get("once", ()), Meaning("verb", name, done, number=1))
    yield from _verbs(words, action.get("finished", ()), Meaning("verb", name, ended))
    partners = [*words["several"]["partner"], *words["several"]["numbered"][:2]]
    together = [verb.replace("{partner}", partner) for verb in action.get("together", ()) for partner in partners]
    yield from _verbs(words, together, Meaning("verb", name, (*done, ("partner", ""))))
    for kind in ("speed", "side"):
        for value, verbs in action.get(f"{kind}_verbs", {}).items():
            yield from _verbs(words, verbs, Meaning("verb", name, (*done, (kind, value))))
    yield from ((phrase, Meaning("during", name)) for phrase in action.get("during", ()))
    sides = {side: [verb for verb in action.get("body", ()) if ("{side}" in verb) == bool(side)] for side in SIDES}
    for side, verbs in sides.items():
        claims = (*done, ("side", side)) if side else done
        yield from _verbs(words, (verb.replace("{side}", side) for verb in verbs), Meaning("verb", name, claims))
    for verb in action.get("step_verbs", ()):
        once, more = words["counts"]["steps"]
        steps = [("1", once), *((str(n), each) for n in range(2, _MOST_COUNTED + 1) for each in _numerals(words, n))]
        for number, text in steps:
            counted = verb.replace("{steps}", text if number == "1" else more.replace("{number}", text))
            yield from _verbs(words, [counted], Meaning("verb", name, (*done, ("steps", number))))
    for kind, claimed in _ACTION_DETAILS.items():
        for value, phrases in action.get(kind, {}).items():
            yield from ((phrase.removesuffix("~"), Meaning("detail", name, ((claimed, value),))) for phrase in phrases)


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
    yield from _verbs(words, (_PLACEHOLDER.sub("", text).strip() for text in joining.get("begins", ())), Meaning("begins"))
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
    for name, verbs in joint_verbs(library).items():
        yield from _verbs(words, verbs, Meaning("joint", name))
    yield from ((text, Meaning("pair")) for text in joint["pair"])
    kinds = tuple(joint["alike"])
    for one in kinds:
        yield from ((pair_name(words, one, other), Meaning("pair", who=one, other=other)) for other in kinds)
    for key, kind in (("short", "filler"), ("story", "both"), ("then", "both"), ("after", "then")):
        yield from ((piece.rstrip("., "), Meaning(kind)) for text in joint[key] for piece in _PLACEHOLDER.split(text))


def _template_phrases(words: Mapping[str, Any]) -> _Phrases:
    """Return words of the sentence templates, such as "is" and "finally"."""
    for template in (*words["short"], *words["full"], *words["segment"]):
        yield from ((piece, Meaning("filler")) for piece in _PLACEHOLDER.split(template))
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
    for who, texts in enumerate(extra.get("people", ())):
        yield from ((text, Meaning("person", number=who)) for text in texts)
    for count in range(3, len(words["numbers"])):
        groups = [text.replace("{number}", number) for text in extra.get("groups", ()) for number in _numerals(words, count)]
        yield from ((text, Meaning("people", number=count)) for text in groups)
    for kind, values in extra.get("details", {}).items():
        for value, texts in values.items():
            yield from ((text, Meaning("detail", ANY, ((kind, value),))) for text in texts)
