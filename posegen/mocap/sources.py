"""Read clips of any known format into joints, and report the format, joint names, unit, axes and frame rate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset import clip_files as stored
from posegen.dataset.layout import HEADER_FILE
from posegen.evaluation.body import longest_present, point, true_intervals
from posegen.evaluation.body import unit as unit_vectors
from posegen.exchange import archives, bvh, features263, point_files, rig
from posegen.exchange.points import body_of_points, clips_of_array, named_body, without_zeros
from posegen.exchange.text_motion import FPS_272, WIDTH_272, joints_of_272
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_inside
from posegen.foundations.progress import Progress
from posegen.foundations.skeleton import JOINTS, sole_points
from posegen.foundations.yaml_files import read_yaml

SUFFIXES = (".bvh", ".npz", ".npy", ".c3d", ".trc", ".skeleton")
_ADVICE: dict[str, str] = read_yaml(Path(__file__).with_name("advice.yaml"))
"""Advice for files of other programs, by their ending, and for arrays of Python objects."""
_JOINT_ARRAYS = (
    "joints", "posed_joints", "global_joint_positions", "joints3d", "joints_3d", "keypoints3d", "keypoints_3d", "keypoints",
    "pose3d", "positions_3d", "positions", "skeleton", "motion", "xyz", "arr_0",
)  # fmt: skip
_RATES = ("fps", "mocap_framerate", "mocap_frame_rate", "frame_rate", "framerate")
_FEATURES = {features263.WIDTH: (features263.joints_of, features263.FPS), WIDTH_272: (joints_of_272, FPS_272)}
_NO_CLIPS = {"texts", "Mean.npy", "Std.npy"}
"""Names of folders and files of exports that hold no clips."""
MOST_FILES = 100_000
METRES = "metres"
UNITS = {
    METRES: 1.0,
    "centimetres": 0.01,
    "millimetres": 0.001,
    "inches": 0.0254,
    "feet": 0.3048,
    "decimetres": 0.1,
    "CMU's units": 0.0564444,
}
"""Metres of each unit; CMU's ASF files have one of their own. The first ones are more frequent."""
SHORT_UNITS = dict(zip(("m", "cm", "mm", "in", "ft", "dm"), UNITS, strict=False))
"""Units as ``--unit`` states them."""
_FREQUENT = 3
SHORTEST_LEG, LONGEST_LEG, USUAL_LEG, LONGEST_IN_RARE_UNIT = 0.45, 1.3, 0.85, 1.1
"""Metres from hip to ankle."""
Y_UP, Z_UP = "y", "z"
UP_AXES = ("x", Y_UP, Z_UP, "-x", "-y", "-z")
FLOOR_NEAR = 0.06
"""Metres from 0 at which the lowest joint of a clip is at the floor."""
_AT_LOWEST_JOINT = 1e-4
"""Metres from 0 within which the lowest joint is the floor of the file, as in HumanML3D, instead of the soles."""
_CLEARLY, _STRAIGHT, _UPRIGHT = 0.08, 0.01, 0.8
"""Thresholds of a mirrored body: metres that the toes of both feet together point backwards at least, metres that knees point
forward at most, and the least cosine between legs and trunk."""
_LEG = [JOINTS.index(f"left_{part}") for part in ("hip", "knee", "ankle")]
LONGEST_GAP = 0.2
"""Maximum seconds in which an unknown joint is interpolated."""


@dataclass(frozen=True)
class SourceClip:
    """A clip as read.

    Attributes
    ----------
    file : Path
    name : str
        For messages: the file, and the number of the clip where it has several.
    joints : float64 [frame, 22, 3]
        Metres, y up, the floor at 0.
    fps : float
    format, unit, up : str
        As stated by the file or the user, or measured.
    label : str
        Label in the file; empty if it has none.
    subject : str
        The person who moves; empty if unknown.
    begin : float
        Seconds in the file before the first frame of `joints`.
    note : str
        Unusual properties: frames that are not used, joints that were estimated; else empty.
    """

    file: Path
    name: str
    joints: Array
    fps: float
    format: str
    unit: str = ""
    up: str = ""
    label: str = ""
    subject: str = ""
    begin: float = 0.0
    note: str = ""


