"""Measure captions: whether their statements are true, what they cannot mention, and how varied captions and scenes are."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xxhash

from posegen.checks.statements import check_statement, observe_actors, row_statements
from posegen.config.schema import CONTENT_VERSION
from posegen.dataset.read import Dataset
from posegen.evaluation.performances import STANDING
from posegen.evaluation.recording import LEGS, Recording
from posegen.foundations.arrays import Array
from posegen.library.load import Library, load_library

Row = Mapping[str, Any]

MAX_EXAMPLES = 10
"""Most false statements of a kind that are listed."""
LONGEST_RUN = 3
"""Longest runs of words that are counted."""
MAX_HASHES = 1 << 20
"""Distinct texts up to which counts are exact."""
_HASHES_PER_MERGE = 1 << 16
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True)
class StatementCounts:
    """Checks of the statements of one kind.

    Attributes
    ----------
    true, false : int
        Number of statements that the joints confirm and that they contradict.
    open : int
        Number of statements for which posegen has no measurement.
    wrong : list of str
        The first false ones.
    """

    true: int
    false: int
    open: int
    wrong: list[str]


class StatementTally:
    """Check the statements of captions and segments against the stored joints, some rows at a time."""

    def __init__(self) -> None:
        self._counted: Counter[tuple[str, bool | None]] = Counter()
        self._wrong: dict[str, list[str]] = {}

    def add(self, joints: Array, rows: Sequence[Row], library: Library, fps: int) -> None:
        """Check the captions of some rows.

        Parameters
        ----------
        joints : float32 [sample, variant, actor, frame, 22, 3]
        rows : sequence of mappings
            Rows of the same samples, one for each variant.
        library : Library
            Library of the dataset.
        fps : int
        """
        flat = joints.reshape(-1, *joints.shape[2:])
        seen = observe_actors(flat, [row["actors"] for row in rows], library, fps)
        for row, actors in zip(rows, seen, strict=True):
            for statement in row_statements(row):
                verdict = check_statement(statement, actors, library)
                self._counted[statement["kind"], verdict] += 1
                wrong = self._wrong.setdefault(statement["kind"], [])
                if verdict is False and len(wrong) < MAX_EXAMPLES:
                    done = f"{statement['action']} {statement['value']}".rstrip()
                    wrong.append(f"sample {row['sample']} {row['variant']}: {done}")

    def add_tally(self, later: StatementTally) -> None:
        """Add the counts of later rows."""
        self._counted.update(later._counted)
        for kind, wrong in later._wrong.items():
            own = self._wrong.setdefault(kind, [])
            own += wrong[: MAX_EXAMPLES - len(own)]

    def counts(self) -> dict[str, StatementCounts]:
        """Return the counts by kind of statement."""
        counted = self._counted
        return {
            kind: StatementCounts(counted[kind, True], counted[kind, False], counted[kind, None], wrong)
            for kind, wrong in sorted(self._wrong.items())
        }


def library_of_dataset(dataset: Dataset) -> Library | None:
    """Return the library of a dataset; None if it is gone, or if it or the content version has changed since the generation."""
    header, folder = dataset.header, dataset.config.story.library
    if header.content_version != CONTENT_VERSION or not (folder is None or os.path.isdir(folder)):
        return None
    library = load_library(folder)
    return library if dataset.config.identity(library) == header.identity else None


HUMANML3D: dict[str, Any] = {
    "name": "HumanML3D",
    "motions": 14_616,
    "captions": 44_970,
    "vocabulary": 5_371,
    "mean_length": 12.0,
    "source": "Guo et al., Generating Diverse and Natural 3D Human Motions from Text, CVPR 2022; README of its repository",
}
"""Published statistics of a set of captions, with their source."""


@dataclass(frozen=True)
class Variety:
    """Variety of captions and scenes.

    Attributes
    ----------
    captions : int
        Captions of all variants, duplicates included.
    unique : int
        Distinct captions.
    vocabulary : int
        Distinct words, ignoring case.
    distinct : tuple of float
        Distinct runs of one, two and three words in a caption, as a share of all such runs (distinct-n, Li et al., 2016).
    mean_length, shortest, longest : float
        Words per caption: mean, 5th and 95th percentile.
    actions, transitions : int
        Distinct actions of segments, and distinct pairs of successive actions of the legs.
    action_entropy, transition_entropy : float
        Entropy in bits of the actions and of the transitions. Base variants only.
    exact : bool
        Whether the numbers of distinct items are exact; see :class:`DistinctCount`.
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
    """Measure variety, some rows at a time, in memory that does not grow with their number.

    Parameters
    ----------
    base : str
        Name of the variant whose actions are counted; the other variants have the same actions.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._captions = DistinctCount()
        self._runs = [DistinctCount() for _ in range(LONGEST_RUN)]
        self._run_count = [0] * LONGEST_RUN
        self._lengths: Counter[int] = Counter()
        self._actions: Counter[str] = Counter()
        self._transitions: Counter[tuple[str, str]] = Counter()

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows of the table of sequences."""
        texts: Counter[str] = Counter()
        for row in rows:
            texts.update(caption["text"] for caption in row["captions"])
            if row["variant"] == self._base:
                for actor in row["actors"]:
                    self._actions.update(segment["action"] for segment in actor["segments"])
                    # Segments of other parts overlap those of the legs instead of following them.
                    base = [segment["action"] for segment in actor["segments"] if "legs" in segment["parts"]]
                    self._transitions.update(pairwise(base))
        self._captions.add(texts)
        for text, times in texts.items():
            words = words_of(text)
            self._lengths[len(words)] += times
            for n in range(1, LONGEST_RUN + 1):
                runs = [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
                self._runs[n - 1].add(runs)
                self._run_count[n - 1] += len(runs) * times

    def add_tally(self, later: VarietyTally) -> None:
        """Add later rows."""
        self._captions.add_count(later._captions)
        for runs, others in zip(self._runs, later._runs, strict=True):
            runs.add_count(others)
        self._run_count = [sum(counts) for counts in zip(self._run_count, later._run_count, strict=True)]
        self._lengths.update(later._lengths)
        self._actions.update(later._actions)
        self._transitions.update(later._transitions)

    def variety(self) -> Variety | None:
        """Return the variety; None if there was no caption."""
        captions = self._lengths.total()
        if not captions:
            return None
        lengths, times = (np.array(list(part)) for part in (self._lengths.keys(), self._lengths.values()))
        shortest, longest = np.quantile(lengths, [0.05, 0.95], weights=times, method="inverted_cdf").tolist()
        return Variety(
            captions=captions,
            unique=self._captions.count,
            vocabulary=self._runs[0].count,
            distinct=tuple(runs.count / max(1, n) for runs, n in zip(self._runs, self._run_count, strict=True)),
            mean_length=float(np.average(lengths, weights=times)),
            shortest=float(shortest),
            longest=float(longest),
            actions=len(self._actions),
            transitions=len(self._transitions),
            action_entropy=entropy(self._actions.values()),
            transition_entropy=entropy(self._transitions.values()),
            exact=all(distinct.is_exact for distinct in (self._captions, *self._runs)),
        )


def words_of(text: str) -> list[str]:
    """Split a caption into its words, in lower case.

    Examples
    --------
    >>> words_of("A person's left-hand wave; then 2 jumps.")
    ['a', "person's", 'left-hand', 'wave', 'then', '2', 'jumps']
    """
    return _WORD.findall(text.lower())


def entropy(counts: Iterable[int]) -> float:
    """Return the entropy in bits of items with the given counts.

    Examples
    --------
    >>> entropy([5, 5, 5, 5]), entropy([7])
    (2.0, 0.0)
    """
    known = list(counts)
    total = sum(known)
    return sum(count / total * math.log2(total / count) for count in known)


class DistinctCount:
    """Count distinct texts in bounded memory.

    The smallest 64-bit hashes of all texts are kept. The count is exact while they fit; beyond that it is estimated from the
    density of the kept hashes (Bar-Yossef et al., Counting distinct elements in a data stream, RANDOM 2002), with a relative
    error of about one over the square root of their number.

    Parameters
    ----------
    most : int
        Number of hashes kept.
    """

    def __init__(self, most: int = MAX_HASHES) -> None:
        self._most = most
        self._kept: Array = np.zeros(0, np.uint64)
        self._pending: list[int] = []

    def add(self, texts: Iterable[str]) -> None:
        """Add some texts."""
        self._add_hashes([xxhash.xxh3_64_intdigest(text.encode()) for text in texts])

    def add_count(self, other: DistinctCount) -> None:
        """Add the texts of another count, which keeps as many hashes."""
        other._merge()
        self._add_hashes(other._kept.tolist())

    def _add_hashes(self, hashes: list[int]) -> None:
        self._pending += hashes
        if len(self._pending) >= _HASHES_PER_MERGE:
            self._merge()

    @property
    def count(self) -> int:
        """Number of distinct texts, exact or estimated."""
        if self.is_exact:
            return len(self._kept)
        return round((self._most - 1) / (float(self._kept[-1]) / 2.0**64))

    @property
    def is_exact(self) -> bool:
        """Whether the count is exact."""
        self._merge()
        return len(self._kept) < self._most

    def _merge(self) -> None:
        if self._pending:
            self._kept = np.unique(np.concatenate([self._kept, np.array(self._pending, np.uint64)]))[: self._most]
            self._pending = []


SECONDS = 0.4
"""Shortest time for which an action that no segment covers counts: no caption can mention it."""


@dataclass(frozen=True)
class Uncaptioned:
    """Clips that show an action which no segment covers for :data:`SECONDS` or longer.

    Attributes
    ----------
    clips : int
        Number of all clips.
    legs, any_part : float
        Share of them with such an action of the legs, and of any body part.
    """

    clips: int
    legs: float
    any_part: float


class UncaptionedTally:
    """Count clips with uncaptioned actions."""

    def __init__(self) -> None:
        self._clips = self._legs = self._any_part = 0

    def add(self, recording: Recording) -> None:
        """Count a clip, if it has labels and segments."""
        if recording.labels is None or not recording.segments:
            return
        uncovered = (recording.labels != recording.number(STANDING)) & (recording.labels < len(recording.actions))
        for segment in recording.segments:
            shown = slice(int(segment["start"]), int(segment["end"]))
            uncovered[shown] &= recording.labels[shown] != recording.number(segment["action"])
        self._clips += 1
        if not uncovered.any():
            return
        self._legs += bool(uncovered[:, LEGS].sum() >= SECONDS * recording.fps)
        self._any_part += bool(uncovered.any(1).sum() >= SECONDS * recording.fps)

    def add_tally(self, later: UncaptionedTally) -> None:
        """Add the counts of later clips."""
        self._clips += later._clips
        self._legs += later._legs
        self._any_part += later._any_part

    def uncaptioned(self) -> Uncaptioned | None:
        """Return the shares; None without a clip that has labels."""
        if not self._clips:
            return None
        return Uncaptioned(self._clips, self._legs / self._clips, self._any_part / self._clips)
