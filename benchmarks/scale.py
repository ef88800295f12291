"""What grows with a dataset: the largest real run that fits, and datasets of up to 10 million samples made from one shard.

The real dataset has 2 million samples of 10 frames. Its first tenth is measured, then it is extended; the extension is killed
half way and run again. Fabricated shards have receipts of their own, and hard links to the files of the first: they show what
the number of files and receipts costs, without reading samples. All of it takes about half an hour and 7 GB:

    python -m benchmarks.scale [--only real|fabricated]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import posegen
from benchmarks.figures import RESULTS, described_machine, machine_sentence
from benchmarks.measure import ROOT, kill_family, peak_memory
from benchmarks.measure import posegen as command
from benchmarks.motion.clips import ONE_VARIANT
from posegen.config.schema import SHORTEST
from posegen.dataset.documents import seal
from posegen.dataset.header import load_header
from posegen.dataset.layout import MANIFEST_FILE, MOTION, receipt_path, rows_path
from posegen.dataset.receipts import load_receipt
from posegen.dataset.write import publish

SAMPLES = 2_000_000
SHORT = ("--set", f"frames={SHORTEST}", "--set", ONE_VARIANT)
"""Samples that are as short as a config allows, in one variant."""
SIZES = (500, 5_000, 50_000)
"""Shards of the fabricated datasets."""
RESULT = RESULTS / "scale.md"
_TIMED = r"""
import json, re, sys, time
from pathlib import Path
import numpy as np, posegen, zarr
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import choose_shards, find_problems
from posegen.generation.describe import describe
from posegen.generation.finish import finish
from posegen.generation.status import find_status
path, began, used = sys.argv[1], time.perf_counter(), time.process_time()
{code}
peak = int(re.search("VmHWM:\s*([0-9]+)", open("/proc/self/status").read())[1]) / 1024
print(json.dumps([time.perf_counter() - began, time.process_time() - used, peak]))
"""
OPENING = {
    "open": "posegen.open(path)",
    "info": "describe(path)",
    "status": "find_status(path)",
}
QUICK, REPEATS = ("open", "info", "status"), 9
"""Measures that take milliseconds, of which the quickest process counts."""
_GENERATE = "posegen.generate(posegen.load_config('default', ['frames=60']), samples=len(posegen.open(path)), out=path)"
MEASURES = (
    {"finish, which writes the manifest": "finish(path)"}
    | OPENING
    | {
        "finish again": "finish(path)",
        "generate, nothing to do": f"assert {_GENERATE}.nothing_to_do",
        "open, and read a random sample": "d = posegen.open(path); d.arrays('joints', [len(d) // 7 // 200 * 200])",
        "verify --sample 1%, until the first shard is read": """
class Stopped(Exception): pass
def stop(done, total):
    if done: raise Stopped
try: list(find_problems(Path(path), choose_shards(Path(path), None, 0.01), stop))
except Stopped: pass
""",
        "open without the manifest": f"import os; os.unlink(path + '/{MANIFEST_FILE}'); posegen.open(path)",
    }
)
REAL = OPENING | {
    "finish again": "finish(path)",
    "verify --sample 1%": "assert not list(find_problems(Path(path), choose_shards(Path(path), None, 0.01)))",
    "1,000 random samples": """
d = posegen.open(path)
for i in np.random.default_rng(0).integers(0, len(d), 1000): d.arrays('joints', [int(i)])
""",
}


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


def timed(code: str, path: Path) -> list[float]:
    """Return seconds, seconds of CPU and MB of memory of code in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-c", _TIMED.format(code=code), str(path)], check=True, capture_output=True, text=True
    ).stdout
    return [float(value) for value in json.loads(found)]


def _row(name: str, path: Path, code: str) -> str:
    header = load_header(path)
    seconds, used, peak = map(min, zip(*(timed(code, path) for _ in range(REPEATS if name in QUICK else 1)), strict=True))
    return f"| {name} | {header.shards():,} | {header.samples:,} | {seconds:.3g} | {used:.3g} | {peak:.0f} |"


def fabricated_rows(folder: Path) -> Iterator[str]:
    """Yield a row of each measure and size."""
    for shards in SIZES:
        path = folder / str(shards)
        fabricate(path, shards)
        yield from (_row(name, path, code) for name, code in MEASURES.items())


def real_rows(folder: Path, samples: int) -> Iterator[str]:
    """Yield rows of the first tenth of a real dataset, and of its extension, which is killed once."""
    path = folder / "real"
    for number, name in ((samples // 10, "generate"), (samples, "generate, killed half way and run again")):
        run = command("generate", "--samples", number, *SHORT, "--out", path, "--quiet")
        began, used = time.perf_counter(), os.times()
        if number == samples:
            with subprocess.Popen(run, cwd=ROOT) as process:
                while _receipts(path) * 200 < samples // 2:
                    time.sleep(1)
                kill_family(process)
        peak = peak_memory(run, every=0.2)
        spent = sum(os.times()[2:4]) - sum(used[2:4])
        seconds = time.perf_counter() - began
        yield f"| {name} | {_receipts(path):,} | {number:,} | {seconds:.0f} | {spent:.0f} | {peak.resident / 2**20:.0f} |"
        yield from (_row(name, path, code) for name, code in REAL.items())
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    yield f"| bytes on disk | {_receipts(path):,} | {samples:,} | {size / 1e9:.2f} GB | | |"


def _receipts(path: Path) -> int:
    return sum(1 for _ in (path / receipt_path(0)).parent.iterdir()) if path.exists() else 0


def table(title: str, note: Sequence[str], rows: Iterator[str]) -> list[str]:
    """Return a section with a table, whose rows are also printed as they come."""
    head = ["measure", "shards", "samples", "time (s)", "CPU time (s)", "peak memory (MB)"]
    lines = [f"## {title}", "", *note, "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        print(row, flush=True)
        lines.append(row)
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("real", "fabricated"))
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of the real dataset")
    options = parser.parse_args()
    sections = {
        "real": lambda folder: table(
            "A real dataset",
            [
                "Samples of 10 frames in one variant, two workers. Memory of `generate` is that of all its processes; CPU time",
                "is without that of the run that was killed.",
            ],
            real_rows(folder, options.samples),
        ),
        "fabricated": lambda folder: table(
            "Datasets made from one shard", ["Shards of 200 samples of 60 frames in five variants."], fabricated_rows(folder)
        ),
    }
    text = [
        "# What grows with a dataset",
        "",
        "`python -m benchmarks.scale`. Each row but those of `generate` is a process of its own, without the time of imports.",
        f"{machine_sentence(described_machine())}.",
        "",
    ]
    for name, section in sections.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                text += section(Path(folder))
    if not options.only:
        RESULT.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
