"""A small dataset for tests: its samples are a function of their index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from posegen.dataset.documents import FORMAT_VERSION
from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.runs import current_run
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.write import commit_shard, create, publish

VARIANTS = ("base", "mirror")
SCHEMA = pa.schema(
    [
        ("sample", pa.int64()),
        ("variant", pa.string()),
        ("duration", pa.float32()),
        ("captions", pa.list_(pa.struct([("text", pa.string()), ("parts", pa.list_(pa.string()))]))),
        ("parameters", pa.struct([("speed", pa.float32()), ("mirrored", pa.bool_())])),
    ]
)
FIELDS = (
    ArrayField("joints", ("variant", "frame", "axis"), (2, 40, 3), (1, 40, 3), "float32", math.nan, {"units": "m"}),
    ArrayField("action", ("variant", "frame"), (2, 40), (2, 20), "uint16", 65535, {"names": ["walk", "wäve"]}),
    ArrayField("contact", ("variant", "frame"), (2, 40), (1, 40), "uint8", 255, {}),
)


def make_header(shard: int = 6, chunk: int = 3, **changes: Any) -> Header:
    values: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "content_version": 1,
        "identity": "0123456789abcdef" * 2,
        "name": "tiny",
        "config": {"story": {"actors": [1, 2]}, "name": "Größe"},
        "seed": 7,
        "samples": 0,
        "fps": 25,
        "frames": 40,
        "skeleton": {"joints": ["pelvis"], "parents": [-1], "units": "metre", "up": "y"},
        "licence": "CC0-1.0",
        "shard": shard,
        "chunk": chunk,
        "variants": VARIANTS,
        "fields": FIELDS,
    }
    return Header(**(values | changes))


def make_arrays(start: int, stop: int) -> dict[str, np.ndarray]:
    joints = np.zeros((stop - start, 2, 40, 3), np.float32)
    for i, sample in enumerate(range(start, stop)):
        joints[i] = np.round(np.random.default_rng(sample).normal(size=(2, 40, 3)) * 8192) / 8192
        joints[i, :, 40 - sample % 5 :] = np.nan
    action = (np.arange(start, stop, dtype=np.uint16)[:, None, None] + np.zeros((2, 40), np.uint16)) % 7
    contact = np.full((stop - start, 2, 40), 255, np.uint8)  # a field without any value has no file
    return {"joints": joints, "action": action, "contact": contact}


def make_rows(start: int, stop: int) -> list[dict[str, Any]]:
    return [
        {
            "sample": sample,
            "variant": variant,
            "duration": 1.6 + sample / 3,
            "captions": [{"text": f"walks {k} times", "parts": ["legs", "trunk"][:k]} for k in range(sample % 3)],
            "parameters": {"speed": 1.0, "mirrored": variant == "mirror"},
        }
        for sample in range(start, stop)
        for variant in VARIANTS
    ]


def to_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def make_table(start: int, stop: int) -> pa.Table:
    return to_table(make_rows(start, stop))


def fill(path: AnyPath, samples: int, *, run: str = "a-run", **changes: Any) -> Header:
    """Create a dataset with `samples` samples."""
    header = make_header(**changes)
    create(path, header, run)
    for shard in range(-(-samples // header.shard)):
        commit(path, header, shard, samples, run)
    return publish(path, header, samples, run)


def commit(path: AnyPath, header: Header, shard: int, samples: int, run: str = "a-run") -> None:
    """Commit a shard of a dataset that will have `samples` samples."""
    start, stop = shard * header.shard, min((shard + 1) * header.shard, samples)
    commit_shard(path, header, shard, make_arrays(start, stop), make_table(start, stop), run, 0.5)


def ended_run() -> str:
    """Return the name of a run of this machine before it was started again."""
    host, _, process, start = current_run().split("_")
    return f"{host}_anotherboot_{process}_{start}"


def files_of(path: AnyPath) -> list[str]:
    if isinstance(path, BucketPath):
        return sorted(path.list())
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
