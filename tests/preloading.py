"""Import slow packages in a process before other processes are forked from it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import posegen

__all__ = ["int8", "kernels", "sentences"]


def sentences() -> None:
    """Import the package of sentence encoders."""
    import_module("sentence_transformers")


def int8() -> None:
    """Import the packages that quantise an encoder, if they are installed."""
    if all(find_spec(name) for name in ("onnx", "onnxruntime")):
        import_module("onnxruntime.quantization")


def kernels() -> None:
    """Load the compiled kernels; they start no thread, so that forked processes are sound."""
    posegen.synthesize(posegen.load_config("smoke"), [0])
