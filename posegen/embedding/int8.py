"""Convert transformers to int8 on the CPU: export from torch, quantise weights per channel and activations dynamically.

The matrices that project the wide inner layer back to the hidden width stay in float32: a few of their inputs are far larger
than the others, so a common scale loses most precision there. On captions, with MiniLM, the least cosine to float32 was .987
with all matrices in int8 and .993 without these; the latter takes a sixth more time. Embedding tables stay in float32 too,
since a look-up costs nothing. The agreement with float32 differs between models, so it is measured and must reach a minimum.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from posegen.embedding.encoder import Encoder
from posegen.errors import PosegenError, UsageError

MIN_AGREEMENT = 0.985
"""Least accepted cosine between the vectors of a text in int8 and in float32."""
SAMPLE = 256
"""Number of texts on which it is measured."""

_OPSET = 17
_INPUTS = ("input_ids", "attention_mask")


def check_agreement(encoder: Encoder, exact: Encoder, texts: Sequence[str]) -> float:
    """Return the least cosine between the vectors of an encoder in int8 and those of the same one in float32.

    Raises
    ------
    PosegenError
        If it is below :data:`MIN_AGREEMENT`.
    """
    found = float((encoder.encode(texts) * exact.encode(texts)).sum(axis=1).min())
    if found < MIN_AGREEMENT:
        msg = (
            f"{encoder.name}: the int8 vectors of {len(texts)} captions agree with float32 only to a cosine of {found:.4f}; "
            f"the minimum is {MIN_AGREEMENT}. Embed with --precision float32"
        )
        raise PosegenError(msg)
    return found


def int8_core(model: Any, name: str, threads: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return an int8 version of a model's first module.

    Parameters
    ----------
    model : SentenceTransformer
        On the CPU.
    name : str
        For messages.
    threads : int
        Threads of one call.

    Raises
    ------
    UsageError
        If the model cannot be exported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # otherwise it reports its use to its vendor
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        exact, small = Path(folder) / "float32.onnx", Path(folder) / "int8.onnx"
        try:
            _export(model[0].auto_model, exact)
        except (RuntimeError, TypeError, ValueError, AttributeError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            msg = f"{name}: cannot be converted to int8 ({reason:.200}). Embed with --precision float32"
            raise UsageError(msg) from error
        _quantise(exact, small)
        return _core_of(small, threads)


def _core_of(path: Path, threads: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that runs an exported transformer in onnxruntime."""
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while waiting take cores from other processes and from the tokenisation of the next batch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(features: dict[str, Any]) -> dict[str, Any]:
        found = session.run(None, {name: features[name].numpy() for name in _INPUTS})
        return features | {"token_embeddings": torch.from_numpy(found[0])}

    return run


def _export(transformer: Any, path: Path) -> None:
    import torch

    class Hidden(torch.nn.Module):
        """Returns only the vectors of the last layer."""

        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    example = torch.ones((2, 8), dtype=torch.int64)
    axes = {name: {0: "text", 1: "position"} for name in (*_INPUTS, "hidden")}
    with warnings.catch_warnings(), torch.inference_mode():
        # The exporter without further dependencies warns of its age and of tracing; the agreement is checked afterwards.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Hidden().eval(), (example, example), str(path), input_names=list(_INPUTS), output_names=["hidden"],
            dynamic_axes=axes, opset_version=_OPSET, dynamo=False,
        )  # fmt: skip


def _quantise(exact: Path, small: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from sentence_transformers.util import disable_logging

    with disable_logging(logging.WARNING):  # its advice does not apply here
        quantize_dynamic(
            str(exact),
            str(small),
            per_channel=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=_narrowing(exact),
        )


def _narrowing(path: Path) -> list[str]:
    """Return the names of the products with matrices that have more rows than columns."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer if len(tensor.dims) == 2}
    products = [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in shapes]
    return [node.name for node in products if shapes[node.input[1]][0] > shapes[node.input[1]][1]]
