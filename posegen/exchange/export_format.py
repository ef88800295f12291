"""Export formats by name, and the selection of the sequences of a dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.read import Dataset
from posegen.dataset.splits import SPLITS, in_split, split_name
from posegen.exchange.clip import Clip
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.plugins import EXPORTS
from posegen.foundations.wording import shown
from posegen.library.load import Library

RECORDS = ".posegen-export"
"""Folder of the records within the export."""
PARTS = f"{RECORDS}/parts"
"""Folder for the data of each shard in formats with one file for all clips."""
CLIPS = "clips.jsonl"
"""List of the clips in formats of one file for each clip: name, split, frame rate, frames, action and captions."""


@dataclass(frozen=True)
class Shard:
    """Folder, number and common data of the clips of a shard.

    Attributes
    ----------
    folder : Path
        Of the export.
    number : int
    library : Library
        Of the actions.
    lengths : float [22]
        Bone lengths of HumanML3D's features; see :func:`posegen.exchange.features263.features_of`.
    licence : str
        Of the motion.
    """

    folder: Path
    number: int
    library: Library
    lengths: Array
    licence: str


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
    ending : str
        Of the file of each clip; empty if clips have no file of their own.
    """

    name: str
    summary: str
    write: Callable[[Iterator[list[Clip]], Shard], Mapping[str, Any]]
    finish: Callable[[Path, Iterator[Mapping[str, Any]]], None]
    fps: int | None = None
    most_actors: int = 100
    frames: tuple[int, int] = (1, 1 << 40)
    fields: tuple[str, ...] = ()
    ending: str = ""


def one_file_each(
    name: str,
    summary: str,
    ending: str,
    encode: Callable[[Clip], bytes],
    **options: Any,
) -> ExportFormat:
    """Return a format that writes each clip to a file of its own, and lists them in :data:`CLIPS`.

    Parameters
    ----------
    name, summary : str
    ending : str
        Of the names of files.
    encode : callable
        Returns the content of the file of a clip.
    **options
        Further attributes of :class:`ExportFormat`, such as `fps`.
    """

    def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
        lines = []
        for clip in chain.from_iterable(blocks):
            (shard.folder / f"{clip.name}{ending}").write_bytes(encode(clip))
            about = {"name": clip.name, "split": clip.split, "fps": clip.fps, "frames": len(clip.joints)}
            lines.append(json.dumps(about | {"action": clip.label, "captions": clip.captions}, ensure_ascii=False))
        return {"lines": lines}

    def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
        with (folder / CLIPS).open("w", encoding="utf-8") as file:
            for part in parts:
                file.writelines(f"{line}\n" for line in part["lines"])

    return ExportFormat(name, summary, write, finish, ending=ending, **options)


def find_format(name: str) -> ExportFormat:
    """Return a format by name.

    Raises
    ------
    UsageError
        If there is no such format.
    """
    require_known("there is no format", name, EXPORTS.names())
    record: ExportFormat = EXPORTS.load(name)
    return record


def write_npy(path: str, values: Array) -> None:
    """Write an array to a file. The header is computed once for arrays of one shape: that of numpy.save takes longer."""
    Path(path).write_bytes(_header(values.shape, values.dtype.str) + values.tobytes())


def npz_bytes(**arrays: Any) -> bytes:
    """Return an npz archive."""
    buffer = BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@lru_cache(1024)
def _header(shape: tuple[int, ...], dtype: str) -> bytes:
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


@dataclass(frozen=True)
class Selection:
    """The sequences of a dataset to export, and the format.

    Attributes
    ----------
    identity : str
        Identity of the dataset.
    samples : int
    form : str
        Name of the format.
    splits, variants : tuple of str
    where : str
        SQL condition on the rows; all if empty.
    fps : int
        Frames per second of the clips.
    """

    identity: str
    samples: int
    form: str
    splits: tuple[str, ...]
    variants: tuple[str, ...]
    where: str
    fps: int


def select_sequences(
    dataset: Dataset, form: ExportFormat, splits: Sequence[str], variants: Sequence[str], where: str, fps: int | None
) -> Selection:
    """Return the selection of an export; its arguments are those of :func:`posegen.exchange.export.export`.

    Raises
    ------
    UsageError
        If there is no such split, variant or column, or the format has another frame rate.
    """
    if fps is not None and form.fps not in (None, fps):
        raise UsageError(f"format {form.name} has {form.fps} frames per second (got {fps}). Leave out --fps")
    splits = [split_name(split) for split in splits]
    known = dataset.header.variants
    for variant in variants:
        require_known(f"{dataset.path}: has no variant", variant, known)
    if where:
        dataset.matching(0, where)  # refuses conditions that cannot be evaluated
    return Selection(
        identity=dataset.header.identity,
        samples=len(dataset),
        form=form.name,
        splits=tuple(split for split in SPLITS if split in splits),
        variants=tuple(variant for variant in known if variant in variants or not variants),
        where=where,
        fps=fps or form.fps or dataset.header.fps,
    )


def scale_frames(frames: int, fps: int, to: int) -> int:
    """Return the number of frames of the same time at another frame rate."""
    return max(1, (frames * to + fps // 2) // fps)


def choose(dataset: Dataset, shard: int, selection: Selection) -> dict[tuple[int, str], str]:
    """Return the split of each selected sequence of a shard by sample and variant."""
    header = dataset.header
    samples = range(shard * header.shard, shard * header.shard + header.count(shard))
    splits = {int(sample): split for split in selection.splits for sample in in_split(header.seed, samples, split)}
    pairs: Iterable[tuple[int, str]] = product(splits, selection.variants)
    if selection.where:
        table = dataset.matching(shard, selection.where)
        found = {*zip(table["sample"].to_pylist(), table["variant"].to_pylist(), strict=True)}
        pairs = (pair for pair in pairs if pair in found)
    return {(sample, name): splits[sample] for sample, name in pairs}


def why_unfit(form: ExportFormat, actors: int, frames: int) -> str:
    """Return the reason why the format cannot hold a sequence; empty if it can."""
    low, high = form.frames
    if actors > form.most_actors:
        return f"more than {form.most_actors} actor{'s' * (form.most_actors > 1)}"
    return "" if low <= frames <= high else f"fewer than {low} or more than {high} frames"


def why_no_clip(dataset: Dataset, selection: Selection, left_out: Mapping[str, int]) -> str:
    """Return the message that no clip remains; `left_out` are sequences that the format cannot hold, by reason."""
    if left_out:
        reasons = "; ".join(f"{count:,} have {reason}" for reason, count in left_out.items())
        return f"{dataset.path}: {selection.form} can hold none of the selected sequences: {reasons}. Choose another format"
    where = f" and {shown(selection.where)}" if selection.where else ""
    chosen = f"splits {', '.join(selection.splits)}, variants {', '.join(selection.variants)}{where}"
    return f"{dataset.path}: none of {len(dataset):,} samples is selected by {chosen}. Change or leave out an option"
