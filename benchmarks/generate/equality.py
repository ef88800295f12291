"""Equality of 2,000 samples made by one worker, by two, with a masked processor, and in a process that uses torch."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import differences, generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT
from tests.masking import machine_arithmetic, masked_environment

SAMPLES = "2000"

ARITHMETIC = "import json; from tests.masking import machine_arithmetic; print(json.dumps(machine_arithmetic()))"

TORCH = """
import sys, torch
torch.ones(64, 64) @ torch.ones(64, 64)
from posegen.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def measure(folder: Path) -> Iterator[Figure]:
    one = generate(folder / "one", "--samples", SAMPLES, "--workers", "1")
    yield _equal("2 workers", one, generate(folder / "two", "--samples", SAMPLES, "--workers", "2"))
    masked = masked_environment()
    yield _mask_effect(masked)
    old = generate(folder / "old", "--samples", SAMPLES, "--workers", "2", environment=masked)
    yield _equal("2 workers with newer processor features masked", one, old)
    if importlib.util.find_spec("torch") is None:
        yield Figure(f"{SAMPLES} samples in a process that has used torch", "not measured: torch is not installed", "equal")
        return
    with_torch = folder / "torch"
    arguments = ["generate", "--quiet", "--samples", SAMPLES, "--workers", "1", "--out", str(with_torch)]
    subprocess.run([sys.executable, "-c", TORCH, *arguments], cwd=ROOT, check=True)
    yield _equal("1 worker in a process that has used torch", one, with_torch)


def _equal(name: str, one: Path, other: Path) -> Figure:
    found = differences(one, other)
    return Figure(f"{SAMPLES} samples by {name}, compared with 1 worker", ", ".join(found) or "equal", "equal", not found)


def _mask_effect(masked: dict[str, str]) -> Figure:
    printed = subprocess.run([sys.executable, "-c", ARITHMETIC], cwd=ROOT, env=masked, check=True, stdout=subprocess.PIPE)
    hidden, shown = json.loads(printed.stdout), machine_arithmetic()
    differ = [name for name in shown if hidden[name] != shown[name]]
    return Figure("effect of the mask: NumPy results that differ", ", ".join(differ) or "none", "sine", "sine" in differ)
