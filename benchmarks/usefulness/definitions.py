"""What is compared with what, how often, and for how long: all that is decided before anything is measured."""

from __future__ import annotations

COUNTS = (1, 5, 10, None)
"""Real clips of a class that are trained on; None: all that there are. The few are among the more."""
FOLDS = 3
"""Parts into which persons are put. One is held out, the others are trained on."""
REPETITIONS = 6
"""Each with a seed of its own, its number, which draws the clips, what the steps see and, where they are fresh, the weights.
Repetition r holds out part r modulo FOLDS."""
FEWER_REPETITIONS = 3
"""Of what is beside the question, what takes longer and FRESH_ANSWERS: one for each part."""

REAL_ONLY = "real only"
PRETRAINED = "generated, then real"
FRESH_ANSWERS = "generated, then real, fresh answers"
"""Of action alone: what scores the classes is fresh, and the rate that of fresh weights, as with ``posegen train CLIPS --init
RUN``. PRETRAINED keeps the scores of the actions that show a family instead; they are put together."""
GENERATED_ONLY = "generated only"
REAL_LONGER, PRETRAINED_LONGER = "real only, longer", "generated, then real, longer"
"""In LONGER times as many steps: whether it is but time that is lacking. PRETRAINED_LONGER is of lifting alone. That few clips
are trained on longer, too, and pre-trained weights as well, was decided after a first measurement of lifting, in which all real
clips gained more by more steps than by pre-training.
"""
MEAN_POSE = "the mean pose"
"""Of lifting alone: always the mean of the real poses that there are to train on, which needs no picture."""

LONGER = 3
FINE_TUNING = 0.25
"""Times the rate of learning of fresh weights that pre-trained ones go on with."""

STEPS, BATCH, RATE = 150, 16, 2e-3
"""Of action with real clips, whether the weights are fresh or pre-trained. The rate and all else are the preset quick's."""
STRETCH = 32
"""Frames that a step shows of a clip at most, 5 seconds; half of the captured clips are shorter. Clips are judged whole."""
PRETRAINING_SAMPLES = 6000
"""Of the default config; pre-training of action is ``posegen train --task action --preset quick`` on them, once."""

LIFTING_STEPS, LIFTING_BATCH, LIFTING_RATE = 600, 128, 1e-3
"""Of lifting with real clips; a batch is of frames."""
PRETRAINING_STEPS = 4000
"""Of lifting with generated clips, the base variants of the training split."""
LIFTING_STRIDE = 5
"""Every so-manieth frame is taken, five a second."""
CAMERAS = 4
"""That see each real clip, whether it is trained on or held out; a generated one is seen by one."""
