"""Labelled human motion: text-captioned 3D skeleton sequences, as many as asked for, the same on every machine.

>>> import posegen
>>> config = posegen.load_config("smoke")
>>> batch = posegen.synthesize(config, [0, 1])
>>> batch.joints.shape  # sample, variant, actor, frame, joint, axis
(2, 5, 1, 100, 22, 3)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posegen import augment
    from posegen.config.load import load_config
    from posegen.dataset.read import open_dataset as open
    from posegen.generation.derive import derive
    from posegen.generation.profile.profile import profile
    from posegen.generation.run import generate
    from posegen.generation.stream import stream
    from posegen.synthesis import synthesize

__all__ = ["augment", "derive", "generate", "load_config", "open", "profile", "stream", "synthesize"]

# Resolved on first use, so that `posegen --help` need not import numba.
_WHERE = {
    "load_config": ("posegen.config.load", "load_config"),
    "synthesize": ("posegen.synthesis", "synthesize"),
    "generate": ("posegen.generation.run", "generate"),
    "derive": ("posegen.generation.derive", "derive"),
    "stream": ("posegen.generation.stream", "stream"),
    "profile": ("posegen.generation.profile.profile", "profile"),
    "open": ("posegen.dataset.read", "open_dataset"),
}


def __getattr__(name: str) -> Any:
    if name == "augment":
        return import_module("posegen.augment")
    if name in _WHERE:
        module, attribute = _WHERE[name]
        return getattr(import_module(module), attribute)
    msg = f"module 'posegen' has no attribute {name!r}"
    raise AttributeError(msg)
