"""Measure how well windows of motion cover those of other people: precision, recall, density and coverage.

Precision and recall are those of Kynkäänniemi et al. (2019), density and coverage those of Naeem et al. (2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np

from posegen.evaluation.common_body import mirrored
from posegen.evaluation.performances import Performance, mean
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform

NEAREST = 5
SPLITS = 6
MAX_WINDOWS = 200
"""Most windows of a family on each side, so that families of long clips do not dominate."""
MAX_JUDGED = 1000
"""Most windows of a family whose nearness to the reference is judged. More windows reduce the error of precision and do not
bias it: with as many as the reference has, 10 to 20 in some families, it changed by .1 from seed to seed."""
_ROUNDING = 1e-6
"""Relative difference of distances that count as equal: that of two windows and that of their mirror images, for example, are
rounded differently on some processors."""


@dataclass(frozen=True)
class Coverage:
    """How windows cover as many reference windows of half of the people; means of six splits.

    Attributes
    ----------
    windows : int
        Windows on each side.
    precision, density : float
        Share of the windows near a reference window; number of reference windows that each is near to, per :data:`NEAREST`.
        Of a family, up to :data:`MAX_JUDGED` windows are judged.
    recall, coverage : float
        Share of the reference windows near a window; share that has a window nearer than its neighbours.
    """

    windows: int
    precision: float
    recall: float
    density: float
    coverage: float


class Windows(NamedTuple):
    """Windows, float32 [n, pose, 13, 3], with the person and the clip of each, str [n]."""

    poses: Array
    person: Array
    clip: Array

    def at(self, chosen: Array) -> Windows:
        """Return the windows at some indices."""
        return Windows(*(values[chosen] for values in self))


def gather_windows(found: Sequence[Performance]) -> Windows:
    """Return all windows of some performances."""
    each = [performance.windows() for performance in found]
    counts = list(map(len, each))
    names = (np.repeat([getattr(p, key) for p in found], counts) for key in ("person", "clip"))
    return Windows(np.concatenate(each), *names)


def compare_coverage(reference: Mapping[str, Windows], ours: Mapping[str, Windows]) -> dict[str, tuple[Coverage, Coverage]]:
    """Compare windows with half of a reference's people, beside the other half of the people.

    Parameters
    ----------
    reference, ours : mapping of str to Windows
        By family; both have the same families.

    Returns
    -------
    dict of str to (Coverage, Coverage)
        Of `ours` and of the reference's other people, by family; pooled under ``""``. Families with fewer windows of half of
        the people than needed, or of a single person, are absent.
    """
    found: dict[str, list[tuple[Coverage, Coverage]]] = {}
    for split in range(SPLITS):
        pooled = []
        for family, theirs in reference.items():
            names = np.unique(theirs.person)
            mixed = uniform(0, np.arange(len(names)), Stream.AUGMENT, 1)[:, 0].argsort()
            people = np.roll(names[mixed], split // 2)
            half = np.isin(theirs.person, people[: (len(people) + 1) // 2]) == (split % 2 == 0)
            sides, own = (np.flatnonzero(half), np.flatnonzero(~half)), len(ours[family].person)
            count = min(MAX_WINDOWS, own, *map(len, sides))
            if count > NEAREST:
                chosen = [side[np.linspace(0, len(side) - 1, count).astype(np.int64)] for side in sides]
                # Other windows in each split, so that the mean of the splits depends less on which they are.
                chosen.append(((np.arange(count) + (split + 0.5) / SPLITS) * own / count).astype(np.int64))
                pooled.append([side.at(at) for side, at in zip((theirs, theirs, ours[family]), chosen, strict=True)])
                every = ours[family].at(np.linspace(0, own - 1, min(own, MAX_JUDGED)).astype(np.int64))
                half_of_people, others, equally_many = pooled[-1]
                found.setdefault(family, []).append(_both(half_of_people, others, equally_many, every))
        if pooled:
            sets = (Windows(*map(np.concatenate, zip(*side, strict=True))) for side in zip(*pooled, strict=True))
            found.setdefault("", []).append(_both(*sets))
    return {family: (_mean([a for a, _ in pairs]), _mean([b for _, b in pairs])) for family, pairs in found.items()}


def _mean(splits: Sequence[Coverage]) -> Coverage:
    count, *shares = np.array([astuple(split) for split in splits]).T
    return Coverage(round(count.mean()), *map(mean, shares))


def _both(reference: Windows, other: Windows, ours: Windows, every: Windows | None = None) -> tuple[Coverage, Coverage]:
    return measure_coverage(reference, ours, every), measure_coverage(reference, other)


def measure_coverage(reference: Windows, windows: Windows, every: Windows | None = None) -> Coverage:
    """Measure the coverage of reference windows by as many windows.

    The distance of two windows is that of the nearer of one and its mirror image: the preferred side does not count. A ball
    around a window reaches its fifth nearest neighbour of another clip of the set. Precision and density are those of `every`
    window, if it is given.
    """
    apart = _distances(windows, reference)
    theirs, ours = _radii(reference), _radii(windows)
    near = (apart if every is None else _distances(every, reference)) <= theirs
    return Coverage(
        windows=len(windows.poses),
        precision=float(near.any(1).mean()),
        recall=float((apart <= ours[:, None]).any(0).mean()),
        density=float(near.sum(1).mean() / NEAREST),
        coverage=float((apart <= theirs).any(0).mean()),
    )


def _radii(windows: Windows) -> Array:
    """Return the distance of each window to its fifth nearest of other clips, which is within it; -1 if there are fewer."""
    apart = np.where(windows.clip[:, None] == windows.clip, np.inf, _distances(windows, windows))
    radii = np.sort(apart, axis=1)[:, NEAREST - 1] if len(apart) >= NEAREST else np.full(len(apart), np.inf)
    return np.where(np.isfinite(radii), radii * (1.0 + _ROUNDING), -1.0)


def _distances(ones: Windows, others: Windows) -> Array:
    first = ones.poses.reshape(len(ones.poses), -1).astype(np.float64)
    squares = []
    for poses in (others.poses, mirrored(others.poses)):
        second = poses.reshape(len(poses), -1).astype(np.float64)
        squares.append((first**2).sum(1)[:, None] + (second**2).sum(1) - 2 * first @ second.T)
    return np.asarray(np.sqrt(np.maximum(np.minimum(*squares), 0.0)))
