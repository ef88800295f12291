"""Keypoints of all persons of each sequence: COCO's documents, and the pickles of PYSKL and MMAction2.

COCO's documents have an image of the dataset's camera for each frame and an annotation for each person; no pixels are written.
The face has no keypoints, as 22 joints do not determine it. The area of a person is .53 of the box around the keypoints, the
fraction that the field `keypoints` uses.

PYSKL's pickles have an action for each sequence of up to two persons: that of the first one. ``classes.txt`` lists the actions.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from fileinput import FileInput
from itertools import count, groupby
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from posegen.exchange import export_format, layouts, text_motion
from posegen.exchange.clip import Clip
from posegen.fields.camera import SIZE
from posegen.fields.keypoints import NOBODY
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS

_LAYOUT = layouts.LAYOUTS["coco17"]
_COCO = [JOINTS.index(joint) if joint in JOINTS else -1 for joint in _LAYOUT.joints]
"""The joint of each of COCO's keypoints, -1 for those of the face, which 22 joints do not determine."""
_KINDS = ("images", "annotations")
_IDS = 10**9
"""Numbers of images and of annotations that a shard may take."""
_BODY_IN_BOX = 0.53
_CATEGORY = {
    "id": 1,
    "name": "person",
    "supercategory": "person",
    "keypoints": list(_LAYOUT.joints),
    "skeleton": [[a + 1, b + 1] for a, b in _LAYOUT.edges],
}


def persons_by_sequence(blocks: Iterator[list[Clip]]) -> Iterator[tuple[str, list[Clip]]]:
    """Yield the name and the clips of the persons of each sequence."""
    for clips in blocks:
        for name, group in groupby(clips, lambda clip: clip.name.rpartition("_")[0] if clip.actor else clip.name):
            yield name, list(group)


def for_coco(values: Array) -> Array:
    """Return the values of COCO's keypoints from an array [frame, 22, ...] of joints; NaN for the face."""
    chosen = values[:, np.maximum(_COCO, 0)].astype(np.float64)
    chosen[:, [joint < 0 for joint in _COCO]] = np.nan
    return chosen


def write_coco(blocks: Iterator[list[Clip]], shard: export_format.Shard) -> dict[str, Any]:
    """Write images and annotations of a shard as lines of JSON."""
    first = _IDS * shard.number + 1
    images, annotations = count(first), count(first)
    files: dict[tuple[str, str], TextIO] = {}
    with ExitStack() as stack:
        for name, clips in persons_by_sequence(blocks):
            split, keypoints = text_motion.LISTS[clips[0].split], [_keypoints(clip) for clip in clips]
            for kind in _KINDS:
                if (kind, split) not in files:
                    path = shard.folder / export_format.PARTS / f"{kind}-{split}-{shard.number:06}"
                    files[kind, split] = stack.enter_context(path.open("w", encoding="utf-8"))
            for frame in range(len(clips[0].joints)):
                image = {"id": next(images), "file_name": f"{name}/{frame:06}.png", "width": SIZE, "height": SIZE}
                files["images", split].write(json.dumps(image) + "\n")
                for values in keypoints:
                    found = {"id": next(annotations), "image_id": image["id"]} | _annotation(values[frame])
                    files["annotations", split].write(json.dumps(found) + "\n")
    return {}


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


def finish_coco(folder: Path, records: Iterator[Mapping[str, Any]]) -> None:
    """Write a document for each split; no more than a line is held."""
    del records
    for split in text_motion.LISTS.values():
        if not any((folder / export_format.PARTS).glob(f"images-{split}-*")):
            continue
        with (folder / f"person_keypoints_{split}.json").open("w", encoding="utf-8") as out:
            out.write(f'{{"categories": [{json.dumps(_CATEGORY)}]')
            for kind in _KINDS:
                out.write(f', "{kind}": [')
                with FileInput(sorted((folder / export_format.PARTS).glob(f"{kind}-{split}-*")), encoding="utf-8") as lines:
                    out.writelines(f"{',' if number else ''}\n{line.rstrip()}" for number, line in enumerate(lines))
                out.write("]")
            out.write("}\n")


