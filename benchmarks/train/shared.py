"""The dataset of all measures of training: generated and embedded at first use, and removed at the end."""

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
"""Folders that are removed when Python exits."""


@cache
def dataset(beside: Path) -> Path:
    """Generate the dataset in a folder next to that of a measure, on the same disk."""
    place = tempfile.TemporaryDirectory(dir=beside)
    _places.append(place)
    return generate(Path(place.name) / "dataset", "--samples", str(SAMPLES))


@cache
def embedded(beside: Path) -> Path:
    """Return the dataset with embedded captions."""
    path = dataset(beside)
    subprocess.run(posegen("embed", path, "--quiet"), cwd=ROOT, check=True)
    return path
