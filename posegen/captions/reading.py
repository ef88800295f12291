"""Reading: how people describe motion, beyond the phrases of captions; the file ``reading.yaml`` has the words.

Details of any action (side, path, direction, number, distance, speed, style) are found by patterns. A verb is found in
all its forms, and the words that follow in its clause decide which action it describes: "raises his left knee" is another one
than "raises his arms". Words that are not listed are compared with those that are, for typing errors.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein, Indel

from posegen.foundations.yaml_files import read_yaml

_STOPS = frozenset(".;!?,")
_FILE = Path(__file__).with_name("reading.yaml")
_SLOTS = {"$side": "(?P<side>left|right)", "$angle": r"(?P<angle>\d{1,3})"}
_NUMBER = r"(?P<number>\d{1,3}|NAMED)"
_SHORTEST_CORRECTED, _LONG = 5, 9
"""Letters of a word that is corrected, and of one in which two letters may be wrong; the first letter is right."""

Claims = tuple[tuple[str, str], ...]
"""Kinds and values."""


class Detail(NamedTuple):
    """A detail of an action: the number of its words, the kinds of claim that it may be, in order, and the value."""

    length: int
    kinds: tuple[str, ...]
    value: str


class Verb(NamedTuple):
    """What a verb describes: the action, what is claimed of it, and the places of the words that decided."""

    action: str
    claims: Claims
    places: frozenset[int]


class Reading:
    """The patterns and verbs of a reading file, compiled once.

    Attributes
    ----------
    kinds : of each word that has no meaning for motion: fillers, modifiers, things, parts
    implied : the action of a text without a verb, by the kind of a detail
    clauses : words that structure a sentence, by what they do
    conditions : words that deny what follows
    stepped : actions whose repetitions are steps
    undone : actions after which a limb is what is put down
    changes : for an action, the one that the value of a detail makes of it
    joined : for a kind, the value that two values mean together
    """

    def __init__(self, content: Mapping[str, Any], numbers: Sequence[str]) -> None:
        content = defaultdict(dict, content)
        sets = defaultdict[str, list[str]](list, content["sets"])
        self._sets = {f"${name}": "|".join(map(re.escape, map(str, words))) for name, words in sets.items()}
        named = "|".join(map(re.escape, numbers[1:]))
        self._slots = {**_SLOTS, "$number": _NUMBER.replace("NAMED", named)}
        self._numbers = {name: str(number) for number, name in enumerate(numbers)}
        self.kinds: dict[str, str] = {}
        spoken = {"fillers": sets["their"] + sets["someone"], "modifiers": sets["size"] + sets["few"]}
        for kind, words in [*content["words"].items(), *spoken.items()]:
            for word in words:
                self.kinds.setdefault(str(word), kind)
        self.implied: Mapping[str, str] = content["implied"]
        self.clauses = defaultdict(frozenset, {name: frozenset(words) for name, words in content["clauses"].items()})
        self.conditions, self.undone = frozenset(content["conditions"]), frozenset(content["undone"])
        self.stepped = frozenset(content["stepped"])
        self._units: Mapping[str, float] = content["units"]
        self.changes: Mapping[str, Mapping[str, str]] = content["changes"]
        self.joined = {
            (kind, frozenset(pair.split())): value for kind, pairs in content["joined"].items() for pair, value in pairs.items()
        }
        self._passive = {
            form: action for verbs, action in content["passive"].items() for verb in verbs.split() for form in _forms(verb, ())
        }
        self._details: dict[str, list[tuple[re.Pattern[str], tuple[str, ...], str]]] = defaultdict(list)
        for kinds, values in content["details"].items():
            for value, patterns in values.items():
                for pattern in patterns:
                    entry = re.compile(self._expression(pattern)), tuple(kinds.split()), str(value)
                    for word in self._first_words(pattern):
                        self._details[word].append(entry)
        irregular = {entry.split()[0]: tuple(entry.split()) for entry in content["irregular"]}
        self.verbs: dict[str, tuple[list[tuple[re.Pattern[str], str]], str]] = {}
        for verbs, rule in content["verbs"].items():
            rules = {"else": rule} if isinstance(rule, str) else rule
            compiled = [
                (re.compile(rf"(?<!\S)(?:{'|'.join(map(self._expression, words))})".replace("(?P<side>", "(?:")), action)
                for action, words in rules.items()
                if action != "else"
            ]
            for verb in verbs.split():
                for form in _forms(verb, irregular.get(verb, ())):
                    self.verbs.setdefault(form, (compiled, rules.get("else", "")))
        self.nouns = {tuple(str(noun).split()): name for name, nouns in content["nouns"].items() for noun in nouns}
        self._longest_noun = max(map(len, self.nouns), default=0)
        known = {*self.verbs, *self.kinds, *self._details, *self.conditions}
        known |= {word for words in sets.values() for word in map(str, words)}
        patterns = [pattern for values in content["details"].values() for several in values.values() for pattern in several]
        known |= {word for pattern in patterns for word in re.findall(r"(?<![\w$])[a-z][\w'-]+", pattern)}
        known |= {word for noun in self.nouns for word in noun}
        self.vocabulary = frozenset(known)
        # Of words that are equally near, that which is listed first is meant: common verbs are.
        words = dict.fromkeys([*self.verbs, *sorted(known)])
        self._candidates = [word for word in words if len(word) >= _SHORTEST_CORRECTED - 1]
        self.corrected = cache(self._corrected)

    def detail(self, words: Sequence[str], at: int) -> Detail | None:
        """Return the longest detail that begins at a word, or None."""
        entries = self._details.get(words[at], []) + (self._details[""] if words[at][0].isdigit() else [])
        if not entries:
            return None
        text = " ".join(words[at : at + 12]) + " "
        best: tuple[int, re.Match[str], tuple[str, ...], str] | None = None
        for pattern, kinds, value in entries:
            match = pattern.match(text)
            if match and (best is None or match.end() > best[0]):
                best = match.end(), match, kinds, value
        if best is None:
            return None
        end, match, kinds, value = best
        if value.startswith("$"):
            value = match.groupdict().get(value[1:]) or "1"  # "a step" has no number
            value = self._numbers.get(value, value)
        if kinds == ("distance",) and (unit := self._units.get(text[:end].split()[-1])) and value.isdigit():
            value = f"{unit * int(value):g}"
        return Detail(text[:end].count(" "), kinds, value)

    def detail_before_noun(self, words: Sequence[str], at: int) -> Detail | None:
        """Return the longest detail that takes no word of a noun: "right arm circles" are arm circles with the right arm."""
        found = self.detail(words, at)
        for i in range(1, found.length if found else 0):
            noun = self.noun(words, at + i)
            if found and noun and i + noun[1] > found.length:
                return self.detail(words[: at + i], at)
        return found

    def noun(self, words: Sequence[str], at: int) -> tuple[str, int] | None:
        """Return the action that a noun names, and the number of its words; None where no noun begins at a word."""
        for length in range(min(self._longest_noun, len(words) - at), 0, -1):
            if action := self.nouns.get(tuple(words[at : at + length])):
                return action, length
        return None

    def passive(self, words: Sequence[str], at: int) -> str | None:
        """Return what a body shows of what others do to it, as in "is pushed"; None where a verb is not passive."""
        passive = at and words[at - 1] in self.clauses["passive"] and words[at].endswith(("d", "t", "k", "n"))
        return self._passive.get(words[at]) if passive else None

    def is_thing(self, words: Sequence[str], at: int) -> bool:
        """Return whether a word that could be a verb names a thing, as in "a heavy box"."""
        before = words[at - 1] if at else ""
        return words[at] in self.kinds and (before in self.clauses["before_nouns"] or self.kinds.get(before) == "modifiers")

    def is_joined(self, words: Sequence[str], at: int) -> bool:
        """Return whether a word follows a mark or what joins clauses, or is the first one."""
        before = words[at - 1] if at else "."
        return not before[0].isalnum() or before in self.clauses["joins"] or before in self.clauses["links"]

    def is_one(self, words: Sequence[str], at: int) -> bool:
        """Return whether a word names one of what is done, as in "a quick jump"."""
        adjective = at > 1 and (words[at - 1] in ("left", "right") or self.kinds.get(words[at - 1]) == "modifiers")
        before = words[at - 1 - adjective] if at else ""
        return before in self.clauses["one"] and not words[at].endswith(("s", "ing"))

    def counts(self, words: Sequence[str], at: int) -> bool:
        """Return whether a number is that of what is done, as in "two quick jumps"."""
        for i in range(at + 1, min(at + 4, len(words))):
            if words[i] in self.verbs or self.noun(words, i):
                return True
            if words[i] not in self.kinds:
                break
        return False

    def end_of_clause(self, words: Sequence[str], at: int) -> int:
        """Return where the clause of a verb ends: before the next verb, or what joins it."""
        for i in range(at + 1, len(words)):
            word, before = words[i], words[i - 1]
            if word in _STOPS or word in self.clauses["links"]:
                return i
            joined = before in self.clauses["joins"]
            noun = before in self.clauses["before_nouns"] or self.kinds.get(before) == "modifiers"
            if word in self.verbs and (word not in self.kinds or joined) and not noun:
                return i - 1 if joined and i - 1 > at else i
        return len(words)

    def verb(self, words: Sequence[str], at: int, end: int) -> Verb | None:
        """Return what the verb at a word describes, by the words up to `end`; None where it describes nothing by itself."""
        rules, usual = self.verbs[words[at]]
        text, best = " ".join(words[at + 1 : end]) + " ", None
        for pattern, action in rules:
            match = pattern.search(text)
            if match and (best is None or (match.start(), -match.end()) < (best[0].start(), -best[0].end())):
                best = match, action
        if best is None:
            return Verb(usual, (("action", ""),), frozenset()) if usual else None
        match, action = best
        first = at + 1 + text[: match.start()].count(" ")
        places = frozenset(range(first, first + match.group().count(" ")))
        name, _, state = action.partition(".")
        return Verb(name, (("action", state),), places)

    def number(self, word: str) -> str:
        """Return a number in digits; empty for a word that is none."""
        return word if word.isdigit() else self._numbers.get(word, "")

    def _corrected(self, word: str) -> str:
        """Return the known word that a word with a typing error means; the word itself if none is near."""
        if len(word) < _SHORTEST_CORRECTED or not word.isalpha():
            return word
        most = 2 if len(word) >= _LONG else 1
        # A letter is missing, doubled, added or exchanged with the next one; another letter in its place makes another word.
        near = [known for known in self._candidates if known[0] == word[0]]
        found = process.extract(word, near, scorer=DamerauLevenshtein.distance, score_cutoff=most, limit=5)
        slips = (known for known, _, _ in found if Indel.distance(word, known) <= most or sorted(known) == sorted(word))
        return next(slips, word)

    def _expression(self, pattern: str) -> str:
        """Return the regular expression of a pattern, for text whose words each end in one blank."""
        made = ""
        for item in pattern.split():
            optional = item.startswith("(") and item.endswith(")")
            options = [self._option(option) for option in (item[1:-1] if optional else item).split("|")]
            made += f"(?:(?:{'|'.join(options)}) ){'?' if optional else ''}"
        # A slot has one name in an expression; the first is that of the value.
        for slot in ("side", "angle", "number"):
            first, *others = made.split(f"(?P<{slot}>")
            made = first + "".join((f"(?P<{slot}>" if n == 0 else "(?:") + rest for n, rest in enumerate(others))
        return made

    def _option(self, option: str) -> str:
        name, hyphen, rest = option.partition("-") if option.startswith("$") else (option, "", "")
        return (self._slots.get(name) or self._sets.get(name) or re.escape(name)) + hyphen + rest

    def _first_words(self, pattern: str) -> set[str]:
        """Return the words with which a pattern may begin; the empty one stands for all numbers."""
        found: set[str] = set()
        for item in pattern.split():
            optional = item.startswith("(")
            for option in item.strip("()").split("|"):
                if option.startswith("$side"):
                    found |= {option.replace("$side", side) for side in ("left", "right")}
                elif option == "$angle":
                    found.add("")
                elif option == "$number":
                    found |= {"", *self._numbers}
                elif option.startswith("$"):
                    found |= set(self._sets[option].replace("\\", "").split("|"))
                else:
                    found.add(option)
            if not optional:
                break
        return found


@lru_cache(maxsize=8)
def reading_of(language: str, numbers: tuple[str, ...]) -> Reading:
    """Return how people write a language; one without words for a language that posegen has no reading file of."""
    return Reading(read_yaml(_FILE) if language == "en" else {}, numbers)


def _forms(verb: str, irregular: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forms of an English verb.

    Examples
    --------
    >>> _forms("carry", ()), _forms("hop", ())
    (('carry', 'carries', 'carrying', 'carried'), ('hop', 'hops', 'hopping', 'hopped'))
    """
    if irregular:
        return irregular
    stem = verb + verb[-1] if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]", verb) else verb
    third = verb + ("es" if re.search(r"(s|x|z|ch|sh|o)$", verb) else "s")
    past = f"{verb}d" if verb.endswith("e") else f"{stem}ed"
    if re.search(r"[^aeiou]y$", verb):
        third, past = f"{verb[:-1]}ies", f"{verb[:-1]}ied"
    gerund = f"{verb[:-1]}ing" if re.search(r"[^eo]e$", verb) else f"{stem}ing"
    return verb, third, gerund, past
