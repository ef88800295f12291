"""A small generated dataset with embedded captions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import posegen
from posegen.embedding import embed

SAMPLES = 40


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a dataset of the default config and embed it with the encoder for tests."""
    path = tmp_path_factory.mktemp("embedded") / "dataset"
    posegen.generate(posegen.load_config("default", ["store.shard=20"]), samples=SAMPLES, workers=1, out=path)
    embed(path, "hashing-for-tests", cached=False)
    return path


@pytest.fixture
def dataset(embedded: Path, tmp_path: Path) -> Path:
    """Return a writable copy of the dataset."""
    return Path(shutil.copytree(embedded, tmp_path / "dataset"))
