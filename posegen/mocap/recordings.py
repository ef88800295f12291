"""Files of clips as recordings that can be measured; unreadable files are reported by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path

from posegen.dataset.clip_files import resample
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.evaluation.realism import Reference
from posegen.evaluation.recording import Recording, read_reference
from posegen.mocap.labels import texts_beside
from posegen.mocap.sources import clip_files, read_source

HIGHEST_FPS = 30.0
"""Frames per second at which clips are measured at most: the low pass of the measures is made for about 25."""
FLOOR_WITHIN = 0.1
"""Maximum distance in metres of the floor of a file from 0; within it, feet below or above the floor are measured."""


def read_recordings(
    path: Path,
    *,
    fps: float | None = None,
    names: Path | None = None,
    target_fps: float | None = None,
    floor_within: float = FLOOR_WITHIN,
    log: Callable[[str], None] | None = None,
    refuse: Callable[[str], None] | None = None,
    note: Callable[[str], None] | None = None,
    captions: bool = False,
) -> Iterator[Recording]:
    """Read the clips of a file, or of all files of a folder.

    Parameters
    ----------
    path : Path
    fps, names, floor_within
        See :func:`posegen.mocap.sources.read_source`.
    target_fps : float, optional
        Frame rate to which clips are resampled. By default, clips of more than 30 frames per second keep every n-th frame.
    log : callable, optional
        Called with a description of the first clip of each file.
    refuse : callable, optional
        Called with the message for each file, and each of several clips of a file, that cannot be read. By default it
        is raised.
    note : callable, optional
        Called with the message for each clip with unused frames; `log` by default.
    captions : bool
        Also read the sentences of ``texts/NAME.txt`` beside the clips, as in HumanML3D.

    Raises
    ------
    UsageError
        If there are no files of clips, or one cannot be read and `refuse` is None.
    """
    for file in clip_files([path]):
        for number, clip in enumerate(read_source(file, fps, names, floor_within, refuse=refuse)):
            if number == 0 and log:
                frames = f"{len(clip.joints):,} frames at {clip.fps:.4g} FPS"
                log(f"{file}: {clip.format}, {clip.unit}, {clip.up} up, {frames}")
            report = note or log
            if clip.note and report:
                report(f"{clip.name}: {clip.note}")
            texts = texts_beside(clip.file) if captions else ()
            rate = target_fps or clip.fps / ceil(clip.fps / HIGHEST_FPS - 1e-3)
            # The subject is the folder, or the prefix of the file name, as in 07_01.bvh.
            is_alone = path in (file, file.parent)
            person = file.stem.partition("_")[0] if is_alone else str(file.parent.relative_to(path))
            name = clip.name.removeprefix(f"{path}/").removeprefix(f"{path}, ")
            joints = resample(clip.joints, clip.fps, rate)
            yield Recording(name, clip.subject or person, joints, rate, family=clip.label, captions=texts)


def open_reference(path: AnyPath, fps: float | None, log: Callable[[str], None]) -> Reference:
    """Open the mocap at a path.

    Parameters
    ----------
    path : Path or BucketPath
        In a bucket, a dataset.
    fps : float, optional
        Frame rate to which files of clips are resampled; an .npz file and a dataset must have it. By default, rates stay.
    log : callable
        Called with the measured properties of each file of clips.

    Raises
    ------
    UsageError
        If the clips cannot be read; raised while reading them.
    """
    local = storage_of(path).local
    if local is None or local.suffix.lower() == ".npz" or (local / "dataset.json").exists():
        return Reference(str(path), read_reference(path))
    return Reference(str(path), read_recordings(local, target_fps=fps, floor_within=0.0, log=log))
