"""Run an encoder on batches: several at the same time, within the cores and the memory of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from posegen.arrays import Array
from posegen.embedding.encoder import Encoded, Encoder, Prepared, plan_batches
from posegen.errors import PosegenError, UsageError
from posegen.machine import available_cores, available_memory

MIN_BUDGET, MAX_CPU_BUDGET, MAX_GPU_BUDGET = 256, 512, 65536
"""Tokens in a batch. On a CPU, larger batches exceed its caches and are slower."""
_MEMORY_SHARE = 4
"""Batches take this fraction, 1 / 4, of the free memory."""
_MAX_WORKERS = 8
"""Most batches at the same time. One batch per core is a quarter faster than one batch on all cores: the matrices of short
texts are small, and threads that share one wait for each other."""


def resolve_workers(workers: int | None) -> int:
    """Return the number of batches that are embedded at the same time: `workers`, or one per core.

    Raises
    ------
    UsageError
        If it is less than 1.
    """
    if workers is not None and workers < 1:
        msg = f"--workers must be at least 1 (got {workers})"
        raise UsageError(msg)
    return workers or min(available_cores(), _MAX_WORKERS)


def threads_per_batch(workers: int | None) -> int:
    """Return the number of threads of one batch, so that all workers together use the cores."""
    return max(1, available_cores() // resolve_workers(workers))


def batch_budget(encoder: Encoder, workers: int, free: int | None = None) -> int:
    """Return the number of tokens in a batch for which this machine has memory: a power of two.

    Parameters
    ----------
    encoder : Encoder
    workers : int
        Number of batches at the same time.
    free : int, optional
        Bytes of free memory; those of the device by default.
    """
    most = MAX_CPU_BUDGET
    if encoder.description.get("device") == "cuda":
        import torch

        most, free = MAX_GPU_BUDGET, torch.cuda.mem_get_info()[0] if free is None else free
    room = (available_memory().free if free is None else free) // _MEMORY_SHARE // (workers * encoder.token_bytes)
    return max(MIN_BUDGET, 1 << int(min(room, most)).bit_length() >> 1)


@dataclass
class Runner:
    """Runs an encoder on the texts of one shard after another.

    Attributes
    ----------
    encoder : Encoder
    budget : int
        Tokens in a batch, padding included.
    workers : int
        Batches at the same time, in threads: the model runs without Python's global lock.
    tokens : bool
        Whether vectors of tokens are requested.
    notify : callable
        Receives a message when memory is insufficient.
    """

    encoder: Encoder
    budget: int
    workers: int
    tokens: bool
    notify: Callable[[str], None]

    def run(self, prepared: Prepared) -> Iterator[tuple[Array, Encoded]]:
        """Embed prepared texts.

        Yields
        ------
        (int64 [n], Encoded)
            Positions of some of the texts, and their vectors.

        Raises
        ------
        PosegenError
            If memory is insufficient for a single text.
        """
        batches = plan_batches(prepared.lengths, self.budget)
        with ThreadPoolExecutor(self.workers, "embedding") as threads:
            for found in threads.map(lambda chosen: list(self._run_batch(prepared, chosen)), batches):
                yield from found

    def _run_batch(self, prepared: Prepared, chosen: Array) -> Iterator[tuple[Array, Encoded]]:
        """Embed a batch, or its halves if memory is insufficient."""
        try:
            found = self.encoder.backend.run(prepared, chosen, tokens=self.tokens)
        except MemoryError as error:
            longest = int(prepared.lengths[chosen].max())
            if len(chosen) == 1:
                msg = f"memory is insufficient for a text of {longest} tokens ({error!s:.200}). Free some or lower --max-tokens"
                raise PosegenError(msg) from error
        else:
            yield chosen, found
            return
        half = len(chosen) // 2
        self.budget = max(1, min(self.budget, half * longest))  # for the shards that follow
        self.notify(f"memory is insufficient for {len(chosen)} texts of {longest} tokens: continuing with {half}")
        for part in np.split(chosen, [half]):
            yield from self._run_batch(prepared, part)
