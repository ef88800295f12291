"""Run all benchmarks of packing and return plain data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.packing import choices, forms, pipelines, syncing
from benchmarks.packing.joints import header_and_field, joints

SLACK = 0.1
"""Smallest relative difference that counts; less is noise of the machine."""


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    """Measure everything; `folder` is on the disk to measure."""
    header, _ = header_and_field()
    array = joints()
    found = choices.measure(array, choices.today(header.chunk), rounds)
    return {
        "packing": [asdict(each) for each in found],
        "better": [each.choice for each in choices.better(found, SLACK)],
        "forms": forms.measure(array, header.chunk, rounds),
        "pipelines": pipelines.measure(folder, max(1, rounds // 2)),
        "syncing": syncing.of_ways(folder, rounds),
        "shards": syncing.of_shards(folder, rounds),
    }
