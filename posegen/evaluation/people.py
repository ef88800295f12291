"""Several people in one sequence: how deep they are in one another, and whether hands that meet do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.apart import DEEPEST, people_overlap
from posegen.checks.partners import CONTACT, LEAST_CONTACT
from posegen.library import Library
from posegen.skeleton import JOINTS

__all__ = ["Depths", "Hands", "People", "PeopleTally"]

Array = NDArray[Any]

MILLIMETRES = 1000
"""Depths are counted in whole millimetres, up to a metre: so much memory and no more, however many frames there are."""
_WRISTS = [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")]


@dataclass(frozen=True)
class Depths:
    """How deep people are in one another where there are so many, in metres.

    Attributes
    ----------
    clips, frames : int
    high : float
        99th percentile over all frames, to the millimetre; of each frame the deepest of all pairs of capsules counts.
    deepest : float
    beyond : int
        Frames beyond :data:`posegen.checks.apart.DEEPEST`.
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
    """Meetings of hands in one action, as told.

    Attributes
    ----------
    told, met : int
        How many were told, and in how many wrists were within :data:`posegen.checks.partners.CONTACT` metres for at least
        :data:`posegen.checks.partners.LEAST_CONTACT` frames.
    middle, farthest : float
        Median and largest of the distances at which wrists were nearest, metres.
    fewest : int
        Frames within reach of the meeting with the fewest.
    """

    told: int
    met: int
    middle: float
    farthest: float
    fewest: int


@dataclass(frozen=True)
class People:
    """Depths by number of people, and hands by action; of a dataset of single persons, both are empty."""

    depths: dict[int, Depths]
    hands: dict[str, Hands]


class PeopleTally:
    """Measures several people, some rows at a time.

    Parameters
    ----------
    library : Library or None
        Of the dataset; None where it is not known: then hands are not looked at.
    """

    def __init__(self, library: Library | None) -> None:
        self._touching = set() if library is None else set(_touching(library))
        self._depths: dict[int, _Counted] = {}
        self._hands: dict[str, list[tuple[float, int]]] = {}

    def add(self, joints: Array, rows: Sequence[Mapping[str, Any]]) -> None:
        """Measure the clips of some rows.

        Parameters
        ----------
        joints : float32 [sample, variant, actor, frame, 22, 3]
        rows : sequence of mappings
            Of the same samples, a row for each variant.
        """
        for clip, row in zip(joints.reshape(-1, *joints.shape[2:]), rows, strict=True):
            people = len(row["actors"])
            if people > 1:
                shown = clip[:people, : row["length"]]
                depth = np.max([people_overlap(shown[a], shown[b]) for a, b in combinations(range(people), 2)], axis=0)
                self._depths.setdefault(people, _Counted()).add(depth, f"sample {row['sample']} {row['variant']}")
                for action, start, end in _told(row, self._touching):
                    self._hands.setdefault(action, []).append(_nearest(shown[:2, start:end]))

    def people(self) -> People:
        """Give what was found."""
        hands = {}
        for action, found in sorted(self._hands.items()):
            gaps, frames = np.array(found).T
            met = int((frames >= LEAST_CONTACT).sum())
            hands[action] = Hands(len(found), met, float(np.median(gaps)), float(gaps.max()), int(frames.min()))
        return People({people: counted.depths() for people, counted in sorted(self._depths.items())}, hands)


class _Counted:
    """Frames counted by depth."""

    def __init__(self) -> None:
        self._frames = np.zeros(MILLIMETRES + 1, np.int64)
        self._clips, self._beyond, self._deepest, self._where = 0, 0, -1.0, ""

    def add(self, depth: Array, where: str) -> None:
        whole = np.clip(np.rint(depth * MILLIMETRES), 0, MILLIMETRES).astype(np.int64)
        self._frames += np.bincount(whole, minlength=MILLIMETRES + 1)
        self._clips += 1
        self._beyond += int((depth > DEEPEST).sum())
        if depth.max() > self._deepest:
            self._deepest, self._where = float(depth.max()), where

    def depths(self) -> Depths:
        frames = int(self._frames.sum())
        high = int(np.searchsorted(np.cumsum(self._frames), 0.99 * frames)) / MILLIMETRES
        return Depths(self._clips, frames, high, self._deepest, self._beyond, self._where)


def _touching(library: Library) -> Iterator[str]:
    """Actions of which it is seen by hands that they are done with somebody."""
    for interaction in library.interactions.values():
        if interaction.seen == "hands":
            yield from interaction.actions


def _told(row: Mapping[str, Any], touching: set[str]) -> Iterator[tuple[str, int, int]]:
    """What is told to be done hand in hand: the action of the first actor, with its frames."""
    for segment in row["actors"][0]["segments"]:
        with_partner = any(statement["kind"] == "partner" for statement in segment["statements"])
        if with_partner and segment["action"] in touching:
            yield segment["action"], int(segment["start"]), int(segment["end"])


def _nearest(joints: Array) -> tuple[float, int]:
    """Shortest distance of a wrist of the one from one of the other, and frames for which two are near; [2, frames, 22, 3]."""
    wrists = joints[:, :, _WRISTS].astype(np.float64)
    between = wrists[0][:, :, None] - wrists[1][:, None]
    gaps = np.sqrt((between * between).sum(-1))
    return float(gaps.min()), int((gaps <= CONTACT).sum(axis=0).max())
