"""Measure sequences of several people: how deep they penetrate each other, and whether hands that should meet do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.capsules import DEEPEST, people_overlap
from posegen.checks.partners import CONTACT, LEAST_CONTACT
from posegen.library.load import Library
from posegen.skeleton import JOINTS

Array = NDArray[Any]

DEPTH_BINS = 1000
"""Depths are counted in bins of 1 mm up to 1 m, so memory does not grow with the number of frames."""
_WRISTS = [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")]


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
        :data:`posegen.checks.partners.CONTACT` metres for at least :data:`posegen.checks.partners.LEAST_CONTACT` frames.
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
        self._depths: dict[int, _DepthCounts] = {}
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
                self._depths.setdefault(people, _DepthCounts()).add(depth, f"sample {row['sample']} {row['variant']}")
                for action, start, end in _stated_meetings(row, self._touching):
                    self._hands.setdefault(action, []).append(_nearest_wrists(shown[:2, start:end]))

    def people(self) -> People:
        """Return the measures."""
        hands = {}
        for action, found in sorted(self._hands.items()):
            gaps, frames = np.array(found).T
            met = int((frames >= LEAST_CONTACT).sum())
            hands[action] = Hands(len(found), met, float(np.median(gaps)), float(gaps.max()), int(frames.min()))
        return People({people: counts.depths() for people, counts in sorted(self._depths.items())}, hands)


class _DepthCounts:
    """Frames counted by depth."""

    def __init__(self) -> None:
        self._frames = np.zeros(DEPTH_BINS + 1, np.int64)
        self._clips, self._beyond, self._deepest, self._where = 0, 0, -1.0, ""

    def add(self, depth: Array, where: str) -> None:
        bins = np.clip(np.rint(depth * DEPTH_BINS), 0, DEPTH_BINS).astype(np.int64)
        self._frames += np.bincount(bins, minlength=DEPTH_BINS + 1)
        self._clips += 1
        self._beyond += int((depth > DEEPEST).sum())
        if depth.max() > self._deepest:
            self._deepest, self._where = float(depth.max()), where

    def depths(self) -> Depths:
        frames = int(self._frames.sum())
        high = int(np.searchsorted(np.cumsum(self._frames), 0.99 * frames)) / DEPTH_BINS
        return Depths(self._clips, frames, high, self._deepest, self._beyond, self._where)


def _stated_meetings(row: Mapping[str, Any], touching: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield action, first and last frame of the segments of the first actor that are stated to be done hand in hand."""
    for segment in row["actors"][0]["segments"]:
        with_partner = any(statement["kind"] == "partner" for statement in segment["statements"])
        if with_partner and segment["action"] in touching:
            yield segment["action"], int(segment["start"]), int(segment["end"])


def _nearest_wrists(joints: Array) -> tuple[float, int]:
    """Return the least distance between wrists of two people, [2, frames, 22, 3], and the frames within contact distance."""
    wrists = joints[:, :, _WRISTS].astype(np.float64)
    between = wrists[0][:, :, None] - wrists[1][:, None]
    gaps = np.sqrt((between * between).sum(-1))
    return float(gaps.min()), int((gaps <= CONTACT).sum(axis=0).max())
