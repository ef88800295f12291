"""Read a user's clips: joints of one body in an ``.npz`` archive, or in a folder of ``.npy`` files.

Files are untrusted: declared sizes are compared with a limit and with the size of the file before memory is allocated, and
nothing is unpickled. An archive has the arrays

======== =========================================================================================
joints   float [frames, 22, 3], metres, y up: the frames of all clips
offsets  integers [clips + 1]: the first frame of each clip, then the number of frames
fps      frames per second, 1 to 1000
classes  the action of each clip: text or numbers [clips]
subjects who moves in each clip: text or numbers [clips]
actions  optional: what the source calls each clip, more detailed than its class: text or numbers [clips]
======== =========================================================================================

A folder has files ``CLASS/anything.npy``, each float [frames, 22, 3] at 25 frames per second.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_inside
from posegen.foundations.skeleton import JOINTS

MOST_BYTES = 2 * 2**30
"""Largest size of all joints, unpacked."""
MOST_LABEL_BYTES = 256 * 2**20
"""Largest size of each other array, unpacked."""
MOST_CLIPS, LONGEST_CLIP = 1_000_000, 1_000_000
"""Largest number of clips, and of frames of one."""
FARTHEST = 10_000
"""Largest coordinate in metres."""
LOWEST_FPS, HIGHEST_FPS = 1.0, 1000.0
FOLDER_FPS = 25.0
_ARRAYS = ("offsets", "fps")
_VALUES: dict[str, tuple[tuple[int, ...], str]] = {
    "joints": ((len(JOINTS), 3), "Store the positions of SMPL's first 22 joints in metres, y up"),
    "readings": ((6,), "Store acceleration in m/s^2, then angular velocity in rad/s"),
}
"""Shape of a frame by the name of its array, and how to store it."""
_LABELS = {"classes": "the action of each", "subjects": "one subject for each", "actions": "what is done in each"}


class Clips(NamedTuple):
    """Clips: name and joints of each, frames per second of all; class, subject and action of each, empty where unknown."""

    names: list[str]
    joints: list[Array]
    fps: float
    classes: list[str]
    subjects: list[str]
    actions: list[str]


def read_clip_archive(path: Path, required: Sequence[str], array: str = "joints") -> Clips:
    """Read an ``.npz`` archive.

    Parameters
    ----------
    path : Path
    required : sequence of str
        Which of ``classes`` and ``subjects`` the archive must have.
    array : str
        ``joints``, or ``readings`` of an inertial sensor, float [reading, 6], which are then in their place.

    Returns
    -------
    Clips
        Joints are finite, or NaN where nobody is present.

    Raises
    ------
    UsageError
        If it cannot be read, is larger than :data:`MOST_BYTES`, an array is absent or does not fit the others, or joints are
        farther from the origin than :data:`FARTHEST`.
    """
    needed = (array, *_ARRAYS, *required)
    arrays = read_arrays(path, list(dict.fromkeys((*needed, *_LABELS))))
    if missing := [name for name in needed if name not in arrays]:
        raise _fault(path, f"has no array {', '.join(missing)}", f"Store {', '.join(needed)} with numpy.savez")
    joints, offsets, fps = (arrays[name] for name in (array, *_ARRAYS))
    _check_shape(path, joints, array)
    whole = offsets.ndim == 1 and 2 <= len(offsets) <= MOST_CLIPS + 1 and offsets.dtype.kind in "iu"
    if not whole or offsets[0] != 0 or offsets[-1] != len(joints) or (offsets[1:] < offsets[:-1]).any():
        limits = f"integers that increase from 0 to the number of frames, {len(joints):,}, for at most {MOST_CLIPS:,} clips"
        raise _fault(path, f"offsets must be {limits}", "Clip i is joints[offsets[i]:offsets[i + 1]]", offsets)
    rate = checked_rate(path, fps)
    clips = [joints[start:stop] for start, stop in pairwise(offsets.tolist())]
    names = [f"clip {i}" for i in range(len(clips))]
    _check_clips(path, names, clips)
    absent = np.full(len(clips), "")
    classes, subjects, actions = (_checked_labels(path, name, arrays.get(name, absent), len(clips)) for name in _LABELS)
    return Clips(names, clips, rate, classes, subjects, actions)


def members(path: Path) -> set[str]:
    """Return the names of the arrays of an ``.npz`` archive, without reading them."""
    if not path.is_file():  # a pipe would be waited for
        raise _fault(path, "there is no such file", "Give an .npz archive of clips, or a folder")
    with readable(path, "cannot be read as an .npz file of plain arrays"), zipfile.ZipFile(path) as packed:
        return {name.removesuffix(".npy") for name in packed.namelist()}


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` archive that are among `names`, after checking their sizes.

    Raises
    ------
    UsageError
        If the archive cannot be read, or an array is too large or holds Python objects.
    """
    present = members(path)
    with readable(path, "cannot be read as an .npz file of plain arrays"), zipfile.ZipFile(path) as packed:
        return {name: _read_member(path, packed, name) for name in names if name in present}


