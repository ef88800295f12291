"""Training runs, each in a process forked from one that has imported everything; some are killed by SIGKILL.

``python -m tests.training.sittings DATASET FOLDER`` prints the results as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from posegen.errors import PosegenError
from posegen.training.runs.folder import RUN, read_document, write_document
from posegen.training.runs.logs import Logs
from posegen.training.task import find_task
from posegen.training.train import Request, train
from tests import preloading
from tests.training import tiny
from tests.training.naive_training import beside_naive

KILLED_AT = (3, 8)


class Killer(tiny.Recorder):
    """Kills its process at a step."""

    at = 0

    def update(self, done: int, details: str = "") -> None:
        super().update(done, details)
        if done == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class Short(tiny.Recorder):
    """Requests more memory from torch than any machine has, once, between two steps."""

    def update(self, done: int, details: str = "") -> None:
        super().update(done, details)
        if done == 4 and self.steps.count(4) == 1:
            torch.empty(1 << 50)


class ShortInsideStep(tiny.Recorder):
    """Runs out of memory inside step 8: the optimiser has changed the weights, but their average is that of step 7."""

    def update(self, done: int, details: str = "") -> None:
        super().update(done, details)
        if done == 7 and self.steps.count(7) == 1:

            def fail(optimiser: Any, arguments: Any, options: Any) -> None:
                handle.remove()
                torch.empty(1 << 50)

            handle = register_optimizer_step_post_hook(fail)


class ParentKiller(Killer):
    """Writes the process numbers of the other training processes to a file and kills its own process at a step."""

    children = Path()

    def update(self, done: int, details: str = "") -> None:
        if done == self.at:
            training = [child.pid for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
            self.children.write_text(json.dumps(training))
        super().update(done, details)


def sat(
    dataset: Path,
    run: Path,
    recorder: tiny.Recorder,
    *overrides: str,
    task: str = "action",
    budget: float | None = None,
) -> dict[str, Any]:
    """Train in a forked process; return what it reported."""
    _load(task)
    reading, writing = os.pipe()
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
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"signal": os.WTERMSIG(status)}
    return dict(json.loads(told))


def _record_losses(losses: list[float]) -> None:
    """Append the loss of each step of this process to a list."""
    original = Logs.step

    def step(self: Logs, number: int, loss: float, times: Any) -> None:
        losses.append(loss)
        original(self, number, loss, times)

    Logs.step = step  # type: ignore[method-assign]


@cache
def _load(task: str) -> None:
    """Import here what every forked process would import anew."""
    find_task(task)
    if task == "text":
        preloading.sentences()


def main(dataset: Path, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"whole": sat(dataset, folder / "whole", tiny.Recorder())}
    for number, at in enumerate(KILLED_AT):
        killer = Killer()
        killer.at = at
        found[f"killed {number}"] = sat(dataset, folder / "killed", killer)
    found["killed"] = sat(dataset, folder / "killed", tiny.Recorder())
    found["again"] = sat(dataset, folder / "killed", tiny.Recorder())
    found["otherwise"] = sat(dataset, folder / "killed", tiny.Recorder(), "optimiser.rate=1e-3")
    found["short"] = sat(dataset, folder / "short", Short())
    found["torn"] = sat(dataset, folder / "torn", ShortInsideStep(), "model.dropout=0")
    found["not torn"] = sat(dataset, folder / "not torn", tiny.Recorder(), "model.dropout=0")
    found["patient"] = sat(
        dataset, folder / "patient", tiny.Recorder(), "optimiser.rate=0", "checks.times=6", "checks.patience=2"
    )
    found["refused"] = _refused(dataset, folder / "refused")
    found |= _together(dataset, folder)
    found["damaged"] = _damaged(dataset, folder)
    found["older"] = _older(dataset, folder)
    found["short choices"] = (read_document(folder / "short", RUN) or {})["choices"]
    found["naive"] = beside_naive(dataset, folder / "not torn")
    found["grown"] = _grown(dataset, folder)
    return found


def _refused(dataset: Path, run: Path) -> dict[str, Any]:
    """A run for which there is no time."""
    return sat(dataset, run, tiny.Recorder(), budget=1e-3) | {"folder": run.exists()}


def _damaged(dataset: Path, folder: Path) -> dict[str, Any]:
    """A run that is killed, and whose last checkpoint is then damaged."""
    killer, run = Killer(), folder / "damaged"
    killer.at = 11
    sat(dataset, run, killer)
    last = max((run / "checkpoints").glob("*.safetensors"))
    last.write_bytes(last.read_bytes()[:-1])
    return sat(dataset, run, tiny.Recorder()) | {"last": int(last.stem)}


def _older(dataset: Path, folder: Path) -> dict[str, Any]:
    """A run of a version that knew less."""
    document = {
        name: value for name, value in (read_document(folder / "whole", RUN) or {}).items() if name not in ("hash", "init")
    }
    shutil.copytree(folder / "whole", folder / "older")
    write_document(folder / "older", RUN, document)
    return sat(dataset, folder / "older", tiny.Recorder())


def _together(dataset: Path, folder: Path) -> dict[str, Any]:
    """From one process to two, and from two that are killed to one."""
    killer, parent_killer = Killer(), ParentKiller()
    killer.at = parent_killer.at = 8
    parent_killer.children = folder / "children.json"
    sat(dataset, folder / "one", killer)
    found = {"one, then two": sat(dataset, folder / "one", tiny.Recorder(), "machine.devices=2")}
    found["two"] = sat(dataset, folder / "two", parent_killer, "machine.devices=2")
    found["children"] = json.loads(parent_killer.children.read_text())
    found["two, then one"] = sat(dataset, folder / "two", tiny.Recorder(), "machine.devices=1")
    return found


def _grown(dataset: Path, folder: Path) -> dict[str, Any]:
    shutil.copytree(folder / "killed", folder / "grown")
    process = os.fork()
    if process == 0:
        tiny.make(dataset, tiny.SAMPLES + 20)
        os._exit(0)
    os.waitpid(process, 0)
    return sat(dataset, folder / "grown", tiny.Recorder())


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
