"""Targets of the speed benchmarks. They were fixed before the code that they judge, and are never loosened."""

from __future__ import annotations

SYNTHESIZE_BY_COPYING = 8.0
"""Time of `synthesize` with five variants / time of copying its arrays, at most. The goal is 5."""
SYNTHESIZE_GOAL = 5.0

GENERATE_BY_STORING = 1.5
"""Time of generation with one worker / time of storing the same arrays from memory, at most. The goal is 1.25."""
GENERATE_GOAL = 1.25

TIMES_PUBLISHED = 250.0
"""Rate of one worker / rate of the published generator beside it, at least."""

TWO_WORKERS_BY_ONE = 1.8
"""Rate of two workers / rate of one, on two cores, at least."""

GAIN_OF_WORKERS = 0.95
"""Rate of two workers / rate of one, relative to the same of two processes that only compute, at least."""

WARM_SECONDS, COLD_SECONDS = 3.0, 20.0
"""Duration of `posegen generate --samples 10` with compiled kernels in the cache, and without."""
START_SAMPLES = 10

EXPORTED_CLIPS_PER_SECOND = 2000.0
"""Clips that two cores export to HumanML3D's folder, at least, with the start of the command."""

KINEMATICS_BY_TORCH, KINEMATICS_BY_MUJOCO = 5.0, 1.0
"""Rate of forward kinematics / rate of batched torch, and of MuJoCo, on one core, at least."""

WIDEST = 0.15
"""Relative half-width of the interval of a profile on an idle machine, at most."""
COVERED = 0.9
"""Share of runs inside the interval, at least."""
QUIET = 0.1
"""Cores that other processes use on an idle machine, at most."""
