"""A user's own clips as training data: joints and a class for each clip, at the frame rate of a model.

The files are read by :mod:`posegen.dataset.clip_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.constants import ABSENT_ACTION
from posegen.dataset.clip_files import MOST_BYTES, read_clip_archive, read_clip_folder, resample
from posegen.errors import UsageError
from posegen.skeleton import JOINTS, PARTS

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
    """

    path: Path
    joints: Sequence[Array]
    words: tuple[str, ...]
    subjects: tuple[str, ...]
    identity: str

    @property
    def groups(self) -> Array:
        """Return a group number per clip. Splits separate groups: subjects if there are ten or more, else single clips."""
        _, numbers = np.unique(np.array(self.subjects), return_inverse=True)
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
        If there are no clips, they are malformed, or too large at this rate.
    """
    found = read_clip_folder(path) if path.is_dir() else read_clip_archive(path, ["classes"])
    kept = [i for i, clip in enumerate(found.joints) if len(clip) >= _SHORTEST]
    if len({found.classes[i] for i in kept}) < 2:
        msg = f"{path}: needs clips of at least two classes, each of {_SHORTEST} frames or more"
        raise UsageError(msg)
    frames = [round(len(found.joints[i]) * fps / found.fps) for i in kept]
    if max(frames) > _LONGEST or sum(frames) > _MOST_FRAMES:
        limits = f"at most {_LONGEST:,} frames per clip and {_MOST_FRAMES:,} in all"
        got = f"{max(frames):,} and {sum(frames):,} at the {fps:g} frames per second of the model"
        msg = f"{path}: joints must have {limits} (got {got}). Cut long clips, use fewer, or correct fps"
        raise UsageError(msg)
    for i in kept:
        if np.isnan(found.joints[i]).any():
            msg = f"{path}: some joints of {found.names[i]} are not numbers (NaN). Remove these frames"
            raise UsageError(msg)
    clips = [_at_rate(found.joints[i], found.fps, fps) for i in kept]
    content = xxhash.xxh3_128()
    for i, clip in zip(kept, clips, strict=True):
        content.update(found.classes[i].encode())
        content.update(clip.tobytes())
    classes, subjects = (tuple(names[i] for i in kept) for names in (found.classes, found.subjects))
    return OwnClips(path, clips, classes, subjects, content.hexdigest())


def _at_rate(joints: Array, fps: float, target_fps: float) -> Array:
    return (joints if fps == target_fps else resample(joints, fps, target_fps)).astype(np.float32)
