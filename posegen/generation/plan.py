"""The plan of a run: which shards of a dataset are missing or incomplete, and whether the disk has room for them.

A plan follows from the header and the receipts of the dataset. Nothing here makes samples or writes files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from posegen.dataset.layout import HEADER_FILE, Header
from posegen.errors import PosegenError
from posegen.generation.header import bytes_per_sample
from posegen.quantities import human_bytes

TYPICAL_COMPRESSION = 0.6
"""Compressed bytes divided by uncompressed ones, for an estimate before any shard exists. Measured: .45."""

MARGIN = 64 << 20
"""Bytes that a run leaves free on the disk."""


@dataclass(frozen=True)
class Span:
    """A shard to make: its number, its first sample, and the sample behind its last."""

    shard: int
    start: int
    stop: int

    @classmethod
    def of(cls, shard: int, size: int, samples: int) -> Span:
        """Return a shard of a dataset of a number of samples, in shards of `size`."""
        return cls(shard, shard * size, min((shard + 1) * size, samples))


@dataclass(frozen=True)
class Plan:
    """The shards that a run makes.

    Attributes
    ----------
    path : Path
        Dataset folder.
    header : Header
        `samples` are those published so far.
    target : int
        Number of samples at the end of the run.
    missing : tuple of range
        Numbers of the shards to make, in order. Their size follows from the complete shards: a damaged or forged header may
        state any number of samples.
    """

    path: Path
    header: Header
    target: int
    missing: tuple[range, ...]

    @property
    def shards(self) -> int:
        """Number of shards that the run makes."""
        return sum(numbers.stop - numbers.start for numbers in self.missing)

    @property
    def spans(self) -> Iterator[Span]:
        """The shards to make, as they are at the end of the run."""
        return (Span.of(shard, self.header.shard, self.target) for shard in chain.from_iterable(self.missing))

    @property
    def first(self) -> int:
        """The first sample that the run makes; `target` if there is none."""
        return self.missing[0].start * self.header.shard if self.missing else self.target

    @property
    def samples_to_make(self) -> int:
        """Number of samples that the run makes, including those that it makes again."""
        size = self.header.shard
        return sum(min(numbers.stop * size, self.target) - numbers.start * size for numbers in self.missing)


def make_plan(path: Path, header: Header, complete: Mapping[int, int], target: int) -> Plan:
    """Return the plan to reach `target` samples, which are not fewer than there are."""
    missing, start, stop = [], 0, math.ceil(target / header.shard)
    for shard in sorted(complete):
        span = Span.of(shard, header.shard, target)
        if complete[shard] >= span.stop - span.start and shard < stop:
            missing.append(range(start, shard))
            start = shard + 1
    missing.append(range(start, stop))
    return Plan(path, header, target, tuple(numbers for numbers in missing if numbers))


def check_space(
    path: Path, header: Header, complete: Mapping[int, int], target: int, bytes_each: float | None, free: int
) -> None:
    """Check that the disk has room for the missing samples.

    Parameters
    ----------
    path : Path
        Dataset folder.
    header : Header
    complete : mapping of int to int
        Number of samples of each complete shard.
    target : int
        Number of samples at the end of the run.
    bytes_each : float or None
        Measured bytes of a sample on disk; None assumes a typical compression.
    free : int
        Free bytes of the disk.

    Raises
    ------
    PosegenError
        If there is too little room.
    """
    missing = target - sum(min(samples, max(target - shard * header.shard, 0)) for shard, samples in complete.items())
    if bytes_each is None:
        bytes_each = bytes_per_sample(header) * TYPICAL_COMPRESSION
    needed = int(missing * bytes_each)
    if missing and needed + MARGIN > free:
        stated = f"/{HEADER_FILE}: states {target:,} samples" if target == header.samples else ""
        msg = (
            f"{path}{stated}: {missing:,} more samples need about {human_bytes(needed)}, and {human_bytes(MARGIN)} must stay "
            f"free, but only {human_bytes(free)} are free. Free some space, reduce --samples, or choose another disk with --out"
        )
        raise PosegenError(msg)
