"""A Parquet table of the strides of all clips, from contacts of heels and toes.

A foot is in contact while its heel or toe is. A stride lasts from a foot strike to the next of the same foot, and leads from
where the heel is at the first to where it is at the second. It counts if the other foot strikes exactly once meanwhile. Step
length is the distance, along that line, from the other heel at its strike to this heel at its next strike; step width is the
distance of the other heel from the line. These are the definitions of instrumented walkways (Whittle, Gait Analysis, 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import ExportFormat, Shard
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import PARTS, sole_points

TABLE = "strides.parquet"
_LEGS = PARTS.index("legs")


class Stride(NamedTuple):
    """A stride of a foot, 0 left or 1 right.

    Frames are the first of contact, the first without, and the first of the next contact. Lengths are in metres, speed in
    m/s, cadence in steps per minute, and stance is a share of the stride. Width and step length of a stride that returns to
    its start are None.
    """

    foot: int
    strike: int
    toe_off: int
    next_strike: int
    seconds: float
    cadence: float
    step_length: float | None
    step_width: float | None
    stance: float
    speed: float


def strides_of(joints: Array, contact: Array, fps: float) -> list[Stride]:
    """Return the strides of a clip in the order of their foot strikes.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres.
    contact : uint8 [frame, point]
        1 while a point of :data:`posegen.foundations.skeleton.CONTACTS` touches something.
    fps : float
    """
    heels = sole_points(np.asarray(joints, np.float64))[:, ::2, ::2]
    down = np.stack([(contact[:, heel : heel + 2] == 1).any(-1) for heel in (0, 2)])
    strikes = [np.flatnonzero(own[1:] & ~own[:-1]) + 1 for own in down]
    strides = []
    for foot in (0, 1):
        for start, stop in pairwise(strikes[foot].tolist()):
            others = strikes[1 - foot][(strikes[1 - foot] > start) & (strikes[1 - foot] < stop)]
            if len(others) == 1:
                toe_off = start + int(np.argmin(down[foot, start:stop]))
                way, seconds = heels[stop, foot] - heels[start, foot], (stop - start) / fps
                before = heels[stop, foot] - heels[others[0], 1 - foot]
                length = float(np.hypot(*way))
                along, across = (way @ before, way[0] * before[1] - way[1] * before[0]) if length else (0.0, 0.0)
                strides.append(
                    Stride(
                        foot=foot,
                        strike=start,
                        toe_off=toe_off,
                        next_strike=stop,
                        seconds=seconds,
                        cadence=120.0 / seconds,
                        step_length=float(along) / length if length else None,
                        step_width=abs(float(across)) / length if length else None,
                        stance=(toe_off - start) / (stop - start),
                        speed=length / seconds,
                    )
                )
    return sorted(strides, key=lambda stride: stride.strike)


_OF_CLIP = {"clip": pa.string(), "split": pa.string(), "actor": pa.int64(), "fps": pa.float64(), "action": pa.string()}
_COUNTED = ("strike", "toe_off", "next_strike")
_SCHEMA = pa.schema(
    _OF_CLIP
    | {"foot": pa.string()}
    | {name: pa.int64() if name in _COUNTED else pa.float64() for name in Stride._fields if name != "foot"}
)


def _rows(clip: Clip) -> Iterator[dict[str, Any]]:
    for stride in strides_of(clip.joints, clip.contact, clip.fps):
        action = clip.library.actions[clip.action[stride.strike, _LEGS]] if len(clip.action) else clip.label
        about = {"clip": clip.name, "split": clip.split, "actor": clip.actor, "fps": clip.fps, "action": action}
        yield about | stride._asdict() | {"foot": ("left", "right")[stride.foot]}


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Return the strides of the clips of a shard; they are written by :func:`finish`."""
    return {"strides": [row for clip in chain.from_iterable(blocks) for row in _rows(clip)]}


def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write the table, a row group for each shard with strides."""
    with pq.ParquetWriter(folder / TABLE, _SCHEMA) as writer:
        for part in parts:
            if part["strides"]:
                writer.write_table(pa.Table.from_pylist(part["strides"], _SCHEMA))


FORMAT = ExportFormat("strides", "a Parquet table with a row for each stride of walks, runs and stairs", write, finish)
