"""Export trained models as ONNX or safetensors, and compare the exported model with the original.

Models for posegen's own use are stored by :mod:`posegen.training.model_files`.
"""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save

from posegen.arrays import Array
from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError, UsageError
from posegen.plugins import MODEL_FORMATS, require_extra
from posegen.randomness import Stream, normal
from posegen.training.data.features import FEATURES
from posegen.training.model_files import TrainedModel, build_model, load_model

_CLIPS = 3
_TOLERANCE = 1e-4


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
    write_durably(out, data, current_run())
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
