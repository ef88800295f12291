"""Export trained models for other programs: ONNX and safetensors, each read back and compared with the original.

The tensors that go in and out are those of :class:`posegen.training.task.Network`.
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
from safetensors.torch import load, save

from posegen.dataset.files import write_durably
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.plugins import MODEL_FORMATS, require_extra
from posegen.training.run_folder import WEIGHTS
from posegen.training.task import Network
from posegen.training.trained_models import TrainedModel, build_model, load_model

_ROWS = 3
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ModelFormat:
    """A file format for trained models.

    Attributes
    ----------
    serialize : callable
        Returns the bytes of a file for a :class:`TrainedModel` and its metadata, a JSON text.
    run : callable
        Returns the output of the exported model for arrays by name; its first two arguments are the original model and the
        bytes of the file.
    """

    serialize: Callable[[TrainedModel, str], bytes]
    run: Callable[[TrainedModel, bytes, Mapping[str, Array]], Array]


def export_model(run: Path, format: str, out: Path) -> float:
    """Write the model of a run in another format, load it again, and compare the outputs for random inputs.

    Parameters
    ----------
    run : Path
    format : str
        A name in :data:`foundations.plugins.MODEL_FORMATS`. docs/training.md lists the inputs and the output of each task. The
        file's metadata holds task, inputs, output, actions and frame rate under ``posegen``.
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
    trained = load_model(run)
    network = trained.task.abilities.network(trained.model, trained.view)
    document = {
        "task": trained.task.name,
        **asdict(trained.view),
        "model": trained.settings.model_dump(mode="json"),
        "inputs": {name: list(shape) for name, shape in network.shapes.items()},
        "output": network.output,
        **network.metadata,
    }
    if out.resolve() == (run / WEIGHTS).resolve():
        raise UsageError(f"{out}: holds the model of the run itself. Choose another file with -o")
    record: ModelFormat = MODEL_FORMATS.load(format)
    data = record.serialize(trained, json.dumps(document))
    difference = 0.0
    # The second shape differs from the one that the model was exported with.
    for rows, length in ((_ROWS, network.length), (1, max(8, network.length // 2))):
        inputs = network.example(rows, length)
        expected = _output(network, inputs)
        difference = max(difference, float(np.abs(expected - record.run(trained, data, inputs)).max()))
    if not difference <= _TOLERANCE:
        raise PosegenError(f"{out}: not written, because the outputs of the exported model differ by {difference:g}")
    write_durably(out, data)
    return difference


def _output(network: Network, inputs: Mapping[str, Array]) -> Array:
    with torch.inference_mode():
        return np.asarray(network.module(**{name: torch.from_numpy(values) for name, values in inputs.items()}).numpy())


def _to_safetensors(trained: TrainedModel, metadata: str) -> bytes:
    tensors = {name: value.contiguous() for name, value in trained.model.state_dict().items()}
    return save(tensors, metadata={"posegen": metadata})


def _run_safetensors(trained: TrainedModel, data: bytes, inputs: Mapping[str, Array]) -> Array:
    model = build_model(trained.task, trained.view, trained.settings, 1).eval()
    model.load_state_dict(load(data))
    return _output(trained.task.abilities.network(model, trained.view), inputs)


def _to_onnx(trained: TrainedModel, metadata: str) -> bytes:
    require_extra("export")
    import onnx

    network = trained.task.abilities.network(trained.model, trained.view)
    example = {name: torch.from_numpy(values) for name, values in network.example(_ROWS, network.length).items()}
    sizes = {name: torch.export.Dim(name) for shape in network.shapes.values() for name in shape if isinstance(name, str)}
    shapes = {
        name: {axis: sizes[size] for axis, size in enumerate(shape) if isinstance(size, str)}
        for name, shape in network.shapes.items()
    }
    # It warns about packages that this model does not need.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    output = io.StringIO()
    # torch prints progress to standard output, which is reserved for the document of --json.
    with redirect_stdout(output), redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program: Any = torch.onnx.export(
            network.module.eval(), tuple(example.values()), dynamo=True, dynamic_shapes=shapes, input_names=list(example),
            output_names=["output"], verbose=False,
        )  # fmt: skip
    proto = program.model_proto
    onnx.helper.set_model_props(proto, {"posegen": metadata})
    return bytes(proto.SerializeToString())


def _run_onnx(trained: TrainedModel, data: bytes, inputs: Mapping[str, Array]) -> Array:
    del trained
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, dict(inputs))[0])


ONNX = ModelFormat(_to_onnx, _run_onnx)
SAFETENSORS = ModelFormat(_to_safetensors, _run_safetensors)
