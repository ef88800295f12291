"""Other libraries that store sequences and read them in shuffled batches, each as documented for the highest speed.

Each gets the sequences as one array, in the order of the dataset, and returns batches as arrays. All shuffle with
the same window. They are in the extra `peers` of `pyproject.toml`; install it into an environment of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from posegen.foundations.arrays import Array

Batches = Iterator[Array]


@dataclass(frozen=True)
class Peer:
    """A way to store sequences, and to read them in shuffled batches.

    Attributes
    ----------
    reported : str
        How it is used, in a few words.
    write : callable
        Takes an empty folder, the sequences [n, ...] and the window.
    read : callable
        Takes the folder, a sequence as an example, the size of a batch, the window and the epoch; returns batches.
    """

    reported: str
    write: Callable[[Path, Array, int], None]
    read: Callable[[Path, Any, int, int, int], Batches]


def stacked(sequences: Iterator[Array], size: int) -> Batches:
    while held := list(islice(sequences, size)):
        yield np.stack(held)


def mixed(windows: Iterator[Array], size: int, epoch: int) -> Batches:
    """Batches from windows that are in memory, filled up from the next window at the end of one."""
    draws = np.random.default_rng(epoch)
    rest: list[Array] = []
    for window in windows:
        order = draws.permutation(len(window))
        first = 0
        if rest:
            first = size - len(rest[0])
            yield np.concatenate([rest.pop(), window[order[:first]]])
        for start in range(first, len(order), size):
            batch = window[order[start : start + size]]
            if len(batch) == size:
                yield batch
            else:
                rest.append(batch)
    yield from rest


def write_webdataset(folder: Path, sequences: Array, window: int) -> None:
    import webdataset

    with webdataset.ShardWriter(str(folder / "%05d.tar"), maxcount=window, verbose=0) as sink:
        for number, sequence in enumerate(sequences):
            sink.write({"__key__": f"{number:08}", "bin": sequence.tobytes()})


def read_webdataset(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    import webdataset

    urls = sorted(map(str, folder.glob("*.tar")))
    dataset = webdataset.WebDataset(urls, shardshuffle=len(urls), seed=epoch).shuffle(window, initial=window)
    # Its own decoder of npy copies once more.
    return stacked((np.frombuffer(found["bin"], one.dtype).reshape(one.shape) for found in dataset), size)


def write_streaming(folder: Path, sequences: Array, window: int) -> None:
    shape = ",".join(map(str, sequences.shape[1:]))
    columns = {"joints": f"ndarray:{sequences.dtype}:{shape}"}
    import streaming

    with streaming.MDSWriter(out=str(folder), columns=columns) as sink:
        for sequence in sequences:
            sink.write({"joints": sequence})


def read_streaming(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    import streaming

    # Shared memory of an earlier reader in this process would count as that of a running one.
    streaming.base.util.clean_stale_shared_memory()
    dataset = streaming.StreamingDataset(
        local=str(folder), shuffle=True, shuffle_block_size=window, shuffle_seed=epoch, batch_size=size
    )
    return stacked((found["joints"] for found in dataset), size)


def write_litdata(folder: Path, sequences: Array, window: int) -> None:
    from litdata.streaming.cache import Cache

    logging.getLogger("litdata").setLevel(logging.ERROR)
    cache = Cache(str(folder), chunk_size=window)
    for number, sequence in enumerate(sequences):
        cache[number] = {"joints": sequence}
    cache.done()
    cache.merge()


def read_litdata(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    import litdata

    dataset = litdata.StreamingDataset(str(folder), shuffle=True, seed=epoch)
    return stacked((np.asarray(found["joints"]) for found in dataset), size)


def write_h5py(folder: Path, sequences: Array, window: int) -> None:
    import h5py

    with h5py.File(folder / "joints.h5", "w") as file:
        file.create_dataset("joints", data=sequences)


def read_h5py(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    """Batch by batch from random places, all places of a window before those of the next."""
    import h5py

    draws = np.random.default_rng(epoch)
    with h5py.File(folder / "joints.h5", "r") as file:
        joints = file["joints"]
        starts = _starts(len(joints), window, draws)
        order = np.concatenate([start + draws.permutation(min(window, len(joints) - start)) for start in starts])
        yield from stacked((joints[number] for number in order.tolist()), size)


def read_h5py_windows(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    import h5py

    with h5py.File(folder / "joints.h5", "r") as file:
        joints = file["joints"]
        starts = _starts(len(joints), window, np.random.default_rng(epoch))
        yield from mixed((joints[start : start + window] for start in starts), size, epoch)


def write_npz(folder: Path, sequences: Array, window: int) -> None:
    for number in range(0, len(sequences), window):
        np.savez(folder / f"{number:08}.npz", joints=sequences[number : number + window])


def read_npz(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    files = sorted(folder.glob("*.npz"))
    order = np.random.default_rng(epoch).permutation(len(files))
    return mixed((np.load(files[i])["joints"] for i in order), size, epoch)


def write_npy(folder: Path, sequences: Array, window: int) -> None:
    np.save(folder / "joints.npy", sequences)


def read_npy(folder: Path, one: Any, size: int, window: int, epoch: int) -> Batches:
    joints = np.load(folder / "joints.npy", mmap_mode="r")
    order = np.random.default_rng(epoch).permutation(len(joints))
    for first in range(0, len(order), size):
        yield joints[order[first : first + size]]


def _starts(total: int, window: int, draws: np.random.Generator) -> list[int]:
    return [int(start) for start in draws.permutation(np.arange(0, total, window))]


PEERS = {
    "webdataset": Peer("raw bytes in tar files", write_webdataset, read_webdataset),
    "streaming": Peer("MDS shards, py1e", write_streaming, read_streaming),
    "litdata": Peer("chunks of a window", write_litdata, read_litdata),
    "h5py": Peer("contiguous, a sequence at a time", write_h5py, read_h5py),
    "h5py by windows": Peer("contiguous, a window at a time", write_h5py, read_h5py_windows),
    "npz": Peer("a file for each window", write_npz, read_npz),
    "npy memory-mapped": Peer("all of it shuffled", write_npy, read_npy),
}