def checked_rate(path: Path, fps: Array) -> float:
    """Return a frame rate, one number; UsageError if it is none from 1 to 1000."""
    # The comparison is false for NaN too.
    if fps.size != 1 or fps.dtype.kind not in "iuf" or not LOWEST_FPS <= float(fps.item()) <= HIGHEST_FPS:
        limits = f"{LOWEST_FPS:g} to {HIGHEST_FPS:g}"
        raise _fault(path, f"fps must be one number from {limits}", "Store the frames per second of the clips", fps)
    return float(fps.item())


def read_array_file(path: Path) -> Array:
    """Read a plain array of at most :data:`MOST_BYTES` from an ``.npy`` file; UsageError if that is not possible."""
    with readable(path, "cannot be read as an .npy file of a plain array"), path.open("rb") as stream:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise _fault(path, f"has {size:,} bytes; at most {MOST_BYTES:,} are read", "Cut it into shorter clips")
        return read_array(path, stream, "joints", size)


def read_clip_folder(path: Path) -> Clips:
    """Read a folder that has a folder of ``.npy`` files for each class.

    Raises
    ------
    UsageError
        If there are no such files, one of them cannot be read, is a link out of the folder or has joints farther from the
        origin than :data:`FARTHEST`, or they are larger than :data:`MOST_BYTES` in all.
    """
    with readable(path, "cannot be read as a folder"):
        files = list(islice((file for file in path.glob("*/*.npy") if file.is_file()), MOST_CLIPS + 1))
    if not files:
        raise _fault(path, "contains no clips", f"Store each as {path}/CLASS/anything.npy, an array [frames, {len(JOINTS)}, 3]")
    if len(files) > MOST_CLIPS or sum(file.stat().st_size for file in files) > MOST_BYTES:
        raise _fault(path, f"has more than {MOST_CLIPS:,} files or {MOST_BYTES:,} bytes of clips", "Remove some")
    files.sort()
    for file in files:
        require_inside(path, file)
    clips = [read_array_file(file) for file in files]
    for file, joints in zip(files, clips, strict=True):
        check_joints(file, joints)
    names = [str(file) for file in files]
    unknown = [""] * len(files)
    return Clips(names, clips, FOLDER_FPS, [file.parent.name for file in files], unknown, unknown)


def resample(joints: ArrayLike, fps: float, target_fps: float) -> Array:
    """Resample positions to another frame rate by linear interpolation.

    Parameters
    ----------
    joints : float [frame, ...]
    fps, target_fps : float
        Frames per second of the input and of the result.

    Returns
    -------
    float64 [frame, ...]
        Starts at the first frame and does not extrapolate beyond the last one.

    Examples
    --------
    >>> resample([0.0, 1.0, 2.0, 3.0], 30, 20)
    array([0. , 1.5, 3. ])
    """
    positions = np.asarray(joints, np.float64)
    count = int((len(positions) - 1) * target_fps / fps + 1e-9) + 1 if len(positions) else 0
    at = np.arange(count) * fps / target_fps
    before = np.minimum(at.astype(np.int64), max(len(positions) - 2, 0))
    after = np.minimum(before + 1, max(len(positions) - 1, 0))
    share = (at - before).reshape(-1, *[1] * (positions.ndim - 1))
    return np.asarray(positions[before] * (1 - share) + positions[after] * share)


