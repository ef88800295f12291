from __future__ import annotations

import pytest

import posegen
from posegen.config.schema import Config, load_config
from posegen.fields.family import Sequences
from posegen.library import load_library


@pytest.fixture(scope="session")
def config() -> Config:
    """Two actors, of clips of different lengths."""
    return load_config("default", ["story.actors.max=2", "frames=150", "length.min=60", "length.max=150"])


@pytest.fixture(scope="session")
def sequences(config: Config) -> Sequences:
    """Six samples in all variants."""
    return made(config, 6)


def made(config: Config, samples: int) -> Sequences:
    """What the first samples of a config hold."""
    batch = posegen.synthesize(config, range(samples))
    library = load_library(config.story.library)
    return Sequences(config, library, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
