"""Measure sequences of several people: how deep they penetrate each other, and whether hands that should meet do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from posegen.checks.capsules import DEEPEST, people_overlap
from posegen.checks.evidence import LEAST_CONTACT, wrist_gaps
from posegen.foundations.arrays import Array
from posegen.library.load import Library


@dataclass(frozen=True)
class Depths:
    """Penetration depths in metres of all clips with the same number of people.

    Attributes
    ----------
    clips, frames : int
    high : float
        99th percentile over frames, to the millimetre, of the deepest pair of capsules.
    deepest : float
    beyond : int
        Frames deeper than :data:`posegen.checks.capsules.DEEPEST`.
    where : str
        The clip of the deepest.
    """

    clips: int
    frames: int
    high: float
    deepest: float
    beyond: int
    where: str


@dataclass(frozen=True)
class Hands:
    """Meetings of hands in one action.

    Attributes
    ----------
    stated, met : int
        Number of meetings that captions state, and of those in which wrists were within
        :data:`posegen.checks.evidence.CONTACT` metres for at least :data:`posegen.checks.evidence.LEAST_CONTACT` frames.
    middle, farthest : float
        Median and maximum of the least distance between wrists, metres.
    fewest : int
        Least number of frames within that distance in any meeting.
    """

    stated: int
    met: int
    middle: float
    farthest: float
    fewest: int


@dataclass(frozen=True)
class People:
    """Depths by number of people, and hands by action; both empty for a dataset of single persons."""

    depths: dict[int, Depths]
    hands: dict[str, Hands]


class PeopleTally:
    """Measure sequences of several people, some rows at a time.

    Parameters
    ----------
    library : Library or None
        Library of the dataset; None if unknown: then hands are not measured.
    """

    def __init__(self, library: Library | None) -> None:
        interactions = [] if library is None else library.interactions.values()
        self._touching = {action for each in interactions if each.seen == "hands" for action in each.actions}
        # By number of people. Frames are counted by depth in millimetres, so memory does not grow with their number.
        self._frames: dict[int, Counter[int]] = {}
        self._clips, self._beyond = Counter[int](), Counter[int]()
        self._deepest: dict[int, tuple[float, str]] = {}
        self._hands: dict[str, list[tuple[float, int]]] = {}

    def add(self, joints: Array, rows: Sequence[Mapping[str, Any]]) -> None:
        """Measure the clips of some rows.

        Parameters
        ----------
        joints : float32 [sample, variant, actor, frame, 22, 3]
        rows : sequence of mappings
            Rows of the same samples, one for each variant.
        """
        for clip, row in zip(joints.reshape(-1, *joints.shape[2:]), rows, strict=True):
            people = len(row["actors"])
            if people > 1:
                shown = clip[:people, : row["length"]]
                depth = np.max([people_overlap(shown[a], shown[b]) for a, b in combinations(range(people), 2)], axis=0)
                self._frames.setdefault(people, Counter()).update(np.rint(1000 * depth).astype(int).tolist())
                self._clips[people] += 1
                self._beyond[people] += int((depth > DEEPEST).sum())
                deepest = float(depth.max()), f"sample {row['sample']} {row['variant']}"
                if people not in self._deepest or deepest[0] > self._deepest[people][0]:
                    self._deepest[people] = deepest
                for action, start, end in _stated_meetings(row, self._touching):
                    self._hands.setdefault(action, []).append(wrist_gaps(*shown[:2, start:end].astype(np.float64)))

    def add_tally(self, later: PeopleTally) -> None:
        """Add the clips of later rows."""
        for people, frames in later._frames.items():
            self._frames.setdefault(people, Counter()).update(frames)
        self._clips.update(later._clips)
        self._beyond.update(later._beyond)
        for people, deepest in later._deepest.items():
            if people not in self._deepest or deepest[0] > self._deepest[people][0]:
                self._deepest[people] = deepest
        for action, found in later._hands.items():
            self._hands.setdefault(action, []).extend(found)

    def people(self) -> People:
        """Return the measures."""
        hands = {}
        for action, found in sorted(self._hands.items()):
            gaps, frames = np.array(found).T
            met = int((frames >= LEAST_CONTACT).sum())
            hands[action] = Hands(len(found), met, float(np.median(gaps)), float(gaps.max()), int(frames.min()))
        depths = {}
        for people, frames in sorted(self._frames.items()):
            high = np.quantile(list(frames), 0.99, weights=list(frames.values()), method="inverted_cdf") / 1000
            deepest, where = self._deepest[people]
            depths[people] = Depths(self._clips[people], frames.total(), float(high), deepest, self._beyond[people], where)
        return People(depths, hands)


def _stated_meetings(row: Mapping[str, Any], touching: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield action, first and last frame of the segments of the first actor that are stated to be done hand in hand."""
    for segment in row["actors"][0]["segments"]:
        with_partner = any(statement["kind"] == "partner" for statement in segment["statements"])
        if with_partner and segment["action"] in touching:
            yield segment["action"], int(segment["start"]), int(segment["end"])
