"""Clips: one sequence with captions, labels and surfaces, ready to draw, from arrays, a dataset or a config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from posegen.dataset.storage.address import AnyPath
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARTS
from posegen.foundations.wording import counted, verb

if TYPE_CHECKING:
    from posegen.dataset.read import Dataset

Label = TypeVar("Label")

OBJECT_ARRAYS = ("object", "object_state", "object_position")
"""Arrays of the field `objects`."""

CONTACT_JOINTS = {"left_hand": "left_wrist", "right_hand": "right_wrist", "seat": "pelvis"}
"""Joints at which hand and seat contacts are drawn; other contacts are drawn where they are."""


@dataclass(frozen=True)
class Seat:
    """A box to sit or stand on.

    Attributes
    ----------
    top : tuple of float
        Centre of its top in metres (x, y, z).
    size : float
        Width and depth in metres.
    thickness : float or None
        Metres; a box without a thickness stands on the floor.
    """

    top: tuple[float, float, float]
    size: float = 0.42
    thickness: float | None = None


@dataclass(frozen=True)
class Clip:
    """One sequence to draw. :func:`make_clip` builds and checks it.

    Attributes
    ----------
    joints : float [actors, frames, 22, 3]
        Metres; NaN where an actor is absent.
    caption : str
    fps : float
    title : str
        A short line above the picture, such as ``sample 3, base``.
    tracks : mapping of str to sequence of str
        Per-frame labels by track, such as ``legs``.
    contacts : uint8 [actors, frames, 9] or None
        1 where the point of :data:`posegen.foundations.skeleton.CONTACTS` is in contact.
    seats : tuple of Seat
    row : mapping
        Its row in the table of sequences, or nothing.
    objects : mapping of str to array
        The arrays of the field `objects` [actors, frames, ...], or nothing.
    """

    joints: Array
    caption: str = ""
    fps: float = 25.0
    title: str = ""
    tracks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    contacts: Array | None = None
    seats: tuple[Seat, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    objects: Mapping[str, Array] = field(default_factory=dict)

    @property
    def frames(self) -> int:
        """Return the number of frames."""
        return int(self.joints.shape[1])


def make_clip(
    joints: Array,
    caption: str = "",
    fps: float = 25.0,
    *,
    title: str = "",
    action: Array | None = None,
    names: Sequence[str] = (),
    contact: Array | None = None,
    seat_heights: Sequence[float] | None = None,
) -> Clip:
    """Check a sequence, remove trailing frames without actors, and find the tracks and the surfaces in use.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    caption : str
    fps : float
    title : str
    action : int [actors, frames, 5] or None
        Index into `names`; any other number means no action.
    names : sequence of str
        Names of the actions.
    contact : [actors, frames, 9] or None
    seat_heights : sequence of float or None
        Height of each actor's seat in metres; None: neither seats nor treads are drawn.

    Returns
    -------
    Clip

    Raises
    ------
    UsageError
        If the joints have another shape, or no frame contains a figure.
    """
    if joints.ndim != 4 or joints.shape[2:] != (len(JOINTS), 3):
        raise UsageError(f"joints to draw must have the shape [actors, frames, {len(JOINTS)}, 3], not {list(joints.shape)}")
    there = np.flatnonzero(np.isfinite(joints).all((2, 3)).any(0))
    if not len(there):
        raise UsageError("there is nothing to draw: no frame of the sequence contains a figure")
    shown = np.asarray(joints[:, : there[-1] + 1], np.float64)
    tracks = {} if action is None else tracks_of(action[:, : shown.shape[1]], names)
    if contact is None:
        return Clip(shown, caption, fps, title, tracks)
    contact = contact[:, : shown.shape[1]]
    seats = () if seat_heights is None else (*seats_of(shown, contact, seat_heights), *treads_of(shown, contact))
    return Clip(shown, caption, fps, title, tracks, contact, seats)


TREAD, TREAD_THICKNESS, BALL_HEIGHT, LEAST_RISE = 0.26, 0.04, 0.02, 0.08
"""Metres: width and thickness of a tread, height of the ball joint above the sole, and minimum height of a tread."""


def clip_of_sequence(
    joints: Array, row: Mapping[str, Any], fps: float, *, objects: Mapping[str, Array] | None = None, **labels: Any
) -> Clip:
    """Return the clip of one sequence.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    row : mapping
        Its row in the table of sequences.
    fps : float
    objects : mapping of str to array, optional
        The arrays of the field `objects`.
    **labels
        `action`, `contact` and `names` of :func:`make_clip`.

    Returns
    -------
    Clip
        With every caption of the row, one per line.
    """
    caption = "\n".join(caption["text"] for caption in row["captions"])
    title, heights = f"sample {row['sample']}, {row['variant']}", [actor["seat_height"] for actor in row["actors"]]
    clip = make_clip(joints, caption, fps, title=title, seat_heights=heights, **labels)
    return replace(clip, row=row, objects=objects or {})


def seats_of(joints: Array, contact: Array, heights: Sequence[float]) -> list[Seat]:
    """Return the seats in use: one below the pelvis for each interval of seat contact.

    A pelvis below the height of the actor's seat lies on the floor and gets no seat.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    contact : [actors, frames, 9]
    heights : sequence of float
        Height of each actor's seat, in metres.
    """
    seats = []
    pelvis, point = JOINTS.index("pelvis"), CONTACTS.index("seat")
    for height, pelvis_path, touching in zip(heights, joints[..., pelvis, :], contact[..., point] == 1, strict=False):
        seats += [Seat((float(x), float(height), float(z))) for x, y, z in pelvis_path[_begins(touching)] if y > height > 0]
    return seats


def treads_of(joints: Array, contact: Array) -> list[Seat]:
    """Return what feet stand on above the floor, such as treads and rungs: one slab per foot contact.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    contact : [actors, frames, 9]
    """
    treads = []
    for side in ("left", "right"):
        ball, point = JOINTS.index(f"{side}_foot"), CONTACTS.index(f"{side}_toe")
        for places, touching in zip(joints[..., ball, :], contact[..., point] == 1, strict=True):
            above = (place for place in places[_begins(touching)].tolist() if place[1] > LEAST_RISE)
            treads += [Seat((x, y - BALL_HEIGHT, z), TREAD, TREAD_THICKNESS) for x, y, z in above]
    return treads


def _begins(touching: Array) -> Array:
    """Return where the intervals of True begin."""
    return np.asarray(np.diff(touching.astype(np.int8), prepend=0) == 1)


def tracks_of(action: Array, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return tracks of per-frame labels, one for each body part whose labels differ from those of earlier parts.

    Parameters
    ----------
    action : [actors, frames, 5]
        Index into `names`; any other number means no action.
    names : sequence of str

    Returns
    -------
    dict of str to tuple of str
        By part, prefixed with the actor's number if there are several.
    """
    tracks: dict[str, tuple[str, ...]] = {}
    for actor, frames in enumerate(action):
        seen: list[tuple[str, ...]] = []
        for part, indices in zip(PARTS, frames.T, strict=True):
            labels = tuple(names[i].replace("_", " ") if 0 <= i < len(names) else "" for i in indices.tolist())
            if labels not in seen and any(labels):
                seen.append(labels)
                tracks[f"{actor + 1} {part}" if len(action) > 1 else part] = labels
    return {name.replace("_", " "): labels for name, labels in tracks.items()}


