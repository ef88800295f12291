"""Captions word by word, as numbers: what a model reads that learns by itself which words tell of what.

A sentence encoder's vector says what a caption is about as a whole. Which of three actions comes first, and which of them is
slow, is hard to get out of it; it stands in the words and their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.dataset.layout import ROWS
from posegen.training.clips.recipes import Recipe, View

__all__ = ["MOST_CAPTIONS", "SPELLED", "SPELLINGS", "spelled"]

Array = NDArray[Any]

MOST_CAPTIONS = 8
"""Captions of a clip that count, from the first."""
SPELLINGS = 8192
"""Numbers that there are for words. Words share one by chance; captions of the default config have some thousand words."""
_LONGEST = 96
_WORD = re.compile(r"\w+|[.,;:!?]")


def spelled(text: str) -> list[int]:
    """Give a number for each word and mark of a text, from 1 on; those of a long text only from its start.

    >>> spelled("A man walks.") == spelled("a  man walks .")
    True
    """
    return [_number(word) for word in _WORD.findall(text.lower())[:_LONGEST]]


@lru_cache(100_000)
def _number(word: str) -> int:
    return 1 + xxhash.xxh3_64_intdigest(word.encode()) % (SPELLINGS - 1)


def _spelled(fields: Mapping[str, Array], view: View) -> Array:
    del view
    found = np.zeros((len(fields[ROWS]), MOST_CAPTIONS, _LONGEST), np.int16)
    for clip, row in enumerate(fields[ROWS]):
        for place, caption in enumerate(row["captions"][:MOST_CAPTIONS]):
            words = spelled(caption["text"])
            found[clip, place, : len(words)] = words
    return found


SPELLED = Recipe("spelled", 1, (ROWS,), "int16", (MOST_CAPTIONS, _LONGEST), _spelled)
"""The words of each caption of a clip in order; 0 where there is none."""
