"""Labelled human motion: captioned 3D skeleton sequences, unlimited and identical on every machine.

>>> import posegen
>>> batch = posegen.synthesize("smoke", [0, 1])
>>> batch.joints.shape  # sample, variant, actor, frame, joint, axis
(2, 5, 1, 100, 22, 3)
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posegen.config.load import load_config as load_config
    from posegen.dataset.mix import concat as concat
    from posegen.dataset.mix import open_mix as open_mix
    from posegen.dataset.read import open_dataset
    from posegen.dataset.verify import verify as verify
    from posegen.embedding.search import search as search
    from posegen.embedding.stage import embed as embed
    from posegen.evaluation.evaluate import evaluate as evaluate
    from posegen.exchange.export import export as export
    from posegen.exchange.push import push as push
    from posegen.generation.derive import derive as derive
    from posegen.generation.finish import finish as finish
    from posegen.generation.profile import profile as profile
    from posegen.generation.run import generate as generate
    from posegen.generation.stream import stream as stream
    from posegen.synthesis import augment as augment
    from posegen.synthesis.composition import compose as compose
    from posegen.synthesis.synthesize import synthesize as synthesize

    open = open_dataset

__version__ = "0.1.0"
"""The version of the program; :data:`posegen.config.schema.CONTENT_VERSION` is the version of its samples."""

# Imported on first use, so that `posegen --help` does not import numba.
_SOURCES = {
    "augment": "posegen.synthesis.augment",
    "compose": "posegen.synthesis.composition:compose",
    "concat": "posegen.dataset.mix:concat",
    "derive": "posegen.generation.derive:derive",
    "embed": "posegen.embedding.stage:embed",
    "evaluate": "posegen.evaluation.evaluate:evaluate",
    "export": "posegen.exchange.export:export",
    "finish": "posegen.generation.finish:finish",
    "generate": "posegen.generation.run:generate",
    "load_config": "posegen.config.load:load_config",
    "open": "posegen.dataset.read:open_dataset",
    "open_mix": "posegen.dataset.mix:open_mix",
    "profile": "posegen.generation.profile:profile",
    "push": "posegen.exchange.push:push",
    "search": "posegen.embedding.search:search",
    "stream": "posegen.generation.stream:stream",
    "synthesize": "posegen.synthesis.synthesize:synthesize",
    "verify": "posegen.dataset.verify:verify",
}
__all__ = ["__version__", *_SOURCES, "open_mix", "open"]


def __getattr__(name: str) -> Any:
    if name not in _SOURCES:
        raise AttributeError(f"module 'posegen' has no attribute {name!r}")
    return resolve_name(_SOURCES[name])


def __dir__() -> list[str]:
    return sorted(__all__)