def _read_member(path: Path, packed: zipfile.ZipFile, name: str) -> Array:
    size, most = packed.getinfo(f"{name}.npy").file_size, MOST_BYTES if name in _VALUES else MOST_LABEL_BYTES
    if size > most:
        raise _fault(path, f"{name} unpacks to {size:,} bytes; at most {most:,} are read", "Use fewer clips")
    with readable(path, f"{name} cannot be read as a plain array"), packed.open(f"{name}.npy") as stream:
        return read_array(path, stream, name, size)


def read_array(path: Path, stream: IO[bytes], name: str, size: int) -> Array:
    """Read an array in NumPy's format after checking that its header declares no more bytes than the file or member has.

    Parameters
    ----------
    path : Path
        For messages.
    stream : binary file
        Can seek.
    name : str
        For messages.
    size : int
        Bytes of the file or member.

    Raises
    ------
    UsageError
        If it declares more, or holds Python objects.
    """
    read_header = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    declared = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        problem = f"cannot be read: {name} holds Python objects, and only plain arrays are read"
        raise _fault(path, problem, f"Store text as {name}=numpy.array(values, dtype=str)")
    if min(shape, default=0) < 0 or declared > size:
        raise _fault(path, f"{name} asks for {declared:,} bytes, but the file has {size:,}", "Write it again")
    stream.seek(0)
    return np.asarray(npy.read_array(stream, allow_pickle=False))


def check_joints(path: Path, joints: Array) -> None:
    """Raise UsageError unless an array is one clip: float [frame, 22, 3], not too long, within :data:`FARTHEST`."""
    _check_shape(path, joints)
    _check_clips(path, [str(path)], [joints])


def _check_shape(path: Path, joints: Array, name: str = "joints") -> None:
    shape, fix = _VALUES[name]
    if joints.ndim != 1 + len(shape) or joints.shape[1:] != shape or joints.dtype.kind != "f":
        raise _fault(path, f"{name} must be float [frames, {', '.join(map(str, shape))}]", fix, joints)


def _check_clips(path: Path, names: Sequence[str], clips: Sequence[Array]) -> None:
    for name, joints in zip(names, clips, strict=True):
        if len(joints) > LONGEST_CLIP:
            problem = f"joints: {name} has {len(joints):,} frames; at most {LONGEST_CLIP:,} of a clip are read"
            raise _fault(path, problem, "Cut it into shorter clips")
        if (np.abs(joints) > FARTHEST).any():  # false for NaN, true for infinity
            problem = f"some joints of {name} are infinite, or farther than {FARTHEST:,} m from the origin"
            raise _fault(path, problem, "Remove these frames, and store metres")


def _checked_labels(path: Path, name: str, labels: Array, clips: int) -> list[str]:
    if labels.shape != (clips,) or labels.dtype.kind not in "USiu":
        fix = f"Store one text for each, {name}=numpy.array(values, dtype=str)"
        raise _fault(path, f"{name} must name {_LABELS[name]} of the {clips} clips", fix, labels)
    with readable(path, f"{name} cannot be read as text"):
        # Encoded once, since an array may hold numbers that are no characters.
        return [str(label).encode().decode() for label in labels.astype(str).tolist()]


@contextmanager
def readable(path: Path, problem: str) -> Iterator[None]:
    """Raise UsageError for whatever goes wrong in reading a file: a damaged one raises errors of many modules."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise _fault(path, f"{problem} ({reason:.200})", "Write the file again") from error


def _fault(path: Path, problem: str, fix: str, array: Array | None = None) -> UsageError:
    """Return an error that also states what an array is."""
    got = ""
    if array is not None:
        got = f" (got {array.item()!r:.50})" if array.size == 1 else f" (got {array.dtype} {list(array.shape)})"
    return UsageError(f"{path}: {problem}{got}. {fix}")
