"""Measures of how human generated motion is.

All measures use stored joints and contact labels only. Mocap is read from the folder POSEGEN_REFERENCE; without it, measures
that need mocap are "not measured". POSEGEN_JUDGE_SCALE=0.1 takes a tenth of the samples, to test the measures themselves. The
samples have a seed of their own (`clips.SEED`), which is not used in development, so that motion is not tuned on the measured
samples.
"""

from benchmarks.motion import classifier, families, gaps, lifting, plausible, running, variety, walking

TITLE = "Motion that looks human"
MEASURES = [walking, running, plausible, families, gaps, variety, classifier, lifting]
