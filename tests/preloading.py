"""Loading once, in a process that others are forked from, what each of them would load anew: seconds each time."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import posegen

__all__ = ["int8", "kernels", "sentences"]


def sentences() -> None:
    """Import what reads encoders of sentences."""
    import_module("sentence_transformers")


def int8() -> None:
    """Import what makes an encoder smaller, where that is installed."""
    if all(find_spec(name) for name in ("onnx", "onnxruntime")):
        import_module("onnxruntime.quantization")


def kernels() -> None:
    """Load the compiled kernels that make samples; they start no thread that forked processes would miss."""
    posegen.synthesize(posegen.load_config("smoke"), [0])
