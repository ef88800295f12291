"""Shuffled batches beside those of other libraries, from the same arrays, with the same window, in turns, in one process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT

SAMPLES = "2000"
ROUNDS = "7"
GOAL = 30_000
RIVALS = ("webdataset", "streaming", "litdata", "h5py")
"""Those to be ahead of; others are told beside them."""


def measure(folder: Path) -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.reading", "--samples", SAMPLES, "--rounds", ROUNDS, "--folder", str(folder)]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    own = found["readers"]["posegen"]["sequences_per_second"]
    told = f"{own:,.0f} (goal {GOAL:,})"
    yield Figure("posegen: shuffled batches of 64, sequences a second", told, detail=found)
    for name, reader in found["readers"].items():
        if name == "posegen":
            continue
        told = f"{reader['sequences_per_second']:,.0f}; posegen {reader['posegen_by_it']:.2f} times as fast"
        told += f"; {reader['megabytes']:,.0f} MB on disk, {reader['told']}"
        is_rival = name in RIVALS
        ahead = reader["posegen_by_it"] > 1 if is_rival else None
        yield Figure(f"{name}, sequences a second", told, "posegen ahead" if is_rival else "", ahead)
    for name, reason in found["absent"].items():
        yield Figure(f"{name}, sequences a second", f"not measured: {reason}", "posegen ahead" if name in RIVALS else "")
