"""What is wanted of speed, all of it. Written down before what it judges, and loosened for nothing."""

from __future__ import annotations

SYNTHESIZE_BY_COPYING = 8.0
"""Times that `synthesize` with five variants may take as long as copying the arrays that it gives; the goal is 5."""
SYNTHESIZE_GOAL = 5.0

GENERATE_BY_STORING = 1.5
"""Times that one worker may take as long, end to end, as storing the same arrays from memory; the goal is 1.25."""
GENERATE_GOAL = 1.25

PUBLISHED_SEQUENCES_PER_SECOND = 50.0
"""Of the published generator, on one core."""
TIMES_PUBLISHED, TIMES_PUBLISHED_GOAL = 80.0, 200.0
"""How many times as many one worker makes, on Python 3.11 and with the newest zarr."""

TWO_WORKERS_BY_ONE = 1.8
"""Times that two workers are as fast as one, where there are two cores."""

WARM_SECONDS, COLD_SECONDS = 3.0, 25.0
"""That `posegen generate --samples 10` takes with compiled kernels in the cache, and with none."""
START_SAMPLES = 10

KINEMATICS_BY_TORCH, KINEMATICS_BY_MUJOCO = 5.0, 1.0
"""Times that forward kinematics alone is as fast as batched torch on the same core, and as MuJoCo."""

WIDEST = 0.15
"""How far the interval of a profile goes either way, relatively, at most, on a quiet machine."""
COVERED = 0.9
"""Share of runs that lie inside it."""
QUIET = 0.1
"""Cores that other processes may use on a quiet machine."""
