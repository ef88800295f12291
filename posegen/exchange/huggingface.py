"""A dataset for the Hugging Face Hub: Parquet files with captions and motion by split, and a card.

``datasets.load_dataset(FOLDER)`` reads the folder, and the Hub shows it. The files of shards are joined, because the Hub limits
their number. A row is a clip; joints are a list of frames of 66 numbers, because nested lists of three levels are slow to read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import PARTS, ExportFormat, Shard
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.templates import fill_template
from posegen.generation.header import LICENCE

SPLITS = {"training": "train", "validation": "validation", "test": "test"}
"""Names of the splits on the Hub."""

SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "action": pa.string(),
        "captions": pa.list_(pa.string()),
        "fps": pa.int32(),
        "frames": pa.int32(),
        "stature": pa.float32(),
        "joints": pa.list_(pa.list_(pa.float32(), 3 * len(JOINTS))),
    }
)
"""Columns; joints are metres, y up."""

_FILE_BYTES = 256_000_000
"""Size at which a file is complete."""


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write the clips of a shard to a file for each split; return the number of clips by split, and the licence."""
    counts: Counter[str] = Counter()
    writers: dict[str, pq.ParquetWriter] = {}
    with ExitStack() as stack:
        for clips in blocks:
            for split, name in SPLITS.items():
                if not (chosen := [clip for clip in clips if clip.split == split]):
                    continue
                if split not in writers:
                    path = shard.folder / PARTS / f"{name}-{shard.number:06}.parquet"
                    writers[split] = stack.enter_context(pq.ParquetWriter(path, SCHEMA, compression="zstd"))
                writers[split].write_table(_table(chosen))
                counts[name] += len(chosen)
    return {"counts": counts, "licence": shard.licence}


def _table(clips: list[Clip]) -> pa.Table:
    frames = [len(clip.joints) for clip in clips]
    values = pa.array(np.concatenate([clip.joints.reshape(-1) for clip in clips]))
    poses = pa.FixedSizeListArray.from_arrays(values, 3 * len(JOINTS))
    ends = np.concatenate([[0], np.cumsum(frames)]).astype(np.int32)
    columns = {
        "name": [clip.name for clip in clips],
        "action": [clip.label for clip in clips],
        "captions": [list(clip.captions) for clip in clips],
        "fps": [clip.fps for clip in clips],
        "frames": frames,
        "stature": [clip.stature for clip in clips],
        "joints": pa.ListArray.from_arrays(pa.array(ends), poses),
    }
    return pa.Table.from_pydict(columns, schema=SCHEMA)


def _join(folder: Path, split: str) -> None:
    """Write the files of all shards of a split to few large ones."""
    parts = sorted((folder / PARTS).glob(f"{split}-*.parquet"))
    before = accumulate((part.stat().st_size for part in parts), initial=0)
    files = groupby(zip(before, parts, strict=False), lambda each: each[0] // _FILE_BYTES)
    for number, (_, group) in enumerate(files):
        path = folder / "data" / f"{split}-{number:05}.parquet"
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
            for _, part in group:
                with pq.ParquetFile(part) as file:
                    for rows in range(file.num_row_groups):
                        writer.write_table(file.read_row_group(rows))


def finish(folder: Path, records: Iterator[Mapping[str, Any]]) -> None:
    """Join the files of the shards, and write the card."""
    (folder / "data").mkdir(exist_ok=True)
    for name in SPLITS.values():
        _join(folder, name)
    counts: Counter[str] = Counter()
    licence = LICENCE
    for record in records:
        counts.update(record["counts"])
        licence = record["licence"]
    shown = {name: counts[name] for name in SPLITS.values() if counts[name]}
    card = fill_template(Path(__file__).with_name("card.md.j2"), counts=shown, free=licence == LICENCE, licence=licence)
    (folder / "README.md").write_text(card, encoding="utf-8")


FORMAT = ExportFormat("hf", "Parquet files with a card, for the Hugging Face Hub and `datasets`", write, finish)
