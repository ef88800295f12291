"""Distributions over the base variants of a dataset: actions, themes, styles, people, lengths and speeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.foundations.arrays import Array

_SPEED_STEP, _LENGTH_BINS = 0.25, 20
_LONGEST_SPEED = 10.0


def summarize(tables: Iterable[pa.Table]) -> dict[str, Any]:
    """Count what the sequences of the base variant show.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        Tables of sequences; read one after another.

    Returns
    -------
    dict
        ``samples``; counts of ``actions`` (segments), ``themes``, ``styles`` (actors) and ``people``, the most frequent first;
        ``seconds`` and ``speeds`` as lists of (from, to, count): seconds of samples, and metres per second of segments that
        travel.
    """
    counts = {name: Counter[str]() for name in ("actions", "themes", "styles", "people")}
    seconds, speeds, samples = [np.zeros(0)], [np.zeros(0)], 0
    for table in tables:
        base = table.filter(pc.equal(table["variant"], table["variant"][0])) if len(table) else table
        samples += len(base)
        actors = pc.list_flatten(base["actors"])
        segments = pc.list_flatten(pc.struct_field(actors, "segments"))
        counts["actions"].update(_counted(pc.struct_field(segments, "action")))
        counts["themes"].update(_counted(base["theme"]))
        counts["styles"].update(_counted(pc.struct_field(actors, "style")))
        counts["people"].update(_counted(pc.list_value_length(base["actors"])))
        seconds.append(base["duration"].to_numpy())
        speeds.append(pc.struct_field(segments, "speed").to_numpy())
    speed = np.concatenate(speeds)
    ranked = {
        name: [(label.replace("_", " "), count) for label, count in counter.most_common()] for name, counter in counts.items()
    }
    return {
        "samples": samples,
        "seconds": _length_bins(np.concatenate(seconds)),
        "speeds": _speed_bins(speed[speed > 0]),
    } | ranked


def _counted(column: Any) -> dict[str, int]:
    return {
        str(entry["values"]): entry["counts"] for entry in pc.value_counts(column).to_pylist() if entry["values"] is not None
    }


def _speed_bins(values: Array) -> list[tuple[float, float, int]]:
    return _bins(np.minimum(values, _LONGEST_SPEED), _SPEED_STEP)


def _length_bins(values: Array) -> list[tuple[float, float, int]]:
    longest = float(values.max()) if len(values) else 0.0
    return _bins(values, max(0.5, float(np.ceil(longest / _LENGTH_BINS * 2) / 2)))


def _bins(values: Array, step: float) -> list[tuple[float, float, int]]:
    """Count values in intervals of a step, from 0 to beyond the largest; each contains its lower bound."""
    counts = np.bincount((values / step).astype(np.int64)).tolist() if len(values) else []
    return [(number * step, (number + 1) * step, count) for number, count in enumerate(counts)]
