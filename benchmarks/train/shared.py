"""The dataset that measures of training share: made, and its captions embedded, by the first that asks, and gone at the end."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.measure import ROOT, posegen
from benchmarks.motion.clips import scaled

__all__ = ["SAMPLES", "dataset", "embedded"]

SAMPLES = scaled(6000, 600)

_places: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when Python ends."""


@cache
def dataset(beside: Path) -> Path:
    """Generate the dataset, on the disk of a measure's folder, in a folder beside it."""
    place = tempfile.TemporaryDirectory(dir=beside)
    _places.append(place)
    return generate(Path(place.name) / "dataset", "--samples", str(SAMPLES))


@cache
def embedded(beside: Path) -> Path:
    """Have the captions of the dataset embedded, too."""
    path = dataset(beside)
    subprocess.run(posegen("embed", path, "--quiet"), cwd=ROOT, check=True)
    return path
