"""Clips to be measured, each one figure over some frames, from a dataset or from captured motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.read import Dataset, open_dataset, strange
from posegen.errors import UsageError
from posegen.evaluation.archive import read_archive
from posegen.evaluation.body import longest_present
from posegen.evaluation.ranges import library_of, ranges_of_frames
from posegen.skeleton import PARTS

__all__ = [
    "Block",
    "Recording",
    "blocks_of_dataset",
    "recordings_of_block",
    "recordings_of_dataset",
    "recordings_of_reference",
]

Array = NDArray[Any]
SAMPLES_AT_ONCE = 20
LEGS = PARTS.index("legs")


@dataclass(frozen=True)
class Recording:
    """A figure over the frames in which it is there.

    Attributes
    ----------
    name : str
        Of the clip, for the reader.
    person : str
        Who moves; halves of a reference share nobody.
    joints : float64 [frame, 22, 3]
        Metres, y up, floor at 0, without gaps.
    fps : float
    contact : uint8 [frame, point], optional
        Labels.
    segments : sequence of mappings
        What is done when, for a generated clip; empty for a captured one.
    variant : str
        Empty for a captured clip.
    family : str
        What a captured clip shows, in a word; empty where that is not known, and for a generated clip.
    doing : str [frame], optional
        What the legs do, by the labels of each frame. Segments leave out what hardly shows; this does not.
    ranges : mapping of str to float [2, frame]
        Of the angles that an action shown widens; see :mod:`posegen.evaluation.ranges`.
    """

    name: str
    person: str
    joints: Array
    fps: float
    contact: Array | None = None
    segments: Sequence[Mapping[str, Any]] = ()
    variant: str = ""
    family: str = ""
    doing: Array | None = None
    ranges: Mapping[str, Array] = field(default_factory=dict)

    def shown_at(self, frame: int) -> str:
        """What is shown at a frame: the family of a captured clip, or the action of the legs."""
        if self.family:
            return self.family
        if self.doing is not None:
            return str(self.doing[frame])
        base = (s for s in self.segments if "legs" in s["parts"] and s["start"] <= frame < s["end"])
        return str(next(base, {"action": ""})["action"])


@dataclass(frozen=True)
class Block:
    """What is read at once of some samples of a dataset: arrays [sample, variant, ...], and all rows, sample by sample.

    `contact` and `action` are None where the dataset does not store them.
    """

    samples: range
    joints: Array
    contact: Array | None
    action: Array | None
    rows: Sequence[Mapping[str, Any]]


def blocks_of_dataset(dataset: Dataset, samples: range) -> Iterator[Block]:
    """Read some samples of a dataset, few at a time.

    Parameters
    ----------
    dataset : Dataset
    samples : range

    Raises
    ------
    UsageError
        If the dataset stores no joints.
    """
    if "joints" not in dataset.fields:
        msg = f"{dataset.path}: stores no joints to measure, only {', '.join(dataset.fields)}"
        raise UsageError(msg)
    for first in range(0, len(samples), SAMPLES_AT_ONCE):
        chosen = samples[first : first + SAMPLES_AT_ONCE]
        block = slice(chosen.start, chosen.stop, chosen.step) if chosen.step == 1 else np.array(chosen)
        joints = dataset.arrays("joints", block)
        contact = dataset.arrays("contact", block) if "contact" in dataset.fields else None
        action = dataset.arrays("action", block) if "action" in dataset.fields else None
        with strange(dataset.path):
            rows = [row for sample in chosen for row in dataset.rows(sample)]
        yield Block(chosen, joints, contact, action, rows)


def recordings_of_dataset(dataset: Dataset, samples: range) -> Iterator[Recording]:
    """Read every figure of every variant of some samples, few samples at a time.

    Parameters
    ----------
    dataset : Dataset
    samples : range
    """
    for block in blocks_of_dataset(dataset, samples):
        yield from recordings_of_block(dataset, block)


def recordings_of_block(dataset: Dataset, block: Block) -> Iterator[Recording]:
    """Give every figure of every variant of what was read of a dataset."""
    library, fps = library_of(dataset.header.config), float(dataset.header.fps)
    with strange(dataset.path):
        names = np.array(dataset.header.field("action").attributes["names"]) if block.action is not None else None
        for number, row in enumerate(block.rows):
            i, v = divmod(number, len(dataset.header.variants))
            for a, actor in enumerate(row["actors"]):
                there = longest_present(block.joints[i, v, a])
                if there.stop > there.start:
                    name = f"sample {row['sample']} {row['variant']}" + (f" actor {a}" if a else "")
                    touching = None if block.contact is None else block.contact[i, v, a, there]
                    segments = actor["segments"] if there.start == 0 else ()
                    places = block.joints[i, v, a, there].astype(np.float64)
                    doing, ranges = None, {}
                    if names is not None and block.action is not None:
                        doing = names[block.action[i, v, a, there, LEGS]]
                        ranges = ranges_of_frames(library, names.tolist(), block.action[i, v, a, there], fps)
                    who, variant = str(actor["person"]), row["variant"]
                    yield Recording(name, who, places, fps, touching, segments, variant, "", doing, ranges)


def recordings_of_reference(path: Path) -> Iterator[Recording]:
    """Read captured clips from an .npz file, or the base variants of a dataset.

    Parameters
    ----------
    path : Path
        An ``.npz`` with ``joints`` [frames, 22, 3], ``offsets`` [clips + 1], ``subjects`` [clips], ``fps`` and, if what each
        clip shows is known, ``classes`` [clips]; or a dataset.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if path.is_dir():
        if not (path / "dataset.json").exists():
            msg = f"{path}: is neither a dataset nor a folder with .bvh files"
            raise UsageError(msg)
        dataset = open_dataset(path)
        yield from (r for r in recordings_of_dataset(dataset, range(len(dataset))) if r.variant == dataset.header.variants[0])
        return
    joints, offsets, subjects, fps, families = read_archive(path)
    for clip, (start, stop) in enumerate(pairwise(offsets)):
        places = joints[start:stop].astype(np.float64)
        there = longest_present(places)
        if there.stop > there.start:
            yield Recording(f"clip {clip}", str(subjects[clip]), places[there], fps, family=str(families[clip]))
