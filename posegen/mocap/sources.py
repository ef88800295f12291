"""Read clips of any known format into joints, and report what was worked out: format, joint names, unit, axes, frame rate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from posegen.dataset.clip_files import FOLDER_FPS, HIGHEST_FPS, LOWEST_FPS
from posegen.dataset.layout import HEADER_FILE
from posegen.evaluation.body import longest_present, point
from posegen.exchange import features263
from posegen.exchange.exported_files import (
    is_table,
    listed_rate,
    read_array_of_joints,
    read_glb,
    read_parquet,
    read_table,
    read_tar,
)
from posegen.exchange.kimodo import FPS as KIMODO_FPS
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.links import require_inside
from posegen.foundations.skeleton import JOINTS, sole_points

SUFFIXES = (".bvh", ".npz", ".npy", ".c3d", ".csv", ".glb", ".parquet", ".tar")
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
"""Metres from 0 of the lowest joint of a clip whose floor is at that joint, as in HumanML3D's, and not below its soles."""
_CLEARLY, _STRAIGHT, _UPRIGHT = 0.08, 0.01, 0.8
"""Metres by which toes of both feet together point backwards, and knees at most forward, in a mirrored body; and the least
cosine between legs and trunk."""
LONGEST_GAP = 0.2
"""Seconds within which an unknown joint is interpolated."""


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
        What was worked out.
    label : str
        What the file calls it; empty if it does not.
    subject : str
        Who moves; empty if unknown.
    begin : float
        Seconds in the file before the first frame of `joints`.
    note : str
        What was unusual: frames that are not used, joints that were estimated; else empty.
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
            raise UsageError(f"{path}: is not one of {', '.join(SUFFIXES)}; convert it to BVH")
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
        # HumanML3D has the joints of its features in another folder; a table may hold labels.
        known = suffix in SUFFIXES and file.is_file() and not parts & _NO_CLIPS
        doubled = "new_joint_vecs" in parts and (folder / "new_joints").is_dir()
        if known and not doubled and (suffix != ".csv" or is_table(file)):
            require_inside(folder, file)
            yield file


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
        try:
            yield from read_source(file, joints_fps=FOLDER_FPS, refuse=refuse)
        except UsageError as error:
            if file == path:
                raise
            refuse(str(error))


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
        Called, after the last clip, with the message for each of several clips that cannot be used. By default it is raised.
    unit, up : str, optional
        A key of :data:`SHORT_UNITS`, and one of :data:`UP_AXES`, in place of what is worked out.
    unstated_fps : float, optional
        Frame rate of a file that states none.

    Raises
    ------
    UsageError
        If the file is invalid or not of a person, or its only clip cannot be used.
    """
    failed: list[UsageError] = []
    clips = 0
    try:
        for raw in _read(file, fps, names, joints_fps):
            clips += 1
            try:
                rated = raw if raw.fps else _with_rate(raw, unstated_fps)
                clip = _on_floor(_worked_out(rated, unit and SHORT_UNITS[unit], up), floor_within)
            except UsageError as error:
                if refuse is None:
                    raise
                failed.append(error)
                continue
            yield clip
    except PosegenError:
        raise
    except Exception as error:  # damaged files raise errors of many modules
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(f"{file}: cannot be read ({reason:.200}); write the file again") from error
    if clips == 1 and failed:
        raise failed[0]
    if refuse is not None:
        for refused in failed:
            refuse(str(refused))


def _read(file: Path, fps: float | None, names: Path | None, joints_fps: float) -> Iterator[SourceClip]:
    """Read the clips of a file as they are; unit and axis are empty, and the rate is 0, where the file does not state them."""
    suffix = file.suffix.lower()
    if suffix == ".bvh":
        from posegen.exchange.bvh import read_bvh_figure

        figure = read_bvh_figure(file, names)
        yield SourceClip(
            file, str(file), figure.joints, fps or figure.fps, f"BVH, {figure.names}", note="; ".join(figure.notes)
        )
    elif suffix == ".npy":
        found = read_array_of_joints(file, joints_fps)
        yield SourceClip(file, str(file), found.joints, fps or found.fps, "joints or features as in HumanML3D")
    elif suffix == ".c3d":
        from posegen.exchange.c3d import read_c3d

        joints, rate = read_c3d(file, names)
        yield SourceClip(file, str(file), joints, fps or rate, "C3D")
    elif suffix in (".csv", ".glb"):
        found = read_table(file) if suffix == ".csv" else read_glb(file)
        yield SourceClip(file, str(file), found.joints, fps or found.fps, suffix[1:].upper(), METRES, Y_UP)
    elif suffix in (".parquet", ".tar"):
        for found in read_parquet(file) if suffix == ".parquet" else read_tar(file):
            name = f"{file}, {found.name}"
            yield SourceClip(file, name, found.joints, fps or found.fps, f"joints in {suffix[1:]}", METRES, Y_UP, found.action)
    else:
        yield from _archive(file, fps)


def _archive(file: Path, fps: float | None) -> Iterator[SourceClip]:
    from posegen.dataset.clip_files import members, read_clip_archive, read_plain_archive

    held = members(file)
    from posegen.exchange.smpl import SMPL_ARRAYS, read_smpl

    if SMPL_ARRAYS & {*held}:
        joints, rate = read_smpl(file)
        yield SourceClip(file, str(file), joints, fps or rate or 0.0, "rotations of SMPL's joints, as in AMASS")
    elif "offsets" in held:
        clips = read_clip_archive(file, [])
        for number, joints in enumerate(clips.joints):
            label = clips.classes[number] or clips.actions[number]
            name, subject = f"{file}, {clips.names[number]}", clips.subjects[number]
            yield SourceClip(file, name, joints, fps or clips.fps, "joints of many clips", METRES, Y_UP, label, subject)
    else:
        joints, rate = read_plain_archive(file)
        usual = listed_rate(file) or (float(KIMODO_FPS) if "posed_joints" in held else 0.0)
        yield SourceClip(file, str(file), joints, fps or rate or usual, "joints")


def _with_rate(raw: SourceClip, fps: float | None) -> SourceClip:
    """Return a clip whose file states no frame rate with the one that the user states."""
    if fps is None:
        raise UsageError(f"{raw.name}: states no frame rate, such as an array fps; add it, or give --fps")
    note = f"the file states no frame rate: taken as {fps:g} frames per second"
    return replace(raw, fps=fps, note="; ".join(filter(None, (raw.note, note))))


def _worked_out(raw: SourceClip, given_unit: str | None, given_up: str | None) -> SourceClip:
    """Return a clip with y up in metres; what neither user nor format states of `unit` and `up` is worked out by the body."""
    raw = replace(raw, unit=given_unit or raw.unit, up=given_up or raw.up)
    if not LOWEST_FPS <= raw.fps <= HIGHEST_FPS:
        limits = f"{LOWEST_FPS:g} to {HIGHEST_FPS:g}"
        raise UsageError(f"{raw.name}: has {raw.fps:g} frames per second; {limits} are read: give --fps")
    joints = _without_zeros(np.asarray(raw.joints, np.float64))
    frames, kept = len(joints), longest_present(joints)
    if kept != slice(0, frames):
        joints = fill_gaps(joints, LONGEST_GAP * raw.fps)
        kept = longest_present(joints)
    joints = joints[kept]
    notes = [raw.note] if raw.note else []
    if len(joints) < frames:
        notes.append(f"frames {kept.start + 1:,} to {kept.stop:,} of {frames:,} are used; in others some joints are unknown")
    if frames < 2:
        raise UsageError(f"{raw.name}: has fewer than two frames; leave it out")
    if len(joints) < 2:
        raise UsageError(f"{raw.name}: has no two of {frames:,} frames in a row in which all joints are known; leave it out")
    scale, unit = (UNITS[raw.unit], raw.unit) if raw.unit else _unit(raw.name, joints)
    joints, up = joints * scale, raw.up or _up_axis(raw.name, joints * scale)
    joints = _with_y_up(joints, up)
    if is_mirrored(joints):
        joints = joints * np.array([-1.0, 1.0, 1.0])
        notes.append("left and right were swapped, as in a left-handed system of axes: mirrored back")
    return replace(raw, joints=joints, unit=unit, up=up, begin=kept.start / raw.fps, note="; ".join(notes))


def _without_zeros(joints: Array) -> Array:
    """Return joints that are unknown where a file has 0, 0, 0; the pelvis may be there."""
    at_zero = (joints == 0).all(-1)
    at_zero[:, 0] = False
    at_zero[at_zero[:, 1:].all(-1)] = False
    return np.where(at_zero[..., None], np.nan, joints)


def is_mirrored(joints: Array) -> bool:
    """Return whether toes and bent knees point backwards of a body whose left and right are as named.

    Frames count in which the trunk continues the legs: in a deep bend, toes point to where the back is.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
    """
    trunk = _unit_vectors(point(joints, "neck") - point(joints, "pelvis"))
    forward = _unit_vectors(np.cross(point(joints, "left_hip") - point(joints, "right_hip"), trunk))
    toes, knees, legs = np.zeros(len(joints)), np.zeros(len(joints)), np.zeros((len(joints), 3))
    for side in ("left", "right"):
        hip, knee, ankle, foot = (point(joints, f"{side}_{part}") for part in ("hip", "knee", "ankle", "foot"))
        toes += ((foot - ankle) * forward).sum(-1)
        knees += ((knee - (hip + ankle) / 2) * forward).sum(-1)
        legs += hip - ankle
    upright = (_unit_vectors(legs) * trunk).sum(-1) > _UPRIGHT
    return bool(upright.any() and np.median(toes[upright]) < -_CLEARLY and np.median(knees[upright]) < _STRAIGHT)


def _unit_vectors(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.sqrt((vectors**2).sum(-1, keepdims=True)), 1e-12))


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
        known, at = np.flatnonzero(~unknown[:, joint]), np.flatnonzero(unknown[:, joint])
        following = np.searchsorted(known, at)
        inner = (following > 0) & (following < len(known))
        at, following = at[inner], following[inner]
        before, after = known[following - 1], known[following]
        short = after - before - 1 <= longest
        at, before, after = at[short], before[short], after[short]
        share = ((at - before) / (after - before))[:, None]
        filled[at, joint] = joints[before, joint] * (1 - share) + joints[after, joint] * share
    return filled


def _on_floor(clip: SourceClip, within: float) -> SourceClip:
    feet = clip.joints[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")]]
    lowest = np.concatenate([feet, sole_points(clip.joints)], axis=1)[..., 1].min(axis=1)
    floor = float(np.percentile(lowest, 1))
    if within and abs(clip.joints[..., 1].min()) < _AT_LOWEST_JOINT:
        within, floor = 0.0, min(floor, 0.0)
    return clip if abs(floor) <= within else replace(clip, joints=clip.joints - np.array([0.0, floor, 0.0]))


def _unit(name: str, joints: Array) -> tuple[float, str]:
    legs = sum(
        float(np.median(np.sqrt(((point(joints, f"left_{a}") - point(joints, f"left_{b}")) ** 2).sum(-1))))
        for a, b in (("hip", "knee"), ("knee", "ankle"))
    )
    long = {unit: legs * metres for unit, metres in UNITS.items()}
    fitting = [unit for unit in [*UNITS][:_FREQUENT] if SHORTEST_LEG <= long[unit] <= LONGEST_LEG]
    fitting = fitting or [unit for unit in UNITS if SHORTEST_LEG <= long[unit] <= LONGEST_IN_RARE_UNIT]
    if not fitting:
        units = ", ".join(UNITS)
        raise UsageError(
            f"{name}: the legs are {legs:.3g} units long, which fits no person in {units}: scale it, or give --unit"
        )
    unit = min(fitting, key=lambda unit: abs(np.log(long[unit] / USUAL_LEG)))
    return UNITS[unit], unit


def _up_axis(name: str, joints: Array) -> str:
    """Return which axis is up."""
    body = (point(joints, "neck") - point(joints, "left_ankle") / 2 - point(joints, "right_ankle") / 2).mean(axis=0)
    floors = np.abs(np.percentile(joints.min(axis=1), 1, axis=0)) < FLOOR_NEAR
    # In lying, the body is longest along another axis than the one of height, in which its floor is at 0.
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
