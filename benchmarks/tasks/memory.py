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
from benchmarks.measure import ROOT, posegen
from posegen.foundations.quantities import human_bytes

SAMPLES = 1000
STEPS = {"quick": 8, "fast": 8, "balanced": 5, "best": 3}
"""Steps with each preset."""
FEW = ("checks.times=1", "checks.clips=64", "log=[]", "machine.threads=1", "machine.precision=32-true")
"""Settings that change no memory, or save the comparison of precisions."""
MOST_APART = 0.15
TASKS = {
    "action": (),
    "identity": (),
    "attribute from motion": (),
    "attribute from captions": ("--set", "attribute.given=captions"),
    "text": (),
    "retrieval": (),
    "motion": (),
}
"""Options of each task."""

_OWN_PEAK = """
from posegen.cli.main import main
from posegen.foundations.machine import lifetime_peak
import sys
assert main(sys.argv[1:]) == 0
print(lifetime_peak())
"""


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", str(SAMPLES), "--set", "population.persons=200")
    subprocess.run(posegen("embed", dataset, "--quiet"), cwd=ROOT, check=True)
    for preset in STEPS:
        for name, options in TASKS.items():
            yield compared(name, preset, dataset, options, folder / preset / name)


def compared(name: str, preset: str, source: Path, options: tuple[str, ...], run: Path) -> Figure:
    """Return the memory of a run beside its estimate: what the run reports, or what the system recorded if that is more."""
    few = [part for setting in (f"steps={STEPS[preset]}", *FEW) for part in ("--set", setting)]
    task = name.partition(",")[0].partition(" ")[0]
    arguments = ("train", str(source), "--task", task, "--preset", preset, "--out", str(run), *options, *few, "--quiet")
    process = subprocess.run(
        [sys.executable, "-c", _OWN_PEAK, *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    reported = json.loads((run / "result.json").read_bytes())["memory"]["peak"]
    record = json.loads((run / "run.json").read_bytes())
    estimate, choices = record["estimate"]["memory_bytes"], record["choices"]
    measured = max(reported, int(process.stdout.splitlines()[-1]))
    value = (
        f"{human_bytes(measured)}, {measured / estimate:.2f} of the estimated {human_bytes(estimate)}; "
        f"micro-batch {choices['micro_batch']}, {choices['precision']}, loading processes: {choices['workers']}"
    )
    good = abs(measured / estimate - 1) <= MOST_APART
    detail = {"preset": preset, "task": name, "measured": measured, "estimate": estimate, "reported": reported, **choices}
    return Figure(f"memory of {preset}, {name}", value, f"within {100 * MOST_APART:.0f} % of the estimate", good, detail)
