"""Datasets that readers of exports are tested with."""

from __future__ import annotations

from typing import Any

import pytest

import posegen
from tests.once import generated_once


def short_clips(factory: pytest.TempPathFactory, samples: int) -> Any:
    """Return a dataset of clips of 60 frames."""
    return posegen.open(generated_once(factory, f"short_clips_{samples}", samples, "frames=60"))
