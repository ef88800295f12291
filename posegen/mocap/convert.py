"""Convert clips: read files of any known format and write them in any format of exports, without a library of actions.

Files are converted in groups. A group is a shard of the target format; no more than a group is held in memory. A file or clip
that cannot be read is reported, and the others are converted. Offsets in the rest pose, stature and contacts, which writers
need, are measured here.
"""

from __future__ import annotations

import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.clip_files import read_array_file, resample
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import PARTS, RECORDS, ExportFormat, Shard, find_format
from posegen.exchange.features263 import bone_lengths, mean_offsets
from posegen.exchange.rig import length, unit
from posegen.fields.imu import READINGS, SMOOTHING, clip_readings, worn_readings
from posegen.fields.rotation import joint_rotations
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import EXPORTS
from posegen.foundations.progress import Progress
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, PROPORTIONS, sole_points
from posegen.generation.jobs import collect, run_jobs
from posegen.library.load import load_library
from posegen.mocap.labels import Label, label_of
from posegen.mocap.pose_channels import axes
from posegen.mocap.recordings import FLOOR_WITHIN
from posegen.mocap.sources import SourceClip, clip_files, read_source, require_empty

GROUP = 32
"""Files of a group."""
_NEAR_WHOLE = 2e-4
"""Relative distance of a frame rate from a whole number, which it then is: BVH files store rounded seconds."""
_SPLIT, _LICENCE = "training", "that of the clips, which is not known here"
_ROTATION, _IMU = "rotation", "imu"
_RIGID = {
    "pelvis": ("left_hip", "right_hip", "spine1"),
    "spine3": ("left_collar", "right_collar", "neck"),
}
"""Joints with three rigid bones: to the left, to the right and upwards."""
_CONTACT_HEIGHT, _CONTACT_SPEED = 0.05, 0.3
"""Metres above the floor and metres per second below which a point of the sole is in contact."""


@dataclass(frozen=True)
class Conversion:
    """Names of the clips that were written, and a message for each file or clip that was not."""

    clips: list[str]
    failures: list[str]


@dataclass(frozen=True)
class _Group:
    """Files with the names of their clips, how they are read, and where they go.

    `fps` is the frame rate to write, `given` are options of :func:`posegen.mocap.sources.read_source`, and `lengths` are bone
    lengths of HumanML3D's features.
    """

    number: int
    files: Sequence[tuple[Path, str]]
    form: str
    folder: Path
    fps: float | None
    given: Mapping[str, Any]
    lengths: Array


@dataclass(frozen=True)
class _Written:
    """Result of a group: the record of the shard, names of clips, notes, and messages."""

    group: _Group
    record: Mapping[str, Any] = field(default_factory=dict)
    clips: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def convert_clips(
    paths: Sequence[Path],
    to: str,
    out: Path,
    *,
    fps: float | None = None,
    source_fps: float | None = None,
    skeleton: Path | None = None,
    workers: int | None = None,
    note: Callable[[str], object] = lambda _: None,
    progress: Progress | None = None,
    **given: Any,
) -> Conversion:
    """Write clips in another format.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders with them.
    to : str
        Name of the format; see :data:`posegen.foundations.plugins.EXPORTS`.
    out : Path
        Folder to write, which must not exist or be empty; or the file to write for a single clip.
    fps : float, optional
        Frame rate to write, and of files that state none.
    source_fps : float, optional
        Frame rate of the files, in place of their own.
    skeleton : Path, optional
        File of joints, such as HumanML3D's ``new_joints/000021.npy``. HumanML3D's features get its bone lengths.
    workers : int, optional
        Number of processes; one for each core by default.
    note : callable
        Called with notes about unusual clips, and with the message for each file or clip that is not converted.
    progress : Progress, optional
    **given
        Options of :func:`posegen.mocap.sources.read_source`: `names`, `unit` and `up`.

    Raises
    ------
    UsageError
        If the format does not exist or does not fit the options, `out` holds something, or no clip can be read.
    """
    form = find_format(to)
    _check_format(form, fps)
    files = clip_files(list(paths))
    require_empty(out)
    is_file = bool(form.ending) and out.suffix.lower() == form.ending and len(files) == 1
    folder, names = (out.parent, [out.stem]) if is_file else (out, _names(files))
    lengths = np.zeros(len(JOINTS)) if skeleton is None else _lengths_in(skeleton)
    given |= {"fps": source_fps, "unstated_fps": fps}
    whole = _Group(0, list(zip(files, names, strict=True)), to, folder, fps or form.fps, given, lengths)
    found = _convert(whole, not is_file, workers or available_cores(), note, progress or Progress())
    if not found.clips:
        raise UsageError("\n".join(["none of the clips can be converted:", *found.failures[:20]]))
    return found