def fill_absent(points: Array) -> Array:
    """Replace absent points [frame, point, 3] by their position in the frame before, or in the next one with them."""
    present = np.isfinite(points).all(-1)
    if present.all():
        return points
    frames = np.arange(len(points))[:, None]
    before = np.maximum.accumulate(np.where(present, frames, -1))
    source = np.where(before >= 0, before, np.argmax(present, axis=0))
    filled = np.take_along_axis(points, source[..., None], axis=0)
    return np.where(np.isfinite(filled), filled, 0.0)


def label_intervals(labels: Iterable[Label]) -> Iterator[tuple[Label, int, int]]:
    """Yield label, first frame and end (exclusive) of each interval of equal labels."""
    start = 0
    for label, equal in groupby(labels):
        end = start + len(list(equal))
        yield label, start, end
        start = end


def clip_of_config(
    config: str | Path, sample: int, variant: str = "base", *, overrides: Sequence[str] = (), seed: int | None = None
) -> Clip:
    """Synthesize a sample of a config and return the clip of one of its sequences.

    Parameters
    ----------
    config : str or Path
        Name of a preset, or path of a YAML file.
    sample : int
    variant : str
    overrides : sequence of str
        Each ``KEY=VALUE``.
    seed : int, optional

    Raises
    ------
    UsageError
        If the config is invalid, the sample is negative, or the config has no such variant.
    """
    from posegen.config.load import load_config
    from posegen.library.load import load_library

    loaded = load_config(config, overrides, seed=seed)
    v = _position(variant, loaded.variants.names)
    # Imported after the checks, because kernels take a moment to load.
    from posegen.synthesis.synthesize import synthesize

    batch = synthesize(loaded, [sample])
    arrays = {"action": batch.action[0, v], "contact": batch.contact[0, v]}
    names = load_library(loaded.story.library).actions
    return clip_of_sequence(batch.joints[0, v], batch.rows[v], loaded.fps, names=names, **arrays)


def clip_of_dataset(path: AnyPath, sample: int, variant: str = "base") -> Clip:
    """Read a sample of a dataset and return the clip of one of its sequences.

    Parameters
    ----------
    path : Path or BucketPath
    sample : int
    variant : str

    Raises
    ------
    PosegenError
        If the dataset is missing or damaged.
    UsageError
        If it has no such sample or variant, or no joints.
    """
    dataset = open_motion(path)
    if not 0 <= sample < len(dataset):
        held = len(dataset)
        raise UsageError(f"{path}: has no sample {sample}; its {counted(held, 'sample')} {verb(held)} numbered from 0")
    v = _position(variant, dataset.header.variants)
    return clips_of_sample(dataset, sample)[v]


def open_motion(path: AnyPath) -> Dataset:
    """Open a dataset that has joints.

    Raises
    ------
    PosegenError
        If it is missing or damaged.
    UsageError
        If it has no joints.
    """
    from posegen.dataset.read import open_dataset

    dataset = open_dataset(path)
    if "joints" not in dataset.fields:
        raise UsageError(f"{path}: has no field joints to show, only {', '.join(dataset.fields)}")
    return dataset


def clips_of_sample(dataset: Dataset, sample: int) -> list[Clip]:
    """Read all variants of a sample."""
    from posegen.dataset.read import content_errors

    stored = [name for name in ("joints", "action", "contact", *OBJECT_ARRAYS) if name in dataset.fields]
    with content_errors(dataset.path):
        names = dataset.header.field("action").attributes["names"] if "action" in stored else ()
        arrays = {name: dataset.arrays(name, slice(sample, sample + 1))[0] for name in stored}
        clips = []
        for v, row in enumerate(dataset.rows(sample)):
            own = {name: values[v, : len(row["actors"])] for name, values in arrays.items()}
            objects = {name: own.pop(name) for name in OBJECT_ARRAYS if name in own}
            clips.append(clip_of_sequence(row=row, fps=float(dataset.header.fps), names=names, objects=objects, **own))
    return clips


def _position(variant: str, known: Sequence[str]) -> int:
    require_known("there is no variant", variant, known)
    return list(known).index(variant)
