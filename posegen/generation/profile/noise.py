"""By how much the speed of a machine differs from one stretch of time to the next, and what that means for a long one.

What others do on the same hardware, clocks, caches and disks make a machine quicker and slower, for seconds and for minutes.
Of the mean speed over a stretch of T seconds the variance is taken to be

    spread ** 2 / sqrt(T)

half-way between noise that averages out, which falls as 1 / T, and a difference that stays, which does not fall. On two cores
of a virtual machine where nobody else was at work, the mean over 1.4 seconds varied by 8.5 %, that over 35 seconds by 3 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Noise", "Stretch", "of_stretches", "student", "uncertainty"]


@dataclass(frozen=True)
class Stretch:
    """The shards of one run that count, made one after another on each of its workers.

    Attributes
    ----------
    cycles : tuple of float
        Seconds of each.
    workers : int
        That made them at the same time.
    """

    cycles: tuple[float, ...]
    workers: int

    @property
    def mean(self) -> float:
        """Seconds of a shard."""
        return math.fsum(self.cycles) / len(self.cycles)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return math.fsum(self.cycles) / min(self.workers, len(self.cycles))


@dataclass(frozen=True)
class Noise:
    """How much speeds vary.

    Attributes
    ----------
    spread : float
        Standard deviation of the mean speed over one second, relatively.
    freedom : int
        Degrees of freedom with which that is known.
    """

    spread: float
    freedom: int

    def doubt(self, measured: float, seconds: float) -> float:
        """Tell by how much, relatively, a long run may differ from what was measured, in 9 of 10 runs.

        Parameters
        ----------
        measured : float
            Seconds of all stretches together.
        seconds : float
            Of the long run.
        """
        return student(self.freedom) * self.spread * math.sqrt(measured**-0.5 + seconds**-0.5)


def of_stretches(levels: Sequence[Sequence[Stretch]]) -> Noise:
    """Estimate the noise of a machine from runs that were repeated.

    The runs with equal workers are held against their mean, and all of them are put together: the machine is the same. What
    the shards of a run differ by is noise, too; where runs happen to be more alike than their shards let them, it counts.

    Parameters
    ----------
    levels : sequence of sequences of Stretch
        The repeated runs, by the number of workers.
    """
    of_runs, freedom = 0.0, 0
    for stretches in levels:
        weights = [math.sqrt(stretch.seconds) for stretch in stretches]
        mean = math.fsum(w * stretch.mean for w, stretch in zip(weights, stretches, strict=True)) / math.fsum(weights)
        of_runs += math.fsum(w * (stretch.mean / mean - 1) ** 2 for w, stretch in zip(weights, stretches, strict=True))
        freedom += len(stretches) - 1
    every = [stretch for stretches in levels for stretch in stretches]
    of_shards = math.fsum(math.sqrt(c) * (c / each.mean - 1) ** 2 for each in every for c in each.cycles)
    shards_freedom = sum(len(stretch.cycles) - 1 for stretch in every)
    variances = [0.0 if free == 0 else total / free for total, free in ((of_runs, freedom), (of_shards, shards_freedom))]
    return Noise(math.sqrt(max(variances)), max(freedom, 1))


def uncertainty(seconds: Sequence[float]) -> float:
    """Tell by how much the next of such values may differ from their mean, in 9 of 10; 0 where there is one only."""
    count = len(seconds)
    if count < 2:
        return 0.0
    mean = math.fsum(seconds) / count
    variance = math.fsum((each - mean) ** 2 for each in seconds) / (count - 1)
    return student(count - 1) * math.sqrt(variance * (1 + 1 / count))


_STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81)


def student(freedom: int) -> float:
    """Quantile of Student's t that 90 % of its values lie within, either way.

    >>> student(2), student(10), round(student(30), 2)
    (2.92, 1.81, 1.7)
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[max(freedom, 1) - 1]
    # From the normal quantile 1.645 on, the first term of Cornish and Fisher's expansion.
    return 1.645 + (1.645**3 + 1.645) / (4 * freedom)
