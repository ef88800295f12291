"""Classes of the words of captions, as HumanML3D's texts have them: ``walk/VERB in/ADP a/DET curve/NOUN``.

Captions are made of known words: most forms of verbs come from the library's words, function words, adjectives and adverbs from
``word_classes.yaml``, and all others are nouns. A form of a verb that follows an article, a possessive, a number or an
adjective is a noun ("takes a walk"); forms in -ing and -ed are always verbs ("a walking person", "to the left, followed by").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from posegen.foundations.yaml_files import read_yaml
from posegen.library.load import Library

_DATA: dict[str, Any] = read_yaml(Path(__file__).with_name("word_classes.yaml"))
_LEMMAS: dict[str, str] = _DATA["lemmas"]
_VERBS: dict[str, str] = _DATA["verbs"]
_CLASSES = {word: name for name, words in _DATA.items() if isinstance(words, str) for word in words.split()}
_FORMS = re.compile(r"[a-z'-]+(?:\|[a-z'-]+)+")
_WORDS = re.compile(r"[a-z]+")
_BEFORE_NOUNS = ("DET", "NUM", "ADJ")
_POSSESSIVE = frozenset(("her", "his", "its", "their"))


@dataclass(frozen=True)
class Tagger:
    """Classes of words, given the verbs of a library.

    Attributes
    ----------
    verbs : mapping of str to str
        The base form of each form of a verb.

    Examples
    --------
    >>> tagger = Tagger({"walks": "walk", "walk": "walk", "takes": "take", "sitting": "sit"})
    >>> tagger.tagged("A man walks to the left, then takes a walk.")
    'a/DET man/NOUN walk/VERB to/ADP the/DET left/ADJ then/ADV take/VERB a/DET walk/NOUN'
    """

    verbs: Mapping[str, str]
    _known: dict[tuple[str, bool], tuple[str, bool]] = field(default_factory=dict, repr=False, compare=False)

    def tagged(self, text: str) -> str:
        """Return the words of a text with their classes; nouns and verbs in their base form."""
        words = _WORDS.findall(text.lower().replace("-", ""))
        found, as_noun = [], False
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word == "to":
                is_particle = following in self.verbs and following not in _CLASSES
                token, as_noun = "to/PART" if is_particle else "to/ADP", False
            else:
                key = (word, as_noun)
                if key not in self._known:
                    self._known[key] = self._classify(word, as_noun)
                token, as_noun = self._known[key]
            found.append(token)
        return " ".join(found)

    def _classify(self, word: str, as_noun: bool) -> tuple[str, bool]:
        """Return a word with its class, and whether a form of a verb behind it is a noun; `as_noun` is so for this word."""
        if word in self.verbs and word not in _CLASSES and (word.endswith(("ing", "ed")) or not as_noun):
            name, base = "VERB", self.verbs[word]
        elif word in _CLASSES:
            name, base = _CLASSES[word], word
        else:
            name, base = "NOUN", _singular(word)
        return f"{base}/{name}", name in _BEFORE_NOUNS or word in _POSSESSIVE


@lru_cache(maxsize=4)
def library_tagger(library: Library) -> Tagger:
    """Return the tagger of the captions of a library."""
    verbs = [forms.replace("-", "").split("|") for forms in verb_forms(library.words)]
    return Tagger(_VERBS | {form: verb[-1] for verb in verbs for form in verb})


def verb_forms(words: Any) -> Iterator[str]:
    """Yield each verb of a library's words in its forms, such as ``walks|walking|walked|walk``."""
    if isinstance(words, str):
        yield from _FORMS.findall(words)
    elif isinstance(words, Mapping | list):
        for value in words.values() if isinstance(words, Mapping) else words:
            yield from verb_forms(value)


def _singular(noun: str) -> str:
    if noun in _LEMMAS:
        return _LEMMAS[noun]
    if len(noun) < 4 or not noun.endswith("s") or noun.endswith(("ss", "is", "us")):
        return noun
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("shes", "ches", "xes", "sses")) else noun[:-1]
