"""From what a short road took to what a long one will take: which of it grows with the samples, and how."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posegen.training.hardware import Estimate
    from posegen.training.settings import Settings

__all__ = ["Cost", "EmbeddingMeasured", "TrainingMeasured", "distinct_texts", "total_of"]

DOUBT = 0.2
"""How much longer or shorter, relatively, a stage may take than what was measured once tells. An assumption."""
_HELD_OUT = 0.1
"""Share of the samples in the validation split, and in the test split."""
_MOST_TESTED = 10_000
_WITHOUT_WAY_BACK = 3
_CHECKPOINTS = 3
"""Checkpoints that a run keeps: the last two and the best."""


@dataclass(frozen=True)
class Cost:
    """What a stage will take: seconds, in all likelihood, at least and at most; and bytes that it adds to the disk."""

    name: str
    seconds: float
    low: float
    high: float
    bytes: float

    @classmethod
    def about(cls, name: str, seconds: float, stored: float) -> Cost:
        """Make the cost of what was measured once."""
        return cls(name, seconds, seconds / (1 + DOUBT), seconds * (1 + DOUBT), stored)


def total_of(costs: Sequence[Cost]) -> Cost:
    """Add up stages, whose errors have nothing to do with one another."""
    seconds = sum(cost.seconds for cost in costs)
    low = seconds - math.hypot(*(cost.seconds - cost.low for cost in costs))
    high = seconds + math.hypot(*(cost.high - cost.seconds for cost in costs))
    return Cost("all", seconds, low, high, sum(cost.bytes for cost in costs))


def distinct_texts(of_half: int, of_all: int, samples: int, wanted: int) -> float:
    """Tell how many different texts there will be in so many samples.

    Texts repeat the more, the more there are: their number grows as a power of the number of samples (Heaps' law), whose
    exponent is told by half of the samples and all of them.

    Examples
    --------
    >>> distinct_texts(100, 200, 50, 500)
    2000.0
    """
    power = min(1.0, max(0.0, math.log2(of_all / of_half))) if of_half else 1.0
    return float(of_all * (wanted / samples) ** power)


@dataclass(frozen=True)
class EmbeddingMeasured:
    """What embedding a few samples took.

    Attributes
    ----------
    samples, of_half, of_all : int
        How many, and how many different texts half of them and all have.
    seconds : float
        In all.
    rate : float
        Texts that the encoder takes a second.
    bytes : int
    """

    samples: int
    of_half: int
    of_all: int
    seconds: float
    rate: float
    bytes: int

    def cost(self, samples: int) -> Cost:
        """Tell what it takes for so many samples."""
        texts = distinct_texts(self.of_half, self.of_all, self.samples, samples)
        once = max(0.0, self.seconds - self.of_all / self.rate)
        return Cost.about("embed", once + texts / self.rate, self.bytes * texts / self.of_all)


@dataclass(frozen=True)
class TrainingMeasured:
    """What a few steps of training on a few samples took.

    Attributes
    ----------
    task : str
    settings : Settings
        Of the run that is told about.
    samples, variants : int
        On which it was measured; variants of a sample that it is judged on.
    steps, checks : int
        That were made.
    feature_seconds : float
        That features took before.
    seconds : float
        That all else took.
    step_seconds : float
    estimate : Estimate
        As the run told it before its first step.
    feature_bytes, checkpoint_bytes, other_bytes : int
        Of the features, of a checkpoint, and of all else in the folder of the run.
    """

    task: str
    settings: Settings
    samples: int
    variants: int
    steps: int
    checks: int
    feature_seconds: float
    seconds: float
    step_seconds: float
    estimate: Estimate
    feature_bytes: int
    checkpoint_bytes: int
    other_bytes: int

    def cost(self, samples: int) -> Cost:
        """Tell what it takes on so many samples."""
        once = max(0.0, self.seconds - self.steps * self.step_seconds - self._judging(self.samples, self.checks))
        steps = self.settings.steps * self.step_seconds
        seconds = once + steps + self._judging(samples, self.settings.checks.times)
        share = samples / self.samples
        stored = self.feature_bytes * share + _CHECKPOINTS * self.checkpoint_bytes + self.other_bytes
        return Cost.about(f"train {self.task}", seconds + self.feature_seconds * share, stored)

    def _judging(self, samples: int, checks: int) -> float:
        clip = self.estimate.step_seconds / self.settings.batch / _WITHOUT_WAY_BACK
        held_out = math.ceil(_HELD_OUT * samples) * self.variants
        return clip * (checks * min(self.settings.checks.clips, held_out) + min(_MOST_TESTED, held_out))
