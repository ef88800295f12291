"""How varied captions and stories are: different captions and runs of words, lengths, and the entropy of what is done."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from posegen.evaluation.distinct import Distinct

__all__ = ["HUMANML3D", "Published", "Variety", "VarietyTally", "entropy", "words_of"]

Row = Mapping[str, Any]

LONGEST_RUN = 3
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True)
class Published:
    """Figures that a publication gives of a set of captions, and which publication."""

    name: str
    motions: int
    captions: int
    vocabulary: int
    mean_length: float
    source: str


HUMANML3D = Published(
    name="HumanML3D",
    motions=14_616,
    captions=44_970,
    vocabulary=5_371,
    mean_length=12.0,
    source="Guo et al., Generating Diverse and Natural 3D Human Motions from Text, CVPR 2022; README of its repository",
)


@dataclass(frozen=True)
class Variety:
    """What was found.

    Attributes
    ----------
    captions : int
        Of all variants, equal ones included.
    unique : int
        Different ones.
    vocabulary : int
        Different words, in whatever case.
    distinct : tuple of float
        Different runs of one, two and three words in a caption, as a share of all such runs (distinct-n, Li et al., 2016).
    mean_length, shortest, longest : float
        Words of a caption: in the mean, and the 5th and the 95th percentile.
    actions, transitions : int
        Different actions told, and different pairs of actions that follow one another by the same body parts.
    action_entropy, transition_entropy : float
        Bits: of which action a told segment is, and of which such pair. Base variants only.
    exact : bool
        Whether counts of what differs are exact; see :mod:`posegen.evaluation.distinct`.
    """

    captions: int
    unique: int
    vocabulary: int
    distinct: tuple[float, ...]
    mean_length: float
    shortest: float
    longest: float
    actions: int
    transitions: int
    action_entropy: float
    transition_entropy: float
    exact: bool


class VarietyTally:
    """Takes rows down, few at a time, in memory that does not grow with them.

    Parameters
    ----------
    base : str
        Name of the variant by which what is done is counted: the others do the same.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._captions = Distinct()
        self._runs = [Distinct() for _ in range(LONGEST_RUN)]
        self._run_count = [0] * LONGEST_RUN
        self._lengths: Counter[int] = Counter()
        self._actions: Counter[str] = Counter()
        self._transitions: Counter[tuple[str, str]] = Counter()

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows of the table of sequences down."""
        texts: Counter[str] = Counter()
        for row in rows:
            texts.update(caption["text"] for caption in row["captions"])
            if row["variant"] == self._base:
                for actor in row["actors"]:
                    self._add_actions(actor["segments"])
        self._captions.add(texts)
        for text, times in texts.items():
            words = words_of(text)
            self._lengths[len(words)] += times
            for n in range(1, LONGEST_RUN + 1):
                runs = [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
                self._runs[n - 1].add(runs)
                self._run_count[n - 1] += len(runs) * times

    def _add_actions(self, segments: Sequence[Row]) -> None:
        self._actions.update(segment["action"] for segment in segments)
        # What lies over something else follows nothing: it comes with it.
        base = [segment for segment in segments if "legs" in segment["parts"]]
        self._transitions.update((one["action"], other["action"]) for one, other in pairwise(base))

    def variety(self) -> Variety | None:
        """Give what was found; None if there was no caption."""
        captions = self._lengths.total()
        if not captions:
            return None
        shares = [runs.count / max(1, count) for runs, count in zip(self._runs, self._run_count, strict=True)]
        return Variety(
            captions=captions,
            unique=self._captions.count,
            vocabulary=self._runs[0].count,
            distinct=tuple(shares),
            mean_length=sum(length * count for length, count in self._lengths.items()) / captions,
            shortest=_percentile(self._lengths, 0.05),
            longest=_percentile(self._lengths, 0.95),
            actions=len(self._actions),
            transitions=len(self._transitions),
            action_entropy=entropy(self._actions.values()),
            transition_entropy=entropy(self._transitions.values()),
            exact=all(distinct.exact for distinct in (self._captions, *self._runs)),
        )


def words_of(text: str) -> list[str]:
    """Split a caption into its words, in small letters.

    Examples
    --------
    >>> words_of("A person's left-hand wave; then 2 jumps.")
    ['a', "person's", 'left-hand', 'wave', 'then', '2', 'jumps']
    """
    return _WORD.findall(text.lower())


def entropy(counts: Iterable[int]) -> float:
    """Give the entropy in bits of what occurs so many times each.

    Examples
    --------
    >>> entropy([5, 5, 5, 5]), entropy([7])
    (2.0, 0.0)
    """
    known = [count for count in counts if count]
    total = sum(known)
    return sum(count / total * math.log2(total / count) for count in known) if total else 0.0


def _percentile(lengths: Counter[int], share: float) -> float:
    """Give the smallest length that at least this share of captions does not exceed."""
    passed, total = 0, lengths.total()
    for length in sorted(lengths):
        passed += lengths[length]
        if passed >= share * total:
            return float(length)
    return 0.0
