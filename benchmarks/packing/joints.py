"""Joints for the benchmarks: those of the first samples of the default config."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import posegen
from posegen.config.schema import Config
from posegen.dataset.layout import ArrayField, Header
from posegen.generation.header import new_header
from posegen.library.load import load_library
from posegen.synthesis import synthesize

Array = NDArray[Any]

SAMPLES = 200
"""Number of samples in a shard."""


def config() -> Config:
    return posegen.load_config("default")


def header_and_field() -> tuple[Header, ArrayField]:
    """Return the header of a dataset of the default config, and its field of joints."""
    loaded = config()
    library = load_library(loaded.story.library)
    header = new_header(loaded, library)
    return header, next(field for field in header.fields if field.name == "joints")


def joints(samples: int = SAMPLES) -> Array:
    """Return float32 [sample, variant, actor, frame, joint, axis]."""
    return np.ascontiguousarray(synthesize(config(), range(samples)).joints)


def chunks_of(array: Array, size: int) -> list[Array]:
    """Split joints into chunks of `samples` samples, one variant and one actor, without absent ones."""
    parts = [
        np.ascontiguousarray(array[first : first + size, variant, actor])
        for first in range(0, len(array), size)
        for variant in range(array.shape[1])
        for actor in range(array.shape[2])
    ]
    return [part for part in parts if not np.isnan(part).all()]
