"""Training runs, each in a process forked from one that has imported everything; some are killed by SIGKILL.

``python -m tests.training.forked_runs quick|slow FOLDER`` prints the results as JSON; ``FOLDER/dataset`` is trained on.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from posegen.foundations.errors import PosegenError
from posegen.training.run_folder import RUN, read_document, write_document
from posegen.training.session import Logs
from posegen.training.setup import Request
from posegen.training.task import find_task
from posegen.training.train import train
from tests.training import tiny
from tests.training.naive_training import beside_naive

KILLED_AT = (3, 8)


@dataclass
class Killer(tiny.Recorder):
    """Kills its process at a step."""

    at: int = 0

    def update(self, done: int, details: str = "") -> None:
        super().update(done, details)
        if done == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class Short(tiny.Recorder):
    """Runs out of memory inside step 8: the optimiser has changed the weights, but their average is that of step 7."""

    def update(self, done: int, details: str = "") -> None:
        super().update(done, details)
        if done == 7 and self.steps.count(7) == 1:

            def fail(optimiser: Any, arguments: Any, options: Any) -> None:
                handle.remove()
                torch.empty(1 << 50)

            handle = register_optimizer_step_post_hook(fail)


def run_in_fork(
    dataset: Path,
    run: Path,
    *overrides: str,
    recorder: tiny.Recorder | None = None,
    task: str = "action",
    budget: float | None = None,
) -> dict[str, Any]:
    """Train in a forked process; return what it reported."""
    find_task(task)  # imports here what every forked process would import anew
    recorder = recorder or tiny.Recorder()
    reading, writing = os.pipe()
    gc.freeze()  # as in tests/running.py
    child = os.fork()
    if child == 0:
        document: dict[str, Any] = {}
        losses: list[float] = []
        # One more than these runs use.
        torch.set_num_threads(tiny.THREADS + 1)
        _record_losses(losses)
        try:
            result = train(Request(str(dataset), task, "quick", tiny.settings(*overrides), run, budget), recorder)
            reasons = {reason.name: reason.value for reason in result.reasons}
            document = {
                "steps": result.steps,
                "nothing": result.nothing_to_do,
                "measures": result.measures,
                "reasons": reasons,
            }
        except PosegenError as error:
            document = {"error": str(error)}
        except Exception:
            document = {"traceback": traceback.format_exc()}
            raise
        finally:
            document |= {"said": recorder.said, "shown": recorder.steps, "losses": losses}
            document["threads"] = torch.get_num_threads()
            os.write(writing, json.dumps(document).encode())
            # Whatever happens, this process must not continue as a copy of its parent.
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        report = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"signal": os.WTERMSIG(status)}
    return dict(json.loads(report))


def killed_and_resumed(
    run: Callable[..., dict[str, Any]],
    folder: Path,
    at: int,
    *overrides: str,
    whole: str = "whole",
    resumed: Sequence[str] = (),
    **options: Any,
) -> dict[str, Any]:
    """Kill a run at a step, and resume it with more settings; compare its weights with those of the run `whole`."""
    name = "killed" if whole == "whole" else f"{whole} killed"
    first = run(name, *overrides, recorder=Killer(at=at), **options)
    again = run(name, *overrides, *resumed, **options)
    one, other = ((folder / each / "model.safetensors").read_bytes() for each in (whole, name))
    return {"killed first": first, "killed": again, "same weights": one == other}


def short_runs(run: Callable[..., dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Return reports of a run of few steps, and of the same run that is killed and resumed."""
    few = "steps=20"
    reports = {"whole": run("short", few)}
    return {"short": reports | killed_and_resumed(run, folder, 18, few, whole="short")}


def _record_losses(losses: list[float]) -> None:
    """Append the loss of each step of this process to a list."""
    original = Logs.step

    def step(self: Logs, number: int, loss: float, times: Any, **values: float) -> None:
        losses.append(loss)
        original(self, number, loss, times, **values)

    Logs.step = step  # type: ignore[method-assign]


def quick_runs(dataset: Path, folder: Path) -> dict[str, Any]:
    """Train a run without interruption, and one that is killed twice and resumed."""
    reports: dict[str, Any] = {"whole": run_in_fork(dataset, folder / "whole")}
    for number, at in enumerate(KILLED_AT):
        reports[f"killed {number}"] = run_in_fork(dataset, folder / "killed", recorder=Killer(at=at))
    reports["resumed"] = run_in_fork(dataset, folder / "killed")
    reports["again"] = run_in_fork(dataset, folder / "killed")
    reports["other settings"] = run_in_fork(dataset, folder / "killed", "optimiser.rate=1e-3")
    refused = folder / "over budget"
    reports["over budget"] = run_in_fork(dataset, refused, budget=1e-3) | {"folder": refused.exists()}
    return reports


def slow_runs(dataset: Path, folder: Path) -> dict[str, Any]:
    """Train runs with faults, with patience, and on a dataset that grows."""
    reports: dict[str, Any] = {"whole": run_in_fork(dataset, folder / "whole")}
    no_dropout = "model.dropout=0"
    reports["short"] = run_in_fork(dataset, folder / "short", no_dropout, recorder=Short())
    reports["short choices"] = (read_document(folder / "short", RUN) or {})["choices"]
    reports["no dropout"] = run_in_fork(dataset, folder / "no dropout", no_dropout)
    reports["naive"] = beside_naive(dataset, folder / "no dropout")
    patience = ("optimiser.rate=0", "checks.times=6", "checks.patience=2")
    reports["patience"] = run_in_fork(dataset, folder / "patience", *patience)
    reports["damaged"] = _damaged(dataset, folder)
    reports["other version"] = _other_version(dataset, folder)
    reports["grown"] = _grown(dataset, folder)
    return reports


def _damaged(dataset: Path, folder: Path) -> dict[str, Any]:
    """Resume a killed run whose last checkpoint is damaged."""
    run = folder / "damaged"
    run_in_fork(dataset, run, recorder=Killer(at=11))
    last = max((run / "checkpoints").glob("*.safetensors"))
    last.write_bytes(last.read_bytes()[:-1])
    return run_in_fork(dataset, run) | {"last": int(last.stem)}


def _other_version(dataset: Path, folder: Path) -> dict[str, Any]:
    """Resume a run whose record lacks a key."""
    record = {name: value for name, value in (read_document(folder / "whole", RUN) or {}).items() if name != "init"}
    shutil.copytree(folder / "whole", folder / "other version")
    write_document(folder / "other version", RUN, record)
    return run_in_fork(dataset, folder / "other version")


def _grown(dataset: Path, folder: Path) -> dict[str, Any]:
    """Train another round of a complete run after its dataset has grown."""
    shutil.copytree(folder / "whole", folder / "grown")
    process = os.fork()
    if process == 0:
        tiny.make(dataset, tiny.SAMPLES + 20)
        os._exit(0)
    os.waitpid(process, 0)
    return run_in_fork(dataset, folder / "grown")


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    print(json.dumps({"quick": quick_runs, "slow": slow_runs}[sys.argv[1]](folder / "dataset", folder)))
