"""Frames: sentences in which verbs are still missing, compiled from the templates of a language file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Frame", "Joiner", "frame_of", "joiner_of", "sentence", "verb_forms"]


class Frame(NamedTuple):
    """A template: `head`, what is done, `tail`.

    Where `second` is a form, `head` is followed by the first thing done alone, in the form `first`, then `middle`, then all
    else. Forms are numbers among the language's.
    """

    head: str
    first: int
    middle: str
    second: int
    tail: str


class Joiner(NamedTuple):
    """What joins two things done; `form` is the form that the second takes, -1 for that of the sentence."""

    text: str
    form: int


def _placeholder(forms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\{{({'|'.join(forms)})\}}")


def frame_of(template: str, forms: tuple[str, ...]) -> Frame:
    """Compile a template, such as ``{subject}, after {doing}, {does}``; the subject remains to be put in."""
    pieces = _placeholder(forms).split(template)
    if len(pieces) == 3:
        return Frame(pieces[0], forms.index(pieces[1]), "", -1, pieces[2])
    head, first, middle, second, tail = pieces
    return Frame(head, forms.index(first), middle, forms.index(second), tail)


def joiner_of(text: str, forms: tuple[str, ...]) -> Joiner:
    """Compile what joins two things done, such as `` and then `` or `` before {doing}``."""
    pieces = _placeholder(forms).split(text)
    return Joiner(text, -1) if len(pieces) == 1 else Joiner(pieces[0], forms.index(pieces[1]))


def sentence(template: str) -> str:
    """Write the first letter of a template large, and leave one place where two would be."""
    text = " ".join(template.split())
    return text[:1].upper() + text[1:]


def verb_forms(pattern: str, forms: Sequence[str]) -> tuple[str, ...]:
    """Give the forms of a verb.

    Examples
    --------
    >>> verb_forms("picks|picking something up", ("does", "doing"))
    ('picks something up', 'picking something up')
    """
    words = [word.split("|") for word in pattern.split(" ")]
    return tuple(" ".join([word[i] if len(word) > 1 else word[0] for word in words]) for i in range(len(forms)))
