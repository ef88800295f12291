"""Convert clips: read files of any known format and write them in any format of exports, without a library of actions.

Files are converted in groups, each of which is a shard of the format that is written; no more than a group is held. A file, or
one of its clips, that cannot be read is reported, and costs no other.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.clip_files import read_array_file
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import PARTS, RECORDS, ExportFormat, Shard, find_format
from posegen.exchange.features263 import Skeleton263, own_skeleton, skeleton_of
from posegen.fields.rotation import joint_rotations
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import EXPORTS
from posegen.foundations.progress import Progress
from posegen.foundations.skeleton import JOINTS
from posegen.generation.jobs import LostJob, run_jobs
from posegen.library.load import Library, load_library
from posegen.mocap.body_of_clip import contacts_of, resample_body, rest_offsets_of, stature_of
from posegen.mocap.labels import label_of
from posegen.mocap.recordings import FLOOR_WITHIN
from posegen.mocap.sources import SourceClip, clip_files, read_source

GROUP = 32
"""Files of a group."""
_NEAR_WHOLE = 2e-4
"""Relative distance of a frame rate from a whole number, which it then is: BVH files store rounded seconds."""
_SPLIT = "training"
_ROTATION = "rotation"


@dataclass(frozen=True)
class Given:
    """What a user states about files and result.

    Attributes
    ----------
    fps : float or None
        Frame rate to write.
    source_fps : float or None
        Frame rate of the files, in place of their own.
    unit, up : str or None
        See :func:`posegen.mocap.sources.read_source`.
    names : Path or None
        YAML file with the names of joints.
    """

    fps: float | None = None
    source_fps: float | None = None
    unit: str | None = None
    up: str | None = None
    names: Path | None = None


@dataclass(frozen=True)
class Conversion:
    """Names of the clips that were written, and a message for each file or clip that was not."""

    clips: list[str]
    failures: list[str]


@dataclass(frozen=True)
class _Group:
    """Files with the names of their clips, and where they go."""

    number: int
    files: Sequence[tuple[Path, str]]
    form: str
    folder: Path
    given: Given
    skeleton: Skeleton263


@dataclass(frozen=True)
class _Written:
    """What became of a group: the record of the shard, names of clips, notes, and messages."""

    number: int
    record: Mapping[str, Any]
    files: int
    clips: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def convert_clips(
    paths: Sequence[Path],
    to: str,
    out: Path,
    given: Given | None = None,
    *,
    skeleton: Path | None = None,
    workers: int | None = None,
    note: Callable[[str], object] = lambda _: None,
    progress: Progress | None = None,
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
    given : Given, optional
    skeleton : Path, optional
        File of joints, such as HumanML3D's ``new_joints/000021.npy``, to whose bone lengths HumanML3D's features are brought.
    workers : int, optional
        Number of processes; one for each core by default.
    note : callable
        Called with what was unusual in a clip, and with the message for each file or clip that is not converted.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the format does not exist or does not fit the options, `out` holds something, or no clip can be read.
    """
    form, given, progress = find_format(to), given or Given(), progress or Progress()
    _check_format(form, given)
    files = clip_files(list(paths))
    is_file = bool(form.ending) and out.suffix.lower() == form.ending and len(files) == 1
    folder = out.parent if is_file else out
    if out.exists() and (is_file or not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: exists and is not an empty folder; choose another one with --out")
    names = [out.stem] if is_file else _names(files)
    bones = own_skeleton() if skeleton is None else _skeleton_in(skeleton)
    (folder / PARTS).mkdir(parents=True, exist_ok=is_file)
    named = list(zip(files, names, strict=True))
    groups = [
        _Group(number, named[begin : begin + GROUP], to, folder, given, bones)
        for number, begin in enumerate(range(0, len(named), GROUP))
    ]
    try:
        written = _convert_groups(groups, min(workers or available_cores(), len(groups)), note, progress, len(files))
        clips = [name for one in written for name in one.clips]
        failures = [message for one in written for message in one.failures]
        twice = [name for name, count in Counter(clips).items() if count > 1]
        failures += [f"several clips have the name {name}, and the last one is kept; rename their files" for name in twice]
        if clips and not is_file:
            form.finish(folder, iter([one.record for one in written]))
    finally:
        shutil.rmtree(folder / RECORDS, ignore_errors=True)
    if not clips:
        if not is_file:
            shutil.rmtree(out)
        raise UsageError("\n".join(["none of the clips can be converted:", *failures[:20]]))
    return Conversion(clips, failures)


def _check_format(form: ExportFormat, given: Given) -> None:
    if form.needs_scenes or {*form.fields} - {_ROTATION}:
        others = [name for name in EXPORTS.built_in if name not in ("coco", "pyskl", "ctrgcn")]
        raise UsageError(f"--to {form.name} needs actions or a camera, which clips do not have; choose {', '.join(others)}")
    if given.fps is not None and form.fps not in (None, given.fps):
        fix = "Leave out --fps; --source-fps states the rate of files that state none"
        raise UsageError(f"format {form.name} has {form.fps} frames per second (got {given.fps:g}). {fix}")


def _names(files: Sequence[Path]) -> list[str]:
    """Return a name for each file: without folders, unless several files would share it."""
    stems = Counter(file.stem.casefold() for file in files)
    return [
        file.stem if stems[file.stem.casefold()] == 1 else "_".join((*file.parts[-3:-1], file.stem, file.suffix[1:]))
        for file in files
    ]


def _skeleton_in(path: Path) -> Skeleton263:
    joints = read_array_file(path)
    if joints.ndim != 3 or joints.shape[1:] != (len(JOINTS), 3) or not np.isfinite(joints[:1]).all() or not len(joints):
        raise UsageError(f"--skeleton {path}: must be float [frames, {len(JOINTS)}, 3], as HumanML3D's new_joints/000021.npy")
    return skeleton_of(joints[0])


def _convert_groups(
    groups: Sequence[_Group], workers: int, note: Callable[[str], object], progress: Progress, files: int
) -> list[_Written]:
    """Convert groups in worker processes; return what became of them in order."""
    written: list[_Written] = []
    progress.start("convert", files, unit="files")
    try:
        with closing(run_jobs(_convert_group, groups, workers, load=_library)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, LostJob):
                    lost = [f"{file}: {outcome.reason}; convert it alone" for file, _ in outcome.job.files]
                    outcome = _Written(outcome.job.number, {}, len(lost), failures=lost)
                written.append(outcome)
                for message in (*outcome.notes, *(f"failed: {message}" for message in outcome.failures)):
                    note(message)
                progress.update(sum(one.files for one in written))
    finally:
        progress.stop()
    return sorted((one for one in written), key=lambda one: one.number)


@cache
def _library() -> Library:
    return load_library()


def _convert_group(group: _Group) -> _Written:
    form = find_format(group.form)
    result = _Written(group.number, {}, len(group.files))
    clips = chain.from_iterable(_clips_of(file, name, form, group, result) for file, name in group.files)
    record = form.write(([clip] for clip in clips), Shard(group.folder, group.number, _library(), group.skeleton))
    return _Written(group.number, record, result.files, result.clips, result.notes, result.failures)


def _clips_of(file: Path, name: str, form: ExportFormat, group: _Group, result: _Written) -> Iterator[Clip]:
    """Yield the clips of a file, and report in `result` what is not converted."""
    given = group.given
    try:
        sources = read_source(
            file,
            given.source_fps,
            given.names,
            FLOOR_WITHIN,
            refuse=result.failures.append,
            unit=given.unit,
            up=given.up,
            unstated_fps=given.fps,
        )
        first, second = next(sources, None), next(sources, None)
        held = [one for one in (first, second) if one is not None]
        for number, source in enumerate(chain(held, sources)):
            own = f"{name}_{number:06}" if len(held) > 1 else name
            try:
                clip = _clip(source, own, form, given.fps or form.fps)
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
    except UsageError as error:
        result.failures.append(str(error))


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
    if not all(np.isfinite(values).all() for values in fields.values()):
        raise UsageError(f"{source.name}: some bones have no length, so that their joints have no rotation; repair the clip")
    label, texts = _label(source)
    return Clip(
        name=name,
        sample=0,
        split=_SPLIT,
        fps=target,
        joints=joints.astype(np.float32),
        offsets=offsets,
        contact=contacts_of(joints, target),
        action=np.empty((0, 0), np.uint16),
        library=_library(),
        stature=stature_of(offsets),
        captions=texts,
        actor=0,
        actors=1,
        fields=fields,
        row={},
        given_label=label,
    )


def _label(source: SourceClip) -> tuple[str, tuple[str, ...]]:
    """Return what a clip shows, and captions: its texts, or else its label in words."""
    try:
        label = label_of(source.file, None, source.label, source.name)
    except UsageError:  # nothing names what it shows
        return source.label, ()
    return label.name, label.texts or (label.name.replace("_", " "),)


def _whole_if_near(fps: float) -> float:
    return round(fps) if abs(fps - round(fps)) < _NEAR_WHOLE * fps else fps
