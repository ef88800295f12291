"""The folders of TMR: HumanML3D's features, annotations, splits, mean and standard deviation.

TMR trains on annotations of 2 to 10 seconds. Its statistics are files of torch, which is needed to write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import Shard
from posegen.exchange.features263 import FPS, WIDTH, Workspace263, features_of
from posegen.exchange.moments import Moments, mean_and_deviation
from posegen.exchange.npy import write_npy
from posegen.exchange.text_motion import features_format, write_lists

_FEATURES = "guoh3dfeats"
_ANNOTATIONS, _MOTIONS, _STATS = "annotations/posegen", f"motions/{_FEATURES}", f"stats/posegen/{_FEATURES}"


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write the features of clips; return their names by split, annotations, and sums of the features."""
    (shard.folder / _MOTIONS).mkdir(parents=True, exist_ok=True)
    workspace = Workspace263()
    moments, names, annotations = Moments(WIDTH), dict[str, list[str]](), {}
    for clip in chain.from_iterable(blocks):
        features = features_of(clip.joints[None], shard.skeleton, workspace)[0][0]
        write_npy(f"{shard.folder}/{_MOTIONS}/{clip.name}.npy", features)
        moments.add(features)
        names.setdefault(clip.split, []).append(clip.name)
        seconds = len(features) / FPS
        texts = [
            {"seg_id": f"{clip.name}_{number}", "text": text, "start": 0.0, "end": seconds}
            for number, text in enumerate(clip.captions)
        ]
        annotations[clip.name] = {"path": clip.name, "duration": seconds, "annotations": texts}
    return {"names": names, "annotations": annotations, **moments.as_data()}


def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write annotations, lists of names, mean and standard deviation."""
    import torch

    records = list(parts)
    write_lists(folder / _ANNOTATIONS / "splits", records)
    annotations = {name: entry for record in records for name, entry in record["annotations"].items()}
    (folder / _ANNOTATIONS / "annotations.json").write_text(json.dumps(annotations, ensure_ascii=False), encoding="utf-8")
    found = mean_and_deviation(records, ())
    (folder / _STATS).mkdir(parents=True, exist_ok=True)
    for name, values in zip(("mean", "std"), found or (), strict=False):
        torch.save(torch.from_numpy(values), folder / _STATS / f"{name}.pt")


FORMAT = features_format(
    "tmr",
    "folders of TMR: HumanML3D's features, annotations and splits; 20 frames per second",
    write,
    finish,
    frames=(41, 201),
    frame_bytes=1060,
    modules=("torch",),
)
