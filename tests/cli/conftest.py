"""A small dataset of three shards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.once import generated_once

SMALL = ["frames=40", "store.shard=4", "store.chunk=2"]


@pytest.fixture(scope="session")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of ten samples; tests do not change it."""
    return generated_once(tmp_path_factory, "intact", 10, *SMALL)


@pytest.fixture
def dataset(intact: Path, tmp_path: Path) -> Path:
    """A copy of it that tests may change."""
    return Path(shutil.copytree(intact, tmp_path / "a dataset"))
