"""Rate of forward kinematics, compared with NumPy, torch and MuJoCo; see `benchmarks/kinematics`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import module, printed_by
from benchmarks.speed.targets import KINEMATICS_BY_MUJOCO, KINEMATICS_BY_TORCH

TORCH = ("torch by matrices", "torch by rows")


def measure(folder: Path) -> Iterator[Figure]:
    del folder  # nothing is written
    found = printed_by(module("benchmarks.kinematics"))
    yield Figure(
        "forward kinematics of 22 joints: posegen, ns per pose", f"{found['posegen']['nanoseconds']:.0f}", detail=found
    )
    for name, way in found.items():
        if name != "posegen":
            value = f"{way['nanoseconds']:.0f}; posegen is {way['by_posegen']:.1f} times as fast"
            yield Figure(
                f"forward kinematics: {name}, ns per pose", f"{value}; {way['sequences_at_a_time']} sequences at a time"
            )
    torch = [found[name]["by_posegen"] for name in TORCH if name in found]
    yield _compared("the faster way of torch", min(torch, default=None), KINEMATICS_BY_TORCH)
    yield _compared("MuJoCo", found.get("MuJoCo", {}).get("by_posegen"), KINEMATICS_BY_MUJOCO)


def _compared(name: str, ratio: float | None, least: float) -> Figure:
    target = f"at least {least:.0f} times" if least != 1 else "faster"
    if ratio is None:
        return Figure(f"rate of forward kinematics / {name}", "not measured: not installed", target)
    return Figure(f"rate of forward kinematics / {name}", f"{ratio:.2f}", target, ratio >= least)
