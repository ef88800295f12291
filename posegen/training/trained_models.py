"""Trained models: store them, build them again, run them on clips, and export them for other programs.

A model is stored as safetensors with a JSON document from which it is built again, in the folder of its run; see
:mod:`posegen.training.run_folder`. It is run on a source of clips, on a dataset into a table, and on motion and captions into
vectors.
"""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from pydantic import TypeAdapter
from safetensors.torch import load, save
from torch import Tensor, nn

from posegen.arrays import Array
from posegen.dataset.files import sync_folder, write_durably
from posegen.dataset.read import Dataset, open_dataset
from posegen.errors import PosegenError, UsageError
from posegen.plugins import MODEL_FORMATS, require_extra
from posegen.progress import Progress
from posegen.randomness import Stream, normal
from posegen.training.data.captions import open_captions
from posegen.training.data.features import FEATURES, View, features_of
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.data.sources import ClipSource, dataset_origin, view_of
from posegen.training.measures import Ranking, rank_pairs
from posegen.training.run_folder import MODEL, RESULT, WEIGHTS, read_document, read_tensors, write_document, write_tensors
from posegen.training.settings import Model
from posegen.training.task import Tally, Task, find_task

_CLIPS = 3
_TOLERANCE = 1e-4
EVALUATION_BATCH = 64
"""Clips per batch of inference by default."""
PRECISION_POOL = 32
"""Motions in a pool for R-precision as it is published (Guo et al., HumanML3D, 2022)."""
_INPUTS = 2
"""Number of a task's recipes that are model inputs; the rest are labels, which predictions do not need."""
_POOLS_PER_MOTION = 3
_SHORTEST = 8

ABILITIES = {
    "takes_motion": "reads text, not motion. `posegen runs` lists its measures",
    "describe": "generates motion and predicts nothing about clips. Run: posegen animate RUN TEXT -o FILE",
    "generates_motion": "generates no motion. Train one with --task motion",
    "embeds_captions": "does not compare motion with captions. Train one with --task retrieval",
}
"""For each attribute of a task that a caller may require, what a task without it does or does not do, and a hint."""


@dataclass(frozen=True)
class TrainedModel:
    """A trained model in evaluation mode, with its task, its view of motion and its size."""

    task: Task
    view: View
    settings: Model
    model: nn.Module


def build_model(task: Task, view: View, settings: Model, seed: int) -> nn.Module:
    """Return a model with fresh weights, which depend on the seed only."""
    torch.manual_seed(seed)
    return task.build(view, settings)


def save_model(run: Path, task: Task, view: View, settings: Model, weights: Mapping[str, Tensor]) -> None:
    """Write a model durably into the folder of its run."""
    checksum = write_tensors(run / WEIGHTS, weights)
    document = {"task": task.name, "form": task.form, "view": asdict(view), "model": settings.model_dump(mode="json")}
    write_document(run, MODEL, document | {"xxh3": checksum})


def load_model(run: Path, *abilities: str) -> TrainedModel:
    """Load the model of a run.

    Parameters
    ----------
    run : Path
    *abilities : str
        What the model must be able to do: keys of :data:`ABILITIES`.

    Raises
    ------
    UsageError
        If there is none, or its task lacks an ability.
    PosegenError
        If it is damaged.
    """
    document = read_document(run, MODEL)
    if document is None:
        raise UsageError(f"{run}: no trained model. Name the folder of a complete run; `posegen runs` lists them")
    path = run / WEIGHTS
    weights = read_tensors(path, document["xxh3"], f"Remove {run / RESULT} and run the training command again to write it anew")
    view = TypeAdapter(View).validate_python(document["view"])
    task = find_task(document["task"]).restored(document["form"])
    for ability in abilities:
        if not getattr(task, ability):
            raise UsageError(f"{run}: is a model of the task {task.name}, which {ABILITIES[ability]}")
    settings = Model(**document["model"])
    model = build_model(task, view, settings, 0)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        msg = (
            f"{path}: does not fit the model described by {MODEL}: the file was changed, or this version of posegen has "
            f"another model for the task {task.name}. Train again: posegen train DATASET --task {task.name}"
        )
        raise PosegenError(msg) from error
    return TrainedModel(task, view, settings, model.eval())


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
        raise UsageError(f"{out}: the file name must end in .parquet")
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
        """Rank motions by captions and captions by motions; see :func:`posegen.training.measures.rank_pairs`."""
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
        raise UsageError(f"{name}: no clip has {_SHORTEST} frames at the rate of the model, the least that it can encode")
    return np.stack(vectors)


def check_rate(trained: TrainedModel, fps: float, name: str | Path) -> None:
    """Raise UsageError if clips have another frame rate than those that a model was trained on."""
    expected = trained.view.fps * trained.view.stride
    if abs(fps - expected) > 1e-3 * expected:
        raise UsageError(f"{name}: {fps:g} frames per second; the model was trained on {expected:g}")


