"""Attacks in any order, compared with a model: the state machine of tests/faults, with many more sequences."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, SCALE

ATTACKS = 300


def measure(folder: Path) -> Iterator[Figure]:
    attacks = max(1, round(ATTACKS * SCALE))
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/faults/test_machine.py"]
    environment = os.environ | {"POSEGEN_TEST_ATTACKS": str(attacks)}
    ended = subprocess.run(
        [*command, f"--basetemp={folder / 'attacks'}"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    value = f"all held, {time.monotonic() - start:.0f} s" if ended.returncode == 0 else "broken"
    name = f"{attacks} sequences of generate, die, extend, damage, verify and repair, beside a model"
    yield Figure(name, value, "all held", ended.returncode == 0, ended.stdout[-4000:] if ended.returncode else None)
