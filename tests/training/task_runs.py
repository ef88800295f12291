"""Runs of a task, each in a process of its own. ``python -m tests.training.task_runs TASK FOLDER`` prints their results as
JSON. ``FOLDER/dataset`` has the vectors of its captions if the task needs them.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.read import open_dataset
from posegen.foundations.errors import UsageError
from posegen.generation.derive import derive
from posegen.training.run_folder import RESULT, read_document
from tests import preloading
from tests.training import tiny
from tests.training.forked_runs import killed_and_resumed, run_in_fork, short_runs

Reported = dict[str, Any]
Run = Callable[..., Reported]

FEW = ("steps=90", "batch=16", "machine.micro_batch=16")
SETTINGS = {
    "identity": FEW,
    "attribute": ("steps=140", "batch=16", "machine.micro_batch=16"),
    "retrieval": ("steps=140", "batch=16", "machine.micro_batch=16", "saving.steps=15"),
    "motion": (
        "steps=12", "batch=8", "checks.times=2", "saving.steps=3", "model.dropout=0", "data.variants=[base]",
        "optimiser.rate=2e-3",
    ),
}  # fmt: skip
SETTINGS["lifting"] = ("steps=30", "checks.times=2")
TEXTS = ("a person walks", "a person jumps")


def main(task: str, folder: Path) -> Reported:
    dataset = folder / "dataset"

    def run(name: str, *overrides: str, source: Path = dataset, trained: str = task, **options: Any) -> Reported:
        return run_in_fork(source, folder / name, *SETTINGS[task], *overrides, task=trained, **options)

    return {"whole": run("whole")} | TASKS[task](run, folder)


def identity(run: Run, folder: Path) -> Reported:
    found = short_runs(run, folder)
    found["shuffled"] = run("shuffled", "data.shuffle_labels=true", "steps=2")
    found["config"] = run("none", source=Path("smoke"))
    found["scaled"] = run("none", "data.variants=[scale]")
    found["style"] = run("style", "identity.by=style", "steps=2")
    found["otherwise"] = run("style", "steps=2")
    found["vectors by style"] = _predicted(folder, "vector", "style")
    return found | _verified(folder) | {"vectors": _predicted(folder, "vector"), "exported": _exported(folder)}


def attribute(run: Run, folder: Path) -> Reported:
    found = {**short_runs(run, folder), "cut": run("none", "data.frames=40")}
    return found | {"speeds": _predicted(folder, "speed"), "exported": _exported(folder)}


def retrieval(run: Run, folder: Path) -> Reported:
    """Also run from a config, which embeds captions during training: once uninterrupted, once killed and resumed."""
    found = short_runs(run, folder)
    shutil.copytree(folder / "dataset", folder / "plain", ignore=shutil.ignore_patterns("embeddings", "training"))
    found["no captions"] = run("none", source=folder / "plain")
    preloading.kernels()
    few = ("contrast.encoder=hashing-for-tests", "steps=6", "saving.steps=2", "checks.times=1", "data.variants=[base]")
    found["fresh"] = run("fresh", *few, source=Path("smoke"))
    found["fresh killed"] = killed_and_resumed(run, folder, 5, *few, whole="fresh", source=Path("smoke"))
    return found | _retrieved(folder)


def motion(run: Run, folder: Path) -> Reported:
    found = killed_and_resumed(run, folder, 8, resumed=("machine.workers=1",))
    found["judge"] = run("judge", "steps=60", "checks.times=1", trained="retrieval")
    return found | _generated(folder)


def lifting(run: Run, folder: Path) -> Reported:
    """Also train actions and captions of own clips together with the dataset; one run is killed in the middle and resumed."""
    own = own_archive(folder / "dataset", folder / "own.npz")
    together = (f'together.dataset="{folder / "dataset"}"', "saving.steps=3", "steps=14")
    found = {"own": run("own", *together, source=own, trained="action")}
    found["own killed"] = killed_and_resumed(run, folder, 8, *together, whole="own", source=own, trained="action")
    found["own captions"] = run("captions", *together, "contrast.encoder=hashing-for-tests", source=own, trained="retrieval")
    found["own lifting"] = run("own lifting", *together, source=own)
    few = tiny.make(folder / "few", 8)
    derive(few, ["imu"], workers=1)
    worn = readings_archive(folder / "readings.npz")
    found["own imu"] = run("own imu", f'together.dataset="{few}"', "steps=8", source=worn, trained="imu")
    return found | {"errors": _predicted(folder, "mpjpe"), "exported": _exported(folder)}


def own_archive(dataset: Path, path: Path) -> Path:
    """Write joints of a dataset, disturbed, as a user's clips of two classes."""
    drawn = np.random.default_rng(0)
    joints = open_dataset(dataset).arrays("joints", slice(0, 40))[:, 0, 0, :40]
    joints = joints + drawn.normal(0, 0.01, (len(joints), 1, 1, 3)).astype(np.float32)
    classes = np.array(["walk", "sit"] * (len(joints) // 2))
    offsets = np.arange(len(joints) + 1) * 40
    np.savez(path, joints=joints.reshape(-1, 22, 3), offsets=offsets, fps=25.0, classes=classes)
    return path


def readings_archive(path: Path) -> Path:
    """Write readings of 50 Hz of two classes, which differ in strength."""
    drawn = np.random.default_rng(0)
    readings = drawn.normal(0, np.repeat([1.0, 5.0], 15)[:, None, None], (30, 60, 6)).astype(np.float32)
    classes = np.repeat(["walk", "jump"], 15)
    np.savez(path, readings=readings.reshape(-1, 6), offsets=np.arange(31) * 60, fps=50.0, classes=classes)
    return path


TASKS: dict[str, Callable[[Run, Path], Reported]] = {
    "identity": identity,
    "attribute": attribute,
    "retrieval": retrieval,
    "motion": motion,
    "lifting": lifting,
}


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
    from posegen.dataset.read import open_dataset
    from posegen.mocap.sources import SourceClip
    from posegen.training.predictions import compare_clips

    rates = (read_document(folder / "whole", RESULT) or {})["table"]["rates"]
    joints = open_dataset(folder / "dataset").arrays("joints", slice(0, 2))[:, 0, 0]
    one, two = ([SourceClip(folder, "clip", clip[~np.isnan(clip[:, 0, 0])], 25.0, "")] for clip in joints)
    decisions = [compare_clips(folder / "whole", one, other, rates[-1]["far"]) for other in (one, two)]
    return {"rates": rates, "similarity": [decision.similarity for decision in decisions], "same": decisions[0].same}


def _retrieved(folder: Path) -> Reported:
    """Return predictions of the trained model, direct and through `posegen evaluate`."""
    from pydantic_core import to_jsonable_python

    import posegen
    from posegen.foundations.progress import Progress
    from posegen.training.encoder_measures import measure_by_encoder
    from posegen.training.trained_models import encode_clips, encode_dataset, load_model

    run, dataset = folder / "whole", folder / "dataset"
    joints = posegen.open(dataset)[0].joints[0, 0]
    seen = measure_by_encoder(run, dataset, dataset, None, Progress())
    return {
        "vectors": _predicted(folder, "vector"),
        "encoded": encode_dataset(load_model(run), dataset, None)[0].tolist(),
        "clip": encode_clips(load_model(run), [(joints, 25.0)], "a clip")[0].tolist(),
        "seen": to_jsonable_python(seen.document()),
        "text": seen.text(),
    }


def _generated(folder: Path) -> Reported:
    """Return what the trained model generates, its evaluation, and the error messages."""
    from posegen.training import encoder_measures as measures
    from posegen.training.animate import animate, load_text_encoder
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
    judged = measures.measure_animation(folder / "whole", folder / "dataset", folder / "judge", None, lambda reported: None)
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
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
