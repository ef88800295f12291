"""Other forms of the same numbers before compression, by the filters with which plain zarr could read them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numcodecs import Blosc, Delta, FixedScaleOffset

from benchmarks.packing.choices import SHUFFLES
from benchmarks.packing.joints import Array, chunks_of
from posegen.constants import GRID
from posegen.dataset.shard_codec import COMPRESSION

CORE = "Zarr's own codecs"
_WHOLE = FixedScaleOffset(0, 1 / GRID, "<f4", "<i4")
FORMS: dict[str, tuple[bool, tuple[Any, ...], str]] = {
    "float32": (False, (), CORE),
    "float32, frames last": (True, (), CORE),
    "whole numbers of the grid, int32": (False, (_WHOLE,), "numcodecs"),
    "whole numbers, frames last": (True, (_WHOLE,), "numcodecs"),
    "differences of whole numbers, frames last": (True, (_WHOLE, Delta("<i4")), "numcodecs"),
}
"""By name: whether frames are the last axis, the filters, and who has them."""


def measure(array: Array, chunk: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Return rates in MB/s of processor time, milliseconds for a chunk and sizes: medians of rounds in turns."""
    chunks = [part for part in chunks_of(array, chunk) if not np.isnan(part).any()]  # whole numbers have no NaN
    spent: dict[str, list[tuple[float, float, float]]] = {name: [] for name in FORMS}
    for _ in range(rounds):
        for name, (last, filters, _) in FORMS.items():
            spent[name].append(_once(chunks, filters, last=last))
    megabytes, found = sum(part.nbytes for part in chunks) / 1e6, {}
    for name, each in spent.items():
        write, read, size = (statistics.median(part) for part in zip(*each, strict=True))
        latency = 1e3 * read / len(chunks)
        rates = {"write": megabytes / write, "read": megabytes / read, "latency": latency, "size": size / 1e6 / megabytes}
        found[f"{name} ({FORMS[name][2]})"] = rates
    return found


def _once(chunks: Sequence[Array], filters: tuple[Any, ...], *, last: bool) -> tuple[float, float, float]:
    """Return the seconds of encoding and of decoding all chunks, and their bytes."""
    codec = Blosc(**COMPRESSION | {"shuffle": SHUFFLES["shuffle"]}, typesize=4)
    began, packed = time.process_time(), []
    for part in chunks:
        values = np.ascontiguousarray(np.moveaxis(part, 1, -1)) if last else part
        for each in filters:
            values = each.encode(values)
        packed.append(codec.encode(values.reshape(-1)))
    encoded = time.process_time()
    room = np.empty_like(chunks[0])
    for data, part in zip(packed, chunks, strict=True):
        values = np.frombuffer(codec.decode(data), np.int32 if filters else np.float32)
        for each in reversed(filters):
            values = each.decode(values)
        shape = np.moveaxis(part, 1, -1).shape if last else part.shape
        room[: len(part)] = np.moveaxis(values.reshape(shape), -1, 1) if last else values.reshape(shape)
    decoded = time.process_time()
    np.testing.assert_array_equal(room[: len(chunks[-1])], chunks[-1])
    return encoded - began, decoded - encoded, float(sum(map(len, packed)))
