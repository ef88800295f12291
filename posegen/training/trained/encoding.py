"""Motions and captions as the vectors of a trained retrieval model, for whoever measures sets of motions by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from posegen.dataset.read import open_dataset
from posegen.errors import UsageError
from posegen.training.data.cache import view_of
from posegen.training.data.captions import open_captions
from posegen.training.data.features import features_of
from posegen.training.data.sources import ClipSource, Reading
from posegen.training.measures.judging import answers
from posegen.training.measures.ranking import Ranking, rank_pairs
from posegen.training.trained.models import Trained, load_model

__all__ = ["PRECISION_POOL", "Encoded", "encode_clips", "encode_dataset"]

Array = NDArray[Any]

PRECISION_POOL = 32
"""Motions in a pool where published figures of R-precision are concerned (Guo et al., HumanML3D, 2022)."""
_TIMES = 3
_SHORTEST = 8


@dataclass(frozen=True)
class Encoded:
    """A dataset's motions, one of each sample, and their captions.

    Attributes
    ----------
    motion : float32 [sample, dimension]
        Of unit length.
    text : float32 [sample, caption, dimension]
        Of unit length.
    words : int64 [sample, caption]
        The same number for the same words; -1 where there is no caption.
    """

    motion: Array
    text: Array
    words: Array

    def precision(self) -> dict[str, Ranking]:
        """Rank motions by captions and captions by motions; see :func:`posegen.training.measures.ranking.rank_pairs`."""
        return rank_pairs(self.motion, self.text, self.words, pool=PRECISION_POOL, times=_TIMES)

    def distance(self) -> float:
        """Mean distance between a motion and its captions."""
        apart = np.linalg.norm(self.motion[:, None] - self.text, axis=-1)
        return float(apart[self.words >= 0].mean())


def encode_dataset(run: Path, path: Path, samples: int | None, tell: Callable[[int, int], None]) -> Encoded:
    """Encode the first variant of a dataset's samples, and its captions.

    Parameters
    ----------
    run : Path
        Of a retrieval model.
    path : Path
        The dataset, with vectors of its captions by the text encoder that the model was trained with.
    samples : int or None
        How many, from the first; None: all.
    tell : callable
        Is given how many samples are done, and of how many.

    Raises
    ------
    UsageError
        If there is no such model, the dataset has another rate, or its captions are not embedded by that encoder.
    """
    trained, dataset = _retrieval_model(run), open_dataset(path)
    _check_rate(trained, dataset.header.fps, path)
    captions = replace(open_captions(path, dataset.header.shard, trained.view.text_encoder), pairs=None)
    numbers = np.arange(len(dataset) if samples is None else min(samples, len(dataset)))
    view = view_of(dataset, trained.view.stride)
    source = ClipSource(Reading(dataset), trained.task.recipes, view, numbers, captions)
    kept: list[tuple[Array, Array, Array]] = []
    done = 0
    for said, clips in answers(trained.task, trained.model, source, None, "cpu"):
        kept.append((said.numpy(), clips["row"].numpy(), clips["sample"].numpy()))
        done += len(said)
        tell(done, len(numbers))
    vectors, words, sample = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    order = np.argsort(sample)
    return Encoded(vectors[order, 0], vectors[order, 1:], words[order])


def encode_clips(run: Path, clips: Iterable[tuple[Array, float]], name: str) -> Array:
    """Encode other motion; clips that are longer than those of the training are cut into stretches.

    Parameters
    ----------
    run : Path
        Of a retrieval model.
    clips : iterable of (float [frame, 22, 3], float)
        Joints in metres, y up, and frames a second.
    name : str
        Of the whole, for messages.

    Returns
    -------
    float32 [stretch, dimension]
        Of unit length.

    Raises
    ------
    UsageError
        If there is no such model, the rate is another, or all clips are too short.
    """
    trained = _retrieval_model(run)
    vectors = [
        _vector(trained, stretch)
        for joints, fps in clips
        if _check_rate(trained, fps, name)
        for stretch in _stretches(joints, trained.view.frames * trained.view.stride)
        if len(stretch) >= _SHORTEST * trained.view.stride
    ]
    if not vectors:
        msg = f"{name}: holds no clip of {_SHORTEST} frames as the model sees them, too little to encode"
        raise UsageError(msg)
    return np.stack(vectors)


def _stretches(joints: Array, most: int) -> Iterator[Array]:
    """Cut a clip into stretches of equal length, of at most so many frames."""
    count = -(-len(joints) // most)
    edges = [len(joints) * i // max(1, count) for i in range(count + 1)]
    for start, stop in pairwise(edges):
        yield joints[start:stop]


def _vector(trained: Trained, joints: Array) -> Array:
    view = trained.view
    motion = features_of(np.asarray(joints[:: view.stride], np.float32), view.fps)
    with torch.inference_mode():
        said: Array = trained.model(torch.from_numpy(motion)[None], torch.tensor([len(motion)])).numpy()[0]
    return said


def _retrieval_model(run: Path) -> Trained:
    trained = load_model(run)
    if not trained.task.embeds_captions:
        msg = f"{run}: is a model of the task {trained.task.name}; give the run of a retrieval model"
        raise UsageError(msg)
    return trained


def _check_rate(trained: Trained, fps: float, name: str | Path) -> bool:
    own = trained.view.fps * trained.view.stride
    if abs(fps - own) > 1e-3 * own:
        msg = f"{name}: has {fps:g} frames a second, and the model was trained on {own:g}"
        raise UsageError(msg)
    return True
