"""Thresholds of the guards: ratios of two workloads measured in turns, and peak memory.

Times differ between machines and hours; the ratio of two workloads measured in turns changes little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Guard: TypeAlias = Callable[..., None]
"""Checks a named ratio against `most` or `least`; see `conftest.py`."""

END_TO_END = 4.5
"""Time to generate a dataset on one core / time to store the same arrays from memory with the same writer. Within two hours,
the same code gave 2.2 to 3.7: storing takes half as long where disk and memory are idle. Content version 20 also takes 1.2
times the processor time of version 19 to synthesize."""

KERNEL_SPEEDUP = {
    "philox": 3.0,
    "multiples of a phase": 3.0,
    "product of rotations": 2.0,
}
"""Time of the naive NumPy oracle / time of the kernel."""

WORDS_SHARE = 0.20
"""Target of `make judge`: time of planning, captions and checks / time of a worker for a shard."""
WORDS_SHARE_GUARD = 0.33
"""The same as a guard. The share of unchanged code was .168 to .215 within two hours on one machine, and .277 on one machine
and .31 on another, so that a guard close to a measured value fails by chance. Since captions and rows are built as Arrow
columns, the share contains their conversion, which was a part of storing before (.24 then): the time of all is as before."""

READING = 3.0
"""Time of shuffled batches in one thread / time to decompress their chunks and copy them once."""

VERIFYING = 2.0
"""Processor time to verify a dataset / that to hash the bytes of its files; 18 with decoding."""

PEAK_BYTES = 1_500_000_000
"""Resident memory of all processes together, with two workers."""

PROFILE_WIDENED = 2.0
"""Factor on the width of a profile's interval that must contain a run five times as large."""

PROFILE_BYTES = 0.03
"""Relative error of the estimated size of that run."""

STAGES = {"motion": 50.0, "variants": 4.0, "captions": 2.0}
"""Time of motion and of variants of a shard / time to copy their arrays; captions / time to write the rows as JSON."""

ENCODE = 2.0
"""Time to encode the joints of a shard / time to compress them."""

START = 5.0
"""Time of the command that generates ten samples / time to import the packages that it needs."""

EXPORT = {"humanml3d": 4.0, "bvh": 6.5}
"""Processor time of an export with one worker, by format / that to synthesize the samples and write the files from memory.

The small files of humanml3d are also synced to the disk and hashed before they get their names: four calls of the system for a
file, which writing from memory does not make."""

SYNTHESIZE = 60.0
"""Time of `synthesize` / time to copy its arrays. The target is in the `speed` section."""

KINEMATICS = 10.0
"""Time of NumPy's stacked matrices / time of forward kinematics."""

POSES = 1.0
"""Processor time to compute the poses that `motion` learns, in all variants / that to synthesize these samples. It was
1.9 when rotations were computed frame by frame and halves were made by NumPy."""
