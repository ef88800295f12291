"""Feed a model: convert the batches of a source to tensors, augment and split them, and load them in other processes.

What a step trains on is a function of the seed and the step. Neither the size of micro-batches nor the number of processes that
load changes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from posegen.dataset.batches import WINDOW, Batches, SequenceBatch, make_batches
from posegen.dataset.batches.torch import TorchBatches
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.training.data.features import ABSENT, Draw, clip_draws, to_single
from posegen.training.data.sources import ClipSource
from posegen.training.settings import Skeleton

Tensors = dict[str, Any]
Draws = Callable[[dict[str, Array], int, int], dict[str, Array]]
"""Returns random numbers for clips as further arrays, from the clips, the seed of the run and the number of the batch."""

_STATISTICS_SAMPLES = 1000
_PREFETCHED = 4
"""Batches that each loading process keeps ready."""

_BODY = len(JOINTS) * 3
_VELOCITY = slice(_BODY, _BODY + 2)
_HALF_WIDTH = np.float32(3**0.5)
"""Half the width of a uniform distribution with standard deviation 1."""


def batches_of(
    source: ClipSource, size: int, seed: int, variants: Sequence[str] | None, *, lanes: int = 1, epochs: int | None = None
) -> Batches:
    """Return batches of a source: endless and all of `size` clips, or `epochs` times each clip.

    `lanes` windows of clips take turns in providing batches.
    """
    total = source.samples * len(variants or source.variants)
    if epochs is None and total < size:
        msg = (
            f"{source.name}: has {total} training sequences, less than a batch of {size}. Generate more, or --set batch={total}"
        )
        raise UsageError(msg)
    endless = epochs is None
    fields = (*source.arrays(), *source.columns())
    return make_batches(
        source,
        size,
        seed=seed,
        fields=fields,
        variants=variants,
        epochs=epochs,
        drop_last=endless,
        lanes=lanes,
        # Groups stay together: those of a window fill as many batches as there are variants.
        window=WINDOW if source.group is None else size * len(variants or source.variants),
    )


def statistics(source: ClipSource, variants: Sequence[str] | None, name: str = "motion") -> tuple[Array, Array]:
    """Return the mean and the standard deviation of an array over the frames of the first samples of a source.

    The number of samples is fixed, so that the result does not change when a dataset grows.
    """
    first = replace(source, sample_numbers=source.sample_numbers[:_STATISTICS_SAMPLES])
    total = squares = count = np.float64(0)
    for batch in make_batches(first, 200, fields=[name, "length"], variants=variants, epochs=1, threads=1):
        motion, length = batch[name].astype(np.float64), batch["length"]
        if source.is_by_actor:
            motion, length = motion.reshape(-1, *motion.shape[2:]), length.ravel()
        frames = motion[np.arange(motion.shape[1])[None, :] < length[:, None]]
        total, squares, count = total + frames.sum(axis=0), squares + (frames * frames).sum(axis=0), count + len(frames)
    mean = np.asarray(total / count)
    return mean, np.sqrt(np.maximum(squares / count - mean * mean, 0))


@dataclass(frozen=True)
class Feed:
    """Converts batches to micro-batches of tensors.

    Attributes
    ----------
    batches : Batches
    source : ClipSource
    seed : int
    frames : int or None
        Crop clips to at most this many frames; None: whole clips.
    parts : int
        Micro-batches per batch.
    shuffled : tuple of str
        Arrays that are taken from another clip of the batch: a control.
    skeleton : Skeleton or None
        Variation of the skeleton from clip to clip; None: no variation.
    draw : callable or None
        Returns random numbers for the clips; see :attr:`posegen.training.task.Task.draw`.
    """

    batches: Batches
    source: ClipSource = field(repr=False)
    seed: int
    frames: int | None
    parts: int
    shuffled: tuple[str, ...] = ()
    skeleton: Skeleton | None = None
    draw: Draws | None = None

    def tensors(self, batch: SequenceBatch) -> list[Tensors]:
        """Return the micro-batches of a batch."""
        clips = to_clips(batch, self.source, self.seed)
        # Clips of a batch are in random order: the label of the clip before is unrelated to the motion.
        before = self.source.view.actors if self.source.is_by_actor else 1
        clips |= {name: np.roll(clips[name], before, axis=0) for name in self.shuffled}
        if self.frames is not None:
            clips = _crop(clips, self.source.view.frames, self.frames, self.seed, batch.number)
        if self.skeleton is not None:
            clips = vary_skeletons(clips, self.skeleton, self.seed, batch.number)
        edges = [len(clips["length"]) * i // self.parts for i in range(self.parts + 1)]
        return [self._tensors(clips, batch.number, part, slice(*own)) for part, own in enumerate(pairwise(edges))]

    def _tensors(self, clips: dict[str, Array], number: int, part: int, shown: slice) -> Tensors:
        own = {name: values[shown] for name, values in clips.items()}
        if self.draw is not None:
            own |= self.draw(own, self.seed, number)
        # A GPU loader can pin only tensors and plain numbers.
        return {"number": number, "part": part, **{name: torch.from_numpy(values) for name, values in own.items()}}


def to_clips(batch: SequenceBatch, source: ClipSource, seed: int | None = None) -> dict[str, Array]:
    """Return the arrays of a batch as a model reads them, with the sample numbers of the dataset.

    Captions are those drawn for this batch if there is a seed, else all captions of each clip.
    """
    clips = {name: batch.values[name] for name in source.arrays()}
    clips |= {name: to_single(values) for name, values in clips.items() if values.dtype == np.float16}
    variant = np.array([source.origin.variants.index(name) for name in batch.values["variant"]])
    sample = source.sample_numbers[batch.values["sample"]]
    clips |= {"sample": sample, "variant": variant}
    if source.is_by_actor:
        clips = _by_actor(clips, source.view.actors)
    return clips if source.additions is None else source.additions(clips, batch, seed)


def _by_actor(clips: dict[str, Array], actors: int) -> dict[str, Array]:
    """Return arrays [clip, actor, ...] as those of the actors that are present, [clip, ...], with the number of each actor."""
    shape = clips["length"].shape
    sequences = ("sample", "variant")
    every = {name: np.repeat(clips[name], actors) for name in sequences} | {"actor": np.tile(np.arange(actors), shape[0])}
    every |= {name: values.reshape(-1, *values.shape[2:]) for name, values in clips.items() if name not in sequences}
    present = every["length"] > 0
    return {name: values[present] for name, values in every.items()}


def _crop(clips: dict[str, Array], most: int, frames: int, seed: int, number: int) -> dict[str, Array]:
    """Crop clips of `most` frames at a position that depends on the batch, the sample and the variant."""
    length = clips["length"]
    drawn = clip_draws(clips["sample"], clips["variant"], seed, number, Draw.CROP)[:, 0]
    first = (drawn * (np.maximum(length - frames, 0) + 1)).astype(np.int64)
    shown = np.minimum(first[:, None] + np.arange(frames)[None, :], most - 1)
    rows = np.arange(len(length))[:, None]
    own = np.minimum(length, frames).astype(length.dtype)
    cropped = {name: values[rows, shown] for name, values in clips.items() if values.shape[1:2] == (most,)}
    behind = np.arange(frames)[None, :] >= own[:, None]
    for values in cropped.values():
        if values.dtype.kind == "i":
            values[behind] = ABSENT
    return {**clips, **cropped, "length": own}


def vary_skeletons(clips: dict[str, Array], skeleton: Skeleton, seed: int, number: int) -> dict[str, Array]:
    """Show each clip on a random skeleton, which depends on the batch, the sample and the variant.

    Mocap skeletons differ in joint positions: one convention puts the hips 5 cm further ahead of the pelvis than another, ten
    standard deviations of generated bodies. A model that has seen one skeleton only does not recognise a walk on another.

    Parameters
    ----------
    clips : dict
        With ``motion`` float32 [clip, frame, FEATURES], or of scenes [clip, frame, actor, number], ``sample`` and ``variant``.
    skeleton : Skeleton
        Standard deviations.
    seed, number : int
        Seed of the run and number of the batch.

    Returns
    -------
    dict
        The same with another ``motion``: each joint is displaced by a constant in the axes of the body, and all lengths are
        multiplied by a factor.
    """
    if not skeleton.joints and not skeleton.size:
        return clips
    drawn = clip_draws(clips["sample"], clips["variant"], seed, number, Draw.SKELETON, 1 + _BODY).astype(np.float32)
    deviation = torch.from_numpy((2 * drawn - 1) * _HALF_WIDTH)
    motion = torch.from_numpy(clips["motion"])
    deviation = deviation.reshape(len(drawn), *(1,) * (motion.dim() - 2), -1)
    size = 1 + skeleton.size * deviation[..., :1]
    # Torch computes by vector instructions, in one pass.
    varied = torch.empty_like(motion)
    torch.addcmul(skeleton.joints * deviation[..., 1:], motion[..., :_BODY], size, out=varied[..., :_BODY])
    torch.mul(motion[..., _VELOCITY], size, out=varied[..., _VELOCITY])
    varied[..., _VELOCITY.stop :] = motion[..., _VELOCITY.stop :]
    # Frames without a body have all joints at 0.
    varied[..., :_BODY] *= (motion[..., :_BODY] != 0).any(dim=-1, keepdim=True)
    return {**clips, "motion": varied.numpy()}


class Loader:
    """Iterates over micro-batches in order, independent of the number of loading processes.

    If loading processes cannot start, die, or meet an error, the training process continues to load from the same batch. An
    error in the data is then raised there.

    Parameters
    ----------
    feed : Feed
    workers : int
        Number of loading processes.
    pinned : bool
        Load into pinned memory, which a GPU reads directly.
    log : callable
        Called with a message if loading processes fail.
    """

    def __init__(self, feed: Feed, workers: int, *, pinned: bool, log: Callable[[str], None]) -> None:
        self._feed, self._workers, self._pinned, self._log = feed, workers, pinned, log

    def __iter__(self) -> Iterator[Tensors]:
        done = 0
        if self._workers:
            # The fork server has no threads, so workers inherit no locked lock.
            options = {"multiprocessing_context": "forkserver", "prefetch_factor": _PREFETCHED}
            try:
                for batch in self._loader(0, num_workers=self._workers, **options):
                    yield from batch
                    done += 1
            except (RuntimeError, OSError, ValueError, EOFError, MemoryError, PosegenError) as error:
                reason = str(error).strip().partition("\n")[0] or type(error).__name__
                self._log(f"loading processes failed ({reason:.160}). Training continues without them, with the same batches")
        for batch in self._loader(done):
            yield from batch

    def _loader(self, done: int, **options: Any) -> Iterator[list[Tensors]]:
        """Start a loader of the batches from the one at position `done`."""
        batches = self._feed.batches
        rest = TorchBatches(batches.at(batches.start + done), self._feed.tensors)
        with warnings.catch_warnings():
            # It advises fewer processes where there are fewer cores; the table of choices has both numbers.
            warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
            # What already consists of tensors is left as it is; torch would look at each value.
            return iter(DataLoader(rest, batch_size=None, collate_fn=list, pin_memory=self._pinned, **options))
