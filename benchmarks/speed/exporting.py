"""Rate of an export to many small files: a dataset to HumanML3D's folder, in turns with writing the same files alone.

Right after files have been deleted, new ones take longer on ext4, so all stay until the end: 55 GB of the disk.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import run
from benchmarks.speed.targets import EXPORTED_CLIPS_PER_SECOND
from posegen.foundations.machine import available_cores

SAMPLES, ROUNDS = 10_000, 3
SHARE = 5
"""Writing alone takes every fifth clip."""
WORKERS = 2


def measure(folder: Path) -> Iterator[Figure]:
    rates: dict[str, list[float]] = {"export": [], "writing": []}
    data = generate(folder / "dataset", "--samples", str(SAMPLES), "--workers", str(WORKERS))
    for turn in range(ROUNDS):
        out = folder / f"export-{turn}"
        started = time.perf_counter()
        run("export", data, "--to", "humanml3d", "--out", out, "--workers", WORKERS)
        seconds = time.perf_counter() - started
        clips = sorted(path.stem for path in (out / "texts").iterdir())
        rates["export"].append(len(clips) / seconds)
        rates["writing"].append(_writing_rate(out, folder / f"copy-{turn}", clips[::SHARE]))
    rate, alone = (statistics.median(rates[name]) for name in ("export", "writing"))
    spread = f"{min(rates['export']):,.0f} to {max(rates['export']):,.0f} in {ROUNDS} runs with their start"
    value = f"{rate:,.0f} ({spread}); writing such files alone {alone:,.0f}"
    target = f"at least {EXPORTED_CLIPS_PER_SECOND:,.0f} on two cores"
    passed = rate >= EXPORTED_CLIPS_PER_SECOND if available_cores() == WORKERS else None
    yield Figure(f"export of {SAMPLES:,} samples to humanml3d, clips/s", value, target, passed, rates)


def _writing_rate(source: Path, copy: Path, clips: list[str]) -> float:
    """Return the clips per second that two processes write whose files are in memory."""
    folders = {"new_joint_vecs": ".npy", "new_joints": ".npy", "texts": ".txt"}
    for name in folders:
        (copy / name).mkdir(parents=True)
    names = [[f"{name}/{clip}{ending}" for name, ending in folders.items()] for clip in clips]
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        return sum(pool.map(partial(_write, source, copy), [names[k::WORKERS] for k in range(WORKERS)]))


def _write(source: Path, copy: Path, clips: list[list[str]]) -> float:
    """Write copies of the files of clips, and return how many clips a second this process wrote."""
    contents = {name: (source / name).read_bytes() for names in clips for name in names}
    started = time.perf_counter()
    for name, content in contents.items():
        with (copy / name).open("wb", buffering=0) as file:
            file.write(content)
    return len(clips) / (time.perf_counter() - started)
