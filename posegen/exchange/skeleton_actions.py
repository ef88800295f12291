"""Skeleton sequences with one action each, for action recognition: the pickles of PYSKL and the arrays of CTR-GCN.

A sequence has up to two persons. The class is the action of the first one; ``classes.txt`` lists the classes.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import PARTS, ExportFormat, Shard
from posegen.exchange.layouts import LAYOUTS, convert
from posegen.fields.camera import SIZE
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS

MOST_PERSONS = 2
_SPLITS = {"training": "train", "validation": "val", "test": "test"}
_NUMBERS = 3 * MOST_PERSONS * len(LAYOUTS["ntu25"].joints)
_COCO = [JOINTS.index(joint) if joint in JOINTS else -1 for joint in LAYOUTS["coco17"].joints]
"""The joint of each of COCO's keypoints, -1 for those of the face, which 22 joints do not determine."""


def persons_by_sequence(blocks: Iterator[list[Clip]]) -> Iterator[tuple[str, list[Clip]]]:
    """Yield the name and the clips of the persons of each sequence."""
    for clips in blocks:
        for name, group in groupby(clips, lambda clip: clip.name.rpartition("_")[0] if clip.actor else clip.name):
            yield name, list(group)


def _persons(arrays: list[Array]) -> Array:
    """Return the arrays of persons as one [person, frame, ...] without absent values, which become 0."""
    return np.asarray(np.nan_to_num(np.stack(arrays), nan=0.0))


def _classes(folder: Path, labels: Mapping[str, int]) -> None:
    (folder / "classes.txt").write_text("".join(f"{name}\n" for name in labels), encoding="utf-8")


def write_pyskl(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write the entries of a shard's sequences, in two and in three dimensions; return their names by split."""
    labels = {name: number for number, name in enumerate(shard.library.actions)}
    names: dict[str, list[str]] = {}
    parts = [shard.folder / PARTS / f"{kind}-{shard.number:06}" for kind in ("coco17", "ntu25")]
    with parts[0].open("wb") as flat, parts[1].open("wb") as solid:
        for name, persons in persons_by_sequence(blocks):
            about = {"frame_dir": name, "label": labels[persons[0].label], "total_frames": len(persons[0].joints)}
            points = _persons([for_coco(clip.fields["detections"]) for clip in persons]).astype(np.float32)
            scores = _persons([for_coco(clip.fields["confidence"][..., None])[..., 0] for clip in persons]).astype(np.float32)
            seen = {"keypoint": points, "keypoint_score": scores, "img_shape": (SIZE, SIZE), "original_shape": (SIZE, SIZE)}
            _dump(about | seen, flat)
            joints = _persons([convert(clip.joints, "ntu25") for clip in persons]).astype(np.float32)
            _dump(about | {"keypoint": joints}, solid)
            names.setdefault(_SPLITS[persons[0].split], []).append(name)
    return {"names": names, "classes": list(labels)}


def for_coco(values: Array) -> Array:
    """Return what belongs to COCO's keypoints, of an array [frame, 22, ...]; NaN for the face."""
    chosen = values[:, np.maximum(_COCO, 0)].astype(np.float64)
    chosen[:, [joint < 0 for joint in _COCO]] = np.nan
    return chosen


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
    _classes(folder, {name: number for number, name in enumerate(labels)})
    for kind in ("coco17", "ntu25"):
        with (folder / f"{kind}.pkl").open("wb") as file:
            # A dict with the keys `split` and `annotations`; the second value is a list of all entries.
            file.write(pickle.PROTO + b"\x03" + pickle.EMPTY_DICT)
            _dump("split", file)
            _dump(split, file)
            file.write(pickle.SETITEM)
            _dump("annotations", file)
            file.write(pickle.EMPTY_LIST + pickle.MARK)
            for part in sorted((folder / PARTS).glob(f"{kind}-*")):
                file.write(part.read_bytes())
            file.write(pickle.APPENDS + pickle.SETITEM + pickle.STOP)


def write_ctrgcn(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Keep the sequences of a shard; return their numbers by split and the longest one."""
    labels = {name: number for number, name in enumerate(shard.library.actions)}
    rows: dict[str, list[Array]] = {}
    found: dict[str, list[int]] = {}
    longest = 0
    for _, persons in persons_by_sequence(blocks):
        split = "test" if persons[0].split == "test" else "train"
        joints = np.zeros((len(persons[0].joints), MOST_PERSONS, len(LAYOUTS["ntu25"].joints), 3), np.float32)
        for number, clip in enumerate(persons):
            joints[:, number] = convert(clip.joints, "ntu25")
        rows.setdefault(split, []).append(joints.reshape(len(joints), -1))
        found.setdefault(split, []).append(labels[persons[0].label])
        longest = max(longest, len(joints))
    for split, arrays in rows.items():
        np.save(shard.folder / PARTS / f"{split}-{shard.number:06}.npy", np.concatenate(arrays))
    lengths = {split: [len(array) for array in arrays] for split, arrays in rows.items()}
    return {"labels": found, "lengths": lengths, "longest": longest, "classes": list(labels), "shard": shard.number}


def finish_ctrgcn(folder: Path, records: Iterator[Mapping[str, Any]]) -> None:
    """Write ``x_train`` and ``x_test`` [sequence, frame, 150], 0 after the end of a sequence, and classes as rows of one 1."""
    shards = list(records)
    longest = max(record["longest"] for record in shards)
    classes = shards[0]["classes"]
    _classes(folder, {name: number for number, name in enumerate(classes)})
    arrays: dict[str, Any] = {}
    for split in ("train", "test"):
        labels = [label for record in shards for label in record["labels"].get(split, [])]
        values = np.lib.format.open_memmap(
            folder / PARTS / f"x_{split}.npy", mode="w+", dtype=np.float32, shape=(len(labels), longest, _NUMBERS)
        )
        row = 0
        for record in shards:
            if split not in record["lengths"]:
                continue
            kept = np.load(folder / PARTS / f"{split}-{record['shard']:06}.npy", mmap_mode="r")
            begin = 0
            for length in record["lengths"][split]:
                values[row, :length] = kept[begin : begin + length]
                row, begin = row + 1, begin + length
        arrays[f"x_{split}"], arrays[f"y_{split}"] = values, np.eye(len(classes), dtype=np.float32)[labels]
    np.savez(folder / "ctrgcn.npz", **arrays)


PYSKL = ExportFormat(
    "pyskl",
    "pickles of PYSKL and MMAction2: COCO's 17 keypoints in images and NTU's 25 joints, with the action",
    write_pyskl,
    finish_pyskl,
    most_actors=MOST_PERSONS,
    fields=("detections", "confidence"),
    frame_bytes=1020,
    needs_scenes=True,
)
CTRGCN = ExportFormat(
    "ctrgcn",
    "arrays of CTR-GCN's feeders: NTU's 25 joints of up to two persons, with the action",
    write_ctrgcn,
    finish_ctrgcn,
    most_actors=MOST_PERSONS,
    frame_bytes=1810,
    needs_scenes=True,
)
