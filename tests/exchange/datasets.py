"""Datasets that readers of exports are tested with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import posegen
from tests.once import made_once


def short_clips(factory: pytest.TempPathFactory, samples: int) -> Any:
    """Return a dataset of clips of 60 frames."""

    def make(folder: Path) -> None:
        posegen.generate(posegen.load_config("smoke", ["frames=60"]), samples=samples, workers=1, out=folder / "motion")

    return posegen.open(made_once(factory, f"short_clips_{samples}", make) / "motion")
