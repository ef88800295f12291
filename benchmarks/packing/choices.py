"""Codecs and chunk sizes in memory, on one thread: time to encode and decode, and compressed size."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import google_crc32c
import numpy as np
from numcodecs import blosc
from numcodecs.blosc import Blosc

from benchmarks.packing.joints import Array, chunks_of
from posegen.dataset.shard_codec import COMPRESSION

SHUFFLES = {"noshuffle": Blosc.NOSHUFFLE, "shuffle": Blosc.SHUFFLE, "bitshuffle": Blosc.BITSHUFFLE}


@dataclass(frozen=True)
class Choice:
    """Settings of compression and chunks; `block` 0 is Blosc's default."""

    name: str
    level: int
    shuffle: str
    block: int
    chunk: int

    def __str__(self) -> str:
        block = f"{self.block >> 10} kB blocks" if self.block else "Blosc's own blocks"
        return f"{self.name} {self.level}, {self.shuffle}, {block}, {self.chunk} a chunk"


@dataclass(frozen=True)
class Packing:
    """Measurements of a choice.

    Attributes
    ----------
    choice : str
    write, read : float
        Megabytes of joints a second that are encoded, with their checksums, and decoded, these compared.
    latency : float
        Milliseconds to get at one sequence: its chunk is decoded.
    size : float
        Bytes by those of the joints.
    gains : tuple of float
        Times that it is better than today's choice at each of these, in the same rounds.
    """

    choice: str
    write: float
    read: float
    latency: float
    size: float
    gains: tuple[float, float, float, float]


def today(chunk: int) -> Choice:
    """Return the settings of posegen."""
    return Choice(*COMPRESSION.values(), chunk)


def choices(now: Choice) -> Iterator[Choice]:
    """Yield choices: each setting separately, and codecs with suitable settings."""
    yield now
    for name, levels in {"lz4": (1, 3, 9), "lz4hc": (3,), "blosclz": (5,), "zstd": (1, 3, 5)}.items():
        yield from (replace(now, name=name, level=level) for level in levels)
    yield from (replace(now, shuffle=shuffle) for shuffle in SHUFFLES if shuffle != now.shuffle)
    yield replace(now, name="zstd", level=1, shuffle="bitshuffle")
    yield from (replace(now, block=block) for block in (0, 2**15, 2**17, 2**19, 2**20))
    yield replace(now, shuffle="bitshuffle", block=0)
    yield from (replace(now, chunk=chunk) for chunk in (1, 4, 10, 40, 100))


def measure(array: Array, now: Choice, rounds: int) -> list[Packing]:
    """Measure all choices in turns; figures are medians of processor time over the rounds."""
    blosc.set_nthreads(1)
    every = [*choices(now)]
    seconds: list[list[tuple[float, float, float]]] = [[] for _ in every]
    sizes = [0.0] * len(every)
    cut = {size: chunks_of(array, size) for size in {choice.chunk for choice in every}}
    for round_number in range(rounds + 1):
        for number, choice in enumerate(every):
            *spent, sizes[number] = _once(cut[choice.chunk], choice)
            if round_number:  # the first round allocates memory
                seconds[number].append((spent[0], spent[1], spent[2]))
    megabytes = sum(part.nbytes for part in cut[now.chunk]) / 1e6
    found = []
    for choice, size, spent in zip(every, sizes, seconds, strict=True):
        write, read, latency = _medians(spent)
        gains = _medians([(a[0] / b[0], a[1] / b[1], a[2] / b[2]) for a, b in zip(seconds[0], spent, strict=True)])
        found.append(Packing(str(choice), megabytes / write, megabytes / read, 1e3 * latency, size, (*gains, sizes[0] / size)))
    return found


def _medians(rounds: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    write, read, latency = (statistics.median(part) for part in zip(*rounds, strict=True))
    return write, read, latency


def _once(chunks: Sequence[Array], choice: Choice) -> tuple[float, float, float, float]:
    """Encode and decode all chunks; return the seconds of both and of decoding a chunk, and the compression ratio."""
    codec = Blosc(choice.name, choice.level, SHUFFLES[choice.shuffle], choice.block, typesize=4)
    began = time.process_time()
    packed = [(data, google_crc32c.value(data)) for data in map(codec.encode, chunks)]
    encoded = time.process_time()
    room = np.empty_like(chunks[0])
    for (data, checksum), part in zip(packed, chunks, strict=True):
        assert google_crc32c.value(data) == checksum
        codec.decode(data, room[: len(part)])
    decoded = time.process_time()
    np.testing.assert_array_equal(room[: len(chunks[-1])], chunks[-1])
    left = sum(len(data) + 4 for data, _ in packed) / sum(part.nbytes for part in chunks)
    return encoded - began, decoded - encoded, (decoded - encoded) / len(chunks), left


def better(found: Sequence[Packing], slack: float) -> list[Packing]:
    """Return choices that beat the first, the current one, by more than `slack` in one measure and lose as much in none."""
    return [other for other in found[1:] if max(other.gains) > 1 + slack and min(other.gains) > 1 / (1 + slack)]
