"""The shards that a run makes, and whether the disk has room for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posegen.dataset.layout import HEADER_FILE, Header
from posegen.dataset.receipts import load_receipt
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import PosegenError
from posegen.foundations.quantities import human_bytes
from posegen.generation.header import bytes_per_sample

TYPICAL_COMPRESSION = 0.6
"""Compressed bytes divided by uncompressed ones, for an estimate before any shard exists. Measured: .45."""

MARGIN = 64 << 20
"""Bytes that a run leaves free on the disk."""

MEASURED_SHARDS = 4
"""Complete shards whose sizes are measured."""


@dataclass(frozen=True)
class Plan:
    """The shards that a run makes.

    Attributes
    ----------
    header : Header
        As it is at the end of the run.
    missing : tuple of range
        Numbers of the shards to make, in order. Their size follows from the complete shards: a damaged or forged header may
        state any number of samples.
    """

    header: Header
    missing: tuple[range, ...]

    @property
    def shards(self) -> int:
        """Number of shards that the run makes."""
        return sum(numbers.stop - numbers.start for numbers in self.missing)

    @property
    def first(self) -> int:
        """The first sample that the run makes; the number of samples if there is none."""
        return self.missing[0].start * self.header.shard if self.missing else self.header.samples

    @property
    def samples_to_make(self) -> int:
        """Number of samples that the run makes, including those that it makes again."""
        size = self.header.shard
        return sum(min(numbers.stop * size, self.header.samples) - numbers.start * size for numbers in self.missing)


def make_plan(header: Header, complete: Mapping[int, int]) -> Plan:
    """Return the plan to reach the samples of a header, by the number of samples of each complete shard."""
    missing, start = [], 0
    for shard in sorted(complete):
        if complete[shard] >= header.count(shard) and shard < header.shards():
            missing.append(range(start, shard))
            start = shard + 1
    missing.append(range(start, header.shards()))
    return Plan(header, tuple(numbers for numbers in missing if numbers))


def check_space(
    path: AnyPath, header: Header, complete: Mapping[int, int], target: int, bytes_each: float | None, free: int
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


def check_free_space(
    path: AnyPath, header: Header, complete: Mapping[int, int], target: int, elsewhere: Mapping[int, int] | None = None
) -> None:
    """Check the disk as :func:`check_space` does, by its free bytes and the size of some of the complete shards.

    Shards that are made `elsewhere` need no room.
    """
    receipts = [load_receipt(path, header, shard) for shard in list(complete)[:MEASURED_SHARDS]]
    bytes_each = sum(receipt.size for receipt in receipts) / sum(receipt.count for receipt in receipts) if receipts else None
    check_space(path, header, {**(elsewhere or {}), **complete}, target, bytes_each, storage_of(path).free_bytes())
