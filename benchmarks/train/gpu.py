"""Training on a GPU: ``python -m benchmarks.train.gpu DATA OUT [--seconds S]``, on the machine that has one.

Most runs have fewer steps than their presets, as each row says, because GPU time is rare. What is measured is written to
``OUT/gpu.json`` after each run; what no longer fits into the time is named. `docs/performance.md` has a table of the last runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, posegen

__all__ = ["Planned"]


@dataclass(frozen=True)
class Planned:
    """A run: task, preset and steps; `stream` trains from the config, `options` are further settings."""

    task: str
    preset: str
    steps: int
    seconds: float
    """What it is expected to take, so that a run that does not fit is not begun."""
    stream: bool = False
    options: tuple[str, ...] = ()


FEW = ("checks.times=1", "checks.clips=512")
RUNS = (
    Planned("text", "gpu", 60, 70, options=FEW),
    Planned("identity", "gpu", 100, 40, options=FEW),
    Planned("attribute", "gpu", 100, 40, options=FEW),
    Planned("retrieval", "gpu-max", 40, 60, options=FEW),
    Planned("motion", "gpu-max", 40, 60, options=FEW),
    Planned("identity", "gpu-max", 40, 60, options=FEW),
    Planned("attribute", "gpu-max", 40, 60, options=FEW),
    Planned("text", "gpu-max", 20, 105, options=FEW),
    Planned("action", "gpu", 100, 35, options=(*FEW, "machine.precision=32-true")),
    Planned("action", "gpu-16gb", 100, 35, options=(*FEW, "machine.precision=16-mixed")),
    Planned("action", "gpu", 200, 155, options=(*FEW, "machine.compile=true", "machine.precision=bf16-mixed")),
    Planned("motion", "gpu", 1200, 320, stream=True, options=FEW),
)


def run(planned: Planned, source: Path, out: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """Train as planned, and return what the run recorded."""
    name = "-".join((planned.task, planned.preset, str(planned.steps), *(each.replace("=", "-") for each in planned.options)))
    log = out / f"{name}.log"
    begin = time.monotonic()
    settings = (f"steps={planned.steps}", *planned.options, *options)
    with log.open("w") as stream:
        status = subprocess.run(
            command(planned, source, out / name, settings), cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT, check=False
        ).returncode
    measured = {**asdict(planned), "status": status, "seconds": time.monotonic() - begin}
    if status:
        return measured | {"failed": log.read_text()[-2000:]}
    record, result = (json.loads((out / name / f"{each}.json").read_bytes()) for each in ("run", "result"))
    kept = {each: result[each] for each in ("measures", "times", "memory", "losses", "checks", "conditions")}
    return measured | kept | {each: record[each] for each in ("estimate", "reasons", "choices")}


def command(planned: Planned, source: Path, place: Path, settings: tuple[str, ...]) -> list[str]:
    """Return the command that trains as planned."""
    chosen = [part for setting in settings for part in ("--set", setting)]
    given = ("--task", planned.task, "--preset", planned.preset, "--out", place)
    return [*map(str, posegen("train", source, *given, *chosen))]


def resumed(first: str, second: str, source: Path, out: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """Kill a run on one device after its first checkpoints, and resume it on another."""
    planned, place = Planned("action", "quick", 400, 60), out / f"resumed-{first}-{second}"
    settings = ("steps=400", "saving.steps=20", *options)
    process = subprocess.Popen(
        command(planned, source, place, (*settings, f"machine.device={first}")),
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline and not any(place.glob("checkpoints/*20.json")):
        time.sleep(0.02)
    killed = process.poll() is None
    if killed:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = subprocess.run(
        command(planned, source, place, (*settings, f"machine.device={second}")),
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    done = {"first": first, "second": second, "killed": killed, "status": again.returncode}
    if again.returncode:
        return done | {"failed": again.stderr[-1500:] + again.stdout[-1500:]}
    result = json.loads((place / "result.json").read_bytes())
    return done | {each: result[each] for each in ("measures", "steps", "losses", "conditions")}


def main() -> None:
    """Measure on the GPU of this machine."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="embedded dataset of the default config")
    parser.add_argument("out", type=Path)
    parser.add_argument("--config", type=Path, default=Path("default"), help="config that the task motion generates from")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--runs", default=":", help="which of the runs, as a slice: 0:4")
    parser.add_argument("--resume", nargs="*", default=(), help="kill on one device, resume on another: cpu:cuda")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2", help="encoder of captions that are not stored")
    parser.add_argument("--set", action="append", default=[], dest="options", help="setting of every run")
    given = parser.parse_args()
    options, end = tuple(given.options), time.monotonic() + given.seconds
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    document: dict[str, Any] = {"gpu": gpu, "torch": torch.__version__, "cores": os.cpu_count(), "runs": [], "resumed": []}
    given.out.mkdir(parents=True, exist_ok=True)

    def keep(kind: str, measured: dict[str, Any]) -> None:
        document[kind].append(measured)
        (given.out / "gpu.json").write_text(json.dumps(document, indent=1))

    for devices in given.resume:
        first, _, second = devices.partition(":")
        keep("resumed", resumed(first, second, given.data, given.out, options))
        print(document["resumed"][-1], flush=True)
    begin, _, last = given.runs.partition(":")
    for planned in RUNS[int(begin or 0) : int(last or len(RUNS))]:
        if time.monotonic() + planned.seconds > end:
            keep("runs", {**asdict(planned), "status": None, "failed": "no time left"})
            continue
        encoder = ("contrast.encoder", "text.encoder")[planned.task == "text"]
        own = (f"{encoder}={given.encoder}",) if planned.stream or planned.task == "text" else ()
        source = given.config if planned.stream else given.data
        keep("runs", run(planned, source, given.out, (*options, *own)))
        done = document["runs"][-1]
        print(planned.task, planned.preset, done["status"], round(done["seconds"]), done.get("failed", "")[-600:], flush=True)
        print("   ", done.get("times"), done.get("memory"), done.get("measures"), flush=True)


if __name__ == "__main__":
    sys.exit(main())
