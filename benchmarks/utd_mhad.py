"""Real and generated clips on UTD-MHAD: ``python -m benchmarks.utd_mhad [skeleton] [imu]`` writes ``docs/utd-mhad.md``.

Its 27 classes are recognised from Kinect's skeletons, and its 21 classes with a sensor at the wrist from the readings. Odd
subjects train and even ones test. Models are trained on 1, 2 or 4 trials of each class and subject: real clips alone, generated
clips alone (of the classes that the library has), and both, as by ``posegen train --with`` and in equally many steps. The file
of subjects 1 to 4 is in the folder in POSEGEN_SENSORS.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import posegen
from benchmarks.figures import described_machine, machine_sentence
from benchmarks.sensors import LAST_AT_WRIST
from posegen.exchange.points import body_of_points
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.progress import make_progress
from posegen.generation.derive import derive
from posegen.library.class_maps import class_maps
from posegen.training.data.body_shape import shape_of
from posegen.training.settings import load_settings
from posegen.training.setup import Request, open_setup
from posegen.training.worth import WAYS, train_and_test

TRIALS, STEPS, SAMPLES, SEEDS = (1, 2, 4), 300, 40, 1
"""Trials of a class and subject, steps, generated samples of a class (base variant), and seeds."""
WAY_NAMES = {"real": "real only", "together": "together", "generated": "generated only"}
PAGE = Path(__file__).parent.parent / "docs" / "utd-mhad.md"


def archives(folder: Path) -> tuple[Path, Path]:
    """Write the skeletons, and the readings at the wrist, as archives that ``posegen train`` reads; trials in order."""
    classes = class_maps()["utd_mhad"].classes
    kinds: dict[str, list[tuple[Array, str, str]]] = {"joints": [], "readings": []}
    with np.load(Path(os.environ["POSEGEN_SENSORS"]) / "subjects_1_to_4.npz") as stored:
        for name in sorted({key.split("/")[0] for key in stored.files}):
            action, subject, _ = (int(part[1:]) for part in name.split("_"))
            label = classes[action - 1], str(subject)
            body = body_of_points(stored[f"{name}/skeleton"].astype(np.float64), "UTD-MHAD").joints
            kinds["joints"].append((_on_floor(body), *label))
            if action <= LAST_AT_WRIST:
                units = np.repeat([GRAVITY, np.pi / 180], 3)
                kinds["readings"].append((stored[f"{name}/imu"] * units, *label))
    for kind, clips in kinds.items():
        values, words, subjects = zip(*clips, strict=True)
        edges = np.cumsum([0, *map(len, values)])
        whole = np.concatenate(values).astype(np.float32)
        arrays = {kind: whole, "classes": np.array(words), "subjects": np.array(subjects)}
        np.savez(folder / f"{kind}.npz", offsets=edges, fps=30.0 if kind == "joints" else 50.0, **arrays)
    return folder / "joints.npz", folder / "readings.npz"


def _on_floor(joints: Array) -> Array:
    """Return joints whose lowest point, of 98 % of the frames, is at height 0, and which begin above the origin."""
    moved = joints - joints[:1, :1] * [1.0, 0.0, 1.0]
    moved[..., 1] -= np.percentile(moved[..., 1].min(axis=1), 2)
    return moved


def generated(folder: Path, *, with_readings: bool) -> Path:
    """Generate the classes that the library has in equal numbers."""
    quotas = folder / "utd_mhad.yaml"
    text = (Path(__file__).parent.parent / "configs" / "classes" / "utd_mhad.yaml").read_text(encoding="utf-8")
    quotas.write_text(text.replace("samples: 100", f"samples: {SAMPLES}"), encoding="utf-8")
    base = ["variants.speed=null", "variants.position=null", "variants.scale=null", "variants.mirror=false"]
    samples = SAMPLES * text.count("samples: 100")
    posegen.generate(posegen.load_config(str(quotas), base, samples=samples, workers=1), out=folder / "generated")
    if with_readings:
        derive(folder / "generated", ["imu"], workers=1)
    return folder / "generated"


def measure(source: Path, task: str, dataset: Path) -> dict[str, list[float]]:
    """Return the balanced accuracy by way and number of trials, for each seed."""
    found: dict[str, list[float]] = {}
    progress = make_progress(quiet=False)
    for seed in range(SEEDS):
        values = [f"together.dataset={json.dumps(str(dataset))}", "together.labels=utd_mhad", f"seed={seed}", "log=[]"]
        settings = load_settings("quick", [f"steps={STEPS}", "machine.threads=1", *values], task)
        setup = open_setup(Request(str(source), task, "quick", settings))
        clips, others = setup.data.clips, setup.data.generated
        assert clips is not None
        assert others is not None
        odd = np.array([int(subject) % 2 == 1 for subject in clips.subjects])
        if others.shape is not None:
            others = replace(others, shape=shape_of([clips.joints[i] for i in np.flatnonzero(odd).tolist()]))
        chosen = dict.fromkeys(("test", "validation"), np.flatnonzero(~odd))
        setup = replace(setup, data=replace(setup.data, chosen=chosen, generated=others))
        pairs = np.array([f"{word} {who}" for word, who in zip(clips.words, clips.subjects, strict=True)])
        order = np.array([(pairs[:i] == pair).sum() for i, pair in enumerate(pairs)])
        for count in TRIALS:
            trained = np.flatnonzero(odd & (order < count))
            ways = WAYS | ({"generated": {"first": 1.0, "last": 0.0}} if count == TRIALS[-1] else {})
            for way, changes in ways.items():
                measures = train_and_test(setup, trained, changes, f"{task} {seed} {count} {way}", progress)
                found.setdefault(f"{way} {count}", []).append(measures["clip_balanced"])
    progress.stop()
    return found


def rows(found: dict[str, list[float]]) -> list[str]:
    """Return the rows of a table of balanced accuracies, and the gains."""
    lines = ["| trained on | " + " | ".join(f"{count} a class and subject" for count in TRIALS) + " |", "|---" * 4 + "|"]
    for way, name in WAY_NAMES.items():
        cells = [found.get(f"{way} {count}", []) for count in TRIALS]
        shown = [f"{100 * np.mean(own):.1f} % ({', '.join(f'{100 * x:.1f}' for x in own)})" if own else "" for own in cells]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    gains = [np.mean(found[f"together {count}"]) - np.mean(found[f"real {count}"]) for count in TRIALS]
    lines.append("| together over real only | " + " | ".join(f"{100 * gain:+.1f} points" for gain in gains) + " |")
    return lines


def main(kinds: list[str]) -> None:
    """Measure the tasks, and write those that were measured to the page's template."""
    results = Path(tempfile.gettempdir()) / "posegen-utd-mhad.json"
    known = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    with tempfile.TemporaryDirectory() as made:
        joints, readings = archives(Path(made))
        dataset = generated(Path(made), with_readings="imu" in kinds)
        for kind in kinds:
            source, task = (joints, "action") if kind == "skeleton" else (readings, "imu")
            known[kind] = measure(source, task, dataset)
            results.write_text(json.dumps(known), encoding="utf-8")
    template = Path(__file__).with_name("utd_mhad.template.md").read_text(encoding="utf-8")
    for kind in ("skeleton", "imu"):
        table = rows(known[kind]) if kind in known else ["Not measured."]
        template = template.replace(f"{{{kind}}}", "\n".join(table))
    PAGE.write_text(template.replace("{machine}", machine_sentence(described_machine())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or ["skeleton", "imu"])
