"""Files of clips as recordings that can be measured; what cannot be read is reported by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path

from posegen.dataset.clip_files import resample
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.evaluation.realism import Reference
from posegen.evaluation.recording import Recording, read_reference
from posegen.foundations.errors import UsageError
from posegen.mocap.sources import SourceClip, clip_files, read_source

HIGHEST_FPS = 30.0
"""Frames per second at which clips are measured at most: the low pass of the measures is made for about 25."""
FLOOR_WITHIN = 0.1
"""Metres by which the floor of a file may be off, so that feet below or above it are measured."""


def read_recordings(
    path: Path,
    *,
    fps: float | None = None,
    names: Path | None = None,
    target_fps: float | None = None,
    floor_within: float = FLOOR_WITHIN,
    log: Callable[[str], None],
    refuse: Callable[[str], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Iterator[Recording]:
    """Read the clips of a file, or of all files of a folder.

    Parameters
    ----------
    path : Path
    fps, names, floor_within
        See :func:`posegen.mocap.sources.read_source`.
    target_fps : float, optional
        Frame rate to which clips are resampled. By default, clips of more than 30 frames per second keep every n-th frame.
    log : callable
        Called with what was worked out of the first clip of each file.
    refuse : callable, optional
        Called with the message for each file, and each of several clips of a file, that cannot be read. By default it
        is raised.
    note : callable, optional
        Called with the message for each clip of which not all frames are used. By default that is `log`.

    Raises
    ------
    UsageError
        If there are no files of clips, or one cannot be read and `refuse` is None.
    """
    for file in clip_files([path]):
        try:
            for number, clip in enumerate(read_source(file, fps, names, floor_within, refuse=refuse)):
                if number == 0:
                    frames = f"{len(clip.joints):,} frames at {clip.fps:.4g} FPS"
                    log(f"{file}: {clip.format}, {clip.unit}, {clip.up} up, {frames}")
                if clip.note:
                    (note or log)(f"{clip.name}: {clip.note}")
                yield _recording(path, clip, target_fps or clip.fps / ceil(clip.fps / HIGHEST_FPS - 1e-3))
        except UsageError as error:
            if refuse is None:
                raise
            refuse(str(error))


def _recording(path: Path, clip: SourceClip, fps: float) -> Recording:
    # The subject is the folder, or the prefix of the file name, as in 07_01.bvh.
    folder = clip.file.parent
    person = clip.file.stem.partition("_")[0] if folder == path or clip.file == path else str(folder.relative_to(path))
    name = clip.name.removeprefix(f"{path}/").removeprefix(f"{path}, ")
    return Recording(name, clip.subject or person, resample(clip.joints, clip.fps, fps), fps, family=clip.label)


def open_reference(path: AnyPath, fps: float | None, log: Callable[[str], None]) -> Reference:
    """Open the mocap at a path.

    Parameters
    ----------
    path : Path or BucketPath
        In a bucket, a dataset.
    fps : float, optional
        Frame rate to which files of clips are resampled; an .npz file and a dataset must have it. By default, rates stay.
    log : callable
        Called with what was worked out of each file of clips.

    Raises
    ------
    UsageError
        If the clips cannot be read; raised while reading them.
    """
    local = storage_of(path).local
    if local is None or local.suffix.lower() == ".npz" or (local / "dataset.json").exists():
        return Reference(str(path), read_reference(path))
    return Reference(str(path), read_recordings(local, target_fps=fps, floor_within=0.0, log=log))
