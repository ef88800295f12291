"""Captured motion out of an .npz file, whose sizes are checked before memory is taken by them.

A file of a few kilobytes may say that it unpacks to terabytes: what an array's header asks for must be what is packed, and
all of it together is bounded.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.skeleton import JOINTS

__all__ = ["MOST_BYTES", "Archive", "read_archive"]

Array = NDArray[Any]

MOST_BYTES = 2 * 2**30
"""Of one array, unpacked."""
WANTED = ("joints", "offsets", "subjects", "fps")
FAMILIES = "classes"
_UNREADABLE = (AttributeError, EOFError, NotImplementedError, OSError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile)

Archive = tuple[Array, Array, Array, float, Array]
"""Joints float [frame, 22, 3], offsets [clip + 1], who moves and what is shown in each clip, and frames a second."""


def read_archive(path: Path) -> Archive:
    """Read the arrays ``joints``, ``offsets``, ``subjects``, ``fps`` and, if there, ``classes`` of an .npz file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    tuple
        Joints, offsets, subjects, frames a second, classes (empty words where there are none).

    Raises
    ------
    UsageError
        If there is no such file, it is no sound one, an array is missing, larger than 2 GB, or does not fit the others.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as packed:
            names = {name.removesuffix(".npy") for name in packed.namelist()}
            arrays = {name: _array(packed, name, path) for name in (*WANTED, FAMILIES) if name in names}
    except FileNotFoundError as error:
        msg = f"{path}: there is no such file; give --reference an .npz file, a dataset or a folder of .bvh files"
        raise UsageError(msg) from error
    except _UNREADABLE as error:
        msg = f"{path}: cannot be read as an .npz file of plain arrays ({error!s:.200})"
        raise UsageError(msg) from error
    missing = [name for name in WANTED if name not in arrays]
    if missing:
        msg = f"{path}: has no array {', '.join(missing)}; a reference has {', '.join(WANTED)}"
        raise UsageError(msg)
    joints, offsets, subjects, fps = (arrays[name] for name in WANTED)
    families = arrays.get(FAMILIES, np.full(subjects.shape, ""))
    fault = _fault(joints, offsets, subjects, fps) or _families_fault(families, subjects)
    if fault:
        msg = f"{path}: {fault}"
        raise UsageError(msg)
    return joints, offsets, subjects, float(fps), families


def _array(packed: zipfile.ZipFile, name: str, path: Path) -> Array:
    member = packed.getinfo(f"{name}.npy")
    if member.file_size > MOST_BYTES:
        msg = f"{path}: its array {name} unpacks to {member.file_size:,} bytes; at most {MOST_BYTES:,} are read"
        raise UsageError(msg)
    with packed.open(member) as file:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            msg = f"array {name} is of a version that is not known"
            raise ValueError(msg)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        asked = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or asked > member.file_size:
            msg = f"array {name} holds objects, or asks for {asked:,} bytes where {member.file_size:,} are packed"
            raise ValueError(msg)
    with packed.open(member) as file:
        return np.asarray(npy.read_array(file, allow_pickle=False))


def _fault(joints: Array, offsets: Array, subjects: Array, fps: Array) -> str | None:
    if joints.ndim != 3 or joints.shape[1:] != (len(JOINTS), 3) or not np.issubdtype(joints.dtype, np.floating):
        return f"joints must be float [frames, {len(JOINTS)}, 3], got {joints.dtype} {list(joints.shape)}"
    whole = offsets.ndim == 1 and len(offsets) > 1 and np.issubdtype(offsets.dtype, np.integer)
    if not whole or offsets[0] != 0 or offsets[-1] != len(joints) or (np.diff(offsets) < 0).any():
        return "offsets must be whole numbers that rise from 0 to the number of frames"
    if subjects.shape != (len(offsets) - 1,):
        return f"subjects must name one person for each of the {len(offsets) - 1} clips"
    if fps.size != 1 or not np.issubdtype(fps.dtype, np.number) or not 1 <= float(fps) <= 1000:
        return "fps must be one number from 1 to 1000"
    return None


def _families_fault(families: Array, subjects: Array) -> str | None:
    if families.shape == subjects.shape and families.dtype.kind in "US":
        return None
    return f"{FAMILIES} must say in a word what each of the {len(subjects)} clips shows"
