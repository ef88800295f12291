"""What single words tell about actions: "genuflects" of kneeling, "someone" of nothing.

Vectors of short texts follow the whole of a text and may miss its one rare word, which here tells all. So words are counted
too: a word that comes up in phrases of one action only tells of that action, one that comes up everywhere tells of none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lexicon", "lexicon"]

UNSEEN = 1
"""So many phrases of other actions are taken to have a word, beside those that do: one phrase alone proves little."""
SAID_AS_PHRASES = 20
"""All that a dataset says of an action counts as so many phrases: there are thousands, with the same few words."""


@dataclass(frozen=True)
class Lexicon:
    """How often the stem of each word comes up in phrases of which action.

    Attributes
    ----------
    counts : dict of str to dict of int to float
        By stem, by number of the action.
    actions : int
        How many there are.
    """

    counts: dict[str, dict[int, float]]
    actions: int

    def telling(self, text: str) -> NDArray[np.float64]:
        """Tell how much the words of a text speak for each action: the sum of their shares.

        Parameters
        ----------
        text : str

        Returns
        -------
        float64 [actions]
        """
        told = np.zeros(self.actions)
        for stem in sorted(stems(text)):
            own = self.counts.get(stem, {})
            for action, count in own.items():
                told[action] += count / (sum(own.values()) + UNSEEN)
        return told


def lexicon(phrases: Sequence[str], actions: Iterable[int], related: Iterable[bool], number: int) -> Lexicon:
    """Count the words of phrases.

    Parameters
    ----------
    phrases : sequence of str
    actions : iterable of int
        The action of each, from 0.
    related : iterable of bool
        Whether each is a phrase related to its action; the others are what a dataset says of it.
    number : int
        Of actions.

    Returns
    -------
    Lexicon
    """
    kinds = list(zip((int(action) for action in actions), (bool(kind) for kind in related), strict=True))
    phrases_of = Counter(kinds)
    counts: dict[str, dict[int, float]] = {}
    for phrase, (action, kind) in zip(phrases, kinds, strict=True):
        weight = 1.0 if kind else SAID_AS_PHRASES / phrases_of[action, kind]
        for stem in stems(phrase):
            own = counts.setdefault(stem, {})
            own[action] = own.get(action, 0.0) + weight
    return Lexicon(counts, number)


def stems(text: str) -> set[str]:
    """Give the stems of the words of an English text: kneels and kneeling are one."""
    return {_stem(word) for word in re.findall(r"[^\W\d_]+", text.lower())}


@cache
def _stem(word: str) -> str:
    stem: str = _stemmer().stemWord(word)
    return stem


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")