def _check_format(form: ExportFormat, fps: float | None) -> None:
    if {*form.fields} - {_ROTATION, _IMU}:
        others = [name for name in EXPORTS.built_in if name not in ("coco", "pyskl")]
        raise UsageError(f"--to {form.name} needs actions or a camera, which clips do not have; choose {', '.join(others)}")
    if fps is not None and form.fps not in (None, fps):
        fix = "Leave out --fps; --source-fps states the rate of files that state none"
        raise UsageError(f"format {form.name} has {form.fps} frames per second (got {fps:g}). {fix}")


def _names(files: Sequence[Path]) -> list[str]:
    """Return a name for each file: without folders, unless several files would share it."""
    stems = Counter(file.stem.casefold() for file in files)
    return [
        file.stem if stems[file.stem.casefold()] == 1 else "_".join((*file.parts[-3:-1], file.stem, file.suffix[1:]))
        for file in files
    ]


def _lengths_in(path: Path) -> Array:
    joints = read_array_file(path)
    if joints.ndim != 3 or joints.shape[1:] != (len(JOINTS), 3) or not np.isfinite(joints[:1]).all() or not len(joints):
        raise UsageError(f"--skeleton {path}: must be float [frames, {len(JOINTS)}, 3], as HumanML3D's new_joints/000021.npy")
    return bone_lengths(joints[0])


def _convert(whole: _Group, is_folder: bool, workers: int, note: Callable[[str], object], progress: Progress) -> Conversion:
    """Convert files in groups, in worker processes, and write the files about all clips of a folder."""
    written: list[_Written] = []

    def receive(one: _Written) -> None:
        written.append(one)
        for message in (*one.notes, *(f"failed: {message}" for message in one.failures)):
            note(message)
        progress.update(sum(len(each.group.files) for each in written))

    begins = range(0, len(whole.files), GROUP)
    groups = [replace(whole, number=i, files=whole.files[begin : begin + GROUP]) for i, begin in enumerate(begins)]
    (whole.folder / PARTS).mkdir(parents=True, exist_ok=True)
    progress.start("convert", len(whole.files), unit="files")
    try:
        outcomes = run_jobs(_convert_group, groups, min(workers, len(groups)), load=load_library)
        for lost in collect(outcomes, lambda: None, receive):
            reasons = [f"{file}: {lost.reason}; convert it alone" for file, _ in lost.job.files]
            receive(_Written(lost.job, failures=reasons))
        written.sort(key=lambda one: one.group.number)
        clips = [name for one in written for name in one.clips]
        if is_folder and clips:
            find_format(whole.form).finish(whole.folder, iter([one.record for one in written if one.clips]))
    finally:
        progress.stop()
        shutil.rmtree(whole.folder / RECORDS, ignore_errors=True)
    if is_folder and not clips:
        shutil.rmtree(whole.folder)
    failures = [message for one in written for message in one.failures]
    twice = [name for name, count in Counter(clips).items() if count > 1]
    failures += [f"several clips have the name {name}, and the last one is kept; rename their files" for name in twice]
    return Conversion(clips, failures)


def _convert_group(group: _Group) -> _Written:
    form, result = find_format(group.form), _Written(group)
    clips = chain.from_iterable(_clips_of(file, name, form, result) for file, name in group.files)
    record = form.write(([clip] for clip in clips), Shard(group.folder, group.number, load_library(), group.lengths, _LICENCE))
    return replace(result, record=record)


def _clips_of(file: Path, name: str, form: ExportFormat, result: _Written) -> Iterator[Clip]:
    """Yield the clips of a file, and report clips that are not converted in `result`."""
    sources = read_source(file, floor_within=FLOOR_WITHIN, refuse=result.failures.append, **result.group.given)
    held = list(islice(sources, 2))
    for number, source in enumerate(chain(held, sources)):
        own = f"{name}_{number:06}" if len(held) > 1 else name
        try:
            clip = _clip(source, own, form, result.group.fps)
        except UsageError as error:
            result.failures.append(str(error))
            continue
        low, high = form.frames
        count = len(clip.joints)
        outside = "" if low <= count <= high else f"has {count:,} frames at {clip.fps:g} FPS; readers take {low} to {high}"
        if notes := [text for text in (source.note, outside) if text]:
            result.notes.append(f"{source.name}: {'; '.join(notes)}")
        result.clips.append(own)
        yield clip


