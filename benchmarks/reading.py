"""Shuffled reading of batches by posegen and its peers, one epoch after another in turns, warm, in one process.

``python -m benchmarks.reading`` prints the result as JSON. That each epoch of each reader has every sequence once is checked.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import posegen
from benchmarks.datasets import generate
from benchmarks.measure import folder_bytes
from benchmarks.peers import PEERS
from posegen.dataset.batches import Batches

SIZE = 64
WINDOW = 1280
PACKAGES = ("webdataset", "mosaicml-streaming", "litdata", "h5py", "numpy", "numcodecs")

Array = NDArray[Any]
Epoch = Callable[[int], Iterator[Array]]


def measure(samples: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Write the sequences of a dataset for every reader, and read them in turns; `folder` is on the disk to measure."""
    path = generate(folder / "posegen", "--samples", str(samples))
    dataset = posegen.open(path)
    joints = dataset.arrays("joints")
    sequences = joints.reshape(-1, *joints.shape[2:])
    marks = np.sort(marked(sequences))
    readers: dict[str, Epoch] = {"posegen": partial(own, dataset.batches(SIZE, fields=["joints"], window=WINDOW))}
    sizes, absent = {"posegen": folder_bytes(path / "motion.zarr/joints") / 1e6}, {}
    writing = {}
    for number, (name, peer) in enumerate(PEERS.items()):
        place = folder / f"peer-{number}"
        place.mkdir()
        started = time.perf_counter()
        try:
            peer.write(place, sequences, WINDOW)
        except ImportError as error:
            absent[name] = str(error)
            continue
        writing[name] = len(sequences) / (time.perf_counter() - started)
        sizes[name] = folder_bytes(place) / 1e6
        readers[name] = partial(peer.read, place, sequences[0].copy(), SIZE, WINDOW)
    del joints, sequences
    seconds = in_turns(readers, rounds, marks)
    return {
        "samples": samples,
        "sequences": len(marks),
        "batch": SIZE,
        "window": WINDOW,
        "rounds": rounds,
        "versions": {package: installed(package) for package in PACKAGES},
        "absent": absent,
        "readers": {
            name: {
                "sequences_per_second": len(marks) / statistics.median(turn.taken for turn in turns),
                "sequences_per_second_of_work": len(marks) / statistics.median(turn.work for turn in turns),
                "posegen_by_it": statistics.median(a.taken / b.taken for a, b in zip(turns, seconds["posegen"], strict=True)),
                "megabytes": sizes[name],
                "written_per_second": writing.get(name),
                "reported": PEERS[name].reported if name in PEERS else "chunks, compressed and checked",
                "seconds": [turn.taken for turn in turns],
            }
            for name, turns in seconds.items()
        },
    }


def own(batches: Batches, epoch: int) -> Iterator[Array]:
    each = batches.per_epoch
    return (batch.joints for batch in batches.at(epoch * each, (epoch + 1) * each))


class Turn(NamedTuple):
    """Wall-clock seconds of an epoch, and processor seconds of all threads."""

    taken: float
    work: float


def in_turns(readers: dict[str, Epoch], rounds: int, marks: Array) -> dict[str, list[Turn]]:
    """Time an epoch of each reader per round, with rotating order. The first round is not counted."""
    names = list(readers)
    seconds: dict[str, list[Turn]] = {name: [] for name in names}
    for epoch in range(rounds + 1):
        for name in names[epoch % len(names) :] + names[: epoch % len(names)]:
            started, worked = time.perf_counter(), time.process_time()
            found = [marked(batch) for batch in readers[name](epoch)]
            taken, work = time.perf_counter() - started, time.process_time() - worked
            if any(len(batch) != SIZE for batch in found[:-1]) or not np.array_equal(np.sort(np.concatenate(found)), marks):
                msg = f"{name} does not give every sequence once in batches of {SIZE}"
                raise AssertionError(msg)
            if epoch:
                seconds[name].append(Turn(taken, work))
            rates = f"{len(marks) / taken:,.0f} a second, {len(marks) / work:,.0f} a second of work"
            print(f"{name}: {rates}", file=sys.stderr, flush=True)
    return seconds


def marked(sequences: Array) -> Array:
    """Return a number that identifies a sequence: the sum of pelvis coordinates at some frames."""
    return sequences[:, 0, ::50, 0].astype(np.float64).reshape(len(sequences), -1) @ np.array([1.0, 3.0, 7.0] * 5)


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to write; the system's folder for temporary files unless given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(json.dumps(measure(options.samples, options.rounds, Path(folder))))


if __name__ == "__main__":
    main()