@dataclass(frozen=True)
class ModelFormat:
    """A file format for trained models.

    Attributes
    ----------
    serialize : callable
        Returns the bytes of a file for a :class:`TrainedModel` and its metadata, a JSON text.
    run : callable
        Returns the outputs of the exported model for motion [clip, frame, FEATURES] and length [clip]; its first two arguments
        are the original model and the bytes of the file.
    """

    serialize: Callable[[TrainedModel, str], bytes]
    run: Callable[[TrainedModel, bytes, Array, Array], Array]


def export_model(run: Path, format: str, out: Path) -> float:
    """Write the model of a run in another format, load it again, and compare the outputs for random clips.

    Parameters
    ----------
    run : Path
    format : str
        A name in :data:`posegen.plugins.MODEL_FORMATS`. The inputs are ``motion`` [clip, frame, FEATURES], as
        :func:`posegen.training.data.features.features_of` returns it (of joints on one body for the task identity with
        ``identity.by=style``), and ``length`` [clip]. The file's metadata holds task, actions and frame rate under ``posegen``.
    out : Path

    Returns
    -------
    float
        Largest difference between the outputs of the exported model and those of the original.

    Raises
    ------
    UsageError
        If the format is unknown, or a package that it needs is not installed.
    PosegenError
        If the outputs differ.
    """
    if format not in MODEL_FORMATS:
        raise UsageError(f"unknown format {format!r}; choose one of: {', '.join(MODEL_FORMATS.names())}")
    # A model that generates motion does so from noise, in steps.
    trained = load_model(run, "takes_motion", "describe")
    metadata = json.dumps(
        {"task": trained.task.name, **asdict(trained.view), "model": trained.settings.model_dump(mode="json")}
    )
    record: ModelFormat = MODEL_FORMATS.load(format)
    data = record.serialize(trained, metadata)
    difference = 0.0
    # The second shape differs from the one that the model was exported with.
    for clips, frames in ((_CLIPS, trained.view.frames), (1, max(8, trained.view.frames // 2))):
        motion, length = _random_clips(trained, clips, frames)
        with torch.inference_mode():
            expected = trained.model(torch.from_numpy(motion), torch.from_numpy(length)).numpy()
        difference = max(difference, float(np.abs(expected - record.run(trained, data, motion, length)).max()))
    if not difference <= _TOLERANCE:
        raise PosegenError(f"{out}: not written, because the outputs of the exported model differ by {difference:g}")
    write_durably(out, data)
    return difference


def _random_clips(trained: TrainedModel, clips: int, frames: int) -> tuple[Array, Array]:
    """Return clips of different lengths whose features are distributed as in training."""
    encoder: Any = trained.model.encoder
    drawn = normal(0, np.arange(clips), Stream.AUGMENT, frames * FEATURES).reshape(clips, frames, FEATURES)
    motion = drawn * encoder.spread.numpy() + encoder.mean.numpy()
    return motion.astype(np.float32), np.array([frames - 3 * i for i in range(clips)], np.int64)


def _to_safetensors(trained: TrainedModel, metadata: str) -> bytes:
    tensors = {name: value.contiguous() for name, value in trained.model.state_dict().items()}
    return save(tensors, metadata={"posegen": metadata})


def _run_safetensors(trained: TrainedModel, data: bytes, motion: Array, length: Array) -> Array:
    model = build_model(trained.task, trained.view, trained.settings, 1).eval()
    model.load_state_dict(load(data))
    with torch.inference_mode():
        return np.asarray(model(torch.from_numpy(motion), torch.from_numpy(length)).numpy())


def _to_onnx(trained: TrainedModel, metadata: str) -> bytes:
    require_extra("export")
    import onnx

    motion, length = (torch.from_numpy(values) for values in _random_clips(trained, _CLIPS, trained.view.frames))
    shapes = {"motion": {0: torch.export.Dim("clip"), 1: torch.export.Dim("frame")}, "length": {0: torch.export.Dim("clip")}}
    # It warns about packages that this model does not need.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    output = io.StringIO()
    # torch prints progress to standard output, which is reserved for the document of --json.
    with redirect_stdout(output), redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program: Any = torch.onnx.export(
            trained.model, (motion, length), dynamo=True, dynamic_shapes=shapes, output_names=["output"], verbose=False
        )
    proto = program.model_proto
    onnx.helper.set_model_props(proto, {"posegen": metadata})
    return bytes(proto.SerializeToString())


def _run_onnx(trained: TrainedModel, data: bytes, motion: Array, length: Array) -> Array:
    del trained
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"motion": motion, "length": length})[0])


ONNX = ModelFormat(_to_onnx, _run_onnx)
SAFETENSORS = ModelFormat(_to_safetensors, _run_safetensors)
