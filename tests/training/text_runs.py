"""Runs of the task text, each in a process of its own. ``python -m tests.training.text_runs FOLDER`` prints their results
as JSON. ``FOLDER/dataset`` is what they learn from, ``FOLDER/tiny`` the encoder that they begin with.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from posegen.embedding import embed, load_encoder, open_embeddings
from posegen.training.models.encoder import trainable_weights
from posegen.training.setup import ADAPTER
from posegen.training.tasks.text import predict_families
from posegen.training.trained_models import load_model
from tests.training import tiny
from tests.training.forked_runs import run_in_fork, short_runs

FEW = ("steps=120", "batch=16", "machine.micro_batch=16", "checks.times=1", "optimiser.rate=5e-3")
TEXTS = ("a person walks forward", "someone sits down, then jumps twice", "a woman walks slowly")
Reported = dict[str, Any]


def main(folder: Path) -> Reported:
    dataset, encoder = folder / "dataset", f"text.encoder={folder / 'tiny'}"

    def run(name: str, recorder: tiny.Recorder, *overrides: str, source: Path = dataset) -> Reported:
        return run_in_fork(source, folder / name, recorder, encoder, *FEW, *overrides, task="text")

    found = {"whole": run("whole", tiny.Recorder()), "before": run("before", tiny.Recorder(), "optimiser.rate=0", "steps=1")}
    found |= short_runs(run, folder)
    found["adapted"] = run("adapted", tiny.Recorder(), "adapter.rank=4", "steps=10")
    found["shuffled"] = run("shuffled", tiny.Recorder(), "data.shuffle_labels=true")
    families = "text.goal=families"
    found["families"] = run("families", tiny.Recorder(), families, "steps=140")
    found["wrong families"] = run("wrong families", tiny.Recorder(), families, "data.shuffle_labels=true")
    found["config"] = run("config", tiny.Recorder(), "steps=2", "data.variants=[base]", source=Path("smoke"))
    found["static"] = run("none", tiny.Recorder(), "text.encoder=wordllama")
    found["cut"] = run("none", tiny.Recorder(), "data.frames=40")
    found["other encoder"] = run("whole", tiny.Recorder(), f"text.encoder={folder / 'adapted'}")
    names = ("short", "short killed")
    return found | {f"{name} files": _hashes(folder / name) for name in names} | _used(folder)


def _hashes(run: Path) -> dict[str, str]:
    files = [run / "model.safetensors", *sorted((run / "encoder").rglob("*"))]
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()}


def _used(folder: Path) -> Reported:
    """Return embeddings by the saved encoders, by the models, and of a dataset that one of them embedded."""
    reported: Reported = {}
    for name in ("whole", "adapted"):
        model = load_model(folder / name).model
        reported |= {
            f"{name} by model": model(TEXTS).tolist(),
            f"{name} by encoder": load_encoder(str(folder / name)).encode(TEXTS).tolist(),
        }
        reported[f"{name} weights"] = sorted(trainable_weights(model))
    reported["tiny by encoder"] = load_encoder(str(folder / "tiny")).encode(TEXTS).tolist()
    reported["adapter bytes"] = (folder / "adapted" / ADAPTER).stat().st_size
    embed(folder / "dataset", str(folder / "whole"), precision="float32", cached=False)
    embeddings = open_embeddings(folder / "dataset")
    own = load_encoder(str(folder / "whole")).encode(list(embeddings.texts[:20]))
    reported["embedded"] = float((embeddings.vectors()[:20] * own).sum(axis=1).min())
    return reported | {"reported families": predict_families(folder / "families", TEXTS)}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
