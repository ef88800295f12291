"""A user's own clips as training data, with the class and the subject of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from posegen.dataset.clip_files import FOLDER_FPS, MOST_BYTES, read_clip_archive, read_clip_folder, resample
from posegen.dataset.table_files import read_table
from posegen.fields.imu import COMPONENTS, READINGS
from posegen.foundations.arrays import Array
from posegen.foundations.constants import ABSENT_ACTION
from posegen.foundations.errors import UsageError, require_inside
from posegen.foundations.skeleton import JOINTS, PARTS
from posegen.foundations.wording import hidden_character, shown
from posegen.mocap.sources import SourceClip, clip_files, read_clips
from posegen.training.data.features import View, features_of
from posegen.training.data.sources import Origin, Query

_SHORTEST, _LONGEST = 4, 100_000
"""Least and largest number of frames of a clip."""
_MOST_FRAMES = MOST_BYTES // (len(JOINTS) * 3 * 4)
_FEWEST_SUBJECTS = 10


@dataclass(frozen=True)
class OwnClips:
    """Clips at one frame rate.

    Attributes
    ----------
    path : Path
    joints : list of float32 [frame, 22, 3]
    words : tuple of str
        The class of each clip.
    subjects : tuple of str
        The subject of each clip; empty texts where subjects are not known.
    identity : str
        Hash of joints and classes.
    notes : tuple of str
        Which files and clips are left out, and why; clips with frames that are not used.
    field : str
        What `joints` are: ``joints``, or ``imu``, readings [frame, reading, 1, 6] of a sensor.
    computed : dict
        Values of recipes of single clips, which are computed once.
    """

    path: Path
    joints: Sequence[Array]
    words: tuple[str, ...]
    subjects: tuple[str, ...]
    identity: str
    notes: tuple[str, ...] = ()
    field: str = "joints"
    computed: dict[tuple[str, View, int], Array] = dataclass_field(default_factory=dict, compare=False, repr=False)

    @property
    def groups(self) -> Array:
        """Return a group number per clip. Splits separate groups: subjects if there are ten or more, else single clips."""
        _, numbers = np.unique(np.array(self.subjects), return_inverse=True)
        return numbers if len(set(numbers.tolist())) >= _FEWEST_SUBJECTS else np.arange(len(self.words))

    def origin(self) -> Origin:
        """Return the clips as samples with one variant."""
        return Origin(str(self.path), ("own",), 20, 1, partial(_load_own, self))

    def padded(self, which: Array, frames: int | None = None) -> dict[str, Array]:
        """Return clips as arrays of a dataset with one actor: joints or readings, NaN after each clip; the class as action.

        They have as many frames as the longest of all clips, or `frames`.
        """
        frames = max(len(clip) for clip in self.joints) if frames is None else frames
        names = sorted(set(self.words))
        joints = np.full((len(which), 1, frames, *self.joints[0].shape[1:]), np.nan, np.float32)
        action = np.full((len(which), 1, frames, len(PARTS)), ABSENT_ACTION, np.uint16)
        for i, clip in enumerate(which.tolist()):
            length = len(self.joints[clip])
            joints[i, 0, :length] = self.joints[clip]
            action[i, 0, :length] = names.index(self.words[clip])
        return {self.field: joints, "action": action}


def read_own_clips(path: Path, fps: float, *, by_subject: bool = False, label: str | None = None) -> OwnClips:
    """Read clips and resample them to `fps` frames per second.

    Parameters
    ----------
    path : Path
        An archive, a folder with ``CLASS/NAME.npy``, or a file or folder of any formats of :mod:`posegen.mocap.sources`.
    fps : float
    by_subject : bool
        Whether subjects are learned, not classes: the folders of a folder are then named after subjects.
    label : str, optional
        Column of a table beside the clips that names the class or the subject of each; see :func:`labels_of_clips`.

    Raises
    ------
    UsageError
        If there are no clips, they are malformed, or too large at this rate.
    """
    refused: list[str] = []
    found = _read(path, [] if label is not None else ["subjects" if by_subject else "classes"], refused.append)
    return _selected(path, fps, found, refused, by_subject=by_subject, label=label)


def read_own_readings(path: Path, fps: float, *, by_subject: bool = False, label: str | None = None) -> OwnClips:
    """Read the readings of an inertial sensor from an ``.npz`` archive, at :data:`posegen.fields.imu.READINGS` a frame.

    The archive has those arrays of clips (:mod:`posegen.dataset.clip_files`) but joints, and ``readings`` float [reading, 6]:
    acceleration in m/s^2 and angular velocity in rad/s; `fps` are readings per second.

    Raises
    ------
    UsageError
        As :func:`read_own_clips`.
    """
    if path.suffix != ".npz":
        raise UsageError(f"{path}: readings are in an .npz archive with the arrays readings, offsets, fps and classes")
    found = []
    for clip in _read(path, [] if label is not None else ["classes"], lambda _: None, "readings"):
        readings = resample(clip.joints, clip.fps, READINGS * fps)
        whole = readings[: len(readings) // READINGS * READINGS].reshape(-1, READINGS, 1, len(COMPONENTS))
        found.append(replace(clip, joints=whole, fps=fps))
    own = _selected(path, fps, found, [], by_subject=by_subject, label=label)
    return replace(own, field="imu")


def _selected(
    path: Path, fps: float, found: list[SourceClip], refused: list[str], *, by_subject: bool, label: str | None
) -> OwnClips:
    """Return the clips that are long enough, at `fps` frames per second, after checking them."""
    if label is not None:
        labels = labels_of_clips(path, [clip.name for clip in found], label)
        labelled = zip(found, labels, strict=True)
        found = [replace(clip, subject=own) if by_subject else replace(clip, label=own) for clip, own in labelled]
    learned = [clip.subject if by_subject else clip.label for clip in found]
    kept = [i for i, clip in enumerate(found) if len(clip.joints) >= _SHORTEST]
    if len({learned[i] for i in kept}) < 2:
        kind = "subjects" if by_subject else "classes"
        hint = f"Name its folders after {kind}, or give --label" if path.is_dir() else f"Add {kind}"
        raise UsageError(f"{path}: needs clips of at least two {kind}, each of {_SHORTEST} frames or more. {hint}")
    for name in sorted({learned[i] for i in kept}):
        if hidden := hidden_character(name):
            raise UsageError(f"{path}: the label {shown(name)} has the character {hidden}. Remove it")
    frames = [round(len(found[i].joints) * fps / found[i].fps) for i in kept]
    if max(frames) > _LONGEST or sum(frames) > _MOST_FRAMES:
        limits = f"at most {_LONGEST:,} frames per clip and {_MOST_FRAMES:,} in all"
        got = f"{max(frames):,} and {sum(frames):,} at the {fps:g} frames per second of the model"
        raise UsageError(f"{path}: joints must have {limits} (got {got}). Cut long clips, use fewer, or correct fps")
    for i in kept:
        if np.isnan(found[i].joints).any():
            raise UsageError(f"{path}: some joints of {found[i].name} are not numbers (NaN). Remove these frames")
    clips = [_resampled(found[i].joints, found[i].fps, fps) for i in kept]
    content = xxhash.xxh3_128()
    for i, clip in zip(kept, clips, strict=True):
        content.update(learned[i].encode())
        content.update(clip.tobytes())
    classes, subjects = tuple(found[i].label for i in kept), tuple(found[i].subject for i in kept)
    short = [f"{clip.name}: has fewer than {_SHORTEST} frames" for clip in found if len(clip.joints) < _SHORTEST]
    left_out = [f"left out: {reason}" for reason in (*refused, *short)]
    notes = (*left_out, *(f"{clip.name}: {clip.note}" for clip in found if clip.note))
    return OwnClips(path, clips, classes, subjects, content.hexdigest(), notes=notes)


def _resampled(joints: Array, rate: float, fps: float) -> Array:
    return (joints if rate == fps else resample(joints, rate, fps)).astype(np.float32)


def _read(path: Path, required: Sequence[str], refuse: Callable[[str], object], array: str = "joints") -> list[SourceClip]:
    """Read an archive, a file, or a folder whose folders name classes and subjects; what a file itself states comes first."""
    is_plain = path.is_dir() and all(
        file.suffix.lower() == ".npy" and file.parent.parent == path for file in clip_files([path])
    )
    if path.suffix != ".npz" and not is_plain:
        found = list(read_clips(path, refuse))
        own = [clip.file.relative_to(path).parent.as_posix().removeprefix(".") for clip in found]
        named = zip(found, own, strict=True)
        return [replace(clip, label=clip.label or name, subject=clip.subject or name) for clip, name in named]
    clips = read_clip_folder(path) if is_plain else read_clip_archive(path, required, array)
    columns = zip(clips.names, clips.joints, clips.classes, clips.classes if is_plain else clips.subjects, strict=True)
    return [SourceClip(path, name, joints, clips.fps, "", label=own, subject=who) for name, joints, own, who in columns]


def labels_of_clips(path: Path, names: Sequence[str], label: str) -> list[str]:
    """Read the label of each clip from a table beside the clips.

    Parameters
    ----------
    path : Path
        Of a folder of clips, the table is ``labels.csv`` in it, with a column ``clip``: the path of each file in the folder,
        or where a file has several, the name of each clip, as in ``file.tar, clip``. Of an archive ``NAME.npz`` it is
        ``NAME.csv``, with a row for each clip, in order.
    names : sequence of str
        Names of the clips, as :mod:`posegen.dataset.clip_files` returns them.
    label : str
        Name of the column.

    Raises
    ------
    UsageError
        If there is no such table or column, or a clip has no label.
    """
    file = path / "labels.csv" if path.is_dir() else path.with_suffix(".csv")
    if path.is_dir():
        require_inside(path, file)
    table = read_table(file)
    for column in (label, *(["clip"] if path.is_dir() else [])):
        if column not in table.column_names:
            raise UsageError(f"{file}: has no column {column}, but {', '.join(table.column_names)}")
    values = ["" if value is None else str(value) for value in table[label].to_pylist()]
    if path.is_dir():
        known = dict(zip(map(str, table["clip"].to_pylist()), values, strict=True))
        values = [known.get(name.removeprefix(f"{path}/"), "") for name in names]
    elif len(values) != len(names):
        raise UsageError(f"{file}: has {len(values)} rows for {len(names)} clips. Write one for each clip, in order")
    missing = [name for name, value in zip(names, values, strict=True) if not value]
    if missing:
        raise UsageError(f"{file}: has no {label} of {missing[0]} ({len(missing)} clips in all). Add it, or remove the clips")
    return values


def _load_own(clips: OwnClips, query: Query) -> None:
    for recipe in query.recipes:
        (into,) = query.into[recipe.name]
        for row, clip in enumerate(query.samples.tolist()):
            key = f"{recipe.cache or recipe.name}-{recipe.version}", query.view, clip
            if key not in clips.computed:
                # Frames after the last one have the values that the recipe gives to absent frames.
                fields = clips.padded(np.array([clip]), len(clips.joints[clip]) + query.view.stride)
                clips.computed[key] = recipe.compute(fields, query.view)[0]
            values = clips.computed[key]
            if recipe.inner[:1] == ("frame",):
                shown = len(values) - 1
                into[row, :shown], into[row, shown:] = values[:shown], values[shown]
            else:
                into[row] = values


def labelled_clips(path: Path, label: str) -> tuple[pa.Table, tuple[str, ...]]:
    """Return a user's clips as a table with the column of their label, and notes on clips that are left out."""
    clips = read_own_clips(path, FOLDER_FPS, label=label)
    table = motion_statistics((joints, FOLDER_FPS) for joints in clips.joints)
    return table.append_column(label, pa.array(clips.words)), clips.notes


def motion_statistics(clips: Iterable[tuple[Array, float]]) -> pa.Table:
    """Return what a model of a table reads of clips, of their joints and frames per second.

    Returns
    -------
    Table
        ``motion``, the mean, standard deviation, least and largest value of each motion feature at 25 frames per second, and
        ``seconds``.
    """
    features = [features_of(_resampled(joints, fps, FOLDER_FPS), FOLDER_FPS) for joints, fps in clips]
    motion = [np.concatenate([own.mean(0), own.std(0), own.min(0), own.max(0)]).tolist() for own in features]
    return pa.table({"motion": motion, "seconds": [len(own) / FOLDER_FPS for own in features]})
