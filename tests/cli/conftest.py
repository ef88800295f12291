"""A small dataset of three shards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import posegen
from tests.once import made_once

SMALL = ["frames=40", "store.shard=4", "store.chunk=2"]


@pytest.fixture(scope="session")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of ten samples; tests do not change it."""

    def make(folder: Path) -> None:
        posegen.generate(posegen.load_config("smoke", SMALL), samples=10, workers=1, out=folder / "intact")

    return made_once(tmp_path_factory, "intact", make) / "intact"


@pytest.fixture
def dataset(intact: Path, tmp_path: Path) -> Path:
    """A copy of it that tests may change."""
    return Path(shutil.copytree(intact, tmp_path / "a dataset"))