COCO = export_format.ExportFormat(
    "coco",
    "documents of COCO's keypoints, an image for each frame, without pixels",
    write_coco,
    finish_coco,
    fields=("keypoints", "visibility"),
)


def _persons(arrays: list[Array]) -> Array:
    """Return the arrays of persons as one [person, frame, ...] without absent values, which become 0."""
    return np.asarray(np.nan_to_num(np.stack(arrays), nan=0.0))


def write_pyskl(blocks: Iterator[list[Clip]], shard: export_format.Shard) -> dict[str, Any]:
    """Write the entries of a shard's sequences, in two and in three dimensions; return their names by split."""
    labels = {name: number for number, name in enumerate(shard.library.actions)}
    names: dict[str, list[str]] = {}
    parts = [shard.folder / export_format.PARTS / f"{kind}-{shard.number:06}" for kind in ("coco17", "ntu25")]
    with parts[0].open("wb") as flat, parts[1].open("wb") as solid:
        for name, persons in persons_by_sequence(blocks):
            if persons[0].label not in labels:
                raise UsageError(f"pyskl needs actions, and {name} is a recording without them: choose another format")
            about = {"frame_dir": name, "label": labels[persons[0].label], "total_frames": len(persons[0].joints)}
            points = _persons([for_coco(clip.fields["detections"]) for clip in persons]).astype(np.float32)
            scores = _persons([for_coco(clip.fields["confidence"][..., None])[..., 0] for clip in persons]).astype(np.float32)
            seen = {"keypoint": points, "keypoint_score": scores, "img_shape": (SIZE, SIZE), "original_shape": (SIZE, SIZE)}
            _dump(about | seen, flat)
            joints = _persons([layouts.convert(clip.joints, "ntu25") for clip in persons]).astype(np.float32)
            _dump(about | {"keypoint": joints}, solid)
            names.setdefault(text_motion.LISTS[persons[0].split], []).append(name)
    return {"names": names, "classes": list(labels)}


def _dump(entry: object, file: BinaryIO) -> None:
    """Write the opcodes of an object alone: without the header and the final stop, they can be put into any pickle."""
    file.write(pickle.dumps(entry, protocol=3)[2:-1])


def finish_pyskl(folder: Path, records: Iterator[Mapping[str, Any]]) -> None:
    """Join the entries of all shards into one pickle for each layout; no more than one shard's bytes are held."""
    split: dict[str, list[str]] = {}
    labels: list[str] = []
    for record in records:
        labels = record["classes"]
        for name, found in record["names"].items():
            split.setdefault(name, []).extend(found)
    (folder / "classes.txt").write_text("".join(f"{name}\n" for name in labels), encoding="utf-8")
    for kind in ("coco17", "ntu25"):
        with (folder / f"{kind}.pkl").open("wb") as file:
            # A dict with the keys `split` and `annotations`; the second value is a list of all entries.
            file.write(pickle.PROTO + b"\x03" + pickle.EMPTY_DICT)
            _dump("split", file)
            _dump(split, file)
            file.write(pickle.SETITEM)
            _dump("annotations", file)
            file.write(pickle.EMPTY_LIST + pickle.MARK)
            for part in sorted((folder / export_format.PARTS).glob(f"{kind}-*")):
                file.write(part.read_bytes())
            file.write(pickle.APPENDS + pickle.SETITEM + pickle.STOP)


PYSKL = export_format.ExportFormat(
    "pyskl",
    "pickles of PYSKL and MMAction2: COCO's 17 keypoints in images and NTU's 25 joints, with the action",
    write_pyskl,
    finish_pyskl,
    most_actors=2,
    fields=("detections", "confidence"),
)
