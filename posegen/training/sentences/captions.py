"""Captions as words: what recipes keep of them, and which of them a clip is shown with.

Texts are kept as their letters (UTF-8, zeros behind them), so that one cache serves every encoder; beside each caption lie what
differs from it in one statement, and the actions that it tells of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.dataset.layout import ROWS
from posegen.library import load_library
from posegen.randomness import integers
from posegen.training.clips.drawing import CAPTION, draws_of
from posegen.training.clips.recipes import Recipe, View
from posegen.training.sentences.alternatives import CHANGED, Alternative, alternatives_of

__all__ = ["CAPTIONS", "CHANGES", "FAMILIES", "HARD", "LENGTH", "SENTENCE", "TOLD", "Showing", "family_names", "texts_of"]

Array = NDArray[Any]

CAPTIONS = 3
"""Captions of a clip: as many as posegen writes."""
HARD = 2
"""Hard negatives that are kept of each."""
LETTERS = 384
"""Letters of a caption that are kept; the longest of the default config has 312."""

_FAMILIES = 16
_ACTIONS = 16
_NUMBERS = 1 << 30
_OTHER = "other"


def texts_of(letters: Array) -> list[str]:
    r"""Read texts: those of uint8 [text, letter].

    Examples
    --------
    >>> texts_of(np.frombuffer(b"a jump\0\0\0\0", np.uint8)[None])
    ['a jump']
    """
    # What was cut may have been cut within a letter.
    return [bytes(row).rstrip(b"\0").decode("utf-8", "ignore") for row in np.ascontiguousarray(letters)]


@lru_cache(1)
def family_names() -> tuple[str, ...]:
    """Name the families of actions, and ``other`` for actions that posegen itself does not have."""
    return (*sorted(load_library().families), _OTHER)


@lru_cache(1)
def _family_of() -> dict[str, int]:
    names = family_names()
    return {action: names.index(family) for family, actions in load_library().families.items() for action in actions}


def _letters(fields: Mapping[str, Array], view: View) -> Array:
    del view
    found = np.zeros((len(fields[ROWS]), CAPTIONS, 1 + HARD, LETTERS), np.uint8)
    for clip, row in enumerate(fields[ROWS]):
        for number, caption in enumerate(row["captions"][:CAPTIONS]):
            others = _others(caption, row)
            for place, text in enumerate((caption["text"], *(other.text for other in others))):
                letters = np.frombuffer(text.encode("utf-8")[:LETTERS], np.uint8)
                found[clip, number, place, : len(letters)] = letters
    return found


def _others(caption: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Alternative, ...]:
    said = tuple((told["kind"], told["action"], told["value"]) for told in caption["statements"])
    return alternatives_of(caption["text"], said, _done(row), HARD)


def _done(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(segment["action"] for actor in row["actors"] for segment in actor["segments"])


def _changes(fields: Mapping[str, Array], view: View) -> Array:
    del view
    found = np.full((len(fields[ROWS]), CAPTIONS, HARD), -1, np.int8)
    for clip, row in enumerate(fields[ROWS]):
        for number, caption in enumerate(row["captions"][:CAPTIONS]):
            for place, other in enumerate(_others(caption, row)):
                found[clip, number, place] = CHANGED.index(other.kind)
    return found


def _told(fields: Mapping[str, Array], view: View) -> Array:
    """Number the actions of the scene, then those that each caption tells of; 0 behind them."""
    del view
    found = np.zeros((len(fields[ROWS]), 1 + CAPTIONS, _ACTIONS), np.int32)
    for clip, row in enumerate(fields[ROWS]):
        captions = [_actions(caption) for caption in row["captions"][:CAPTIONS]]
        for place, actions in enumerate((set(_done(row)), *captions)):
            numbers = sorted(_number(action) for action in actions)[:_ACTIONS]
            found[clip, place, : len(numbers)] = numbers
    return found


def _actions(caption: Mapping[str, Any]) -> set[str]:
    return {statement["action"] for statement in caption["statements"] if statement["kind"] == "action"}


def _number(word: str) -> int:
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % _NUMBERS


def _families(fields: Mapping[str, Array], view: View) -> Array:
    del view
    of, found = _family_of(), np.zeros((len(fields[ROWS]), CAPTIONS, _FAMILIES), np.uint8)
    other = family_names().index(_OTHER)
    for clip, row in enumerate(fields[ROWS]):
        for number, caption in enumerate(row["captions"][:CAPTIONS]):
            found[clip, number, [of.get(action, other) for action in _actions(caption)]] = 1
    return found


def _length(fields: Mapping[str, Array], view: View) -> Array:
    return np.array([-(-row["length"] // view.stride) for row in fields[ROWS]], np.int32)


LENGTH = Recipe("length", 2, (ROWS,), "int32", (), _length)
"""How many frames of a clip a model would see, told without looking at them."""

SENTENCE = Recipe("sentence", 1, (ROWS,), "uint8", (CAPTIONS, 1 + HARD, LETTERS), _letters)
"""Each caption, and behind it what differs from it in one statement."""

CHANGES = Recipe("changes", 1, (ROWS,), "int8", (CAPTIONS, HARD), _changes)
"""Which kind of statement that is, of :data:`posegen.training.sentences.alternatives.CHANGED`; -1 where there is none."""

TOLD = Recipe("told", 1, (ROWS,), "int32", (1 + CAPTIONS, _ACTIONS), _told)
"""The actions of the scene, and those that each caption tells of, as numbers that stand for them."""

FAMILIES = Recipe("families", 1, (ROWS,), "uint8", (CAPTIONS, _FAMILIES), _families)
"""Whether each caption tells of an action of each of :func:`family_names`."""


@dataclass(frozen=True)
class Showing:
    """Which captions a clip is shown with in training: a function of the seed, the batch, the sample and the variant.

    Attributes
    ----------
    pairs : int or None
        Pairs of captions of a clip that are shown at most; None: all.
    hard : int
        Captions that are shown behind each one of a pair, and differ from it in one statement.
    """

    pairs: int | None
    hard: int

    def __call__(self, clips: Mapping[str, Array], seed: int, number: int) -> dict[str, Array]:
        """Draw two captions of each clip, one as it is if there are no two, or one where families are learned.

        Returns
        -------
        dict of str to ndarray
            Of a pair ``sentence`` and ``other`` [clip, 1 + hard, letter], each with what differs from it behind it; the actions
            of the ``scene``, those ``asked`` of by the one and ``claimed`` by the other. Else ``sentence`` [clip, letter] and
            its ``families`` [clip, family].
        """
        every, rows = clips["sentence"], np.arange(len(clips["sentence"]))
        draws = draws_of(clips["sample"], clips["variant"], seed, number, CAPTION, 4)
        first, second = _drawn_pairs(every[:, :, 0].any(axis=-1).sum(axis=1), draws, self.pairs)
        if "families" in clips:
            return {**clips, "sentence": every[rows, first, 0], "families": clips["families"][rows, first]}
        found = {name: values for name, values in clips.items() if name not in ("sentence", "told")}
        found |= {
            "sentence": self._behind(every[rows, first], draws[:, 2]),
            "other": self._behind(every[rows, second], draws[:, 3]),
        }
        told = clips["told"]
        return found | {"scene": told[:, 0], "asked": told[rows, 1 + first], "claimed": told[rows, 1 + second]}

    def _behind(self, texts: Array, drawn: Array) -> Array:
        """Keep of captions [clip, 1 + HARD, letter] the first, and of those that differ from it so many from a drawn one on."""
        known = np.maximum(texts[:, 1:].any(axis=-1).sum(axis=1), 1)
        place = (integers(drawn, 0, known - 1)[:, None] + np.arange(self.hard)) % known[:, None]
        # One that is there already is not shown again.
        place = np.where(np.arange(self.hard) < known[:, None], place, HARD - 1)
        rows = np.arange(len(texts))[:, None]
        return np.concatenate([texts[:, :1], texts[rows, 1 + place]], axis=1)


def _drawn_pairs(count: Array, draws: Array, most: int | None) -> tuple[Array, Array]:
    """Draw one of the first `most` pairs that can be made of so many captions, and which of the two is the first."""
    pairs: Sequence[tuple[int, int]] = [(i, j) for j in range(1, CAPTIONS) for i in range(j)]
    there = np.array([max(1, n * (n - 1) // 2) for n in count.tolist()])
    drawn = integers(draws[:, 0], 0, np.minimum(there, most or len(pairs)) - 1)
    both = np.where((count > 1)[:, None], np.array(pairs)[drawn], 0)
    turned = (draws[:, 1] < 0.5)[:, None]
    both = np.where(turned, both[:, ::-1], both)
    return both[:, 0], both[:, 1]
