"""Record of an export format, and search by name. Sequences are selected in :mod:`posegen.exchange.selection`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from posegen.exchange.clip import Clip
from posegen.exchange.features263 import Skeleton263
from posegen.exchange.npy import write_bytes
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import EXPORTS, install_hint
from posegen.foundations.wording import did_you_mean
from posegen.library.load import Library

RECORDS = ".posegen-export"
"""Folder of the records within the export."""
PARTS = f"{RECORDS}/parts"
"""Folder for what formats with one file for all clips keep of each shard."""


@dataclass(frozen=True)
class Shard:
    """Where the clips of a shard go, and what they share.

    Attributes
    ----------
    folder : Path
        Of the export.
    number : int
    library : Library
        Of the actions.
    skeleton : Skeleton263
        Bone lengths of HumanML3D's features.
    """

    folder: Path
    number: int
    library: Library
    skeleton: Skeleton263


@dataclass(frozen=True)
class ExportFormat:
    """A format that clips are written in.

    Attributes
    ----------
    name, summary : str
    write : callable
        Takes the clips of a shard in blocks and the :class:`Shard`, writes files and returns the shard's record: plain data.
    finish : callable
        Takes the folder and the records of all shards in order, and writes the files about all clips.
    fps : int, optional
        Frames per second that readers expect. Sequences of another rate are synthesized at this one.
    most_actors : int
        Sequences with more actors are left out, and counted.
    frames : (int, int)
        Numbers of frames that readers accept; other sequences are left out, and counted.
    fields : tuple of str
        Arrays of derived fields of each actor and frame that clips need.
    frame_bytes : float
        Size of a frame of a clip on disk while the export is written, about.
    modules : tuple of str
        Modules of optional packages that writing imports. An export is refused if one is missing.
    ending : str
        Of the file of each clip; empty if clips have no file of their own.
    needs_scenes : bool
        Whether it needs what clips alone do not have: actions of posegen, a camera.
    """

    name: str
    summary: str
    write: Callable[[Iterator[list[Clip]], Shard], Mapping[str, Any]]
    finish: Callable[[Path, Iterator[Mapping[str, Any]]], None]
    fps: int | None = None
    most_actors: int = 100
    frames: tuple[int, int] = (1, 1 << 40)
    fields: tuple[str, ...] = ()
    frame_bytes: float = 300.0
    modules: tuple[str, ...] = ()
    ending: str = ""
    needs_scenes: bool = False


CLIPS = "clips.jsonl"
"""List of the clips in formats of one file for each clip: name, split, frame rate, frames, action and captions."""


def one_file_each(
    name: str,
    summary: str,
    ending: str,
    encode: Callable[[Clip], bytes],
    fps: int | None = None,
    fields: tuple[str, ...] = (),
    frame_bytes: float = 300.0,
) -> ExportFormat:
    """Return a format that writes each clip to a file of its own, and lists them in :data:`CLIPS`.

    Parameters
    ----------
    name, summary, fps, fields, frame_bytes
        As those of :class:`ExportFormat`.
    ending : str
        Of the names of files.
    encode : callable
        Returns the content of the file of a clip.
    """

    def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
        lines = []
        for clip in chain.from_iterable(blocks):
            write_bytes(f"{shard.folder}/{clip.name}{ending}", encode(clip))
            about = {"name": clip.name, "split": clip.split, "fps": clip.fps, "frames": len(clip.joints)}
            lines.append(json.dumps(about | {"action": clip.label, "captions": clip.captions}, ensure_ascii=False))
        return {"lines": lines}

    def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
        with (folder / CLIPS).open("w", encoding="utf-8") as file:
            for part in parts:
                file.writelines(f"{line}\n" for line in part["lines"])

    return ExportFormat(name, summary, write, finish, fps, fields=fields, frame_bytes=frame_bytes, ending=ending)


def find_format(name: str) -> ExportFormat:
    """Return a format by name.

    Raises
    ------
    UsageError
        If there is no such format, or a package that it imports is not installed.
    """
    if name not in EXPORTS:
        known = EXPORTS.names()
        raise UsageError(f"there is no format {name!r}{did_you_mean(name, known)}")
    record: ExportFormat = EXPORTS.load(name)
    for module in record.modules:
        if find_spec(module) is None:
            raise UsageError(f"format {name}: {install_hint(ModuleNotFoundError(name=module)) or f'{module} is not installed'}")
    return record
