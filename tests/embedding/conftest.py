"""A small generated dataset with embedded captions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import posegen
from posegen.embedding import embed
from tests.once import own_copy

SAMPLES = 40


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a dataset of the default config and embed it with the encoder for tests."""

    def make(folder: Path) -> None:
        config = posegen.load_config("default", ["store.shard=20"])
        posegen.generate(config, samples=SAMPLES, workers=1, out=folder / "dataset")
        embed(folder / "dataset", "hashing-for-tests", cached=False)

    return own_copy(tmp_path_factory, "embedded", make) / "dataset"


@pytest.fixture
def dataset(embedded: Path, tmp_path: Path) -> Path:
    """Return a writable copy of the dataset."""
    return Path(shutil.copytree(embedded, tmp_path / "dataset"))
