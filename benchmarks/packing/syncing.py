"""Cost of fsync: files of shards written without it, synced one by one, all at the end, and in the background.

The files are of the sizes that a shard of the default config has. Wall time, since a disk is waited for; in turns.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.packing.joints import SAMPLES, header_and_field, joints
from posegen.dataset.shard_codec import encode_shard

SHARDS = 8
SIZES = (60, 100, 200, 400)
"""Shard sizes to measure, multiples of a chunk."""
SMALL = (400_000, 250_000, 450_000, 5_000)
"""Sizes of a shard's other files in bytes: labels, contacts, rows, receipt."""
WORK = 0.05
"""Seconds of work before each large file, as for encoding it."""


Way = Callable[[Path, Sequence[bytes]], None]


def of_ways(folder: Path, rounds: int) -> dict[str, float]:
    """Return for each method the milliseconds of a shard besides its work, the median over the rounds."""
    pieces = _pieces(SAMPLES)
    ways: dict[str, Way] = {
        "no sync": _without,
        "each file synced when written": _each,
        "all files synced at the end of a shard": _together,
        "each synced behind the work": _behind,
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            spent[name].append(_milliseconds(folder, SHARDS, lambda place, way=way: way(place, pieces)))
    return {name: statistics.median(each) for name, each in spent.items()}


def of_shards(folder: Path, rounds: int) -> dict[str, float]:
    """Return for each shard size the milliseconds per default number of samples, besides their work."""
    pieces = {size: _pieces(size) for size in SIZES}
    spent: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for size in SIZES:
            share = size / SAMPLES
            way = partial(_behind, pieces=pieces[size], share=share)
            spent[size].append(_milliseconds(folder, round(SHARDS / share), way, share) / share)
    return {str(size): statistics.median(each) for size, each in spent.items()}


def _pieces(samples: int) -> list[bytes]:
    header, field = header_and_field()
    return encode_shard(field, joints(samples), samples, header.chunk)


def _milliseconds(folder: Path, shards: int, way: Callable[[Path], None], share: float = 1.0) -> float:
    os.sync()  # earlier writes are not part of the measurement
    place = folder / "shards"
    place.mkdir()
    began = time.perf_counter()
    for number in range(shards):
        way(place / str(number))
    seconds = (time.perf_counter() - began) / shards - WORK * share
    shutil.rmtree(place)
    return 1e3 * seconds


def _work(share: float = 1.0) -> None:
    end = time.perf_counter() + WORK * share
    while time.perf_counter() < end:
        pass


def _files(place: Path, pieces: Sequence[bytes], share: float = 1.0) -> list[tuple[Path, Sequence[bytes]]]:
    small = [(place.with_name(f"{place.name}-{i}"), [bytes(round(size * share))]) for i, size in enumerate(SMALL)]
    return [(place.with_name(f"{place.name}-large"), pieces), *small]


def _write(path: Path, pieces: Sequence[bytes], *, sync: bool) -> None:
    with path.open("wb") as file:
        file.writelines(pieces)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _without(place: Path, pieces: Sequence[bytes]) -> None:
    _work()
    for path, content in _files(place, pieces):
        _write(path, content, sync=False)


def _each(place: Path, pieces: Sequence[bytes]) -> None:
    _work()
    for path, content in _files(place, pieces):
        _write(path, content, sync=True)
    _sync(place.parent)


def _together(place: Path, pieces: Sequence[bytes]) -> None:
    _without(place, pieces)
    for path, _ in _files(place, pieces):
        _sync(path)
    _sync(place.parent)


def _behind(place: Path, pieces: Sequence[bytes], share: float = 1.0) -> None:
    # As posegen's writer: a thread writes and syncs the large file while the core works; then wait for all.
    with ThreadPoolExecutor(1) as thread:
        large, *small = _files(place, pieces, share)
        writing = [thread.submit(_write, *large, sync=True)]
        _work(share)
        writing += [thread.submit(_write, *file, sync=True) for file in small]
        for each in writing:
            each.result()
    _sync(place.parent)
