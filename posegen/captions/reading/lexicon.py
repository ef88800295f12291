"""The lexicon: all phrases that a language file can make, and what each of them means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from posegen.captions.frames import verb_forms
from posegen.captions.pairs import meetings_of, pair_named
from posegen.library import Library
from posegen.library.keeping import once_for_each_library

__all__ = ["PIECES", "Lexicon", "Mark", "lexicon_of", "words_of"]

ANY = "*"
"""Stands for every action, in what a detail means."""

PIECES = re.compile(r"[\w'\u2019-]+|[^\w\s]")
"""Words, with their apostrophes and hyphens, and marks of punctuation."""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_MOST_COUNTED = 99


class Mark(NamedTuple):
    """One thing that a phrase may mean.

    Attributes
    ----------
    sort : verb, detail, then, while, list, after, subject, again, person, people, pair, both, joint, during, goes_on, place
        or filler
    action : of a verb; the seat's, of `during`; ANY or the one that it is told of, of a detail; the interaction, of `joint`
    claims : (kind, value) pairs
    who, style : of a subject; `who` is empty where it may be anybody
    other : who the other one of a pair is
    number : of a person among several, or how many people there are
    """

    sort: str
    action: str = ""
    claims: tuple[tuple[str, str], ...] = ()
    who: str = ""
    style: str = ""
    number: int = 0
    other: str = ""


@dataclass(frozen=True)
class Lexicon:
    """Phrases, as tuples of words, with what they may mean; for each first word, the lengths of the phrases that begin with it.

    `actions` has the words of each action, `meetings` what each of the two does in what is told of both.
    """

    actions: Mapping[str, Any]
    meetings: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    phrases: dict[tuple[str, ...], list[Mark]] = field(default_factory=dict)
    lengths: dict[str, list[int]] = field(default_factory=dict)

    def add(self, text: str, mark: Mark) -> None:
        """Add a phrase; one that is empty means nothing."""
        words = tuple(words_of(text))
        if not words:
            return
        marks = self.phrases.setdefault(words, [])
        if mark not in marks:
            marks.append(mark)
        lengths = self.lengths.setdefault(words[0], [])
        if len(words) not in lengths:
            lengths.append(len(words))
            lengths.sort(reverse=True)

    def longest(self, words: list[str], at: int) -> int:
        """Give the number of words of the longest phrase that begins at a word; 0 where none does."""
        for length in self.lengths.get(words[at], ()):
            if at + length <= len(words) and tuple(words[at : at + length]) in self.phrases:
                return length
        return 0


def words_of(text: str) -> list[str]:
    """Split a text into words and marks of punctuation, in small letters."""
    return PIECES.findall(text.lower())


@once_for_each_library
def lexicon_of(library: Library) -> Lexicon:
    """Give the lexicon of a library's language."""
    words = library.words
    lexicon = Lexicon(words["actions"], {meeting.name: meeting.actions for meeting in meetings_of(library)})
    for text, mark in [*_all(words), *_joint(words, library)]:
        for version in _versions(text, words):
            lexicon.add(version, mark)
    return lexicon


def _versions(text: str, words: Mapping[str, Any]) -> list[str]:
    if "{their}" not in text:
        return [text]
    possessives = dict.fromkeys([*words["their"].values(), *words.get("reading", {}).get("their", ())])
    return [text.replace("{their}", possessive) for possessive in possessives]


