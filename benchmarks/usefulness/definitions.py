"""Definition of the experiment, fixed before any measurement: methods, clips, repetitions, steps, rates and trials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.motion.clips import JOINTS_OF_MOCAP

COUNTS = (1, 5, 10, None)
"""Real training clips per class; None: all. Smaller sets are subsets of larger ones."""
FOLDS = 3
"""Number of folds by subject. One is the test fold."""
REPETITIONS = 6
"""Each with a seed of its own, its number, which draws the clips, what the steps see and, where they are new, the weights.
Repetition r holds out part r modulo FOLDS."""
FEWER_REPETITIONS = 3
"""Repetitions of the longer methods and of NEW_CLASSIFIER: one per fold."""

REAL_ONLY = "real only"
PRETRAINED = "generated, then real"
NEW_CLASSIFIER = "generated, then real, new classifier"
"""Of action alone: the layer that scores the classes has new weights, and the rate is that of new weights, as with
``posegen train CLIPS --init RUN``. PRETRAINED keeps the scores of the actions of a family instead; they are put together.
"""
GENERATED_ONLY = "generated only"
REAL_LONGER, PRETRAINED_LONGER = "real only, longer", "generated, then real, longer"
"""In LONGER times as many steps: whether it is but time that is lacking. PRETRAINED_LONGER is of lifting alone. That few clips
are trained on longer, too, and pre-trained weights as well, was decided after a first measurement of lifting, in which all real
clips gained more by more steps than by pre-training.
"""
MEAN_POSE = "the mean pose"
"""Lifting only: always predict the mean of the real training poses."""

LONGER = 3
FINE_TUNING = 0.25
"""Learning rate of pre-trained weights relative to new ones."""

STEPS, BATCH, RATE = 150, 16, 2e-3
"""Steps, batch and rate for action on real clips, with new or pre-trained weights. Other settings are those of quick."""
STRETCH = 32
"""Longest crop in frames, 5 seconds; half of the mocap clips are shorter. Tests use whole clips."""
BODIES = (JOINTS_OF_MOCAP, "population.skeleton_spread=0.02")
"""Generated bodies have their joints where the mocap has them, and 2 cm around: each capture system has another skeleton."""
PRETRAINING_SAMPLES = 6000
"""Samples of the default config, of BODIES, on which ``posegen train --task action --preset quick`` pre-trains once."""

LIFTING_STEPS, LIFTING_BATCH, LIFTING_RATE = 600, 128, 1e-3
"""Steps and batch for lifting on real clips; a batch consists of frames."""
PRETRAINING_STEPS = 4000
"""Steps for lifting on generated clips, the base variants of the training split."""
LIFTING_STRIDE = 5
"""Every n-th frame is used, five per second."""
CAMERAS = 4
"""Cameras per real clip; a generated clip has one."""

CLIPS, AUGMENTED, FROM_CLIPS = "the clips", "augmented clips", "generated from the clips"
FROM_CLIPS_THEN_CLIPS, DEFAULT_THEN_CLIPS = "generated from the clips, then the clips", "generated default, then the clips"
"""Own clips amplified. Each method takes PHASES times the steps of REAL_ONLY from new weights; those of two phases take half of
them on each source, the second phase at FINE_TUNING of the rate."""
DEFAULT = "generated default"
CLIPS_AND_GENERATED = "the clips and generated from them"
AUGMENTED_AND_GENERATED = "augmented clips and generated from the clips"
"""Two sources in each step, in about equal parts."""
AMPLIFIED_LONGER = 4
"""How many times as many steps each method of own clips takes, too. This and the two sources in each step were decided after a
measurement without them, by trials with other draws (repetitions 3 to 5)."""
AMPLIFIED_COUNTS = (1, 5, 10)
AMPLIFIED_REPETITIONS = 3
"""One per fold."""
IMPORTED = ("crouch", "dance", "exercise", "jump", "kick", "pick_up", "reach", "run", "sneak", "throw", "walk")
"""Families with clips that ``posegen import`` takes: all but lie, as no clip of it passes its trial by other bodies. The first
measurement was made without jump, run, sneak and walk, which were refused then."""
PHASES = 2
AMPLIFIED_SAMPLES = 300
"""Samples, in all variants, of each dataset that is generated from clips; other keys are those of the default config."""
AMPLIFIED_COPIES = 40
"""Augmented copies of each clip."""

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
