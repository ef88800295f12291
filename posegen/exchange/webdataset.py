"""WebDataset: a tar archive for each shard and split, with ``NAME.joints.npy`` and ``NAME.json`` for each clip."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import ExportFormat, Shard


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write the clips of a shard to an archive for each split; return the names of the archives."""
    archives: dict[str, tarfile.TarFile] = {}
    with ExitStack() as stack:
        for clip in chain.from_iterable(blocks):
            name = f"{clip.split}-{shard.number:06}.tar"
            if name not in archives:
                archives[name] = stack.enter_context(tarfile.open(shard.folder / name, "w"))
            joints = io.BytesIO()
            np.save(joints, clip.joints)
            about = {"fps": clip.fps, "action": clip.label, "captions": clip.captions, "stature": clip.stature}
            _add(archives[name], f"{clip.name}.joints.npy", joints.getvalue())
            _add(archives[name], f"{clip.name}.json", json.dumps(about, ensure_ascii=False).encode())
    return {"archives": sorted(archives)}


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file with time 0, so that archives do not depend on when they were written."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def finish(folder: Path, records: Iterator[Mapping[str, Any]]) -> None:
    """Write the names of the archives of each split to ``SPLIT.txt``."""
    names = [name for record in records for name in record["archives"]]
    for split in sorted({name.partition("-")[0] for name in names}):
        own = [name for name in names if name.startswith(f"{split}-")]
        (folder / f"{split}.txt").write_text("".join(f"{name}\n" for name in own), encoding="utf-8")


FORMAT = ExportFormat("webdataset", "tar archives with joints and labels, for `webdataset`", write, finish)
