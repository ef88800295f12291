"""Transformers in int8 on the CPU: exported from torch, weights quantised by channel, activations as they come.

Matrices that lead from the wide inside of a layer back to its width stay in float32: what comes into them has a few values far
larger than all others, and one scale for all costs the most there. On captions, with MiniLM, the least cosine to float32 was
.987 with all of them in int8 and .993 without these, which then takes a sixth more time. Tables of words stay in float32, too:
to look them up costs nothing. How near int8 comes differs from model to model, so it is measured, and a floor is held.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from posegen.embedding.batching import BUDGET, plan_batches
from posegen.embedding.encoder import Backend, Encoder
from posegen.errors import PosegenError, UsageError

__all__ = ["FLOOR", "SAMPLE", "agreement", "check_agreement", "int8_core", "is_installed"]

FLOOR = 0.985
"""Cosine between a text's vectors in int8 and in float32, at least."""
SAMPLE = 256
"""Texts on which that is measured."""

_OPSET = 17
_INPUTS = ("input_ids", "attention_mask")


def is_installed() -> bool:
    """Whether what int8 needs is installed."""
    return find_spec("onnx") is not None and find_spec("onnxruntime") is not None


def agreement(encoder: Encoder, texts: Sequence[str]) -> float | None:
    """Measure the least cosine between vectors in int8 and in float32; None for an encoder that is float anyway."""
    if encoder.reference is None or not texts:
        return None
    return float((_vectors(encoder.backend, texts) * _vectors(encoder.reference, texts)).sum(axis=1).min())


def check_agreement(encoder: Encoder, texts: Sequence[str]) -> float | None:
    """Measure, and refuse what is below the floor.

    Raises
    ------
    PosegenError
        Says what to do.
    """
    found = agreement(encoder, texts)
    if found is not None and found < FLOOR:
        msg = (
            f"{encoder.name}: in int8 its vectors agree with those in float32 only to a cosine of {found:.4f} on "
            f"{len(texts)} captions; {FLOOR} is asked for. Embed with --precision float32"
        )
        raise PosegenError(msg)
    return found


def _vectors(backend: Backend, texts: Sequence[str]) -> Any:
    prepared = backend.prepare(texts, as_query=False)
    found = [(chosen, backend.run(prepared, chosen, tokens=False).vectors) for chosen in plan_batches(prepared.lengths, BUDGET)]
    order = np.argsort(np.concatenate([chosen for chosen, _ in found]), kind="stable")
    return np.concatenate([vectors for _, vectors in found])[order]


def int8_core(model: Any, name: str, threads: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Make a transformer in int8, to stand in the place of a model's first module.

    Parameters
    ----------
    model : SentenceTransformer
        On the CPU.
    name : str
        For messages.
    threads : int
        That one call may take.

    Raises
    ------
    UsageError
        If onnx and onnxruntime are not installed, or the model cannot be exported.
    """
    if not is_installed():
        msg = "int8 needs onnx and onnxruntime, which are not installed; install them with: pip install 'posegen[embed]'"
        raise UsageError(msg)
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it tells its makers of its use otherwise
    with tempfile.TemporaryDirectory(prefix="posegen-") as place:
        exact, small = Path(place) / "float32.onnx", Path(place) / "int8.onnx"
        try:
            _export(model[0].auto_model, exact)
        except (RuntimeError, TypeError, ValueError, AttributeError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            msg = f"{name}: cannot be made into int8 ({reason:.200}). Embed with --precision float32"
            raise UsageError(msg) from error
        _quantise(exact, small)
        return _Session(small, threads)


class _Session:
    """A transformer of onnxruntime."""

    def __init__(self, path: Path, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that wait for work by spinning take the cores from others, and from the next batch's tokens.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def __call__(self, features: dict[str, Any]) -> dict[str, Any]:
        import torch

        found = self._session.run(None, {name: features[name].numpy() for name in _INPUTS})
        return features | {"token_embeddings": torch.from_numpy(found[0])}


def _export(transformer: Any, path: Path) -> None:
    import torch

    class Hidden(torch.nn.Module):
        """Gives just the last layer's vectors."""

        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    example = torch.ones((2, 8), dtype=torch.int64)
    axes = {name: {0: "text", 1: "position"} for name in (*_INPUTS, "hidden")}
    with warnings.catch_warnings(), torch.inference_mode():
        # The exporter that needs no further package is called old; what it traces is warned of, and the floor judges it.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Hidden().eval(), (example, example), str(path), input_names=list(_INPUTS), output_names=["hidden"],
            dynamic_axes=axes, opset_version=_OPSET, dynamo=False,
        )  # fmt: skip


def _quantise(exact: Path, small: Path) -> None:
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    before = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it advises to do what is of no use here
    try:
        quantize_dynamic(
            str(exact),
            str(small),
            per_channel=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=_narrowing(exact),
        )
    finally:
        logging.root.setLevel(before)


def _narrowing(path: Path) -> list[str]:
    """Name the multiplications by matrices that have more rows than columns."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer if len(tensor.dims) == 2}
    products = [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in shapes]
    return [node.name for node in products if shapes[node.input[1]][0] > shapes[node.input[1]][1]]
