"""Labelled human motion: captioned 3D skeleton sequences, unlimited and identical on every machine.

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
    from posegen.config.load import load_config
    from posegen.dataset.mix import concat, open_mix
    from posegen.dataset.read import open_dataset as open
    from posegen.exchange.export import export
    from posegen.exchange.push import push
    from posegen.generation.derive import derive
    from posegen.generation.finish import finish
    from posegen.generation.profile.profile import profile
    from posegen.generation.run import generate
    from posegen.generation.stream import stream
    from posegen.synthesis import augment
    from posegen.synthesis.synthesize import synthesize

__version__ = "0.1.0"
"""The version of the program; :data:`posegen.config.schema.CONTENT_VERSION` is the version of its samples."""

__all__ = [
    "__version__",
    "augment",
    "concat",
    "derive",
    "export",
    "finish",
    "generate",
    "load_config",
    "open",
    "open_mix",
    "profile",
    "push",
    "stream",
    "synthesize",
]

# Imported on first use, so that `posegen --help` does not import numba.
_SOURCES = {
    "augment": ("posegen.synthesis.augment", None),
    "concat": ("posegen.dataset.mix", "concat"),
    "export": ("posegen.exchange.export", "export"),
    "finish": ("posegen.generation.finish", "finish"),
    "derive": ("posegen.generation.derive", "derive"),
    "generate": ("posegen.generation.run", "generate"),
    "load_config": ("posegen.config.load", "load_config"),
    "open": ("posegen.dataset.read", "open_dataset"),
    "open_mix": ("posegen.dataset.mix", "open_mix"),
    "profile": ("posegen.generation.profile.profile", "profile"),
    "push": ("posegen.exchange.push", "push"),
    "stream": ("posegen.generation.stream", "stream"),
    "synthesize": ("posegen.synthesis.synthesize", "synthesize"),
}


def __getattr__(name: str) -> Any:
    if name not in _SOURCES:
        raise AttributeError(f"module 'posegen' has no attribute {name!r}")
    module, attribute = _SOURCES[name]
    imported = import_module(module)
    return imported if attribute is None else getattr(imported, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
