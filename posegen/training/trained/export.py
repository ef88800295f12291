"""A trained model for other programs, checked to say the same there."""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save

from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError, UsageError
from posegen.randomness import Stream, normal
from posegen.training.data.features import FEATURES
from posegen.training.trained.models import Trained, build, load_motion_model

__all__ = ["FORMATS", "Exported", "export_model"]

Array = NDArray[Any]

FORMATS = ("onnx", "safetensors")
_CLIPS = 3
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Exported:
    """What was written, and by how much its answers differ at most from the model's own."""

    path: Path
    format: str
    difference: float


def export_model(run: Path, format: str, out: Path) -> Exported:
    """Write the model of a run, load it again as others would, and compare what both say of the same clips.

    Parameters
    ----------
    run : Path
    format : str
        ``onnx`` or ``safetensors``. Both take ``motion`` [clip, frame, FEATURES], as
        :func:`posegen.training.data.features.features_of` gives it (of joints on one body, where `identity` goes by manner),
        and ``length`` [clip]; what stands in them (task, actions, frames a second) is in the file's metadata under ``posegen``.
    out : Path

    Raises
    ------
    UsageError
        If there is no such format, or what it needs is not installed.
    PosegenError
        If the answers differ.
    """
    if format not in FORMATS:
        msg = f"there is no format {format!r}. There are: {', '.join(FORMATS)}"
        raise UsageError(msg)
    trained = load_motion_model(run)
    if trained.task.describe is None:
        msg = f"{run}: its model makes motion from noise in steps; what is exported says something of motion"
        raise UsageError(msg)
    about = json.dumps({"task": trained.task.name, **asdict(trained.view), "model": trained.settings.model_dump(mode="json")})
    data = _onnx(trained, about) if format == "onnx" else _safetensors(trained, about)
    difference = 0.0
    # Other numbers of clips and of frames than the one it was exported with, too.
    for clips, frames in ((_CLIPS, trained.view.frames), (1, max(8, trained.view.frames // 2))):
        motion, length = _clips(trained, clips, frames)
        with torch.inference_mode():
            own = trained.model(torch.from_numpy(motion), torch.from_numpy(length)).numpy()
        other = _said_by_onnx(data, motion, length) if format == "onnx" else _said_by_tensors(trained, data, motion, length)
        difference = max(difference, float(np.abs(own - other).max()))
    if not difference <= _TOLERANCE:
        msg = f"{out}: is not written, as what was exported differs from the model by {difference:g}"
        raise PosegenError(msg)
    write_durably(out, data, current_run())
    return Exported(out, format, difference)


def _clips(trained: Trained, clips: int, frames: int) -> tuple[Array, Array]:
    """Draw clips of different lengths, with features as the training had them."""
    encoder: Any = trained.model.encoder
    drawn = normal(0, np.arange(clips), Stream.AUGMENT, frames * FEATURES).reshape(clips, frames, FEATURES)
    motion = drawn * encoder.spread.numpy() + encoder.mean.numpy()
    return motion.astype(np.float32), np.array([frames - 3 * i for i in range(clips)], np.int64)


def _safetensors(trained: Trained, about: str) -> bytes:
    tensors = {name: value.contiguous() for name, value in trained.model.state_dict().items()}
    return save(tensors, metadata={"posegen": about})


def _said_by_tensors(trained: Trained, data: bytes, motion: Array, length: Array) -> Array:
    model = build(trained.task, trained.view, trained.settings, 1).eval()
    model.load_state_dict(load(data))
    with torch.inference_mode():
        return np.asarray(model(torch.from_numpy(motion), torch.from_numpy(length)).numpy())


def _onnx(trained: Trained, about: str) -> bytes:
    try:
        import onnx
    except ModuleNotFoundError:
        msg = "exporting to onnx needs onnx, onnxscript and onnxruntime: pip install onnx onnxscript onnxruntime"
        raise UsageError(msg) from None
    motion, length = (torch.from_numpy(values) for values in _clips(trained, _CLIPS, trained.view.frames))
    shapes = {"motion": {0: torch.export.Dim("clip"), 1: torch.export.Dim("frame")}, "length": {0: torch.export.Dim("clip")}}
    # It warns of packages that this model has no use for.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    said = io.StringIO()
    # torch tells of its progress on standard output, where a document may be expected, and warns of its own ways.
    with redirect_stdout(said), redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program: Any = torch.onnx.export(
            trained.model, (motion, length), dynamo=True, dynamic_shapes=shapes, output_names=["said"], verbose=False
        )
    proto = program.model_proto
    onnx.helper.set_model_props(proto, {"posegen": about})
    return bytes(proto.SerializeToString())


def _said_by_onnx(data: bytes, motion: Array, length: Array) -> Array:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"motion": motion, "length": length})[0])
