"""What readers of the pages have before them: small datasets, runs, clips, tables and servers; and commands made small."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import posegen
from posegen.cli.main import main

SAMPLES = 24
"""Samples of a dataset: enough for a test split."""

TASKS = ("action", "retrieval", "motion", "identity", "attribute", "text")

_SIZES = (
    (re.compile(r"--samples +[\d,]+"), f"--samples {SAMPLES}"),
    (re.compile(r"--target [\d,]+"), "--target 48"),
    (re.compile(r"--workers \d+"), "--workers 1"),
    (re.compile(r" /(scratch|volume)"), r" \1"),
)
_FIRST = {"evaluate": "--samples 4", "report": "--samples 4", "paraphrase": "--limit 2", "generate": "--workers 1"}
# A measured run has six shards at least. tests/cli/test_profile.py repeats runs, and has several workers.
_PROFILED = "--repeats 1 --workers 1 --set store.shard=4 --set store.chunk=4"
# Without loading processes, whose start takes most of the time of two steps: tests/training/test_loading.py has them.
_SETTINGS = (
    "steps=2", "batch=8", "checks.clips=16", "machine.threads=1", "machine.workers=0", "machine.precision=32-true",
    "machine.micro_batch=8",
)  # fmt: skip
_PRESET = """
steps: 2
batch: 8
checks: {clips: 16}
machine: {threads: 1, workers: 0, precision: 32-true, micro_batch: 8}
"""


def small(command: str) -> list[str]:
    """Return the arguments of a command, with sizes that take seconds."""
    for pattern, replacement in _SIZES:
        command = pattern.sub(replacement, command)
    command = command.replace("train default ", "train smoke ")
    if "--task identity" in command:
        command = command.replace("data/default-0", "data/people")
    name = command.split()[1]
    if name in ("generate", "run", "profile") and "--samples" not in command:
        command += f" --samples {SAMPLES}"
    is_table = re.search(r"\.(csv|tsv|parquet) ", command) and "--label" in command  # no steps
    if name == "train" and "--estimate" not in command and not is_table:
        own = [word for word in command.split() if word.startswith("machine.")]
        kept = [setting for setting in _SETTINGS if not any(word.startswith(setting.partition("=")[0]) for word in own)]
        command += "".join(f" --set {setting}" for setting in kept)
    if name == "profile":
        command += f" {_PROFILED}" if "--target" in command else f" {_PROFILED} --target 48"
    if name == "run":
        command += " --preset few_steps.yaml"
    if name in _FIRST and _FIRST[name].split()[0] not in command:
        command += f" {_FIRST[name]}"
    return shlex.split(command)[1:]


def run(command: str) -> None:
    """Run a command made small; it must succeed."""
    arguments = small(command)
    assert main(arguments) == 0, (command, arguments)


def make_data(folder: Path) -> None:
    """Write the datasets, and clips and tables in the forms that pages name."""
    (folder / "motions").mkdir()  # of a text-to-motion model, for the first prompt of the benchmark
    np.save(folder / "motions" / "side-000-left.npy", np.zeros((40, 22, 3), np.float32))
    for name, config, seed in (("default-0", "default", 0), ("default-1", "default", 1), ("pairs-0", "pairs", 0)):
        posegen.generate(posegen.load_config(config, seed=seed), samples=SAMPLES, workers=1, out=folder / "data" / name)
    posegen.generate(posegen.load_config("smoke"), samples=SAMPLES, workers=1, out=folder / "data/first")
    shutil.copytree(folder / "data/first", folder / "data/new")
    shutil.copytree(folder / "data/default-0", folder / "copy/default-0")
    (folder / "few_steps.yaml").write_text(_PRESET, encoding="utf-8")
    _make_clips(folder)
    rows = [(f"a person walks {way}", f"a {way} walk", number, f"{number}.5", mood) for number in range(12)
            for way, mood in (("slowly", "calm"), ("fast", "hurried"))]  # fmt: skip
    names = ("text", "title", "weight", "price", "mood")
    for file in ("texts.csv", "prices.csv", "new.csv", "newer.csv"):
        with (folder / file).open("w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows([names, *rows])
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(table), folder / "reviews.parquet")
    foods = [[f"food {10 * (row % 3) + (row * row + i) % 9}" for i in range(4 + row % 3)] for row in range(60)]
    recipes = {
        "title": [f"dish {row} of {own[0]}" for row, own in enumerate(foods)],
        "ingredients": list(map(", ".join, foods)),
    }
    pq.write_table(pa.table(recipes), folder / "recipes.parquet")
    columns = ["--text", "title", "--text", "ingredients", "--overlap", "ingredients"]
    assert main(["pairs", str(folder / "recipes.parquet"), *columns, "-o", str(folder / "pairs.parquet"), "--quiet"]) == 0


def _make_clips(folder: Path) -> None:
    """Write clips: an archive with labels, and files in folders by class, all from generated motion."""
    actions = ("squat", "wave")
    made = {
        action: posegen.synthesize(posegen.load_config("smoke", [f"story.actions={{{action}: 100}}"]), range(6)).joints[:, 0, 0]
        for action in actions
    }
    joints = np.concatenate([made[action].reshape(-1, 22, 3) for action in actions])
    length = made["wave"].shape[1]
    offsets, classes = np.arange(13) * length, np.repeat(actions, 6)
    subjects = np.array([f"s{number % 4}" for number in range(12)])
    np.savez(folder / "clips.npz", joints=joints, offsets=offsets, fps=25, classes=classes, subjects=subjects)
    with (folder / "clips.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("activity", "age"), *((f"does {name}", 20 + n) for n, name in enumerate(classes))])
    for action in actions:
        (folder / "clips" / action).mkdir(parents=True)
        for number, clip in enumerate(made[action][:4]):
            np.save(folder / "clips" / action / f"{action}_{number:02}.npy", clip)
    assert (
        main(["export", str(folder / "data/first"), "--to", "bvh", "-o", str(folder / "bvh"), "--variant", "base", "--quiet"])
        == 0
    )
    files = sorted((folder / "bvh").glob("*.bvh"))
    for name, file in zip(("walk.bvh", "one.bvh", "other.bvh"), files, strict=False):
        shutil.copyfile(file, folder / name)
    shutil.copyfile(folder / "clips.npz", folder / "mocap.npz")
    for name in ("clips_of_others", "generated_by_others", "HumanML3D/new_joints"):
        (folder / name).mkdir(parents=True)
        for file in sorted((folder / "clips/wave").glob("*.npy")):
            shutil.copyfile(file, folder / name / file.name)
    (folder / "HumanML3D/texts").mkdir()
    for file in (folder / "HumanML3D/new_joints").iterdir():
        (folder / "HumanML3D/texts" / f"{file.stem}.txt").write_text("a person waves the left hand#a/DET#0.0#0.0\n")


def make_models(folder: Path) -> None:
    """Embed the datasets of a folder and train a small model for each task that pages use."""
    # Splits of identities need several samples of each of a few persons.
    people = posegen.load_config("smoke", ["population.persons=90"])
    posegen.generate(people, samples=360, workers=1, out=folder / "data/people")
    for name in ("default-0", "first", "pairs-0"):
        assert main(["embed", str(folder / "data" / name), "--quiet"]) == 0
    for name, task in (*(("default-0", task) for task in TASKS), ("pairs-0", "motion")):
        out = folder / "runs" / f"{task}-{name}-quick"
        run(f"posegen train {folder}/data/{name} --task {task} --out {out} --quiet")
