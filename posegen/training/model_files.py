"""Store trained models as safetensors with a JSON document from which they are built again, and export them for other programs.

The folder of a run is described in :mod:`posegen.training.runs.folder`.
"""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from safetensors.torch import load, save
from torch import Tensor, nn

from posegen.arrays import Array
from posegen.dataset.files import write_durably
from posegen.errors import PosegenError, UsageError
from posegen.plugins import MODEL_FORMATS, require_extra
from posegen.randomness import Stream, normal
from posegen.training.data.features import FEATURES, View
from posegen.training.runs.checkpoints import read_tensors, write_tensors
from posegen.training.runs.folder import MODEL, RESULT, WEIGHTS, read_document, write_document
from posegen.training.settings import Model
from posegen.training.task import Task, find_task

_CLIPS = 3
_TOLERANCE = 1e-4

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
        msg = f"{run}: no trained model. Name the folder of a complete run; `posegen runs` lists them"
        raise UsageError(msg)
    path = run / WEIGHTS
    weights = read_tensors(path, document["xxh3"], f"Remove {run / RESULT} and run the training command again to write it anew")
    view = TypeAdapter(View).validate_python(document["view"])
    task = find_task(document["task"]).restored(document["form"])
    for ability in abilities:
        if not getattr(task, ability):
            msg = f"{run}: is a model of the task {task.name}, which {ABILITIES[ability]}"
            raise UsageError(msg)
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
        msg = f"unknown format {format!r}; choose one of: {', '.join(MODEL_FORMATS.names())}"
        raise UsageError(msg)
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
        msg = f"{out}: not written, because the outputs of the exported model differ by {difference:g}"
        raise PosegenError(msg)
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
