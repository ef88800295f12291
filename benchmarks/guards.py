"""What benchmarks must not fall behind: ratios of two things measured side by side, and peaks.

Times differ from machine to machine and from hour to hour; the ratio of two works done in turns hardly does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Guard: TypeAlias = Callable[..., None]
"""Holds what was found, by its name, against `most` or `least`; see `conftest.py`."""

END_TO_END = 3.5
"""Generating a dataset on one core, by storing the same arrays from memory with the same writer."""

KERNEL_SPEEDUP = {
    "philox": 3.0,
    "multiples of a phase": 3.0,
    "product of rotations": 2.0,
}
"""By how much each kernel must beat the naive NumPy that it equals."""

WORDS_SHARE = 0.20
"""Planning, captions and checks, by all that a worker does for a shard."""
READING = 3.0
"""Shuffled batches in one thread, by unpacking their chunks and copying them once."""

PEAK_BYTES = 1_500_000_000
"""Resident memory of all processes together, at two workers."""

PROFILE_WIDENED = 2.0
"""How many times as wide as told the interval of a profile is, in which a run five times as large must lie."""

PROFILE_BYTES = 0.03
"""By how much the bytes of that run may differ from those told."""

STAGES = {"motion": 50.0, "variants": 4.0, "captions": 2.0}
"""Motion and variants of a shard, by copying their arrays; captions, by writing the rows as JSON."""

ENCODE = 2.0
"""Encoding the joints of a shard, by compressing them alone."""

START = 5.0
"""The command that makes ten samples, by importing the packages that it needs."""

SYNTHESIZE = 60.0
"""`synthesize`, by copying its arrays; what is wanted is in `speed/wanted.py`."""

KINEMATICS = 10.0
"""Times that forward kinematics is as fast as NumPy's stacks of matrices."""

TRAINING = 1.0
"""A clip that is trained on, by the published way with batches of 3 and as many threads; what is wanted is in
`train/against_published.py`."""