def _all(words: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    for name, action in words["actions"].items():
        yield from _action(words, name, action)
    for name, style in words["styles"].items():
        yield from ((phrase, Mark("detail", ANY, (("style", name),))) for phrase in style["manner"])
        for who, subjects in style["subjects"].items():
            yield from ((text, Mark("subject", who=_kind(who), style=name)) for text in subjects)
    for who, subjects in words["subjects"].items():
        yield from ((text, Mark("subject", who=_kind(who))) for text in subjects)
    yield from _counts(words)
    yield from _joining(words)
    yield from _several(words)
    yield from _templates(words)
    for theme, places in words["places"].items():
        yield from ((place, Mark("place", theme)) for place in places)
    yield from _only_read(words, words.get("reading", {}))


def _kind(who: str) -> str:
    return "" if who == "person" else who


def _action(words: Mapping[str, Any], name: str, action: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    done, ended = (("action", ""),), (("action", "finished"),)
    yield from _verbs(words, [*action["verbs"], *action.get("once", ())], Mark("verb", name, done))
    yield from _verbs(words, action.get("finished", ()), Mark("verb", name, ended))
    partners = [*words["several"]["partner"], *words["several"]["numbered"][:2]]
    together = [verb.replace("{partner}", partner) for verb in action.get("together", ()) for partner in partners]
    yield from _verbs(words, together, Mark("verb", name, (*done, ("partner", ""))))
    for speed, verbs in action.get("speed_verbs", {}).items():
        yield from _verbs(words, verbs, Mark("verb", name, (*done, ("speed", speed))))
    yield from ((phrase, Mark("during", name)) for phrase in action.get("during", ()))
    for kind in ("side", "direction", "speed", "path"):
        for value, phrases in action.get(kind, {}).items():
            yield from ((phrase.removesuffix("~"), Mark("detail", name, ((kind, value),))) for phrase in phrases)


def _verbs(words: Mapping[str, Any], verbs: Iterable[str], mark: Mark) -> Iterator[tuple[str, Mark]]:
    for verb in verbs:
        yield from ((form, mark) for form in verb_forms(verb, words["forms"]))


def _counts(words: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    counts = words["counts"]
    for times in range(1, _MOST_COUNTED + 1):
        named = [phrase.replace("{number}", number) for number in _numerals(words, times) for phrase in counts["more"]]
        named += {1: counts["once"], 2: counts["twice"]}.get(times, [])
        yield from ((phrase, Mark("detail", ANY, (("count", str(times)),))) for phrase in named)


def _numerals(words: Mapping[str, Any], number: int) -> list[str]:
    return [str(number), *(str(name) for name in words["numbers"][number : number + 1])]


def _joining(words: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    joining = words["joining"]
    for key, sort in (("then", "then"), ("while", "while"), ("meanwhile", "filler")):
        yield from ((_PLACEHOLDER.sub("", text), Mark(sort)) for text in joining[key])
    yield from ((joining[key], Mark("list")) for key in ("and", "comma"))
    yield from _verbs(words, joining["goes_on"], Mark("goes_on"))
    yield from _verbs(words, joining["nothing"], Mark("filler"))


def _several(words: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    several = words["several"]
    for key, number in (("one", 0), ("other", 1)):
        yield from ((text, Mark("person", number=number)) for text in several[key])
    yield from ((text, Mark("person", number=number)) for number, text in enumerate(several["numbered"]))
    for count, number in enumerate(words["numbers"][2:], 2):
        texts = [several["intro"], *(text.replace("{place}", "") for text in words["narrative"]["people"])]
        yield from ((text.replace("{number}", str(number)).rstrip(" .:"), Mark("people", number=count)) for text in texts)


def _joint(words: Mapping[str, Any], library: Library) -> Iterator[tuple[str, Mark]]:
    """What is told of two who meet as of both."""
    joint = words["several"].get("joint")
    if not joint:
        return
    for meeting in meetings_of(library):
        yield from _verbs(words, meeting.verbs, Mark("joint", meeting.name))
    yield from ((text, Mark("pair")) for text in joint["pair"])
    kinds = tuple(joint["alike"])
    for one in kinds:
        yield from ((pair_named(words, one, other), Mark("pair", who=one, other=other)) for other in kinds)
    for key, sort in (("short", "filler"), ("story", "both"), ("then", "both"), ("after", "then")):
        yield from ((piece.rstrip("., "), Mark(sort)) for text in joint[key] for piece in _PLACEHOLDER.split(text))


def _templates(words: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    """Words of the sentences themselves, such as "can be seen", "after" and "finally"."""
    for template in (*words["short"], *words["full"], *words["segment"]):
        pieces = _PLACEHOLDER.split(template)
        verbs = [i for i, name in enumerate(_PLACEHOLDER.findall(template)) if name != "{subject}"]
        # Before the first of two verbs stands what makes it come before the second.
        yield from ((piece, Mark("after" if len(verbs) > 1 and i == verbs[0] else "filler")) for i, piece in enumerate(pieces))
    for tense in words["narrative"]["tenses"]:
        for key in ("open", "placeless"):
            yield from ((piece, Mark("filler")) for text in tense[key] for piece in _PLACEHOLDER.split(text))
        for key in ("next", "last"):
            yield from ((piece, Mark("then")) for text in tense[key] for piece in _PLACEHOLDER.split(text))
        for who, texts in tense["again"].items():
            yield from ((piece, Mark("again", who=_kind(who))) for text in texts for piece in _PLACEHOLDER.split(text))


def _only_read(words: Mapping[str, Any], reading: Mapping[str, Any]) -> Iterator[tuple[str, Mark]]:
    for key in ("then", "while", "after", "filler"):
        yield from ((text, Mark(key)) for text in reading.get(key, ()))
    for who, texts in reading.get("subjects", {}).items():
        yield from ((text, Mark("subject", who=_kind(who))) for text in texts)
    for name, verbs in reading.get("actions", {}).items():
        yield from _verbs(words, verbs, Mark("verb", name, (("action", ""),)))
    for name, verbs in reading.get("counted", {}).items():
        for times in range(1, _MOST_COUNTED + 1):
            claims = (("action", ""), ("count", str(times)))
            for number in _numerals(words, times):
                yield from _verbs(words, [verb.replace("{number}", number) for verb in verbs], Mark("verb", name, claims))
    for theme, texts in reading.get("places", {}).items():
        yield from ((text, Mark("place", theme)) for text in texts)
    for kind, values in reading.get("details", {}).items():
        for value, texts in values.items():
            yield from ((text, Mark("detail", ANY, ((kind, value),))) for text in texts)
