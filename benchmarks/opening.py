"""How long opening a dataset takes as it grows: by its receipts, and by its manifest.

Shards beyond the first are fabricated: receipts of their own, and hard links to the files of the first. So what is measured is
the number of files and receipts, not the reading of samples.

    python -m benchmarks.opening
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import posegen
from benchmarks.figures import RESULTS, described_machine, machine_sentence
from posegen.dataset.documents import seal
from posegen.dataset.header import load_header
from posegen.dataset.layout import MANIFEST_FILE, MOTION, receipt_path, rows_path
from posegen.dataset.receipts import load_receipt
from posegen.dataset.write import publish

SIZES = (500, 5_000, 50_000)
RESULT = RESULTS / "opening.md"
_TIMED = r"""
import json, re, sys, time
from pathlib import Path
import posegen, zarr
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
MEASURES = {
    "finish, which writes the manifest": "finish(path)",
    "open": "posegen.open(path)",
    "open, and read a random sample": "d = posegen.open(path); d.arrays('joints', [len(d) // 7 // 200 * 200])",
    "info": "describe(path)",
    "verify --sample 1%, until the first shard is read": """
class Stopped(Exception): pass
def stop(done, total):
    if done: raise Stopped
try: list(find_problems(Path(path), choose_shards(Path(path), None, 0.01), stop))
except Stopped: pass
""",
    "status": "find_status(path)",
    "open without the manifest": f"import os; os.unlink(path + '/{MANIFEST_FILE}'); posegen.open(path)",
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
    command = [sys.executable, "-c", _TIMED.format(code=code), str(path)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(value) for value in json.loads(found)]


def main() -> None:
    lines = []
    for shards in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dataset"
            fabricate(path, shards)
            for name, code in MEASURES.items():
                seconds, used, peak = timed(code, path)
                lines.append(f"| {name} | {shards:,} | {200 * shards:,} | {seconds:.2f} | {used:.2f} | {peak:.0f} |")
                print(lines[-1], flush=True)
    head = ["measure", "shards", "samples", "time (s)", "CPU time (s)", "peak memory (MB)"]
    text = [
        "# How long opening takes as a dataset grows",
        "",
        "`python -m benchmarks.opening`: one real shard of 200 samples of 60 frames, the others fabricated from it. Each row",
        "is a process of its own, without the time of imports, on a machine with other work.",
        f"{machine_sentence(described_machine())}.",
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *lines,
    ]
    RESULT.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
