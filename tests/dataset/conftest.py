from __future__ import annotations

from pathlib import Path

import pytest

from tests.dataset.tiny import fill


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset of 14 samples in three shards, the last of which is not full."""
    path = tmp_path / "dataset"
    fill(path, 14)
    return path
