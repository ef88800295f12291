"""COCO's keypoints: an image of the dataset's camera for each frame, an annotation for each person; no pixels are written.

The face has no keypoints, as 22 joints do not determine it. The area of a person is .53 of the box around the keypoints, the
fraction that the field `keypoints` uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import PARTS, ExportFormat, Shard
from posegen.exchange.layouts import LAYOUTS
from posegen.exchange.skeleton_actions import for_coco, persons_by_sequence
from posegen.exchange.text_motion import LISTS
from posegen.fields.camera import SIZE
from posegen.fields.keypoints import NOBODY
from posegen.foundations.arrays import Array

_LAYOUT = LAYOUTS["coco17"]
_BODY_IN_BOX = 0.53
_CATEGORY = {
    "id": 1,
    "name": "person",
    "supercategory": "person",
    "keypoints": list(_LAYOUT.joints),
    "skeleton": [[a + 1, b + 1] for a, b in _LAYOUT.edges],
}


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write images and annotations of a shard as lines of JSON; return the number of images and annotations by split."""
    counts = {name: [0, 0] for name in LISTS.values()}
    paths = {name: [_part(shard.folder, kind, name, shard.number) for kind in ("images", "annotations")] for name in counts}
    files = {name: [path.open("w", encoding="utf-8") for path in both] for name, both in paths.items()}
    try:
        for name, clips in persons_by_sequence(blocks):
            split = LISTS[clips[0].split]
            keypoints = [_keypoints(clip) for clip in clips]
            for frame in range(len(clips[0].joints)):
                image = counts[split][0]
                counts[split][0] += 1
                about = {"id": image, "file_name": f"{name}/{frame:06}.png", "width": SIZE, "height": SIZE}
                files[split][0].write(json.dumps(about) + "\n")
                for values in keypoints:
                    found = _annotation(values[frame])
                    files[split][1].write(json.dumps({"id": counts[split][1], "image_id": image, **found}) + "\n")
                    counts[split][1] += 1
    finally:
        for file in (file for both in files.values() for file in both):
            file.close()
    return {"shard": shard.number, "counts": counts}


def _part(folder: Path, kind: str, split: str, shard: int) -> Path:
    return folder / PARTS / f"{kind}-{split}-{shard:06}"


def _keypoints(clip: Clip) -> Array:
    """Return x, y and visibility of COCO's keypoints: float64 [frame, 17, 3], zeros where a keypoint has no label."""
    visible = for_coco(clip.fields["visibility"].astype(np.float64)[..., None])
    visible = np.where(visible == NOBODY, 0.0, np.nan_to_num(visible))
    pixels = np.nan_to_num(for_coco(clip.fields["keypoints"]))
    return np.concatenate([np.where(visible > 0, pixels, 0.0), visible], axis=-1)


def _annotation(keypoints: Array) -> dict[str, Any]:
    labelled = keypoints[keypoints[:, 2] > 0, :2]
    low, high = (labelled.min(axis=0), labelled.max(axis=0)) if len(labelled) else (np.zeros(2), np.zeros(2))
    width, height = (high - low).tolist()
    return {
        "category_id": 1,
        "iscrowd": 0,
        "keypoints": [round(value, 2) for value in keypoints.ravel().tolist()],
        "num_keypoints": len(labelled),
        "bbox": [round(value, 2) for value in (*low.tolist(), width, height)],
        "area": round(_BODY_IN_BOX * width * height, 2),
    }


def finish(folder: Path, records: Iterator[Mapping[str, Any]]) -> None:
    """Write a document for each split, numbering images and annotations from 1; no more than a line is held."""
    shards = list(records)
    for split in LISTS.values():
        if not any(record["counts"][split][0] for record in shards):
            continue
        with (folder / f"person_keypoints_{split}.json").open("w", encoding="utf-8") as out:
            out.write(f'{{"categories": [{json.dumps(_CATEGORY)}]')
            for kind in ("images", "annotations"):
                out.write(f', "{kind}": [')
                before, separator = [1, 1], "\n"
                for record in shards:
                    with _part(folder, kind, split, record["shard"]).open(encoding="utf-8") as lines:
                        for line in lines:
                            out.write(separator + json.dumps(_renumbered(json.loads(line), kind, before)))
                            separator = ",\n"
                    before = [a + b for a, b in zip(before, record["counts"][split], strict=True)]
                out.write("]")
            out.write("}\n")


def _renumbered(entry: dict[str, Any], kind: str, before: list[int]) -> dict[str, Any]:
    entry["id"] += before[kind == "annotations"]
    if kind == "annotations":
        entry["image_id"] += before[0]
    return entry


FORMAT = ExportFormat(
    "coco",
    "documents of COCO's keypoints, an image for each frame, without pixels",
    write,
    finish,
    fields=("keypoints", "visibility"),
    frame_bytes=1200,
    needs_scenes=True,
)
