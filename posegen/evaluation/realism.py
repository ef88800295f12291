"""How close sets of windows are to those of a reference, and what the same figures say of the reference itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.bands import band, share_inside
from posegen.evaluation.diversity import diversity
from posegen.evaluation.frechet import frechet_distance
from posegen.evaluation.npss import npss
from posegen.evaluation.two_sample import nearest_neighbour_accuracy
from posegen.evaluation.windows import STATISTICS, Windows

__all__ = ["Comparison", "FamilyComparison", "compare", "compare_families", "halves"]

Array = NDArray[Any]

MOST_NEIGHBOURS = 500
LEAST_SPREAD = 0.01
FEWEST_OF_FAMILY = 5


@dataclass(frozen=True)
class Comparison:
    """How close a set of windows is to another.

    Attributes
    ----------
    windows, others : int
        How many there are of the reference and of what is compared with it. Fréchet distances fall with both.
    fid_kinetic, fid_geometric : float
        Of scaled features; 0 for the same.
    npss : float
        Of mean power spectra; 0 for the same.
    neighbours : float
        Accuracy of the nearest neighbour test on kinetic and geometric features of as many windows of each; .5 for the same.
    diversity, reference_diversity : float
        Mean distance between windows in kinetic features.
    inside : dict of str to float
        For each statistic the share of windows inside the reference's 5 to 95 % band; .9 for the same.
    """

    windows: int
    others: int
    fid_kinetic: float
    fid_geometric: float
    npss: float
    neighbours: float
    diversity: float
    reference_diversity: float
    inside: dict[str, float]


@dataclass(frozen=True)
class FamilyComparison:
    """How close the windows of a dataset that show an action are to those of a reference that show the same.

    Attributes
    ----------
    windows, others : int
        How many there are of the reference and of the dataset.
    inside : dict of str to float
        As in :class:`Comparison`.
    """

    windows: int
    others: int
    inside: dict[str, float]


def compare_families(reference: Windows, windows: Windows) -> dict[str, FamilyComparison]:
    """Compare what goes by the same name in both, where each has at least :data:`FEWEST_OF_FAMILY` windows of it."""
    found = {}
    for name in sorted(set(reference.shown.tolist()) & set(windows.shown.tolist()) - {""}):
        theirs, ours = reference[reference.shown == name], windows[windows.shown == name]
        if min(len(theirs), len(ours)) >= FEWEST_OF_FAMILY:
            inside = share_inside(ours.statistics, band(theirs.statistics))
            found[name] = FamilyComparison(len(theirs), len(ours), dict(zip(STATISTICS, inside.tolist(), strict=True)))
    return found


def compare(reference: Windows, windows: Windows, scale: Windows) -> Comparison:
    """Compare windows with those of a reference; at least two each.

    Parameters
    ----------
    reference, windows : Windows
    scale : Windows
        By whose means and standard deviations features are scaled: the same for a comparison and its controls.
    """
    kinetic = _scaled(reference.kinetic, windows.kinetic, scale.kinetic)
    geometric = _scaled(reference.geometric, windows.geometric, scale.geometric)
    count = min(len(reference), len(windows), MOST_NEIGHBOURS)
    chosen, others = _spread(len(reference), count), _spread(len(windows), count)
    one, other = (np.hstack([kinetic[k][c], geometric[k][c]]) for k, c in ((0, chosen), (1, others)))
    inside = share_inside(windows.statistics, band(reference.statistics))
    return Comparison(
        windows=len(reference),
        others=len(windows),
        fid_kinetic=frechet_distance(*kinetic),
        fid_geometric=frechet_distance(*geometric),
        npss=npss(reference.power.mean(0), windows.power.mean(0)),
        neighbours=nearest_neighbour_accuracy(one, other),
        diversity=diversity(kinetic[1][others]),
        reference_diversity=diversity(kinetic[0][chosen]),
        inside=dict(zip(STATISTICS, inside.tolist(), strict=True)),
    )


def halves(persons: Array) -> Array:
    """Part persons into two halves of about as many windows that share nobody.

    Parameters
    ----------
    persons : str [n]
        Who is in each window.

    Returns
    -------
    bool [n]
        True for windows of the first half; the one with the most windows is put first, each next one into the smaller half.
    """
    names, counts = np.unique(persons, return_counts=True)
    first: list[Any] = []
    sizes = [0, 0]
    for position in np.argsort(-counts, kind="stable"):
        half = int(sizes[1] < sizes[0])
        sizes[half] += int(counts[position])
        if half == 0:
            first.append(names[position])
    return np.isin(persons, first)


def _scaled(reference: Array, others: Array, scale: Array) -> tuple[Array, Array]:
    # A relation that hardly ever holds must not outweigh all others once it does.
    mean, spread = scale.mean(0, dtype=np.float64), np.maximum(scale.std(0, dtype=np.float64), LEAST_SPREAD)
    return (reference - mean) / spread, (others - mean) / spread


def _spread(count: int, wanted: int) -> Array:
    return np.linspace(0, count - 1, wanted).astype(np.int64)
