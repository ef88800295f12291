"""Read clips of any known format into joints, and report what was worked out: format, joint names, unit, axes, frame rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posegen.arrays import Array
from posegen.errors import UsageError
from posegen.evaluation.body import longest_present, point
from posegen.skeleton import JOINTS, sole_points

SUFFIXES = (".bvh", ".npz", ".npy", ".c3d")
MOST_FILES = 100_000
HUMANML3D_FPS = 20.0
UNITS = {"metres": 1.0, "centimetres": 0.01, "millimetres": 0.001}
SHORTEST_LEG, LONGEST_LEG = 0.45, 1.3
Y_UP, Z_UP = "y", "z"


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
    """

    file: Path
    name: str
    joints: Array
    fps: float
    format: str
    unit: str
    up: str
    label: str = ""


def clip_files(paths: list[Path]) -> list[Path]:
    """Return the files of clips among files and folders, in order.

    Raises
    ------
    UsageError
        If a path does not exist, a file has an unknown ending, or there are no or too many clips.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
            found += [file for file in inside if not {"new_joint_vecs", "texts"} & set(file.relative_to(path).parts)]
        elif not path.is_file():
            raise UsageError(f"{path}: there is no such file or folder; check the path")
        elif path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"{path}: is not one of {', '.join(SUFFIXES)}; convert it to BVH")
        else:
            found.append(path)
        if len(found) > MOST_FILES:
            raise UsageError(f"{path}: has more than {MOST_FILES:,} clips; import a part of them")
    if not found:
        raise UsageError(f"{paths[0] if paths else 'paths'}: has no clips; give files that end in {', '.join(SUFFIXES)}")
    return found


def read_source(file: Path, fps: float | None = None, names: Path | None = None) -> Iterator[SourceClip]:
    """Read the clips of a file.

    Parameters
    ----------
    file : Path
    fps : float, optional
        Replaces the frame rate of the file; needed where it has none.
    names : Path, optional
        YAML file that gives the names of joints in BVH and C3D files.

    Raises
    ------
    UsageError
        If the file is invalid or not of a person.
    """
    suffix = file.suffix.lower()
    if suffix == ".bvh":
        from posegen.exchange.bvh import read_bvh_figure

        figure = read_bvh_figure(file, names)
        yield _clip(file, str(file), figure.joints, fps or figure.fps, f"BVH, names of {figure.convention}", figure.unit)
    elif suffix == ".npy":
        from posegen.dataset.clip_files import read_joint_file

        yield _clip(file, str(file), read_joint_file(file), fps or HUMANML3D_FPS, "joints as in HumanML3D")
    elif suffix == ".c3d":
        from posegen.exchange.c3d import read_c3d

        joints, rate = read_c3d(file, names)
        yield _clip(file, str(file), joints, fps or rate, "C3D")
    else:
        yield from _archive(file, fps)


def _archive(file: Path, fps: float | None) -> Iterator[SourceClip]:
    from posegen.dataset.clip_files import members, read_clip_archive, read_plain_archive

    held = members(file)
    if "poses" in held or "pose_body" in held:
        from posegen.exchange.smpl import read_smpl

        joints, rate = read_smpl(file)
        yield _clip(file, str(file), joints, fps or rate, "rotations of SMPL's joints, as in AMASS")
    elif "offsets" in held:
        clips = read_clip_archive(file, [])
        for number, joints in enumerate(clips.joints):
            label = clips.classes[number] or clips.actions[number]
            yield _clip(file, f"{file}, {clips.names[number]}", joints, fps or clips.fps, "joints of many clips", label=label)
    else:
        joints, rate = read_plain_archive(file)
        yield _clip(file, str(file), joints, fps or rate, "joints")


def _clip(file: Path, name: str, joints: Array, fps: float, form: str, unit: str | None = None, label: str = "") -> SourceClip:
    joints = np.asarray(joints, np.float64)
    present = longest_present(joints)
    joints = joints[present]
    if len(joints) < 2:
        raise UsageError(f"{name}: has fewer than two frames in which all joints are known; leave it out")
    scale, known = (1.0, unit) if unit else _unit(name, joints)
    joints, up = _upright(name, joints * scale)
    feet = joints[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")]]
    lowest = np.concatenate([feet, sole_points(joints)], axis=1)[..., 1].min(axis=1)
    joints[..., 1] -= np.percentile(lowest, 1)
    return SourceClip(file, name, joints, fps, form, known, up, label)


def _unit(name: str, joints: Array) -> tuple[float, str]:
    legs = sum(
        float(np.median(np.sqrt(((point(joints, f"left_{a}") - point(joints, f"left_{b}")) ** 2).sum(-1))))
        for a, b in (("hip", "knee"), ("knee", "ankle"))
    )
    for unit, metres in UNITS.items():
        if SHORTEST_LEG <= legs * metres <= LONGEST_LEG:
            return metres, unit
    raise UsageError(
        f"{name}: the legs are {legs:.3g} units long, which fits no person in metres, centimetres or millimetres: scale it"
    )


def _upright(name: str, joints: Array) -> tuple[Array, str]:
    """Return joints with y up, and which axis was up."""
    body = (point(joints, "neck") - point(joints, "left_ankle") / 2 - point(joints, "right_ankle") / 2).mean(axis=0)
    if abs(body[1]) >= abs(body[2]):
        if body[1] < 0:
            raise UsageError(f"{name}: the head is below the feet; give a file with y or z up")
        return joints, Y_UP
    if body[2] < 0:
        raise UsageError(f"{name}: the head is below the feet; give a file with y or z up")
    return np.stack([joints[..., 0], joints[..., 2], -joints[..., 1]], axis=-1), Z_UP
