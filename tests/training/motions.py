"""Runs of the task motion, each in a process of its own. ``python -m tests.training.motions FOLDER`` prints their results
as JSON. ``FOLDER/dataset`` has the vectors of its captions.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tests.training import tiny
from tests.training.forked_runs import killed_and_resumed, run_in_fork

FEW = (
    "steps=12", "batch=8", "checks.times=2", "saving.steps=3", "model.dropout=0", "data.variants=[base]", "optimiser.rate=2e-3",
)  # fmt: skip
TEXTS = ("a person walks", "a person jumps")


def main(folder: Path) -> dict[str, Any]:
    dataset = folder / "dataset"

    def run(name: str, recorder: tiny.Recorder, *overrides: str, task: str = "motion") -> dict[str, Any]:
        return run_in_fork(dataset, folder / name, recorder, *FEW, *overrides, task=task)

    found = {"whole": run("whole", tiny.Recorder())}
    found |= killed_and_resumed(run, folder, 8, resumed=("machine.workers=1",))
    found["judge"] = run("judge", tiny.Recorder(), "steps=60", "checks.times=1", task="retrieval")
    return found | _made(folder)


def _made(folder: Path) -> dict[str, Any]:
    """Return what the trained model generates, its evaluation, and the error messages."""
    from posegen.foundations.errors import UsageError
    from posegen.training import encoder_measures as measures
    from posegen.training.animate import animate, load_text_encoder
    from posegen.training.encoder_measures import measure_animation
    from posegen.training.predictions import predict
    from posegen.training.trained_models import load_model

    trained = load_model(folder / "whole", "generates_motion")
    encoder = load_text_encoder(trained)
    one, again, other = (animate(trained, encoder, TEXTS, seed=seed).clips[0] for seed in (1, 1, 2))
    short = animate(trained, encoder, TEXTS[:1], seconds=4)
    refused = []
    for refuse in (
        lambda: predict(folder / "whole", folder / "dataset", folder / "out.parquet"),
        lambda: load_model(folder / "judge", "generates_motion"),
        lambda: animate(trained, encoder, [" "]),
        lambda: animate(trained, encoder, TEXTS, seconds=1e3),
    ):
        try:
            refuse()
        except UsageError as error:
            refused.append(str(error))
    measures.REPEATED, measures.TIMES, measures.STEPS = 4, 2, 2
    judged = measure_animation(folder / "whole", folder / "dataset", folder / "judge", None, lambda reported: None)
    return {
        "again": bool((one.joints == again.joints).all()),
        "other": float(np.abs(one.joints - other.joints).max()),
        "frames": [len(one.joints), len(short.clips[0].joints)],
        "finite": bool(np.isfinite(one.joints).all()),
        "refused": refused,
        "judged": asdict(judged),
        "text": judged.text(folder / "whole"),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