def _clip(source: SourceClip, name: str, form: ExportFormat, target_fps: float | None) -> Clip:
    """Return a clip as writers take it.

    Raises
    ------
    UsageError
        If it has fewer than two frames at the frame rate that is written, or its bones have no directions.
    """
    fps = _whole_if_near(source.fps)
    target = _whole_if_near(target_fps or fps)
    joints = resample_body(source.joints, fps, target)
    if len(joints) < 2:
        raise UsageError(f"{source.name}: has fewer than two frames at {target:g} frames per second; leave it out")
    offsets = rest_offsets_of(joints)
    fields = {_ROTATION: joint_rotations(joints, offsets)[0]} if form.fields else {}
    if _IMU in form.fields:
        fields = {_IMU: _sensor_readings(source, joints, offsets, target)}
    if not all(np.isfinite(values).all() for values in fields.values()):
        raise UsageError(f"{source.name}: some bones have no length, so that their joints have no rotation; repair the clip")
    label, texts = label_in_words(source)
    return Clip(
        name=name,
        split=_SPLIT,
        fps=target,
        joints=joints.astype(np.float32),
        offsets=offsets,
        contact=contacts_of(joints, target),
        action=np.empty((0, 0), np.uint16),
        library=load_library(),
        stature=stature_of(offsets),
        captions=texts,
        actor=0,
        fields=fields,
        given_label=label,
    )


def _sensor_readings(source: SourceClip, joints: Array, offsets: Array, fps: float) -> Array:
    """Return the field `imu` of a clip; the person who wears the sensors follows from the name of the subject or clip."""
    smoothing = max(SMOOTHING, 1 / min(source.fps, fps))
    ideal = clip_readings(joints, fps, READINGS * fps, offsets, stature_of(offsets), smoothing)
    person, clip = (zlib.crc32(name.encode()) for name in (source.subject or source.name, source.name))
    return worn_readings(ideal, 0, person, clip, 0).reshape(len(joints), READINGS, *ideal.shape[1:])


def label_in_words(source: SourceClip, table: Mapping[str, Label] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the label and the captions of a clip: its texts, or else its label in words; `table` is that of labels."""
    try:
        label = label_of(source.file, table, source.label, source.name)
    except UsageError:  # it has no label
        return source.label, ()
    return label.name, label.texts or (label.name.replace("_", " "),)


def _whole_if_near(fps: float) -> float:
    return round(fps) if abs(fps - round(fps)) < _NEAR_WHOLE * fps else fps


def rest_offsets_of(joints: Array) -> Array:
    """Return the offset of each joint from its parent in the rest pose of :mod:`posegen.foundations.skeleton`.

    Lengths are the medians of the clip. Bones of pelvis and chest have the angles between them that they have in the clip;
    others have the directions of a body of mean proportions.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres.

    Returns
    -------
    float64 [22, 3]
    """
    bones = joints[:, 1:] - joints[:, PARENTS[1:]]
    mean = mean_offsets()
    offsets = np.zeros_like(mean)
    offsets[1:] = unit(mean[1:]) * np.median(length(bones), axis=0)
    for parent, names in _RIGID.items():
        children = [JOINTS.index(name) for name in names]
        away = joints[:, children] - joints[:, [JOINTS.index(parent)]]
        seen = np.median(away @ _axes(*np.moveaxis(away, 1, 0)), axis=0)
        offsets[children] = seen @ _axes(*mean[children]).T
    return offsets


def stature_of(offsets: Array) -> float:
    """Return the stature of a body of mean proportions that has the legs of these offsets [22, 3], metres."""
    legs = [JOINTS.index(f"{side}_{part}") for side in ("left", "right") for part in ("knee", "ankle")]
    return float(length(offsets[legs]).sum()) / 2 / (PROPORTIONS["thigh"] + PROPORTIONS["shank"])


def contacts_of(joints: Array, fps: float) -> Array:
    """Return uint8 [frame, point]: 1 for heels and toes that are near the floor and slow; 0 for other points.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, the floor at height 0; at least two frames.
    fps : float
    """
    soles = sole_points(joints)
    speed = length(np.gradient(soles, axis=0))[..., 0] * fps
    contact = np.zeros((len(joints), len(CONTACTS)), np.uint8)
    contact[:, : soles.shape[1]] = (soles[..., 1] < _CONTACT_HEIGHT) & (speed < _CONTACT_SPEED)
    return contact


def resample_body(joints: Array, fps: float, target_fps: float) -> Array:
    """Resample joints [frame, 22, 3] to another frame rate; bones keep their lengths, which lines between joints would not."""
    if fps == target_fps:
        return joints
    bones = joints[:, 1:] - joints[:, PARENTS[1:]]
    directions, lengths = (resample(values, fps, target_fps) for values in (bones, length(bones)))
    bones = unit(directions) * lengths
    out = np.empty((len(bones), len(JOINTS), 3))
    out[:, 0] = resample(joints[:, 0], fps, target_fps)
    for joint, parent in enumerate(PARENTS[1:], 1):
        out[:, joint] = out[:, parent] + bones[:, joint - 1]
    return out


def _axes(left: Array, right: Array, up: Array) -> Array:
    """Return the axes of three bones [..., 3] as columns [..., 3, 3]: left, up and forward; 0 where one has no length."""
    return np.nan_to_num(axes(left - right, up - (left + right) / 2))
