"""How long training waits for data of a dataset in a bucket, with empty and with filled caches; moto is the server.

`posegen train` computes features once and keeps them on the machine. Who writes the loop themselves reads batches, of which the
read cache keeps the bytes. Both are measured in a folder, too. It takes about ten minutes:

    python -m benchmarks.bucket [--samples N] [--steps N]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.datasets import generate
from benchmarks.figures import RESULTS, described_machine, machine_sentence
from benchmarks.measure import module, printed_by
from benchmarks.measure import posegen as command
from posegen.dataset.files import write_all_durably
from posegen.dataset.storage.bucket import BucketPath
from tests.buckets.servers import Proxy, Server

RESULT = RESULTS / "bucket.md"
TARGET = 0.05
BATCH, EPOCHS, THREADS = 64, 1, 8


class Trained(NamedTuple):
    """Seconds before the first step and of all steps, and the share of the steps in which data were waited for."""

    before: float
    steps: float
    waited: float


def train_by_posegen(path: str, steps: int, run: Path) -> Trained:
    """Run `posegen train` and read its own measurement."""
    began = time.perf_counter()
    options = ("--task", "action", "--set", f"steps={steps}", "--set", "checks.times=1", "--out", run, "--json", "--quiet")
    seconds = printed_by(command("train", path, *options))["seconds"]
    shares = json.loads((run / "result.json").read_text())["times"]["shares"]
    return Trained(time.perf_counter() - began - seconds, seconds, shares["data"])


def train_own_loop(path: str) -> Trained:
    """Train a small recurrent network on batches of joints, and time how long it waits for them."""
    import torch

    import posegen

    torch.set_num_threads(1)
    model = torch.nn.GRU(66, 128, batch_first=True)
    optimiser, waited, began = torch.optim.SGD(model.parameters(), 0.01), 0.0, time.perf_counter()
    batches = iter(posegen.open(path).batches(BATCH, seed=1, fields=["joints"], epochs=EPOCHS, threads=THREADS))
    before = time.perf_counter() - began
    while True:
        asked = time.perf_counter()
        batch = next(batches, None)
        waited += time.perf_counter() - asked
        if batch is None:
            break
        motion = torch.from_numpy(batch.joints[:, 0].reshape(len(batch.joints), -1, 66)).nan_to_num()
        optimiser.zero_grad()
        model(motion)[0].square().mean().backward()
        optimiser.step()
    seconds = time.perf_counter() - began - before
    return Trained(before, seconds, waited / seconds)


def rows(local: Path, path: BucketPath, steps: int, caches: Path, proxy: Proxy) -> Iterator[str]:
    """Yield a row for each way to train, dataset and state of the caches."""
    for way in ("posegen train", "own loop"):
        for source, state in ((local, "filled"), (path, "empty"), (path, "filled")):
            if way == "posegen train":
                if source == local:  # its features
                    train_by_posegen(str(local), 10, caches / "first")
                run = caches / f"{source.name}-{state}"
                found = train_by_posegen(str(source), steps, run)
            else:
                found = Trained(*printed_by(module("benchmarks.bucket", "--loop", source)))
            requests = len(proxy.take_log())
            target = f"at most {TARGET:.0%}" if state == "filled" else ""
            passed = "" if not target else "pass" if found.waited <= TARGET else "fail"
            where = "folder" if source == local else "bucket"
            figures = f"{found.before:.1f} | {found.steps:.1f} | {found.waited:.1%} | {target} | {passed}"
            yield f"| {way} | {where} | {state} | {requests} | {figures} |"


def measure(samples: int, steps: int, folder: Path) -> list[str]:
    """Return the lines of the result."""
    local = generate(folder / "local", "--samples", str(samples))
    server = Server.start()
    proxy = Proxy(server.address, folder / "log.txt")
    os.environ |= server.environment(proxy.address) | {
        "POSEGEN_READ_CACHE": str(folder / "read"),
        "POSEGEN_FEATURE_CACHE": str(folder / "features"),
    }
    path, load = BucketPath(f"s3://{server.make_bucket()}", "bucket"), os.getloadavg()[0]
    try:
        files = [file for file in local.rglob("*") if file.is_file()]
        write_all_durably([(path / file.relative_to(local).as_posix(), [file.read_bytes()]) for file in files])
        proxy.take_log()
        lines = []
        for row in rows(local, path, steps, folder, proxy):
            print(row, flush=True)
            lines.append(row)
    finally:
        proxy.stop()
        server.stop()
    head = ["training", "dataset", "caches", "requests", "before the first step (s)", "steps (s)", "waited for data"]
    note = f"Load of the machine, which other programs shared: {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end."
    return [f"{samples:,} samples of the config `default`. {note}", "", *_table([*head, "target", "result"], lines), ""]


def _table(head: list[str], lines: list[str]) -> list[str]:
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=300, help="of posegen train")
    parser.add_argument("--loop", metavar="ADDRESS", help="train the own loop only, and print its measurement")
    options = parser.parse_args()
    if options.loop:
        json.dump(train_own_loop(options.loop), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(options.samples, options.steps, Path(folder))
    about = "`python -m benchmarks.bucket`. A server on the same machine: a network adds its latency to each request."
    text = ["# Training on a dataset in a bucket", "", about, f"{machine_sentence(described_machine())}.", "", *lines]
    RESULT.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
