"""Trained models: store them, build them again, and run them on clips.

A model is stored as safetensors with a JSON document from which it is built again, in the folder of its run; see
:mod:`posegen.training.run_folder`. It is run on a source of clips, and on motion and captions into vectors. Tables of
predictions are written by :mod:`posegen.training.predictions`, files for other programs by
:mod:`posegen.training.model_formats`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from safetensors.torch import load
from torch import Tensor, nn

from posegen.dataset.clip_files import resample
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import Progress
from posegen.training import run_folder
from posegen.training.data.captions import open_captions
from posegen.training.data.features import View
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.data.sources import ClipSource, dataset_origin, view_of
from posegen.training.settings import Model
from posegen.training.task import Tally, Task, find_task

EVALUATION_BATCH = 64
"""Clips per batch of inference by default."""
SHORTEST = 8
"""Least number of frames of a clip, at the rate of the model."""
INPUTS = 2
"""Number of a task's recipes that are model inputs; the rest are labels, which predictions do not need."""

ABILITIES = {
    "calibrate": "does not recognise persons. Train one with --task identity",
    "describe": "generates motion and predicts nothing about clips. Run: posegen animate RUN TEXT -o FILE",
    "generates_motion": "generates no motion. Train one with --task motion",
    "embeds_captions": "does not compare motion with captions. Train one with --task retrieval",
}
"""For each of the abilities that a caller may require, what a task without it does or does not do, and a hint."""


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
    checksum = run_folder.write_tensors(run / run_folder.WEIGHTS, weights)
    document = {"task": task.name, "form": task.form, "view": asdict(view), "model": settings.model_dump(mode="json")}
    run_folder.write_document(run, run_folder.MODEL, document | {"xxh3": checksum})


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
    document, path = run_folder.read_document(run, run_folder.MODEL), run / run_folder.WEIGHTS
    if document is None:
        raise UsageError(f"{run}: no trained model. Name the folder of a complete run; `posegen runs` lists them")
    if document.get("task") == run_folder.TABLE_TASK:
        raise UsageError(f"{run}: is a model of a table. Run: posegen predict {run} TABLE -o FILE.parquet")
    view, settings = TypeAdapter(View).validate_python(document["view"]), Model(**document["model"])
    task = find_task(document["task"]).restored(document["form"])
    # A model of single actors takes each of them, however many a clip has.
    task = task if task.reading.by_actor else task.reading_actors(view.actors)
    for ability in abilities:
        if not getattr(task.abilities, ability):
            raise UsageError(f"{run}: is a model of the task {task.name}, which {ABILITIES[ability]}")
    hint = f"Remove {run / run_folder.RESULT} and run the training command again to write it anew"
    weights = load(run_folder.read_checked(path, document["xxh3"], hint))
    model = build_model(task, view, settings, 0)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        msg = (
            f"{path}: does not fit the model described by {run_folder.MODEL}: the file was changed, or this version of posegen "
            f"has another model for the task {task.name}. Train again: posegen train DATASET --task {task.name}"
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
    if task.reading.first_variant_only:
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


def encode_dataset(
    trained: TrainedModel, path: AnyPath, samples: int | None, progress: Progress | None = None
) -> tuple[Array, Array, Array]:
    """Encode the first variant of each sample of a dataset, and its captions.

    Parameters
    ----------
    trained : TrainedModel
        A retrieval model.
    path : Path or BucketPath
        The dataset, with embeddings of its captions by the text encoder of the training.
    samples : int or None
        Number of samples, from the first; None for all.
    progress : Progress, optional

    Returns
    -------
    motion : float32 [sample, dimension]
        Of unit length.
    text : float32 [sample, caption, dimension]
        Of unit length.
    words : int64 [sample, caption]
        Equal for equal captions; -1 where there is no caption.

    Raises
    ------
    UsageError
        If the frame rates differ, or the captions are not embedded by the encoder of the training.
    """
    dataset = open_dataset(path)
    captions = open_captions(path, dataset.header.shard, trained.view.text_encoder)
    numbers = np.arange(len(dataset) if samples is None else min(samples, len(dataset)))
    task, view = view_for(trained, dataset)
    source = ClipSource(dataset_origin(dataset), task.recipes, view, numbers, captions)
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
    return vectors[order, 0], vectors[order, 1:], words[order]


def clip_outputs(trained: TrainedModel, joints: Array, fps: float) -> Iterator[tuple[float, float, dict[str, Tensor], Tensor]]:
    """Yield the outputs of a model for the stretches of a clip, which are not longer than the clips of the training.

    Parameters
    ----------
    trained : TrainedModel
    joints : float [frame, 22, 3] or [actor, frame, 22, 3]
        Metres, y up.
    fps : float
        Frames per second; clips of another rate than those of the training are resampled.

    Yields
    ------
    (float, float, dict of str to Tensor, Tensor)
        Start and end in seconds, the inputs of the model, and its outputs for the one clip.
    """
    view, start, inputs = trained.view, 0, trained.task.recipes[:INPUTS]
    if lacking := {field for recipe in inputs for field in recipe.fields} - {"joints"}:
        hint = "Run it on a dataset that has them"
        raise UsageError(f"the model of the task {trained.task.name} reads {min(lacking)}, which clips do not have. {hint}")
    rate = view.fps * view.stride
    scene = np.asarray(joints if joints.ndim == 4 else joints[None], np.float32)
    if fps != rate:
        scene = np.stack([resample(actor, fps, rate) for actor in scene]).astype(np.float32)
    for stretch in np.array_split(scene, max(1, -(-scene.shape[1] // (view.frames * view.stride))), axis=1):
        stop = start + stretch.shape[1]
        if stop - start >= SHORTEST * view.stride:
            fields = {"joints": stretch[None]}
            values = {recipe.name: torch.from_numpy(recipe.compute(fields, view)) for recipe in inputs}
            given = {name: value.float() if value.is_floating_point() else value for name, value in values.items()}
            with torch.inference_mode():
                outputs = trained.task.apply(trained.model, given)
            yield start / rate, stop / rate, given, outputs
        start = stop


def encode_clips(trained: TrainedModel, clips: Iterable[tuple[Array, float]], name: str) -> Array:
    """Encode other motion; clips longer than those of the training are cut into stretches.

    Parameters
    ----------
    trained : TrainedModel
        A retrieval model, or one of identities.
    clips : iterable of (float [frame, 22, 3] or [actor, frame, 22, 3], float)
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
        If all clips are too short.
    """
    vectors = [output.flatten() for joints, fps in clips for _, _, _, output in clip_outputs(trained, joints, fps)]
    if not vectors:
        raise UsageError(f"{name}: too short; the model needs {SHORTEST / trained.view.fps:.1f} s")
    return torch.stack(vectors).numpy()


def view_for(trained: TrainedModel, dataset: Dataset) -> tuple[Task, View]:
    """Return the task and the view with which a model reads a dataset.

    Raises
    ------
    UsageError
        If the frame rates differ, or the model takes whole scenes and the dataset has scenes of more actors.
    """
    fps, expected = dataset.header.fps, trained.view.fps * trained.view.stride
    if abs(fps - expected) > 1e-3 * expected:
        raise UsageError(f"{dataset.path}: {fps:g} frames per second; the model was trained on {expected:g}")
    view, task = view_of(dataset, trained.view.stride), trained.task
    if task.reading.by_actor or not task.reading.scene_recipes:
        return task.reading_actors(view.actors if task.reading.by_actor else 1), view
    if view.actors > trained.view.actors:
        problem = f"has clips of up to {view.actors} people; the model was trained on clips of {people(trained.view.actors)}"
        hint = f"Train one on such clips: posegen train {dataset.path} --task {task.name}"
        raise UsageError(f"{dataset.path}: {problem}. {hint}")
    return task, replace(view, actors=trained.view.actors)


def people(most: int) -> str:
    """Return a number of people in words: ``one person``, ``up to 2 people``."""
    return "one person" if most == 1 else f"up to {most} people"
