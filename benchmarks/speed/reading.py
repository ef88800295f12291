"""Rate of shuffled batches of posegen and of other libraries: same arrays and window, one epoch after another, in one process.

That each epoch of each reader has every sequence once is checked.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import posegen
from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import apart, folder_bytes
from benchmarks.speed.peers import PEERS
from posegen.dataset.batches import Batches
from posegen.foundations.arrays import Array

SAMPLES, ROUNDS, SIZE, WINDOW = 2000, 7, 64, 1280
GOAL = 30_000
RIVALS = ("webdataset", "streaming", "litdata", "h5py")
"""Libraries that posegen must be faster than; others are listed for information."""

Epoch = Callable[[int], Iterator[Array]]


def measure(folder: Path) -> Iterator[Figure]:
    sizes, turns, absent = apart(timed, SAMPLES, ROUNDS, folder)
    sequences = SAMPLES * len(posegen.open(folder / "posegen").header.variants)
    rates = {name: sequences / statistics.median(turn.taken for turn in of_it) for name, of_it in turns.items()}
    yield Figure("posegen: sequences/s in shuffled batches of 64", f"{rates['posegen']:,.0f} (goal {GOAL:,})", detail=turns)
    for name in PEERS:
        target = "posegen faster" if name in RIVALS else ""
        if name in absent:
            yield Figure(f"{name}, sequences/s", f"not measured: {absent[name]}", target)
            continue
        times = statistics.median(a.taken / b.taken for a, b in zip(turns[name], turns["posegen"], strict=True))
        value = f"{rates[name]:,.0f}; posegen is {times:.2f} times as fast"
        value += f"; {sizes[name]:,.0f} MB on disk, {PEERS[name].reported}"
        yield Figure(f"{name}, sequences/s", value, target, times > 1 if name in RIVALS else None)


def timed(samples: int, rounds: int, folder: Path) -> tuple[dict[str, float], dict[str, list[Turn]], dict[str, str]]:
    """Write the sequences of a dataset for every reader, and read them in turns; `folder` is on the disk to measure.

    Returns
    -------
    tuple
        Of each reader its megabytes on the disk and its epochs, and of each library that is absent the reason.
    """
    path = generate(folder / "posegen", "--samples", str(samples))
    dataset = posegen.open(path)
    joints = dataset.arrays("joints")
    sequences = joints.reshape(-1, *joints.shape[2:])
    marks = np.sort(marked(sequences))
    readers: dict[str, Epoch] = {"posegen": partial(own, dataset.batches(SIZE, fields=["joints"], window=WINDOW))}
    sizes, absent = {"posegen": folder_bytes(path / "motion.zarr/joints") / 1e6}, {}
    for number, (name, peer) in enumerate(PEERS.items()):
        place = folder / f"peer-{number}"
        place.mkdir()
        try:
            peer.write(place, sequences, WINDOW)
        except (ImportError, RuntimeError) as error:  # the latter: a torchvision of another torch
            absent[name] = str(error)
            continue
        sizes[name] = folder_bytes(place) / 1e6
        readers[name] = partial(peer.read, place, sequences[0].copy(), SIZE, WINDOW)
    del joints, sequences
    return sizes, in_turns(readers, rounds, marks), absent


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
