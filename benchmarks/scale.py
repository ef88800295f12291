"""Growth of time and memory with a dataset: the largest real run that fits, and up to 10 million samples made from one shard.

The real dataset has 2 million samples of 10 frames. Its first tenth is measured, then it is extended; the extension is killed
half way and run again. Fabricated shards have receipts of their own, and hard links to the files of the first: they show what
the number of files and receipts costs, without reading samples. All of it takes about half an hour and 7 GB:

    python -m benchmarks.scale [--only real|fabricated]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

import posegen
from benchmarks.figures import RESULTS, described_machine, machine_sentence
from benchmarks.measure import apart, folder_bytes, killed, peak_memory
from benchmarks.measure import posegen as command
from benchmarks.motion.clips import ONE_VARIANT
from posegen.config.schema import SHORTEST
from posegen.dataset.documents import seal
from posegen.dataset.header import load_header
from posegen.dataset.layout import MANIFEST_FILE, MOTION, receipt_path, rows_path
from posegen.dataset.receipts import load_receipt
from posegen.dataset.verify import choose_shards, find_problems
from posegen.dataset.write import publish
from posegen.foundations.machine import lifetime_peak
from posegen.generation.describe import describe, find_status
from posegen.generation.finish import finish

SAMPLES = 2_000_000
SHORT = ("--set", f"frames={SHORTEST}", "--set", ONE_VARIANT)
"""Samples that are as short as a config allows, in one variant."""
SIZES = (500, 5_000, 50_000)
"""Shards of the fabricated datasets."""
RESULT = RESULTS / "scale.md"
REPEATS = {"open": 9, "info": 9, "status": 9}
"""Measures that take milliseconds, run by several processes; the quickest counts."""


class _Stopped(Exception):  # noqa: N818
    """The first shard is read."""


def _generate(path: Path) -> None:
    config = posegen.load_config("default", ["frames=60"])
    assert posegen.generate(config, samples=len(posegen.open(path)), out=path).nothing_to_do


def _read_one(path: Path) -> None:
    dataset = posegen.open(path)
    dataset.arrays("joints", [len(dataset) // 7 // 200 * 200])


def _read_many(path: Path) -> None:
    dataset = posegen.open(path)
    for sample in np.random.default_rng(0).integers(0, len(dataset), 1000):
        dataset.arrays("joints", [int(sample)])


def _verify(path: Path, stop: Callable[[int, int], None] = lambda done, total: None) -> None:
    assert not list(find_problems(path, choose_shards(path, None, 0.01), stop))


def _verify_first(path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise _Stopped

    with suppress(_Stopped):
        _verify(path, stop)


def _open_by_receipts(path: Path) -> None:
    (path / MANIFEST_FILE).unlink()
    posegen.open(path)


MEASURES: dict[str, Callable[[Path], object]] = {
    "finish, which writes the manifest": finish,
    "open": posegen.open,
    "info": describe,
    "status": find_status,
    "finish again": finish,
    "generate, nothing to do": _generate,
    "open, and read a random sample": _read_one,
    "verify --share 1%, until the first shard is read": _verify_first,
    "open without the manifest": _open_by_receipts,
    "verify --share 1%": _verify,
    "1,000 random samples": _read_many,
}
REAL = ("open", "info", "status", "finish again", "verify --share 1%", "1,000 random samples")
"""Measures of the real dataset; those of the fabricated ones are all but the last two, which read samples."""


def fabricate(path: Path, shards: int) -> None:
    """Make a dataset of one real shard and copies of it."""
    config = posegen.load_config("default", ["frames=60"])
    posegen.generate(config, samples=config.store.shard, workers=1, out=path)
    header = load_header(path)
    first = load_receipt(path, header, 0)
    for shard in range(1, shards):
        files = {}
        for name, file in first.files.items():
            copy = name.replace("/c.0.", f"/c.{shard}.") if name.startswith(MOTION) else rows_path(shard)
            os.link(path / name, path / copy)
            files[copy] = file
        receipt = replace(first, shard=shard, first=shard * header.shard, files=files)
        (path / receipt_path(shard)).write_bytes(seal(receipt))
    publish(path, header, shards * header.shard)


def timed(name: str, path: Path) -> tuple[float, float, float]:
    """Return seconds, seconds of CPU and MB of memory of a measure, for a process of its own."""
    began, used = time.perf_counter(), time.process_time()
    MEASURES[name](path)
    return time.perf_counter() - began, time.process_time() - used, lifetime_peak() / 2**20


def _row(name: str, path: Path) -> str:
    header = load_header(path)
    seconds, used, peak = map(min, zip(*(apart(timed, name, path) for _ in range(REPEATS.get(name, 1))), strict=True))
    return f"| {name} | {header.shards():,} | {header.samples:,} | {seconds:.3g} | {used:.3g} | {peak:.0f} |"


def fabricated_rows(folder: Path) -> Iterator[str]:
    """Yield a row of each measure and size."""
    for shards in SIZES:
        fabricate(folder / str(shards), shards)
        yield from (_row(name, folder / str(shards)) for name in list(MEASURES)[:-2])


def real_rows(folder: Path, samples: int) -> Iterator[str]:
    """Yield rows of the first tenth of a real dataset, and of its extension, which is killed once."""
    path = folder / "real"
    for number, name in ((samples // 10, "generate"), (samples, "generate, killed half way and run again")):
        run = command("generate", "--samples", number, *SHORT, "--out", path, "--quiet")
        began, used = time.perf_counter(), os.times()
        if number == samples:
            killed(run, lambda: _receipts(path) * 200 >= samples // 2, poll=1.0)
        peak = peak_memory(run, every=0.2)
        spent = sum(os.times()[2:4]) - sum(used[2:4])
        seconds = time.perf_counter() - began
        yield f"| {name} | {_receipts(path):,} | {number:,} | {seconds:.0f} | {spent:.0f} | {peak.resident / 2**20:.0f} |"
        yield from (_row(name, path) for name in REAL)
    size = folder_bytes(path)
    yield f"| bytes on disk | {_receipts(path):,} | {samples:,} | {size / 1e9:.2f} GB | | |"


def _receipts(path: Path) -> int:
    return sum(1 for _ in (path / receipt_path(0)).parent.iterdir()) if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("real", "fabricated"))
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of the real dataset")
    options = parser.parse_args()
    own = "`python -m benchmarks.scale`. Each row but those of `generate` is a process of its own, without the time of imports."
    text = ["# What grows with a dataset", "", own, f"{machine_sentence(described_machine())}."]
    for name, title, note in (
        ("real", "A real dataset", f"{_REAL_NOTE} Memory of `generate` is that of all its processes."),
        ("fabricated", "Datasets made from one shard", "Shards of 200 samples of 60 frames in five variants."),
    ):
        text += ["", f"## {title}", "", note, "", "| measure | shards | samples | time (s) | CPU time (s) | peak memory (MB) |"]
        text.append("|---" * 6 + "|")
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                rows = real_rows(Path(folder), options.samples) if name == "real" else fabricated_rows(Path(folder))
                for row in rows:
                    print(row, flush=True)
                    text.append(row)
    if not options.only:
        RESULT.write_text("\n".join([*text, ""]), encoding="utf-8")


_REAL_NOTE = "Samples of 10 frames in one variant, two workers. CPU time is without that of the run that was killed."


if __name__ == "__main__":
    main()
