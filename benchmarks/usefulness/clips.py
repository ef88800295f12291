"""Mocap clips for training and test, of the families that the library also contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.motion.clips import captured, fit, folds_by_subject
from benchmarks.usefulness.definitions import FOLDS
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError


@dataclass(frozen=True)
class Clips:
    """Mocap clips.

    Attributes
    ----------
    joints : sequence of float32 [frame, 22, 3]
    families, persons : tuple of str
    fps : float
    part : int64 [clip]
        In which a clip's person is.
    """

    joints: Sequence[Array]
    families: tuple[str, ...]
    persons: tuple[str, ...]
    fps: float
    part: Array

    @property
    def names(self) -> tuple[str, ...]:
        """The families."""
        return tuple(sorted(set(self.families)))

    @property
    def numbers(self) -> Array:
        """Family of each clip as an index into :attr:`names`; int64 [clip]."""
        return np.array([self.names.index(family) for family in self.families])

    def held_out(self, repetition: int) -> Array:
        """Return the test clips of a repetition; int64."""
        return np.flatnonzero(self.part == repetition % FOLDS)

    def trained_on(self, repetition: int, count: int | None) -> Array:
        """Return the training clips of a repetition, `count` of each family; int64."""
        return drawn(self.families, self.part != repetition % FOLDS, count, repetition)


def shared_clips() -> Clips:
    """Read the clips from the folder that POSEGEN_REFERENCE names.

    Raises
    ------
    UsageError
        If it names none, or no clips that can be separated are there.
    """
    found = captured()
    if not found:
        msg = (
            "usefulness is measured on mocap, and there is none. Set POSEGEN_REFERENCE to a folder with .npz files "
            "of joints [frames, 22, 3], offsets, fps, names, classes and subjects"
        )
        raise UsageError(msg)
    shared = [clip for of_it in fit(found).values() for clip in of_it]
    if not shared or len({clip.fps for clip in shared}) > 1:
        msg = "POSEGEN_REFERENCE: needs ten clips or more of a family, of three persons, all with as many frames a second"
        raise UsageError(msg)
    families, persons = tuple(clip.family for clip in shared), tuple(clip.person for clip in shared)
    part = folds_by_subject(persons, families, FOLDS)
    for family in sorted(set(families)):
        own = {int(part[i]) for i in range(len(part)) if families[i] == family}
        if len(own) < FOLDS:
            msg = f"POSEGEN_REFERENCE: clips of {family} are of too few persons to be in each of {FOLDS} parts"
            raise UsageError(msg)
    return Clips([clip.joints for clip in shared], families, persons, shared[0].fps, part)


def drawn(families: Sequence[str], allowed: Array, count: int | None, seed: int) -> Array:
    """Draw `count` clips of each family among those allowed, or all if there are fewer.

    Parameters
    ----------
    families : sequence of str
    allowed : bool [clip]
    count : int or None
        None: all.
    seed : int
        With one seed, the clips of a smaller count are among those of a larger.

    Returns
    -------
    int64 [n]
        Clips in order.
    """
    shown = np.array(families)
    order = np.random.default_rng(seed).permutation(len(shown))
    order = order[allowed[order]]
    chosen = [order[shown[order] == family][:count] for family in np.unique(shown)]
    return np.sort(np.concatenate(chosen))


def balanced(values: Array, families: Array) -> float:
    """Return the mean over the families of the mean over their clips."""
    return float(np.mean([values[families == family].mean() for family in np.unique(families)]))
