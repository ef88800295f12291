"""Clips: one sequence with captions, labels and surfaces, ready to draw, from arrays, a dataset or a config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from posegen.dataset.storage.address import AnyPath
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARTS
from posegen.foundations.wording import did_you_mean, shown

Label = TypeVar("Label")

CONTACT_JOINTS = {"left_hand": "left_wrist", "right_hand": "right_wrist", "seat": "pelvis"}
"""Joints at which hand and seat contacts are drawn; other contacts are drawn where they are."""
_LIMITS = {"range": "a joint leaves its range", "overlap": "a limb passes through the trunk, another limb or a person"}
"""What an entry of the column `dropped` of each kind of limit states."""


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
    exceeded : tuple of str
        Physical limits that the motion exceeds, such as ``a joint leaves its range``.
    """

    joints: Array
    caption: str = ""
    fps: float = 25.0
    title: str = ""
    tracks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    contacts: Array | None = None
    seats: tuple[Seat, ...] = ()
    exceeded: tuple[str, ...] = ()

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
    joints: Array,
    row: Mapping[str, Any],
    fps: float,
    *,
    action: Array | None = None,
    contact: Array | None = None,
    names: Sequence[str] = (),
) -> Clip:
    """Return the clip of one sequence.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    row : mapping
        Its row in the table of sequences.
    fps : float
    action : [actors, frames, 5] or None
        Index into `names`; any other number means no action.
    contact : [actors, frames, 9] or None
    names : sequence of str
        Names of the actions.

    Returns
    -------
    Clip
        With every caption of the row, one per line.
    """
    caption = "\n".join(caption["text"] for caption in row["captions"])
    title, heights = f"sample {row['sample']}, {row['variant']}", [actor["seat_height"] for actor in row["actors"]]
    clip = make_clip(joints, caption, fps, title=title, action=action, names=names, contact=contact, seat_heights=heights)
    return replace(clip, exceeded=describe_exceeded(row.get("dropped", ())))


def describe_exceeded(dropped: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Describe the physical limits among the entries of a row's column `dropped`, each once."""
    return tuple(dict.fromkeys(_LIMITS[each["kind"]] for each in dropped if each["kind"] in _LIMITS))


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
            treads += [
                Seat((float(x), float(y) - BALL_HEIGHT, float(z)), TREAD, TREAD_THICKNESS)
                for x, y, z in places[_begins(touching)]
                if y > LEAST_RISE
            ]
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


def label_intervals(labels: Iterable[Label]) -> Iterator[tuple[Label, int, int]]:
    """Yield label, first frame and end (exclusive) of each interval of equal labels."""
    start = 0
    for label, equal in groupby(labels):
        end = start + len(list(equal))
        yield label, start, end
        start = end


ALL = "all"
"""Selects every variant."""


def clips_of_config(
    config: str | Path,
    samples: Sequence[int],
    variant: str = "base",
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
) -> list[Clip]:
    """Synthesize samples of a config and return the clips of their sequences.

    Parameters
    ----------
    config : str or Path
        Name of a preset, or path of a YAML file.
    samples : sequence of int
    variant : str
        Name of a variant, or :data:`ALL`.
    overrides : sequence of str
        Each ``KEY=VALUE``.
    seed : int, optional

    Raises
    ------
    UsageError
        If the config is invalid, a sample is negative, or the config has no such variant.
    """
    from posegen.config.load import load_config
    from posegen.library.load import load_library

    loaded = load_config(config, overrides, seed=seed)
    if min(samples) < 0:
        raise UsageError(f"sample {min(samples)} does not exist; samples are numbered from 0")
    # Imported after the checks, because kernels take a moment to load.
    from posegen.synthesis.synthesize import synthesize

    batch = synthesize(loaded, list(samples))
    names = load_library(loaded.story.library).actions
    clips = []
    for i in range(len(samples)):
        for v in _chosen(variant, batch.variants):
            row = batch.rows[i * len(batch.variants) + v]
            arrays = {"action": batch.action[i, v], "contact": batch.contact[i, v]}
            clips.append(clip_of_sequence(batch.joints[i, v], row, loaded.fps, names=names, **arrays))
    return clips


def clips_of_dataset(path: AnyPath, samples: Sequence[int], variant: str = "base") -> list[Clip]:
    """Read samples of a dataset and return the clips of their sequences.

    Parameters
    ----------
    path : Path or BucketPath
    samples : sequence of int
    variant : str
        Name of a variant, or :data:`ALL`.

    Raises
    ------
    PosegenError
        If the dataset is missing or damaged.
    UsageError
        If it has no such sample or variant, or no joints.
    """
    from posegen.dataset.read import content_errors, open_dataset

    dataset = open_dataset(path)
    fields = {field.name: field for field in dataset.header.fields}
    if "joints" not in fields:
        raise UsageError(f"{path}: has no field joints to draw, only {', '.join(fields)}")
    missing = [sample for sample in samples if not 0 <= sample < len(dataset)]
    if missing:
        raise UsageError(f"{path}: has no sample {missing[0]}; its {len(dataset)} samples are numbered from 0")
    clips = []
    with content_errors(path):
        names = fields["action"].attributes["names"] if "action" in fields else ()
        for sample in (dataset[index] for index in samples):
            for v in _chosen(variant, dataset.header.variants):
                arrays = {name: sample.arrays[name][v] for name in ("action", "contact") if name in fields}
                row = sample.sequences[v]
                clips.append(clip_of_sequence(sample.joints[v], row, dataset.header.fps, names=names, **arrays))
    return clips


def _chosen(variant: str, known: Sequence[str]) -> list[int]:
    if variant == ALL:
        return list(range(len(known)))
    if variant not in known:
        raise UsageError(f"there is no variant {shown(variant)}{did_you_mean(variant, [*known, ALL])}")
    return [list(known).index(variant)]
