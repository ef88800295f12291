"""Read the clips to be measured, one body each, from a dataset or from mocap in an .npz file; .bvh files are read elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from posegen.checks.ranges import rests_of
from posegen.dataset.clip_files import read_clip_archive
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.evaluation.body import frame_ranges, frames_last, library_of_config, longest_present
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import DEFAULT_SKELETON, LIBRARY_SKELETON, PARTS
from posegen.library.load import Library

SAMPLES_PER_BLOCK = 20
LEGS = PARTS.index("legs")


@dataclass(frozen=True)
class Recording:
    """One body over the frames in which it is present.

    Attributes
    ----------
    name : str
        Name of the clip, for reports.
    person : str
        Subject. A reference is split by subject.
    joints : float64 [frame, 22, 3]
        Metres, y up, floor at 0, without gaps.
    fps : float
    contact : uint8 [frame, point], optional
        Contact labels.
    segments : sequence of mappings
        Segments of a generated clip; empty for mocap.
    variant : str
        Empty for mocap.
    family : str
        Action class of a mocap clip; empty if unknown, and for a generated clip.
    description : str
        Description of a mocap clip in the words of its source; empty if unknown.
    labels : int [frame, part], optional
        Number of the action of each body part in each frame. Segments omit barely visible actions; labels do not.
    actions : mapping of str to int
        The numbers of actions in `labels`; another number means no action.
    style : str
        Style of a generated person.
    library : Library, optional
        Library of a generated clip.
    ranges : mapping of str to float [2, frame]
        Ranges of the angles that a shown action widens; see :func:`posegen.evaluation.body.frame_ranges`.
    skeleton : str or mapping of str to float
        Joint placement of a generated clip, or the degrees in the rest pose of its person.
    captions : tuple of str
        Sentences beside a file of clips, if the reader requested them.
    others : sequence of float32 [frame, 22, 3]
        The other people of a generated clip.
    """

    name: str
    person: str
    joints: Array
    fps: float
    contact: Array | None = None
    segments: Sequence[Mapping[str, Any]] = ()
    variant: str = ""
    family: str = ""
    description: str = ""
    labels: Array | None = None
    actions: Mapping[str, int] = field(default_factory=dict)
    style: str = ""
    library: Library | None = None
    ranges: Mapping[str, Array] = field(default_factory=dict)
    skeleton: str | Mapping[str, float] = DEFAULT_SKELETON
    captions: tuple[str, ...] = ()
    others: Sequence[Array] = ()

    def number(self, action: str) -> int:
        """Return the number of an action in the labels, -1 if it has none."""
        return self.actions.get(action, -1)


@dataclass(frozen=True)
class Block:
    """Arrays [sample, variant, ...] and all rows of some samples of a dataset, sample by sample.

    `contact` and `action` are None where the dataset does not store them.
    """

    joints: Array
    contact: Array | None
    action: Array | None
    rows: Sequence[Mapping[str, Any]]


def read_blocks(dataset: Dataset, samples: range) -> Iterator[Block]:
    """Read some samples of a dataset, few at a time.

    Parameters
    ----------
    dataset : Dataset
    samples : range
        Consecutive ones.

    Raises
    ------
    UsageError
        If the dataset stores no joints.
    """
    if "joints" not in dataset.fields:
        raise UsageError(f"{dataset.path}: stores no joints to measure, only {', '.join(dataset.fields)}")
    for first in range(0, len(samples), SAMPLES_PER_BLOCK):
        chosen = samples[first : first + SAMPLES_PER_BLOCK]
        read = partial(dataset.arrays, samples=slice(chosen.start, chosen.stop))
        joints = read("joints")
        contact, action = (read(name) if name in dataset.fields else None for name in ("contact", "action"))
        with content_errors(dataset.path):
            rows = [row for sample in chosen for row in dataset.rows(sample)]
        yield Block(joints, contact, action, rows)


def dataset_recordings(dataset: Dataset) -> Iterator[Recording]:
    """Read every body of every variant of a dataset, few samples at a time."""
    for block in read_blocks(dataset, range(len(dataset))):
        yield from block_recordings(dataset, block)


def block_recordings(dataset: Dataset, block: Block) -> Iterator[Recording]:
    """Yield every body of every variant of a block."""
    library, fps = library_of_config(dataset.header.config), float(dataset.header.fps)
    with content_errors(dataset.path):
        names = dataset.header.field("action").attributes["names"] if block.action is not None else ()
        actions = {str(name): number for number, name in enumerate(names)}
        for number, row in enumerate(block.rows):
            i, v = divmod(number, len(dataset.header.variants))
            for a, actor in enumerate(row["actors"]):
                present = longest_present(block.joints[i, v, a])
                if present.stop == present.start:
                    continue
                labels = None if block.action is None else block.action[i, v, a, present]
                others = [other for other in range(len(row["actors"])) if other != a]
                yield Recording(
                    name=f"sample {row['sample']} {row['variant']}" + (f" actor {a}" if a else ""),
                    person=str(actor["person"]),
                    joints=frames_last(block.joints[i, v, a, present]).transpose(2, 0, 1),
                    fps=fps,
                    contact=None if block.contact is None else block.contact[i, v, a, present],
                    segments=actor["segments"] if present.start == 0 else (),
                    variant=row["variant"],
                    labels=labels,
                    actions=actions,
                    style=str(actor["style"]),
                    library=library,
                    ranges={} if labels is None else frame_ranges(library, tuple(actions), labels, fps),
                    skeleton=_skeleton(str(dataset.header.config.get("skeleton", "anatomical")), library, actor["person"]),
                    others=[*block.joints[i, v, others, present]],
                )


def _skeleton(name: str, library: Library, person: int) -> str | Mapping[str, float]:
    """Return the joint placement of a person; the default one where the folder of its library is absent."""
    if name == LIBRARY_SKELETON and len(library.skeletons):
        return rests_of(library, name)[int(library.skeletons.of_persons(person))]
    return DEFAULT_SKELETON if name == LIBRARY_SKELETON else name


def read_reference(path: AnyPath) -> Iterator[Recording]:
    """Read mocap clips from an .npz file, or the base variants of a dataset.

    Parameters
    ----------
    path : Path or BucketPath
        A dataset, or an ``.npz`` file as :func:`posegen.dataset.clip_files.read_clip_archive` reads it.

    Raises
    ------
    UsageError
        If it is neither.
    """
    local = storage_of(path).local
    if local is None or local.is_dir():
        dataset = open_dataset(path)
        base = dataset.header.variants[0]
        yield from (clip for clip in dataset_recordings(dataset) if clip.variant == base)
        return
    clips = read_clip_archive(local, ["subjects"])
    columns = clips.names, clips.joints, clips.subjects, clips.classes, clips.actions
    for name, joints, person, family, words in zip(*columns, strict=True):
        positions = joints.astype(np.float64)
        present = longest_present(positions)
        if present.stop > present.start:
            yield Recording(name, person, positions[present], clips.fps, family=family, description=words)
