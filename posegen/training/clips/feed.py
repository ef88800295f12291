"""From batches of a source to tensors for a model: cut, split into micro-batches.

What a step sees is a function of the seed and the step: which clips, and which stretch of each where stretches are shown.
Neither the size of micro-batches nor the number of processes that load or train plays a part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from posegen.dataset.batches import Batches, SequenceBatch
from posegen.dataset.batches.source import CAPTIONS
from posegen.training.clips.drawing import STRETCH, draws_of
from posegen.training.clips.fresh_captions import FreshCaptions
from posegen.training.clips.recipes import ABSENT
from posegen.training.clips.skeletons import on_other_skeletons
from posegen.training.clips.sources import ClipSource
from posegen.training.settings import Skeleton
from posegen.training.steps.place import ALONE, Place

__all__ = ["Feed", "to_clips"]

Array = NDArray[Any]
Tensors = dict[str, Any]


@dataclass(frozen=True)
class Feed:
    """What is done with each batch.

    Attributes
    ----------
    batches : Batches
    source : ClipSource
    seed : int
    frames : int or None
        Longest stretch that is shown.
    parts : int
        Micro-batches of a batch in each process.
    shuffled : tuple of str
        Arrays that are those of another clip of the batch: a control.
    place : Place
        Whose share it gives, of the processes that train together.
    whole : bool
        Whether each process gets all clips of a batch, since the loss holds them against each other.
    skeleton : Skeleton or None
        How much skeletons vary from clip to clip; None: not at all.
    """

    batches: Batches
    source: ClipSource = field(repr=False)
    seed: int
    frames: int | None
    parts: int
    shuffled: tuple[str, ...] = ()
    place: Place = ALONE
    whole: bool = False
    skeleton: Skeleton | None = None

    def tensors(self, batch: SequenceBatch) -> list[Tensors]:
        """Make the micro-batches of a batch."""
        clips = to_clips(batch, self.source, self.seed)
        # Clips of a batch are in an order of chance: the label of the one before has nothing to do with the motion.
        clips |= {name: np.roll(clips[name], 1, axis=0) for name in self.shuffled}
        if self.frames is not None:
            clips = _cut(clips, self.source.view.frames, self.frames, self.seed, batch.number)
        if self.skeleton is not None:
            clips = on_other_skeletons(clips, self.skeleton, self.seed, batch.number)
        if self.whole:
            return [_tensors(clips, batch.number, self.place.rank, slice(None))]
        size, pieces = len(clips["length"]), self.parts * self.place.of
        edges = [size * i // pieces for i in range(pieces + 1)]
        first = self.parts * self.place.rank
        return [_tensors(clips, batch.number, i, slice(edges[i], edges[i + 1])) for i in range(first, first + self.parts)]


def _tensors(clips: dict[str, Array], number: int, part: int, own: slice) -> Tensors:
    # What a GPU's loader pins must be a tensor or a plain number.
    return {"number": number, "part": part, **{name: torch.from_numpy(values[own]) for name, values in clips.items()}}


def to_clips(batch: SequenceBatch, source: ClipSource, seed: int | None = None) -> dict[str, Array]:
    """Take a batch's arrays as a model wants them, and the numbers of its samples as the dataset counts them.

    Where there are captions, all of a clip's are given, or with a seed the one that is drawn for this batch.
    """
    wide = {name: _wide(batch.values[name]) for name in source.arrays()}
    places = np.array([source.origin.variants.index(name) for name in batch.values["variant"]])
    clips = {**wide, "sample": source.samples_of[batch.values["sample"]], "variant": places}
    if source.people is not None:
        clips |= source.people.told_of(clips["sample"])
    captions = source.captions
    if source.sentences is not None and seed is not None:
        return source.sentences(clips, seed, batch.number)
    if captions is None:
        return clips
    if isinstance(captions, FreshCaptions):
        texts = batch.values[CAPTIONS]
        if seed is None:
            return clips | captions.all_of(texts)
        return clips | captions.drawn(clips["sample"], places, texts, seed, batch.number)
    if seed is None:
        return clips | captions.all_of(clips["sample"], places)
    return clips | captions.drawn(clips["sample"], places, seed, batch.number)


def _wide(values: Array) -> Array:
    """Take half precision as single precision; the processor does it eight at a time, which NumPy does not ask it to."""
    return torch.from_numpy(values).float().numpy() if values.dtype == np.float16 else values


def _cut(clips: dict[str, Array], most: int, frames: int, seed: int, number: int) -> dict[str, Array]:
    """Show a stretch of each clip of `most` frames, at a place that depends on the step, the sample and the variant."""
    length = clips["length"]
    drawn = draws_of(clips["sample"], clips["variant"], seed, number, STRETCH)[:, 0]
    first = (drawn * (np.maximum(length - frames, 0) + 1)).astype(np.int64)
    places = np.minimum(first[:, None] + np.arange(frames)[None, :], most - 1)
    rows = np.arange(len(length))[:, None]
    own = np.minimum(length, frames).astype(length.dtype)
    cut = {name: values[rows, places] for name, values in clips.items() if values.shape[1:2] == (most,)}
    behind = np.arange(frames)[None, :] >= own[:, None]
    for name in cut:
        if cut[name].dtype.kind == "i":
            cut[name][behind] = ABSENT
    return {**clips, **cut, "length": own}
