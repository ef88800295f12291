"""Runs of the task retrieval, each in its own process. ``python -m tests.training.retrievals FOLDER`` prints their results
them as JSON. ``FOLDER/dataset`` has the vectors of its captions.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import preloading
from tests.training import tiny
from tests.training.forked_runs import killed_and_resumed, run_in_fork, short_runs

ENOUGH = ("steps=140", "batch=16", "machine.micro_batch=16", "saving.steps=15")


def main(folder: Path) -> dict[str, Any]:
    dataset = folder / "dataset"

    def run(name: str, recorder: tiny.Recorder, *overrides: str, source: Path = dataset) -> dict[str, Any]:
        return run_in_fork(source, folder / name, recorder, *ENOUGH, *overrides, task="retrieval")

    found = {"whole": run("whole", tiny.Recorder())}
    found |= short_runs(run, folder)
    shutil.copytree(dataset, folder / "plain", ignore=shutil.ignore_patterns("embeddings", "training"))
    found["no captions"] = run("none", tiny.Recorder(), source=folder / "plain")
    return found | _from_config(run, folder) | _said(folder)


def _from_config(run: Callable[..., dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Run from a config, which embeds captions during training: once uninterrupted, once killed and resumed."""
    preloading.kernels()
    few = ("contrast.encoder=hashing-for-tests", "steps=6", "saving.steps=2", "checks.times=1", "data.variants=[base]")
    config = Path("smoke")
    found = {"fresh": run("fresh", tiny.Recorder(), *few, source=config)}
    found["fresh killed"] = killed_and_resumed(run, folder, 5, *few, whole="fresh", source=config)
    return found


def _said(folder: Path) -> dict[str, Any]:
    """Return predictions of the trained model, direct and through `posegen evaluate`."""
    import pyarrow.parquet as pq
    from pydantic_core import to_jsonable_python

    import posegen
    from posegen.foundations.progress import Progress
    from posegen.training.encoder_measures import measure_by_encoder
    from posegen.training.predictions import predict
    from posegen.training.trained_models import encode_clips, encode_dataset, load_model

    run, dataset = folder / "whole", folder / "dataset"
    predict(run, dataset, folder / "said.parquet")
    joints = posegen.open(dataset)[0].joints[0, 0]
    seen = measure_by_encoder(run, dataset, dataset, None, Progress())
    return {
        "vectors": pq.read_table(folder / "said.parquet").column("vector").to_pylist(),
        "encoded": encode_dataset(load_model(run), dataset, None)[0].tolist(),
        "clip": encode_clips(load_model(run), [(joints, 25.0)], "a clip")[0].tolist(),
        "seen": to_jsonable_python(seen.document()),
        "text": seen.text(),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
