"""Runs of a task, each in a process of its own. ``python -m tests.training.people_runs TASK FOLDER`` prints their results
as JSON. ``FOLDER/dataset`` has the vectors of its captions if the task needs them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posegen.training.run_folder import read_document
from tests.training import tiny
from tests.training.forked_runs import run_in_fork, short_runs

FEW = ("steps=90", "batch=16", "machine.micro_batch=16")
Reported = dict[str, Any]


def main(task: str, folder: Path) -> Reported:
    dataset = folder / "dataset"

    def run(name: str, recorder: tiny.Recorder, *overrides: str, source: Path = dataset) -> Reported:
        return run_in_fork(source, folder / name, recorder, *FEW, *overrides, task=task)

    return TASKS[task](run, folder)


def identity(run: Callable[..., Reported], folder: Path) -> Reported:
    found = {"whole": run("whole", tiny.Recorder()), **short_runs(run, folder)}
    found["shuffled"] = run("shuffled", tiny.Recorder(), "data.shuffle_labels=true", "steps=2")
    found["config"] = run("none", tiny.Recorder(), source=Path("smoke"))
    found["scaled"] = run("none", tiny.Recorder(), "data.variants=[scale]")
    found["style"] = run("style", tiny.Recorder(), "identity.by=style", "steps=2")
    found["otherwise"] = run("style", tiny.Recorder(), "steps=2")
    found["vectors by style"] = _predicted(folder, "vector", "style")
    return found | _verified(folder) | {"vectors": _predicted(folder, "vector"), "exported": _exported(folder)}


def attribute(run: Callable[..., Reported], folder: Path) -> Reported:
    found = {"whole": run("whole", tiny.Recorder()), **short_runs(run, folder)}
    found["cut"] = run("none", tiny.Recorder(), "data.frames=40")
    return found | {"speeds": _predicted(folder, "speed"), "exported": _exported(folder)}


TASKS: dict[str, Callable[[Callable[..., Reported], Path], Reported]] = {"identity": identity, "attribute": attribute}


def _predicted(folder: Path, column: str, run: str = "whole") -> list[Any]:
    import pyarrow.parquet as pq

    from posegen.training.predictions import predict

    predict(folder / run, folder / "dataset", folder / "said.parquet")
    return list(pq.read_table(folder / "said.parquet").column(column).to_pylist())


def _exported(folder: Path) -> float:
    from posegen.training.model_formats import export_model

    return export_model(folder / "whole", "safetensors", folder / "model.safetensors")


def _verified(folder: Path) -> Reported:
    """Return the calibrated rates, and decisions about the clips of two samples."""
    import numpy as np

    from posegen.dataset.read import open_dataset
    from posegen.mocap.sources import SourceClip
    from posegen.training.predictions import compare_clips
    from posegen.training.run_folder import RESULT

    rates = (read_document(folder / "whole", RESULT) or {})["table"]["rates"]
    joints = open_dataset(folder / "dataset").arrays("joints", slice(0, 2))[:, 0, 0]
    one, two = ([SourceClip(folder, "clip", clip[~np.isnan(clip[:, 0, 0])], 25.0, "")] for clip in joints)
    decisions = [compare_clips(folder / "whole", one, other, rates[-1]["far"]) for other in (one, two)]
    return {"rates": rates, "similarity": [decision.similarity for decision in decisions], "same": decisions[0].same}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
