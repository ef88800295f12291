"""Selection of the sequences of an export, and estimate of their size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pyarrow.compute as pc

from posegen.dataset.read import Dataset
from posegen.dataset.splits import SPLITS, in_split
from posegen.exchange.export_format import ExportFormat
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.wording import did_you_mean, shown

_ESTIMATED = ("sample", "variant", "length", "actors.list.element.person")
"""Columns that an estimate reads."""
_MEASURED_SHARDS = 8
"""Shards whose rows an estimate reads; more only as long as they have no clip."""


@dataclass(frozen=True)
class Selection:
    """What is exported: the format, and which sequences of which dataset.

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
    for split in splits:
        in_split(0, [], split)  # refuses unknown names
    known = dataset.header.variants
    for variant in variants:
        if variant not in known:
            raise UsageError(f"{dataset.path}: has no variant {variant!r}{did_you_mean(variant, known)}")
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
    """Return why the format cannot hold a sequence; nothing if it can."""
    low, high = form.frames
    if actors > form.most_actors:
        return f"more than {form.most_actors} actor{'s' * (form.most_actors > 1)}"
    return "" if low <= frames <= high else f"fewer than {low} or more than {high} frames"


def estimate_bytes(dataset: Dataset, form: ExportFormat, selection: Selection, shards: Sequence[int]) -> int:
    """Estimate the size of the clips of some shards from the rows of the first ones.

    Parameters
    ----------
    dataset : Dataset
    form : ExportFormat
    selection : Selection
    shards : sequence of int

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    PosegenError
        If no clip remains and the shards are all of the dataset.
    """
    frames, left_out, read = 0, Counter[str](), 0
    for read, shard in enumerate(shards, 1):
        chosen, table = choose(dataset, shard, selection), dataset.table(shard, _ESTIMATED)
        sequences = zip(table["sample"].to_pylist(), table["variant"].to_pylist(), strict=True)
        actors = pc.list_value_length(table["actors"]).to_pylist()
        for sequence, people, length in zip(sequences, actors, table["length"].to_pylist(), strict=True):
            if sequence in chosen:
                length = scale_frames(length, dataset.header.fps, selection.fps)
                reason = why_unfit(form, people, length)
                left_out[reason] += 1
                frames += 0 if reason else length * people
        if frames and read >= _MEASURED_SHARDS:
            break
    if not frames and len(shards) == dataset.header.shards():
        raise PosegenError(_no_clip(dataset, selection, left_out))
    return int(frames * form.frame_bytes * len(shards) / max(read, 1))


def _no_clip(dataset: Dataset, selection: Selection, left_out: Mapping[str, int]) -> str:
    """Return the message that no clip remains."""
    if left_out:
        reasons = "; ".join(f"{count:,} have {reason}" for reason, count in left_out.items())
        return f"{dataset.path}: {selection.form} can hold none of the selected sequences: {reasons}. Choose another format"
    options = [f"--split {name}" for name in selection.splits] if len(selection.splits) < len(SPLITS) else []
    if len(selection.variants) < len(dataset.header.variants):
        options += [f"--variant {name}" for name in selection.variants]
    options += [f"--filter {shown(selection.where)}"] if selection.where else []
    return f"{dataset.path}: none of {len(dataset):,} samples is selected by {' '.join(options)}. Change or leave out an option"
