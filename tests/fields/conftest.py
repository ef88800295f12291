from __future__ import annotations

import numpy as np
import pytest

import posegen
from posegen.config.load import load_config
from posegen.config.schema import Config
from posegen.fields.field import Sequences, compute_fields
from posegen.foundations.plugins import FIELDS
from posegen.library.load import load_library


@pytest.fixture(scope="session")
def config() -> Config:
    """Return a config with two actors and clips of different lengths."""
    return load_config("default", ["story.actors.max=2", "frames=150", "length.min=60", "length.max=150"])


@pytest.fixture(scope="session")
def sequences(config: Config) -> Sequences:
    """Return six samples in all variants."""
    return made(config, 6)


def made(config: Config, samples: int) -> Sequences:
    """Return the first samples of a config."""
    batch = posegen.synthesize(config, range(samples))
    library = load_library(config.story.library)
    return Sequences(config, library, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)


def computed(name: str, sequences: Sequences) -> dict[str, np.ndarray]:
    """Return the arrays of one field."""
    arrays = compute_fields(sequences, [name])
    return {array.name: arrays[array.name] for array in FIELDS.load(name).arrays}
