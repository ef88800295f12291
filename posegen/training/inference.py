"""Run trained models on clips: on a source of clips, on a dataset into a table, and on motion and captions into vectors.

Models are stored and loaded in :mod:`posegen.training.model_files`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor, nn

from posegen.arrays import Array
from posegen.dataset.files import sync_folder
from posegen.dataset.read import Dataset, open_dataset
from posegen.errors import UsageError
from posegen.progress import Progress
from posegen.training.data.cache import view_of
from posegen.training.data.captions import open_captions
from posegen.training.data.features import features_of
from posegen.training.data.feed import to_clips
from posegen.training.data.sources import ClipSource, dataset_origin
from posegen.training.data.training_data import batches_of
from posegen.training.measures.ranking import Ranking, rank_pairs
from posegen.training.model_files import TrainedModel, load_model
from posegen.training.task import Tally, Task

EVALUATION_BATCH = 64
"""Clips per batch of inference by default."""
PRECISION_POOL = 32
"""Motions in a pool for R-precision as it is published (Guo et al., HumanML3D, 2022)."""
_INPUTS = 2
"""Number of a task's recipes that are model inputs; the rest are labels, which predictions do not need."""
_POOLS_PER_MOTION = 3
_SHORTEST = 8


def model_outputs(
    task: Task,
    model: nn.Module,
    source: ClipSource,
    variants: Sequence[str] | None,
    most: int | None = None,
    size: int = EVALUATION_BATCH,
) -> Iterator[tuple[Tensor, dict[str, Any]]]:
    """Yield the outputs of a model for batches of clips, with these clips.

    Parameters
    ----------
    task : Task
    model : Module
        Computes on the device that its parameters are on.
    source : ClipSource
    variants : sequence of str or None
        None for all of the source; a task that is evaluated on one variant uses the first.
    most : int, optional
        Number of clips, rounded up to whole batches; all by default.
    size : int, optional
        Clips per batch.
    """
    if task.first_variant_only:
        variants = (variants or source.variants)[:1]
    batches = batches_of(source, size, 0, variants, epochs=1)
    count = len(batches) if most is None else min(len(batches), -(-most // size))
    training, device = model.training, next(model.parameters()).device
    model.eval()
    try:
        for batch in batches.at(0, count):
            values = {name: torch.from_numpy(value).to(device) for name, value in to_clips(batch, source).items()}
            with torch.inference_mode():
                outputs = task.apply(model, values)
            yield outputs, values
    finally:
        model.train(training)


def evaluate_model(task: Task, model: nn.Module, source: ClipSource, variants: Sequence[str] | None, **limits: int) -> Tally:
    """Return the measures of a model on clips; the parameters are those of :func:`model_outputs`."""
    tally = task.tally(source.view)
    for outputs, clips in model_outputs(task, model, source, variants, **limits):
        tally.add(outputs, clips)
    return tally


def predict(run: Path, source: Path, out: Path, progress: Progress | None = None) -> int:
    """Write the predictions of a trained model for each sequence of a dataset.

    Parameters
    ----------
    run : Path
        Folder of the training run.
    source : Path
        The dataset; labels and captions are not read.
    out : Path
        Parquet file with the columns ``sample``, ``variant`` and those of the task.
    progress : Progress, optional

    Returns
    -------
    int
        Number of clips.

    Raises
    ------
    UsageError
        If the frame rate differs from that of the training, or `out` does not end in .parquet.
    """
    if out.suffix != ".parquet":
        msg = f"{out}: the file name must end in .parquet"
        raise UsageError(msg)
    trained = load_model(run, "takes_motion", "describe")
    dataset = open_dataset(source)
    check_rate(trained, dataset.header.fps, source)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}~{os.getpid()}.temporary")
    progress = progress or Progress()
    progress.start("predict", len(dataset) * len(dataset.header.variants), unit="clips")
    done, writer = 0, None
    try:
        for table in _prediction_tables(trained, dataset):
            writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
            writer.write_table(table)
            done += len(table)
            progress.update(done)
        if writer is not None:
            writer.close()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(out)
        sync_folder(out.parent)
    finally:
        progress.stop()
        temporary.unlink(missing_ok=True)
    return done


def _prediction_tables(trained: TrainedModel, dataset: Dataset) -> Iterator[pa.Table]:
    """Yield the predictions for the clips of each chunk, in order of sample and variant."""
    describe, variants = trained.task.describe, dataset.header.variants
    assert describe is not None, "checked by predict"
    task, view = replace(trained.task, first_variant_only=False), view_of(dataset, trained.view.stride)
    for numbers in np.split(np.arange(len(dataset)), range(dataset.header.chunk, len(dataset), dataset.header.chunk)):
        source = ClipSource(dataset_origin(dataset), task.recipes[:_INPUTS], view, numbers)
        for outputs, clips in model_outputs(task, trained.model, source, None, size=len(numbers) * len(variants)):
            names = [variants[i] for i in clips["variant"].tolist()]
            columns = {"sample": clips["sample"].numpy(), "variant": names} | describe(outputs, clips, trained.view)
            yield pa.table(columns).take(np.lexsort((clips["variant"], clips["sample"])))


@dataclass(frozen=True)
class Encoded:
    """Vectors of a dataset's motions, one of each sample, and of their captions.

    Attributes
    ----------
    motion : float32 [sample, dimension]
        Of unit length.
    text : float32 [sample, caption, dimension]
        Of unit length.
    words : int64 [sample, caption]
        Equal for equal captions; -1 where there is no caption.
    """

    motion: Array
    text: Array
    words: Array

    def precision(self) -> dict[str, Ranking]:
        """Rank motions by captions and captions by motions; see :func:`posegen.training.measures.ranking.rank_pairs`."""
        return rank_pairs(self.motion, self.text, self.words, pool=PRECISION_POOL, times=_POOLS_PER_MOTION)

    def distance(self) -> float:
        """Return the mean distance between a motion and its captions."""
        apart = np.linalg.norm(self.motion[:, None] - self.text, axis=-1)
        return float(apart[self.words >= 0].mean())


def encode_dataset(run: Path, path: Path, samples: int | None, progress: Progress | None = None) -> Encoded:
    """Encode the first variant of each sample of a dataset, and its captions.

    Parameters
    ----------
    run : Path
        Training run of a retrieval model.
    path : Path
        The dataset, with embeddings of its captions by the text encoder of the training.
    samples : int or None
        Number of samples, from the first; None for all.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the run has no retrieval model, the frame rates differ, or the captions are not embedded by that encoder.
    """
    trained, dataset = load_model(run, "embeds_captions"), open_dataset(path)
    check_rate(trained, dataset.header.fps, path)
    captions = replace(open_captions(path, dataset.header.shard, trained.view.text_encoder), pairs=None)
    numbers = np.arange(len(dataset) if samples is None else min(samples, len(dataset)))
    view = view_of(dataset, trained.view.stride)
    source = ClipSource(dataset_origin(dataset), trained.task.recipes, view, numbers, captions)
    encoded: list[tuple[Array, Array, Array]] = []
    progress = progress or Progress()
    progress.start("encode", len(numbers), unit="clips")
    try:
        for outputs, clips in model_outputs(trained.task, trained.model, source, None):
            encoded.append((outputs.numpy(), clips["row"].numpy(), clips["sample"].numpy()))
            progress.update(sum(len(vectors) for vectors, _, _ in encoded))
    finally:
        progress.stop()
    vectors, words, sample = (np.concatenate(parts) for parts in zip(*encoded, strict=True))
    order = np.argsort(sample)
    return Encoded(vectors[order, 0], vectors[order, 1:], words[order])


def encode_clips(run: Path, clips: Iterable[tuple[Array, float]], name: str) -> Array:
    """Encode other motion; clips longer than those of the training are cut into stretches.

    Parameters
    ----------
    run : Path
        Training run of a retrieval model.
    clips : iterable of (float [frame, 22, 3], float)
        Joints in metres, y up, and frames per second.
    name : str
        Name of the clips, for messages.

    Returns
    -------
    float32 [stretch, dimension]
        Of unit length.

    Raises
    ------
    UsageError
        If the run has no retrieval model, the frame rates differ, or all clips are too short.
    """
    trained = load_model(run, "embeds_captions")
    view, vectors = trained.view, []
    most = view.frames * view.stride
    for joints, fps in clips:
        check_rate(trained, fps, name)
        for stretch in np.array_split(joints, max(1, -(-len(joints) // most))):
            if len(stretch) >= _SHORTEST * view.stride:
                motion = features_of(np.asarray(stretch[:: view.stride], np.float32), view.fps)
                with torch.inference_mode():
                    vectors.append(trained.model(torch.from_numpy(motion)[None], torch.tensor([len(motion)])).numpy()[0])
    if not vectors:
        msg = f"{name}: no clip has {_SHORTEST} frames at the rate of the model, the least that it can encode"
        raise UsageError(msg)
    return np.stack(vectors)


def check_rate(trained: TrainedModel, fps: float, name: str | Path) -> None:
    """Raise UsageError if clips have another frame rate than those that a model was trained on."""
    expected = trained.view.fps * trained.view.stride
    if abs(fps - expected) > 1e-3 * expected:
        msg = f"{name}: {fps:g} frames per second; the model was trained on {expected:g}"
        raise UsageError(msg)
