"""Samples made a block at a time, so that as many can be judged as one likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from posegen import load_config, synthesize
from posegen.synthesis.synthesize import Batch

__all__ = ["AT_ONCE", "ONLY_BASE", "blocks"]

AT_ONCE = 50
ONLY_BASE = "variants={speed: null, position: null, scale: null, mirror: false}"


def blocks(samples: int, preset: str = "default", overrides: Sequence[str] = ()) -> Iterator[Batch]:
    """Make the first samples of a preset with some keys changed."""
    config = load_config(preset, overrides)
    for first in range(0, samples, AT_ONCE):
        yield synthesize(config, range(first, min(first + AT_ONCE, samples)))
