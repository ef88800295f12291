"""Training on a GPU: ``python -m benchmarks.train.gpu DATASET OUT [FIRST:LAST]``, on the machine that has one.

Most runs have fewer steps than their presets, because GPU time is rare. What the runs record is written to ``OUT/gpu.json``
after each; `docs/performance.md` has a table of the last. ``DATASET`` is an embedded dataset of the config ``default``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import ROOT, killed, posegen


class Planned(NamedTuple):
    """A run: task, preset, steps and further settings; `source` is a config to train from, instead of the dataset."""

    task: str
    preset: str
    steps: int
    settings: tuple[str, ...] = ()
    source: str | None = None


FEW = ("checks.times=1", "checks.clips=512")
RUNS = (
    Planned("identity", "gpu", 100, FEW),
    Planned("attribute", "gpu", 100, FEW),
    Planned("retrieval", "gpu-max", 40, FEW),
    Planned("motion", "gpu-max", 40, FEW),
    Planned("identity", "gpu-max", 40, FEW),
    Planned("attribute", "gpu-max", 40, FEW),
    Planned("action", "gpu", 100, (*FEW, "machine.precision=32-true")),
    Planned("action", "gpu-16gb", 100, (*FEW, "machine.precision=16-mixed")),
    Planned("action", "gpu", 200, (*FEW, "machine.precision=bf16-mixed")),
    Planned("motion", "gpu", 1200, FEW, "default"),
    Planned("action", "quick", 400, ("saving.steps=20", "machine.device=cpu")),
    Planned("action", "quick", 400, ("saving.steps=20", "machine.device=cuda")),
)
"""The last two are killed after their first checkpoints, and resumed on the other device."""
OTHER = {"machine.device=cpu": "machine.device=cuda", "machine.device=cuda": "machine.device=cpu"}
RESULTS = ("measures", "times", "memory", "losses", "checks", "conditions", "steps")


def run(planned: Planned, dataset: Path, place: Path) -> dict[str, Any]:
    """Train as planned, and return what the run recorded."""
    settings, begin = planned.settings, time.monotonic()
    measured: dict[str, Any] = planned._asdict()
    if settings[-1] in OTHER:
        first = _command(planned, settings, dataset, place)
        measured["killed"] = killed(first, lambda: any(place.glob("checkpoints/*20.json")))
        settings = (*settings[:-1], OTHER[settings[-1]])
    command = _command(planned, settings, dataset, place)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    measured |= {"status": done.returncode, "seconds": time.monotonic() - begin}
    if done.returncode:
        return measured | {"failed": (done.stdout + done.stderr)[-2000:]}
    record, result = (json.loads((place / f"{each}.json").read_bytes()) for each in ("run", "result"))
    measured |= {each: record[each] for each in ("estimate", "reasons", "choices")}
    return measured | {each: result[each] for each in RESULTS}


def _command(planned: Planned, settings: tuple[str, ...], dataset: Path, place: Path) -> list[str]:
    """Return the command that trains as planned."""
    given = ("--task", planned.task, "--preset", planned.preset, "--out", place)
    chosen = [f"--set={setting}" for setting in (f"steps={planned.steps}", *settings)]
    return posegen("train", planned.source or dataset, *given, *chosen)


def main() -> None:
    """Measure on the GPU of this machine."""
    import torch

    dataset, out = map(Path, sys.argv[1:3])
    begin, _, last = (sys.argv[3] if len(sys.argv) > 3 else ":").partition(":")
    document: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "runs": []}
    for number, planned in list(enumerate(RUNS))[int(begin or 0) : int(last or len(RUNS))]:
        done = run(planned, dataset, out / f"{number}-{planned.task}-{planned.preset}")
        document["runs"].append(done)
        (out / "gpu.json").write_text(json.dumps(document, indent=1))
        print(
            {name: done.get(name) for name in ("task", "preset", "status", "seconds", "failed", "times", "memory", "measures")}
        )


if __name__ == "__main__":
    main()
