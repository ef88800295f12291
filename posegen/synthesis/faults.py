"""What no body does, in samples that were made: joints out of range, limbs or people in one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.apart import overlapping
from posegen.checks.limits import CROSSES, LEAVES, beyond_limits
from posegen.library import Library
from posegen.motion.engine import Motion
from posegen.scene import Scenes
from posegen.synthesis.batch import Row
from posegen.synthesis.seeing import Seen

__all__ = ["Faults", "look_for_faults", "told_faults"]

Array = NDArray[Any]

_KINDS = {"range": LEAVES, "overlap": CROSSES}
_ALL_ACTORS = -1


@dataclass(frozen=True)
class Faults:
    """What is found in one variant of n samples.

    Attributes
    ----------
    own : uint8 [n, actors]
        What each body does that none does; see :func:`posegen.checks.limits.beyond_limits`.
    together : bool [n]
        Whether people are in one another.
    """

    own: Array
    together: Array

    def any(self) -> Array:
        """Whether anything is found in each sample: bool [n]."""
        return np.asarray(self.together | self.own.any(axis=1))

    def rows(self, i: int) -> list[Row]:
        """Say of one sample what is found, as its column `dropped` has it."""
        found = [(_ALL_ACTORS, "overlap")] if self.together[i] else []
        found += [(who, kind) for who, fault in enumerate(self.own[i].tolist()) for kind, bit in _KINDS.items() if fault & bit]
        return [{"actor": who, "kind": kind, "segment": -1, "action": "", "value": ""} for who, kind in found]


def look_for_faults(motion: Motion, variant: int, scenes: Scenes, library: Library, fps: float) -> Faults:
    """Look at one variant of samples.

    Parameters
    ----------
    motion : Motion
        Of n samples.
    variant : int
    scenes : Scenes
        Of the same samples: how many actors and frames they have.
    library : Library
    fps : float
        Frames a second.

    Returns
    -------
    Faults
    """
    return Faults(
        beyond_limits(motion.joints, motion.action, variant, scenes.actors, scenes.length, library, fps),
        overlapping(motion.joints, variant, scenes.actors, scenes.length),
    )


def told_faults(seen: Seen, faults: Sequence[Faults]) -> Seen:
    """Have the rows say what is found: of the first variant that was looked at in all samples, then of the next."""
    n = len(faults[0].together)
    return replace(seen, dropped=[[*rows, *faults[k // n].rows(k % n)] for k, rows in enumerate(seen.dropped)])
