"""A user's own clips: joints and a class for each clip, read from an archive or a folder.

- ``clips.npz``: ``joints`` [frames, 22, 3] in metres with y up, ``offsets`` [clips + 1], ``fps``, ``classes`` [clips], and
  optionally ``subjects`` [clips]: the format of ``posegen evaluate --reference``;
- a folder: ``FOLDER/CLASS/anything.npy``, each [frames, 22, 3] at 25 frames per second.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.constants import ABSENT_ACTION
from posegen.errors import UsageError
from posegen.skeleton import JOINTS, PARTS

_FOLDER_FPS = 25.0
_SHORTEST = 4
_MOST_FILES = 100_000
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
        The subject of each clip; empty where subjects are not known.
    identity : str
        Hash of joints and classes.
    """

    path: Path
    joints: Sequence[Array]
    words: tuple[str, ...]
    subjects: tuple[str, ...]
    identity: str

    @property
    def groups(self) -> Array:
        """Return a group number per clip. Splits separate groups: subjects if there are ten or more, else single clips."""
        _, numbers = np.unique(np.array(self.subjects or range(len(self.words))), return_inverse=True)
        return numbers if len(set(numbers.tolist())) >= _FEWEST_SUBJECTS else np.arange(len(self.words))

    def padded(self, which: Array) -> dict[str, Array]:
        """Return clips as arrays of a dataset with one actor: joints, NaN behind each clip, and the class as action."""
        frames = max(len(clip) for clip in self.joints)
        names = sorted(set(self.words))
        joints = np.full((len(which), 1, frames, len(JOINTS), 3), np.nan, np.float32)
        action = np.full((len(which), 1, frames, len(PARTS)), ABSENT_ACTION, np.uint16)
        for i, clip in enumerate(which.tolist()):
            length = len(self.joints[clip])
            joints[i, 0, :length] = self.joints[clip]
            action[i, 0, :length] = names.index(self.words[clip])
        return {"joints": joints, "action": action}


def read_own_clips(path: Path, fps: float) -> OwnClips:
    """Read clips and resample them to `fps` frames per second.

    Raises
    ------
    UsageError
        If there are no clips, or they are malformed.
    """
    if path.is_dir():
        joints, words = _in_folder(path)
        subjects: tuple[str, ...] = ()
        own_fps = _FOLDER_FPS
    else:
        joints, words, subjects, own_fps = _in_archive(path)
    kept = [i for i, clip in enumerate(joints) if len(clip) >= _SHORTEST]
    if len({words[i] for i in kept}) < 2:
        msg = f"{path}: needs clips of at least two classes, each of {_SHORTEST} frames or more"
        raise UsageError(msg)
    clips = [_resampled(joints[i], own_fps, fps) for i in kept]
    content = xxhash.xxh3_128()
    for i, clip in zip(kept, clips, strict=True):
        content.update(words[i].encode())
        content.update(clip.tobytes())
    chosen = tuple(subjects[i] for i in kept) if subjects else ()
    return OwnClips(path, clips, tuple(words[i] for i in kept), chosen, content.hexdigest())


def _in_archive(path: Path) -> tuple[list[Array], list[str], tuple[str, ...], float]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        msg = f"{path}: there is no such file. Give an .npz archive or a folder of .npy files"
        raise UsageError(msg) from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        msg = f"{path}: cannot be read as an .npz archive ({error})"
        raise UsageError(msg) from error
    missing = [name for name in ("joints", "offsets", "fps", "classes") if name not in arrays]
    if missing:
        needed = "joints [frames, 22, 3], offsets [clips + 1], fps and classes [clips]"
        msg = f"{path}: lacks {', '.join(missing)}. It needs {needed}"
        raise UsageError(msg)
    joints, offsets = _checked(arrays["joints"], str(path)), arrays["offsets"].astype(np.int64)
    words = [str(word) for word in arrays["classes"]]
    if len(offsets) != len(words) + 1 or (np.diff(offsets) < 0).any() or offsets[0] < 0 or offsets[-1] > len(joints):
        msg = f"{path}: its offsets do not fit its {len(words)} classes and {len(joints):,} frames"
        raise UsageError(msg)
    subjects = tuple(str(name) for name in arrays["subjects"]) if "subjects" in arrays else ()
    return [joints[start:stop] for start, stop in pairwise(offsets.tolist())], words, subjects, float(arrays["fps"])


def _in_folder(path: Path) -> tuple[list[Array], list[str]]:
    files = sorted(path.glob("*/*.npy"))[:_MOST_FILES]
    if not files:
        msg = f"{path}: contains no clips. Store each as {path}/CLASS/anything.npy, an array [frames, 22, 3]"
        raise UsageError(msg)
    clips = []
    for file in files:
        try:
            clips.append(_checked(np.load(file, allow_pickle=False), str(file)))
        except (OSError, ValueError, EOFError) as error:
            msg = f"{file}: cannot be read as an .npy array ({error})"
            raise UsageError(msg) from error
    return clips, [file.parent.name for file in files]


def _checked(joints: Array, where: str) -> Array:
    if joints.ndim != 3 or joints.shape[1:] != (len(JOINTS), 3) or joints.dtype.kind != "f":
        msg = f"{where}: joints must be [frames, {len(JOINTS)}, 3] in metres (got {joints.dtype} {list(joints.shape)})"
        raise UsageError(msg)
    if not np.isfinite(joints).all():
        msg = f"{where}: some joints are not finite. Remove these frames"
        raise UsageError(msg)
    return joints.astype(np.float32)


def _resampled(joints: Array, fps: float, target_fps: float) -> Array:
    """Resample positions by linear interpolation."""
    if fps == target_fps:
        return joints
    times = np.arange(0, len(joints) - 1 + 1e-9, fps / target_fps)
    before = np.minimum(times.astype(np.int64), len(joints) - 2)
    share = (times - before)[:, None, None]
    return np.asarray(joints[before] * (1 - share) + joints[before + 1] * share, np.float32)
