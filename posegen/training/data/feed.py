"""From batches of a source to tensors for a model: cut, split into micro-batches.

What a step sees is a function of the seed and the step: which clips, and which stretch of each where stretches are shown.
Neither the size of micro-batches nor the number of processes that load or train plays a part.


Clips as other skeletons would have them: what a model sees in training differs from clip to clip in where joints are said to
be, and in size.

Captured skeletons do so: of the hips alone, one convention puts them 5 cm further ahead of the pelvis than another, which is
ten standard deviations of generated ones. A model that has only seen one skeleton takes such a walk for anything.


Who loads: processes beside the one that trains, or that one itself where there are none or they fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from posegen.dataset.batches import CAPTIONS, Batches, SequenceBatch
from posegen.errors import PosegenError
from posegen.skeleton import JOINTS
from posegen.training.data.captions import FreshCaptions
from posegen.training.data.features import ABSENT, SKELETON, STRETCH, draws_of
from posegen.training.data.sources import ClipSource
from posegen.training.settings import Skeleton

__all__ = ["LEAST_SPREAD", "Feed", "Loader", "Loading", "to_clips", "vary_skeletons"]

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
    rank, processes : int
        Number of this process, and of all processes that train together. Each gets an equal share of a batch.
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
    rank: int = 0
    processes: int = 1
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
            clips = vary_skeletons(clips, self.skeleton, self.seed, batch.number)
        if self.whole:
            return [_tensors(clips, batch.number, self.rank, slice(None))]
        size, pieces = len(clips["length"]), self.parts * self.processes
        edges = [size * i // pieces for i in range(pieces + 1)]
        first = self.parts * self.rank
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


LEAST_SPREAD = 0.1
"""Metres, m/s or rad/s: for tasks to which skeletons do not matter, the least that a feature is taken to vary by. What hardly
varies among generated people, such as where hips are, is not to count for more than what they do: captured clips are known
better by that, 42 % rather than 37 %. Who is to be told from whom, though, is told by such things.
"""

_BODY = len(JOINTS) * 3
_MOVED = slice(_BODY, _BODY + 2)
_WIDTH = np.float32(3**0.5)
"""Half the width of a uniform distribution whose standard deviation is 1."""


def vary_skeletons(clips: dict[str, Array], skeleton: Skeleton, seed: int, number: int) -> dict[str, Array]:
    """Show each clip on a skeleton of its own, which depends on the batch, the sample and the variant.

    Parameters
    ----------
    clips : dict
        With ``motion`` float32 [clip, frame, FEATURES], ``length``, ``sample`` and ``variant``.
    skeleton : Skeleton
        How far from the one that they have.
    seed, number : int
        Of the run, and of the batch.

    Returns
    -------
    dict
        With another ``motion``, in which every joint has moved by the same in all frames, as seen from the body, and
        everything is larger or smaller.
    """
    if not skeleton.joints and not skeleton.size:
        return clips
    drawn = draws_of(clips["sample"], clips["variant"], seed, number, SKELETON, 1 + _BODY).astype(np.float32)
    either_way = (2 * drawn - 1) * _WIDTH
    size = 1 + np.float32(skeleton.size) * either_way[:, None, :1]
    moved = np.float32(skeleton.joints) * either_way[:, None, 1:]
    motion = clips["motion"].copy()
    there = np.arange(motion.shape[1])[None, :, None] < clips["length"][:, None, None]
    motion[..., :_BODY] = np.where(there, motion[..., :_BODY] * size + moved, 0)
    motion[..., _MOVED] *= size
    return {**clips, "motion": motion}


_AHEAD = 4
"""Batches that each process has ready."""


@dataclass(frozen=True)
class Loading:
    """How batches are loaded: by how many processes, and whether into memory that a GPU reads by itself."""

    workers: int
    pinned: bool


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

    Where these processes cannot start, die, or find an error, the one that trains goes on loading by itself from the same
    batch: what was wrong with them is told, and what is wrong with the data is raised then as the error that it is.

    Parameters
    ----------
    feed : Feed
    loading : Loading
    say : callable
        Is told when they fail.
    """

    def __init__(self, feed: Feed, loading: Loading, say: Callable[[str], None]) -> None:
        self._feed = feed
        self._loading = loading
        self._say = say

    def __iter__(self) -> Iterator[Tensors]:
        done = 0
        for batch in self._by_others():
            yield from batch
            done += 1
        batches = self._feed.batches
        rest = replace(self._feed, batches=batches.at(batches.start + done))
        for batch in DataLoader(_Whole(rest), batch_size=None, num_workers=0, pin_memory=self._loading.pinned):
            yield from batch

    def _by_others(self) -> Iterator[list[Tensors]]:
        """Give the batches that other processes load, until they fail."""
        workers = self._loading.workers
        if not workers:
            return
        try:
            # Forked from a process without threads, they take over no lock that nobody would let go.
            others = DataLoader(
                _Whole(self._feed),
                batch_size=None,
                num_workers=workers,
                pin_memory=self._loading.pinned,
                multiprocessing_context="forkserver",
                prefetch_factor=_AHEAD,
            )
            found = iter(others)
        except (RuntimeError, OSError, ValueError) as error:
            self._say(_told(f"{workers} processes that load cannot start", error))
            return
        while True:
            try:
                batch = next(found)
            except StopIteration:
                return
            except (RuntimeError, OSError, EOFError, MemoryError, PosegenError) as error:
                self._say(_told("a process that loads has failed", error))
                return
            yield batch


def _told(what: str, error: Exception) -> str:
    first = str(error).strip().splitlines()
    return (
        f"{what} ({first[0] if first else type(error).__name__:.160}): going on without such processes, with the same batches"
    )
