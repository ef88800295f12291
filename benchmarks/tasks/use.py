"""Each kind of model, from data to another program: train, report, predict, export, run by ONNX Runtime.

Models are tiny, since other measures test what they learn. Commands run in this process, which saves importing torch for each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import torch

from benchmarks.figures import Figure
from posegen.cli.main import main
from posegen.dataset.clip_files import read_clip_archive
from posegen.training.trained_models import load_model
from tests.mocap.bvh_of_joints import write_bvh

SAMPLES, ROWS, BVH_CLIPS = 240, 300, 24
ONE_VARIANT = "variants={speed: null, position: null, scale: null, mirror: false}"
MOST_DIFFERENCE = 1e-4
PRESET = """
steps: 8
batch: 8
data: {stride: 4}
checks: {times: 1, clips: 64}
log: []
machine: {threads: 1, micro_batch: 8, workers: 0, precision: 32-true}
"""
_RATE = {"motion": ("--set", "data.stride=2")}
"""That of its presets, at which a token is several frames."""
_LONG = 1.5
"""Least seconds of a clip that is written as BVH."""


@dataclass(frozen=True)
class Use:
    """A model: what it is trained on, its task and options, and what it predicts (by default its training data)."""

    name: str
    source: Path
    task: str
    options: tuple[str, ...] = ()
    predicts: Path | None = None
    text: str = "a person walks"


def measure(folder: Path) -> Iterator[Figure]:
    preset = folder / "tiny.yaml"
    preset.write_text(PRESET)
    for use in _generated(folder):
        yield _used(use, preset, folder)
    reference = os.environ.get("POSEGEN_REFERENCE")
    if reference is None:
        yield Figure("models of mocap", "not measured: POSEGEN_REFERENCE is not set", "all steps", False)
        return
    for use in _of_mocap(Path(reference), folder):
        yield _used(use, preset, folder)


def _generated(folder: Path) -> Iterator[Use]:
    """Yield uses of generated data."""
    one, two = folder / "one", folder / "two"
    for config, path in (("default", one), ("pairs", two)):
        small = ("--set", "population.persons=50", "--set", ONE_VARIANT)
        _run("generate", "--config", config, "--samples", str(SAMPLES), *small, "--out", str(path))
        _run("embed", str(path))
    for task in ("action", "retrieval", "motion", "identity", "attribute"):
        yield Use(f"{task}, one person", one, task, _RATE.get(task, ()))
    for task in ("action", "retrieval", "motion"):
        yield Use(f"{task}, two people", two, task, _RATE.get(task, ()), text="two people shake hands")


def _of_mocap(reference: Path, folder: Path) -> Iterator[Use]:
    """Yield uses of archives of mocap, and of BVH files with a table of labels."""
    hdm05 = reference / "hdm05.npz"
    clips = read_clip_archive(hdm05, ["classes"])
    long = [i for i, joints in enumerate(clips.joints) if len(joints) >= _LONG * clips.fps]
    chosen = long[:: max(1, len(long) // BVH_CLIPS)][:BVH_CLIPS]
    bvh, rows = folder / "bvh", []
    for i in chosen:
        file = bvh / clips.classes[i] / f"{i}.bvh"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bvh(file, clips.joints[i], clips.fps)
        rows.append({"clip": file.relative_to(bvh).as_posix(), "person": f"person {len(rows) % 8}"})
    pc.write_csv(pa.Table.from_pylist(rows), bvh / "labels.csv")
    yield Use("action, mocap", hdm05, "action", predicts=bvh)
    yield Use("identity, mocap", reference / "cmu.npz", "identity")
    yield Use("action, BVH files", bvh, "action", predicts=file)
    yield Use("identity, BVH files", bvh, "identity", ("--label", "person"), hdm05)


def _used(use: Use, preset: Path, folder: Path) -> Figure:
    """Train, predict and export a model by the command line, and run the exported file."""
    run = folder / use.name.replace(", ", "-").replace(" ", "-")
    _run("train", str(use.source), "--task", use.task, "--preset", str(preset), "--out", str(run), *use.options)
    trained = load_model(run)
    report = (run / "report.html").stat().st_size
    if use.task == "motion":
        _run("animate", str(run), use.text, "-o", str(run / "made.npz"))
        with np.load(run / "made.npz") as made:
            shape = made["joints"].shape
        good = len(shape) == (3 if trained.view.actors == 1 else 4)
        predicted = f"{shape[0] if len(shape) == 4 else 1} people, {shape[-3]} frames"
    else:
        _run("predict", str(run), str(use.predicts or use.source), "-o", str(run / "out.parquet"))
        rows = pq.read_metadata(run / "out.parquet").num_rows
        predicted, good = f"{rows:,} predictions", rows > 0
    _run("export-model", str(run), "--format", "onnx", "-o", str(run / "model.onnx"))
    network = trained.task.abilities.network(trained.model, trained.view)
    inputs = network.example(2, network.length)
    with torch.inference_mode():
        expected = network.module(**{name: torch.from_numpy(values) for name, values in inputs.items()}).numpy()
    session = onnxruntime.InferenceSession(run / "model.onnx", providers=["CPUExecutionProvider"])
    difference = float(np.abs(session.run(None, inputs)[0] - expected).max())
    steps = json.loads((run / "result.json").read_bytes())["steps"]
    value = f"{steps} steps; report of {report / 1000:.0f} kB; {predicted}; ONNX Runtime differs by {difference:.1e}"
    good = good and steps > 0 and report > 0 and difference <= MOST_DIFFERENCE
    return Figure(f"use of a model: {use.name}", value, f"all steps, differs by at most {MOST_DIFFERENCE:g}", good)


def _run(*arguments: str) -> None:
    if main([*arguments, "--quiet"]) != 0:
        raise RuntimeError(f"posegen {' '.join(arguments)} failed")
