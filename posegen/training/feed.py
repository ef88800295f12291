"""From batches of a source to tensors for a model: cut, split into micro-batches.

What a step sees is a function of the seed and the step: which clips, and which stretch of each where stretches are shown.
Neither the size of micro-batches nor the number of processes that load or train plays a part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from posegen.streaming import Batches, SequenceBatch
from posegen.streaming.source import CAPTIONS
from posegen.training.drawing import STRETCH, draws_of
from posegen.training.fresh_captions import FreshCaptions
from posegen.training.recipes import ABSENT
from posegen.training.sources import ClipSource

__all__ = ["Feed", "Loader", "Loading", "to_clips"]

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
        Micro-batches in a batch.
    shuffled : tuple of str
        Arrays that are those of another clip of the batch: a control.
    """

    batches: Batches
    source: ClipSource = field(repr=False)
    seed: int
    frames: int | None
    parts: int
    shuffled: tuple[str, ...] = ()

    def tensors(self, batch: SequenceBatch) -> list[Tensors]:
        """Make the micro-batches of a batch."""
        clips = to_clips(batch, self.source, self.seed)
        # Clips of a batch are in an order of chance: the label of the one before has nothing to do with the motion.
        clips |= {name: np.roll(clips[name], 1, axis=0) for name in self.shuffled}
        if self.frames is not None:
            clips = _cut(clips, self.frames, self.seed, batch.number)
        size = len(clips["length"])
        edges = [size * i // self.parts for i in range(self.parts + 1)]
        made = []
        for part in range(self.parts):
            own = slice(edges[part], edges[part + 1])
            # What a GPU's loader pins must be a tensor or a plain number.
            made.append({"number": batch.number, "part": part, **{k: torch.from_numpy(v[own]) for k, v in clips.items()}})
        return made


class _Whole(IterableDataset[list[Tensors]]):
    """Gives the micro-batches of a whole batch at a time, so that workers can take turns and each reads ahead by itself."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self._feed = feed
        self._process = os.getpid()

    def __iter__(self) -> Iterator[list[Tensors]]:
        worker = get_worker_info()
        # A fork copies locks that a thread may have held, which is not there any more to let them go.
        batches = self._feed.batches if os.getpid() == self._process else deepcopy(self._feed.batches)
        if worker is not None:
            batches = batches.share(worker.id, worker.num_workers)
        return map(self._feed.tensors, batches)


class Loader:
    """Micro-batches in order, whatever the number of processes that load.

    Parameters
    ----------
    feed : Feed
    loading : Loading
    """

    def __init__(self, feed: Feed, loading: Loading) -> None:
        self._feed = feed
        self._loading = loading

    def __iter__(self) -> Iterator[Tensors]:
        more: dict[str, Any] = {}
        if self._loading.workers:
            more = {"multiprocessing_context": "forkserver", "prefetch_factor": 4}
        whole = DataLoader(
            _Whole(self._feed), batch_size=None, num_workers=self._loading.workers, pin_memory=self._loading.pinned, **more
        )
        for batch in whole:
            yield from batch


@dataclass(frozen=True)
class Loading:
    """How batches are loaded: by how many processes, and whether into memory that a GPU reads by itself."""

    workers: int
    pinned: bool


def to_clips(batch: SequenceBatch, source: ClipSource, seed: int | None = None) -> dict[str, Array]:
    """Take a batch's arrays as a model wants them, and the numbers of its samples as the dataset counts them.

    Where there are captions, all of a clip's are given, or with a seed the one that is drawn for this batch.
    """
    arrays = {name: batch.values[name] for name in source.arrays()}
    wide = {name: values.astype(np.float32) if values.dtype == np.float16 else values for name, values in arrays.items()}
    places = np.array([source.variants.index(name) for name in batch.values["variant"]])
    clips = {**wide, "sample": source.samples_of[batch.values["sample"]], "variant": places}
    captions = source.captions
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


def _cut(clips: dict[str, Array], frames: int, seed: int, number: int) -> dict[str, Array]:
    """Show a stretch of each clip, at a place that depends on the step, the sample and the variant."""
    length = clips["length"]
    drawn = draws_of(clips["sample"], clips["variant"], seed, number, STRETCH)[:, 0]
    first = (drawn * (np.maximum(length - frames, 0) + 1)).astype(np.int64)
    most = clips["motion"].shape[1]
    places = np.minimum(first[:, None] + np.arange(frames)[None, :], most - 1)
    rows = np.arange(len(length))[:, None]
    own = np.minimum(length, frames).astype(length.dtype)
    cut = {name: values[rows, places] for name, values in clips.items() if values.shape[1:2] == (most,)}
    behind = np.arange(frames)[None, :] >= own[:, None]
    for name in cut:
        if cut[name].dtype.kind == "i":
            cut[name][behind] = ABSENT
    return {**clips, **cut, "length": own}
