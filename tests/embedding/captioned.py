"""Write minimal datasets with captions that a test chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from posegen.dataset.documents import FORMAT_VERSION
from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.progress import Progress

VARIANTS = ("base", "mirror")
SCHEMA = pa.schema(
    [
        ("sample", pa.int64()),
        ("variant", pa.string()),
        ("captions", pa.list_(pa.struct([("text", pa.string()), ("kind", pa.string())]))),
        ("length", pa.int32()),
    ]
)

Captions = Callable[[int, int], Sequence[str]]
"""Returns the captions of a sample in a variant."""


def captioned(
    path: Path, samples: int, captions: Captions, *, shard: int = 6, variants: Sequence[str] = VARIANTS, identity: str = "a"
) -> Path:
    """Write a dataset, or extend one."""
    field = ArrayField("joints", ("variant", "axis"), (len(variants), 3), (len(variants), 3), "float32", math.nan, {})
    header = Header(
        format_version=FORMAT_VERSION,
        content_version=1,
        identity=(identity * 32)[:32],
        name="captioned",
        config={},
        seed=0,
        samples=0,
        fps=25,
        frames=1,
        skeleton={"joints": ["pelvis"], "parents": [-1], "units": "metre", "up": "y"},
        licence="CC0-1.0",
        shard=shard,
        chunk=math.gcd(shard, 3) if shard < 100 else shard // 10,
        variants=tuple(variants),
        fields=(field,),
    )
    if not (path / "dataset.json").exists():
        create(path, header, "a-run")
    for number in range(-(-samples // shard)):
        numbers = range(number * shard, min((number + 1) * shard, samples))
        rows = [
            {
                "sample": sample,
                "variant": variant,
                "captions": [{"text": text, "kind": "full"} for text in captions(sample, position)],
                "length": 1,
            }
            for sample in numbers
            for position, variant in enumerate(variants)
        ]
        joints = np.zeros((len(numbers), len(variants), 3), np.float32)
        commit_shard(path, header, number, {"joints": joints}, pa.Table.from_pylist(rows, schema=SCHEMA), "a-run", 0.1)
    publish(path, header, samples, "a-run")
    return path


class Notes(Progress):
    """Keeps messages."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def log(self, text: str) -> None:
        self.texts.append(text)


def plain(sample: int, variant: int) -> list[str]:
    """Return 0 to 3 captions; some are shared by variants, some by samples."""
    own = [f"person {sample} walks", f"someone turns {'left' if variant else 'right'}", f"a jump of {sample // 4} feet"]
    return own[: sample % 4]
