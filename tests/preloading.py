"""Import slow packages in a process before other processes are forked from it."""

from __future__ import annotations

from importlib import import_module

import posegen

__all__ = ["kernels", "sentences"]


def sentences() -> None:
    """Import the package of sentence encoders."""
    import_module("sentence_transformers")


def kernels() -> None:
    """Load the compiled kernels; they start no thread, so that forked processes are sound."""
    posegen.synthesize(posegen.load_config("smoke"), [0])
