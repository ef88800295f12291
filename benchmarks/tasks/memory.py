"""Peak memory of runs beside their estimates, for each task with each preset of a CPU.

Memory peaks within the first steps and checks, so runs are cut to a few steps; what is estimated is the same short run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, run
from posegen.foundations.quantities import human_bytes

SAMPLES = 1000
STEPS = {"quick": 8, "fast": 8, "balanced": 5, "best": 3}
"""Steps with each preset."""
FEW = ("checks.times=1", "checks.clips=64", "log=[]", "machine.threads=1", "machine.precision=32-true")
"""Settings that change no memory, or save the comparison of precisions."""
MOST_APART = 0.15
TASKS = ("action", "identity", "attribute", "retrieval", "motion")

_OWN_PEAK = """
from posegen.cli.main import main
from posegen.foundations.machine import lifetime_peak
import sys
assert main(sys.argv[1:]) == 0
print(lifetime_peak())
"""


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", str(SAMPLES), "--set", "population.persons=200")
    run("embed", dataset)
    for preset in STEPS:
        for task in TASKS:
            yield compared(task, preset, dataset, folder / preset / task)


def compared(task: str, preset: str, source: Path, place: Path) -> Figure:
    """Return the memory of a run beside its estimate: what the run reports, or what the system recorded if that is more."""
    few = [part for setting in (f"steps={STEPS[preset]}", *FEW) for part in ("--set", setting)]
    arguments = ("train", str(source), "--task", task, "--preset", preset, "--out", str(place), *few, "--quiet")
    process = subprocess.run(
        [sys.executable, "-c", _OWN_PEAK, *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    reported = json.loads((place / "result.json").read_bytes())["memory"]["peak"]
    record = json.loads((place / "run.json").read_bytes())
    estimate, choices = record["estimate"]["memory_bytes"], record["choices"]
    measured = max(reported, int(process.stdout.splitlines()[-1]))
    value = (
        f"{human_bytes(measured)}, {measured / estimate:.2f} of the estimated {human_bytes(estimate)}; "
        f"micro-batch {choices['micro_batch']}, {choices['precision']}, loading processes: {choices['workers']}"
    )
    good = abs(measured / estimate - 1) <= MOST_APART
    detail = {"preset": preset, "task": task, "measured": measured, "estimate": estimate, "reported": reported, **choices}
    return Figure(f"memory of {preset}, {task}", value, f"within {100 * MOST_APART:.0f} % of the estimate", good, detail)