def clip_files(paths: list[Path]) -> list[Path]:
    """Return the files of clips among files and folders, in order.

    Raises
    ------
    UsageError
        If a path does not exist, a file has an unknown ending, a file in a folder is a link out of it, or there are no or too
        many clips.
    """
    found: list[Path] = []
    for path in paths:
        require_existing(path)
        if path.is_dir():
            found += sorted(islice(_clip_files_in(path), MOST_FILES + 1))
        elif path.suffix.lower() not in SUFFIXES:
            advice = _ADVICE.get(path.suffix.lower(), f"is not one of {', '.join(SUFFIXES)}; convert it to BVH")
            raise UsageError(f"{path}: {advice}")
        else:
            found.append(path)
        if len(found) > MOST_FILES:
            raise UsageError(f"{path}: has more than {MOST_FILES:,} clips; import a part of them")
    if not found:
        raise UsageError(f"{paths[0] if paths else 'paths'}: has no clips; give files that end in {', '.join(SUFFIXES)}")
    return found


def _clip_files_in(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        suffix, parts = file.suffix.lower(), {*file.relative_to(folder).parts}
        # HumanML3D has the joints of its features in another folder.
        known = suffix in SUFFIXES and file.is_file() and not parts & _NO_CLIPS
        doubled = "new_joint_vecs" in parts and (folder / "new_joints").is_dir()
        if known and not doubled:
            require_inside(folder, file)
            yield file


def require_empty(out: Path) -> None:
    """Raise UsageError if something is at a path, except an empty folder."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: exists and is not an empty folder; choose another one with --out")


def require_existing(path: Path) -> None:
    """Raise UsageError if there is nothing at a path."""
    if not os.path.exists(path):  # False also for names that cannot exist
        raise UsageError(f"{path}: there is no such file or folder; check the path")


def holds_clips(path: Path) -> bool:
    """Return whether a path is a file of clips, or a folder with some that neither is a dataset nor holds datasets."""
    if path.is_dir():
        is_data = (path / HEADER_FILE).exists() or any(True for _ in path.glob(f"*/{HEADER_FILE}"))
        return not is_data and any(True for _ in _clip_files_in(path))
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read_clips(path: Path, refuse: Callable[[str], object]) -> Iterator[SourceClip]:
    """Read the clips of a file or a folder for a model.

    Parameters
    ----------
    path : Path
        Joints in ``.npy`` files have the frame rate of :mod:`posegen.dataset.clip_files`.
    refuse : callable
        Called with the message for each file of a folder, and each of several clips of a file, that cannot be read.

    Raises
    ------
    UsageError
        If there are no files of clips, or a single file cannot be read.
    """
    for file in clip_files([path]):
        refused, count = list[str](), 0
        for clip in read_source(file, joints_fps=stored.FOLDER_FPS, refuse=refused.append):
            count += 1
            yield clip
        if file == path and refused and not count:
            raise UsageError(refused[0])
        for message in refused:
            refuse(message)


def read_source(
    file: Path,
    fps: float | None = None,
    names: Path | None = None,
    floor_within: float = 0.0,
    joints_fps: float = features263.FPS,
    refuse: Callable[[str], object] | None = None,
    *,
    unit: str | None = None,
    up: str | None = None,
    unstated_fps: float | None = None,
) -> Iterator[SourceClip]:
    """Read the clips of a file.

    Joints that are unknown for at most :data:`LONGEST_GAP` are interpolated. Of the other frames, a clip has the longest run in
    which all joints are known.

    Parameters
    ----------
    file : Path
    fps : float, optional
        Replaces the frame rate of the file; needed where it has none.
    names : Path, optional
        YAML file that gives the names of joints in BVH and C3D files.
    floor_within : float
        Heights are those of the file if its floor, below the lowest percent of the soles, is this near to 0, in metres. Soles
        are never below the floor of a file that puts the lowest joint at height 0.
    joints_fps : float
        Frame rate of joints in an ``.npy`` file, which states none.
    refuse : callable, optional
        Called with the message for the file, or each of its clips, that cannot be read. By default it is raised.
    unit, up : str, optional
        A key of :data:`SHORT_UNITS`, and one of :data:`UP_AXES`, in place of those that are measured.
    unstated_fps : float, optional
        Frame rate of a file that states none.

    Raises
    ------
    UsageError
        If the file is invalid or not of a person, and `refuse` is not given.
    """
    clips = _read(file, fps, names, joints_fps)
    while True:
        try:
            # Unknown joints are NaN, and damaged files have infinite ones: what follows from them is refused, not warned of.
            with stored.readable(file, "cannot be read"), np.errstate(all="ignore"):
                raw = next(clips, None)
                if raw is None:
                    return
                clip = _on_floor(_worked_out(raw, unit and SHORT_UNITS[unit], up, unstated_fps), floor_within)
            yield clip
        except UsageError as error:
            if refuse is None:
                raise
            refuse(str(error))


def read_files(
    files: Sequence[Path], progress: Progress, refuse: Callable[[str], object], **given: Any
) -> Iterator[SourceClip]:
    """Read the clips of files and show the progress; `refuse` and `given` are those of :func:`read_source`."""
    progress.start("read", len(files), unit="files")
    for number, file in enumerate(files, 1):
        yield from read_source(file, refuse=refuse, **given)
        progress.update(number)
    progress.stop()


def _read(file: Path, fps: float | None, names: Path | None, joints_fps: float) -> Iterator[SourceClip]:
    """Read the clips of a file as they are; unit and axis are empty, and the rate is 0, where the file does not state them."""
    suffix, given = file.suffix.lower(), None if names is None else rig.read_names(names)
    if suffix == ".bvh":
        yield _clip(file, bvh.read_bvh_body(file, given), fps)
    elif suffix == ".npy":
        values = _plain_array(file)
        if values.ndim == 2 and values.dtype.kind == "f" and values.shape[1] in _FEATURES:
            joints_of, usual = _FEATURES[values.shape[1]]
            yield _clip(file, rig.Body(joints_of(values), "features as in HumanML3D", float(usual)), fps)
        else:
            yield from _of_points(file, clips_of_array(values, str(file)), fps, given, joints_fps)
    elif suffix in (".c3d", ".trc"):
        named = point_files.read_c3d(file) if suffix == ".c3d" else point_files.read_trc(file)
        body = named_body(named.names, named.points, str(file), given)
        yield _clip(file, body._replace(form=f"{suffix[1:].upper()}, {body.form}", fps=named.fps), fps)
    elif suffix == ".skeleton":
        for name, points, rate in point_files.read_ntu(file):
            yield from _of_points(file, [points], fps or rate, given, 0.0, f", body {name}")
    else:
        yield from _archive(file, fps, given)


def _clip(file: Path, body: rig.Body, fps: float | None, name: str = "", up: str = "") -> SourceClip:
    """Return a clip of a body; `fps` replaces its frame rate."""
    return SourceClip(file, name or str(file), body.joints, fps or body.fps, body.form, up=up, note="; ".join(body.notes))


def _plain_array(file: Path) -> Array:
    try:
        return stored.read_array_file(file)
    except UsageError as error:
        if "Python objects" in str(error):
            raise UsageError(
                f"{file}: holds Python objects, which can run code and are never read. {_ADVICE['objects']}"
            ) from None
        raise


def _of_points(
    file: Path, clips: Iterable[Array], fps: float | None, given: Mapping[str, str] | None, usual_fps: float, which: str = ""
) -> Iterator[SourceClip]:
    """Yield clips of points in the order of a known skeleton; `usual_fps` is the rate of SMPL's joints without one."""
    held = list(clips)
    for number, points in enumerate(held):
        name = f"{file}{which}" + (f", clip {number}" if len(held) > 1 else "")
        body = body_of_points(points, name, given)
        if body.fps and not fps:
            body = body._replace(notes=(*body.notes, f"taken as {body.fps:g} frames per second, the rate of the sensor"))
        elif " as smpl" in body.form:
            body = body._replace(fps=usual_fps)
        height = _height(body.joints)
        # The y axis of a camera points down.
        yield _clip(file, body, fps, name, "-y" if -height[1] > _UPRIGHT * np.sqrt((height**2).sum()) else "")


def _height(joints: Array) -> Array:
    """Return the mean vector from the ankles to the neck, [3], over the frames in which they are known."""
    body = point(joints, "neck") - point(joints, "left_ankle") / 2 - point(joints, "right_ankle") / 2
    return np.asarray(np.nan_to_num(np.nanmean(body, axis=0))) if np.isfinite(body).any() else np.zeros(3)


def _archive(file: Path, fps: float | None, given: Mapping[str, str] | None) -> Iterator[SourceClip]:
    held = stored.members(file)
    if archives.SMPL_ARRAYS & {*held}:
        yield _clip(file, archives.read_smpl(file), fps)
    elif "offsets" in held:
        clips = stored.read_clip_archive(file, [])
        for number, joints in enumerate(clips.joints):
            label = clips.classes[number] or clips.actions[number]
            name, subject = f"{file}, {clips.names[number]}", clips.subjects[number]
            yield SourceClip(file, name, joints, fps or clips.fps, "joints of many clips", METRES, Y_UP, label, subject)
    else:
        arrays = stored.read_arrays(file, (*_JOINT_ARRAYS, *_RATES))
        found: Array | None = next((arrays[name] for name in _JOINT_ARRAYS if name in arrays), None)
        if found is None:
            names = ", ".join(sorted(held)[:20])
            raise UsageError(f"{file}: has no arrays joints and fps, but {names:.400}. Store both with numpy.savez")
        rate = next((stored.checked_rate(file, arrays[name]) for name in _RATES if name in arrays), None)
        usual = float(archives.KIMODO_FPS) if "posed_joints" in held else None
        yield from _of_points(file, clips_of_array(found, str(file)), fps or rate or usual, given, 0.0)


def _worked_out(raw: SourceClip, given_unit: str | None, given_up: str | None, unstated_fps: float | None) -> SourceClip:
    """Return a clip with y up in metres; `unit` and `up` are measured on the body if neither user nor format states them."""
    if not raw.fps and unstated_fps is None:
        raise UsageError(f"{raw.name}: states no frame rate, such as an array fps; add it, or give --fps")
    notes = [raw.note] if raw.note else []
    if not raw.fps:
        notes.append(f"the file states no frame rate: taken as {unstated_fps:g} frames per second")
    raw = replace(raw, unit=given_unit or raw.unit, up=given_up or raw.up, fps=raw.fps or unstated_fps or 0.0)
    if not stored.LOWEST_FPS <= raw.fps <= stored.HIGHEST_FPS:
        limits = f"{stored.LOWEST_FPS:g} to {stored.HIGHEST_FPS:g}"
        raise UsageError(f"{raw.name}: has {raw.fps:g} frames per second; {limits} are read: give --fps")
    joints = without_zeros(np.asarray(raw.joints, np.float64), 0)
    frames, kept = len(joints), longest_present(joints)
    if kept != slice(0, frames):
        joints = fill_gaps(joints, LONGEST_GAP * raw.fps)
        kept = longest_present(joints)
    joints = joints[kept]
    if len(joints) < frames:
        notes.append(f"frames {kept.start + 1:,} to {kept.stop:,} of {frames:,} are used; in others some joints are unknown")
    if len(joints) < 2:
        raise UsageError(f"{raw.name}: has fewer than two frames in a row in which all joints are known; leave it out")
    unit = raw.unit or _unit(raw.name, joints)
    joints = joints * UNITS[unit]
    up = raw.up or _up_axis(raw.name, joints)
    joints = _with_y_up(joints, up)
    if is_mirrored(joints):
        joints = joints * np.array([-1.0, 1.0, 1.0])
        notes.append("left and right were swapped, as in a left-handed system of axes: mirrored back")
    return replace(raw, joints=joints, unit=unit, up=up, begin=kept.start / raw.fps, note="; ".join(notes))


def is_mirrored(joints: Array) -> bool:
    """Return whether toes and bent knees point backwards if left and right are as named.

    Only frames with the trunk in line with the legs count: in a deep bend, toes point to the side of the back.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
    """
    trunk = unit_vectors(point(joints, "neck") - point(joints, "pelvis"))
    forward = unit_vectors(np.cross(point(joints, "left_hip") - point(joints, "right_hip"), trunk))
    toes, knees, legs = np.zeros(len(joints)), np.zeros(len(joints)), np.zeros((len(joints), 3))
    for side in ("left", "right"):
        hip, knee, ankle, foot = (point(joints, f"{side}_{part}") for part in ("hip", "knee", "ankle", "foot"))
        toes += ((foot - ankle) * forward).sum(-1)
        knees += ((knee - (hip + ankle) / 2) * forward).sum(-1)
        legs += hip - ankle
    upright = (unit_vectors(legs) * trunk).sum(-1) > _UPRIGHT
    return bool(upright.any() and np.median(toes[upright]) < -_CLEARLY and np.median(knees[upright]) < _STRAIGHT)


def fill_gaps(joints: Array, longest: float) -> Array:
    """Interpolate each joint linearly in time where it is unknown for at most `longest` frames between two known ones.

    Parameters
    ----------
    joints : float64 [frame, joint, 3]
        NaN where unknown.
    longest : float

    Returns
    -------
    float64 [frame, joint, 3]

    Examples
    --------
    >>> fill_gaps(np.array([0.0, np.nan, 2.0, np.nan]).reshape(4, 1, 1), 1).ravel()
    array([ 0.,  1.,  2., nan])
    """
    filled = joints.copy()
    unknown = np.asarray(np.isnan(joints).any(axis=-1))
    for joint in np.flatnonzero(unknown.any(axis=0)):
        for run in true_intervals(unknown[:, joint]):
            count = run.stop - run.start
            if run.start > 0 and run.stop < len(joints) and count <= longest:
                filled[run, joint] = np.linspace(joints[run.start - 1, joint], joints[run.stop, joint], count + 2)[1:-1]
    return filled


def _on_floor(clip: SourceClip, within: float) -> SourceClip:
    feet = clip.joints[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")]]
    lowest = np.concatenate([feet, sole_points(clip.joints)], axis=1)[..., 1].min(axis=1)
    floor = float(np.percentile(lowest, 1))
    if within and abs(clip.joints[..., 1].min()) < _AT_LOWEST_JOINT:
        within, floor = 0.0, min(floor, 0.0)
    return clip if abs(floor) <= within else replace(clip, joints=clip.joints - np.array([0.0, floor, 0.0]))


def _unit(name: str, joints: Array) -> str:
    bones = np.diff(joints[:, _LEG], axis=1)
    legs = float(np.median(np.sqrt((bones**2).sum(-1)), axis=0).sum())
    long = {unit: legs * metres for unit, metres in UNITS.items()}
    fitting = [unit for unit in [*UNITS][:_FREQUENT] if SHORTEST_LEG <= long[unit] <= LONGEST_LEG]
    fitting = fitting or [unit for unit in UNITS if SHORTEST_LEG <= long[unit] <= LONGEST_IN_RARE_UNIT]
    if not fitting:
        units = ", ".join(UNITS)
        problem = f"the legs are {legs:.3g} units long, which fits no person in {units}"
        raise UsageError(f"{name}: {problem}: scale it, or give --unit")
    return min(fitting, key=lambda unit: abs(np.log(long[unit] / USUAL_LEG)))


def _up_axis(name: str, joints: Array) -> str:
    """Return which axis is up."""
    body = _height(joints)
    floors = np.abs(np.percentile(joints.min(axis=1), 1, axis=0)) < FLOOR_NEAR
    # A lying body is longest along a horizontal axis; its floor is at 0 on the vertical one.
    lies = floors[1] and not floors[2]
    up = Y_UP if abs(body[1]) >= abs(body[2]) or lies else Z_UP
    if body["xyz".index(up)] < 0 and not lies:
        raise UsageError(f"{name}: the head is below the feet; give a file with y or z up, or the axis that is up with --up")
    return up


def _with_y_up(joints: Array, up: str) -> Array:
    """Return joints turned so that an axis of :data:`UP_AXES` becomes y."""
    x, y, z = np.moveaxis(joints, -1, 0)
    turned = {
        "x": (-y, x, z), "-x": (y, -x, z), "y": (x, y, z), "-y": (x, -y, -z), "z": (x, z, -y), "-z": (x, -z, y),
    }  # fmt: skip
    return np.stack(turned[up], axis=-1)
