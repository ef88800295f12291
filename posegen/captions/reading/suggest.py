"""What to say of words that were not understood: which ones, and what is known that looks like them."""

from __future__ import annotations

from posegen.captions.reading.lexicon import lexicon_of, words_of
from posegen.captions.reading.read import Reading
from posegen.library import Library
from posegen.wording import nearest, shown

__all__ = ["suggestions"]

_LONGEST = 8


def suggestions(reading: Reading, library: Library) -> list[str]:
    """Say of each stretch that was not understood why, and offer the nearest known words.

    Parameters
    ----------
    reading : Reading
    library : Library

    Returns
    -------
    list of str
        A line for each stretch.
    """
    vocabulary = {word for phrase in lexicon_of(library).phrases for word in phrase if word[0].isalpha()}
    misplaced = {piece.text: piece.about for piece in reading.misplaced}
    lines = []
    for stretch in reading.unknown:
        if stretch in misplaced:
            lines.append(f"not understood: {shown(stretch)} cannot be told of {shown(misplaced[stretch])}")
            continue
        if all(word in vocabulary or not word[0].isalpha() for word in words_of(stretch)):
            lines.append(f"not understood: {shown(stretch)}; the words are known, but not like this")
            continue
        near = [_nearest(word, vocabulary) for word in words_of(stretch)[:_LONGEST]]
        found = list(dict.fromkeys(word for word in near if word))
        offered = f"; the nearest known words: {', '.join(found)}" if found else "; no known word is like it"
        lines.append(f"not understood: {shown(stretch)}{offered}")
    return lines


def _nearest(word: str, vocabulary: set[str]) -> str | None:
    return None if word in vocabulary else nearest(word, vocabulary)
