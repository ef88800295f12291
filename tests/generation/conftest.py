from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import posegen
from posegen.config.load import load_config
from posegen.config.schema import Config
from tests.generation.runs import SMALL, Runs


@pytest.fixture(scope="session")
def small() -> Config:
    """Return a config with shards of 4 samples."""
    return load_config("smoke", SMALL)


@pytest.fixture(scope="session")
def fourteen(small: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of 14 samples, to be read only; its last shard is partial."""
    path = tmp_path_factory.mktemp("fourteen") / "dataset"
    posegen.generate(small, samples=14, workers=1, out=path)
    return path


@pytest.fixture
def runs() -> Iterator[Runs]:
    processes = Runs()
    yield processes
    processes.kill_all()
