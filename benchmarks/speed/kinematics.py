"""Forward kinematics alone, beside NumPy, torch and MuJoCo; see `benchmarks/kinematics`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT
from benchmarks.speed.wanted import KINEMATICS_BY_MUJOCO, KINEMATICS_BY_TORCH

TORCH = ("torch by matrices", "torch by rows")


def measure(folder: Path) -> Iterator[Figure]:
    del folder  # nothing is written
    command = [sys.executable, "-m", "benchmarks.kinematics"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    yield Figure("forward kinematics of 22 joints: posegen, ns a pose", f"{found['posegen']['nanoseconds']:.0f}", detail=found)
    for name, way in found.items():
        if name != "posegen":
            told = f"{way['nanoseconds']:.0f}; posegen {way['by_posegen']:.1f} times as fast"
            yield Figure(f"forward kinematics: {name}, ns a pose", f"{told}; {way['sequences_at_a_time']} sequences at a time")
    torch = [found[name]["by_posegen"] for name in TORCH if name in found]
    yield _judged("the faster way of torch", min(torch, default=None), KINEMATICS_BY_TORCH)
    yield _judged("MuJoCo", found.get("MuJoCo", {}).get("by_posegen"), KINEMATICS_BY_MUJOCO)


def _judged(name: str, ratio: float | None, least: float) -> Figure:
    wanted = f"at least {least:.0f} times" if least != 1 else "ahead"
    if ratio is None:
        return Figure(f"forward kinematics beside {name}", "not measured: it is not installed", wanted)
    return Figure(f"forward kinematics beside {name}", f"{ratio:.2f} times as fast", wanted, ratio >= least)
