"""What a run has to do: which shards there are, which are complete, which are to be made or made again.

Nothing here touches the disk or makes a sample. A plan follows from the config, from the header of the dataset that is
there, and from what its receipts say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.identity import differences
from posegen.config.schema import CONTENT_VERSION, NOT_IDENTITY, Config
from posegen.dataset.layout import FORMAT_VERSION, ArrayField, Header
from posegen.dataset.receipts import complete_prefix
from posegen.errors import PosegenError, UsageError
from posegen.quantities import human_bytes
from posegen.skeleton import JOINTS, PARENTS

if TYPE_CHECKING:
    from posegen.library.load import Library

__all__ = [
    "LICENCE",
    "Plan",
    "Span",
    "adopt",
    "bytes_per_sample",
    "check_space",
    "make_plan",
    "new_header",
    "target_samples",
]

LICENCE = "CC0-1.0"
"""What users may do with the data: anything."""

TYPICAL_COMPRESSION = 0.6
"""Bytes on disk by bytes in memory, for an estimate before anything is made. Measured: .45."""

MARGIN = 64 << 20
"""Bytes that a run leaves free on the disk."""


@dataclass(frozen=True)
class Span:
    """A shard to make: its number, its first sample and the one behind its last."""

    shard: int
    start: int
    stop: int


@dataclass(frozen=True)
class Plan:
    """What a run has to do.

    Attributes
    ----------
    path : Path
        Of the dataset.
    header : Header
        Of the dataset, its `samples` as published so far.
    target : int
        Samples that are to be there in the end.
    shards : int64 array
        Numbers of the shards to make, in order.
    """

    path: Path
    header: Header
    target: int
    shards: NDArray[np.int64]

    def span(self, shard: int) -> Span:
        """Tell which samples of a shard are to be there in the end."""
        start = int(shard) * self.header.shard
        return Span(int(shard), start, min(start + self.header.shard, self.target))

    @property
    def samples_to_make(self) -> int:
        """How many samples the run makes, those that it makes again included."""
        if not len(self.shards):
            return 0
        last = self.span(self.shards[-1])
        return (len(self.shards) - 1) * self.header.shard + last.stop - last.start


def new_header(config: Config, library: Library, fields: tuple[ArrayField, ...]) -> Header:
    """Describe the dataset of a config, with no sample in it yet."""
    return Header(
        format_version=FORMAT_VERSION,
        content_version=CONTENT_VERSION,
        identity=config.identity(library),
        name=config.name,
        config=config.as_data(),
        seed=config.seed,
        samples=0,
        fps=config.fps,
        frames=config.frames,
        skeleton={"name": "SMPL-22", "joints": list(JOINTS), "parents": list(PARENTS), "unit": "metre", "up": "y"},
        licence=LICENCE,
        shard=config.store.shard,
        chunk=config.store.chunk,
        variants=config.variants.names,
        fields=fields,
    )


def adopt(there: Header, wanted: Header, path: Path) -> Header:
    """Go on with the dataset that is there, with its shard size and its fields, if it is the one that is wanted.

    Raises
    ------
    PosegenError
        If another content version made it.
    UsageError
        If it is another dataset; the difference is shown.
    """
    if there.content_version != wanted.content_version:
        msg = (
            f"{path}: was made by content version {there.content_version}, and this posegen makes version "
            f"{wanted.content_version}, whose samples differ. It can be read and checked, but not extended: "
            "choose another folder with --out, or use the posegen that made it"
        )
        raise PosegenError(msg)
    if there.identity != wanted.identity:
        msg = (
            f"{path}: holds another dataset ({there.identity[:8]}, not {wanted.identity[:8]}). What differs, there -> here: "
            f"{_difference(there.config, wanted.config)}. Choose another folder with --out, or make the config equal"
        )
        raise UsageError(msg)
    return there


def target_samples(path: Path, header: Header, complete: Mapping[int, int], samples: int) -> int:
    """Tell how many samples there are to be when `samples` are asked for: those that are there already stay.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
        Of the dataset.
    complete : mapping of int to int
        How many samples each complete shard has.
    samples : int
    """
    return max(samples, header.samples, complete_prefix(path, header, complete))


def make_plan(path: Path, header: Header, complete: Mapping[int, int], target: int) -> Plan:
    """Plan how to come to `target` samples, as many as there are or more."""
    wanted = np.full(math.ceil(target / header.shard), header.shard)
    wanted[-1] = target - (len(wanted) - 1) * header.shard
    there = np.zeros(len(wanted), np.int64)
    for shard, samples in complete.items():
        there[shard : shard + 1] = samples
    return Plan(path, header, target, np.flatnonzero(there < wanted))


def bytes_per_sample(header: Header) -> int:
    """Count the bytes that the arrays of a sample take in memory, those of layers among them."""
    return sum(math.prod(field.shape) * np.dtype(field.dtype).itemsize for field in header.all_fields)


def check_space(
    path: Path, header: Header, complete: Mapping[int, int], target: int, bytes_each: float | None, free: int
) -> None:
    """Refuse a run that cannot end because the disk is too small.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    complete : mapping of int to int
        How many samples each complete shard has.
    target : int
        How many samples there are to be.
    bytes_each : float or None
        Bytes on disk of a sample as measured; None takes a typical compression.
    free : int
        Bytes free on the disk.

    Raises
    ------
    PosegenError
        If the samples that are still missing do not fit.
    """
    missing = target - sum(min(samples, max(target - shard * header.shard, 0)) for shard, samples in complete.items())
    if bytes_each is None:
        bytes_each = bytes_per_sample(header) * TYPICAL_COMPRESSION
    needed = int(missing * bytes_each)
    if missing and needed + MARGIN > free:
        msg = (
            f"{path}: {missing:,} more samples need about {human_bytes(needed)}, and {human_bytes(free)} are free there. "
            "Make room, ask for fewer samples, or choose a place on another disk with --out"
        )
        raise PosegenError(msg)


def _difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    found = [
        f"{key}: {json.dumps(one)} -> {json.dumps(other)}"
        for key, one, other in differences(there, here)
        if not any(key == free or key.startswith(f"{free}.") for free in NOT_IDENTITY)
    ]
    return "; ".join(found) or "the files of actions, themes or words"
