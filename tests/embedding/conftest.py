"""A small dataset with all that captions claim."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import posegen
from posegen.embedding import embed

SAMPLES = 40


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of the default config, embedded by the encoder for tests."""
    path = tmp_path_factory.mktemp("told") / "dataset"
    posegen.generate(posegen.load_config("default", ["store.shard=20"]), samples=SAMPLES, workers=1, out=path)
    embed(path, "hashing-for-tests", cached=False)
    return path


@pytest.fixture
def dataset(told: Path, tmp_path: Path) -> Path:
    """A copy of it that may be written to."""
    return Path(shutil.copytree(told, tmp_path / "dataset"))
