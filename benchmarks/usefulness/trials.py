"""Trials: each method with each number of clips in each repetition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.usefulness.definitions import (
    AMPLIFIED_COUNTS,
    AMPLIFIED_LONGER,
    AUGMENTED,
    AUGMENTED_AND_GENERATED,
    CLIPS,
    CLIPS_AND_GENERATED,
    COUNTS,
    DEFAULT,
    DEFAULT_THEN_CLIPS,
    FEWER_REPETITIONS,
    FINE_TUNING,
    FROM_CLIPS,
    FROM_CLIPS_THEN_CLIPS,
    GENERATED_ONLY,
    LONGER,
    MEAN_POSE,
    NEW_CLASSIFIER,
    PRETRAINED,
    PRETRAINED_LONGER,
    REAL_LONGER,
    REAL_ONLY,
)

__all__ = ["AMPLIFIED", "TRAINING", "Trial", "amplified_trials", "longer", "trials"]

TRAINING = {
    REAL_ONLY: (1, 1.0),
    PRETRAINED: (1, FINE_TUNING),
    NEW_CLASSIFIER: (1, 1.0),
    REAL_LONGER: (LONGER, 1.0),
    PRETRAINED_LONGER: (LONGER, FINE_TUNING),
}
"""Factors on steps and rate for the methods that train on real clips."""
AMPLIFIED = {
    CLIPS: ((CLIPS,),),
    AUGMENTED: ((AUGMENTED,),),
    FROM_CLIPS: ((FROM_CLIPS,),),
    CLIPS_AND_GENERATED: ((CLIPS, FROM_CLIPS),),
    AUGMENTED_AND_GENERATED: ((AUGMENTED, FROM_CLIPS),),
    FROM_CLIPS_THEN_CLIPS: ((FROM_CLIPS,), (CLIPS,)),
    DEFAULT_THEN_CLIPS: ((DEFAULT,), (CLIPS,)),
}
"""Methods that train on own clips: their phases, each with its sources."""


@dataclass(frozen=True)
class Trial:
    """One model to test: a method, real clips per class (0: none, None: all), a repetition, and a factor on the steps."""

    way: str
    count: int | None
    repetition: int
    times: int = 1


def trials(task: str, repetitions: int) -> Iterator[Trial]:
    """Return all trials of a task, the most important first."""
    for repetition in range(repetitions):
        yield Trial(GENERATED_ONLY, 0, repetition)
        if task == "lifting":
            yield Trial(MEAN_POSE, None, repetition)
        for count in COUNTS:
            yield Trial(REAL_ONLY, count, repetition)
            yield Trial(PRETRAINED, count, repetition)
    for repetition in range(min(repetitions, FEWER_REPETITIONS)):
        for count in COUNTS:
            yield Trial(REAL_LONGER, count, repetition)
            yield Trial(PRETRAINED_LONGER if task == "lifting" else NEW_CLASSIFIER, count, repetition)


def amplified_trials(repetitions: int) -> Iterator[Trial]:
    """Return all trials of own clips, those with the same clips in succession."""
    for repetition in range(repetitions):
        for count in AMPLIFIED_COUNTS:
            for way in AMPLIFIED:
                yield Trial(way, count, repetition)
            for way in AMPLIFIED:
                yield Trial(way, count, repetition, AMPLIFIED_LONGER)


def longer(way: str, times: int = AMPLIFIED_LONGER) -> str:
    """Return the name of a method in the results that takes `times` as many steps.

    Examples
    --------
    >>> longer("the clips"), longer("the clips", 1)
    ('the clips, longer', 'the clips')
    """
    return f"{way}, longer" if times > 1 else way
