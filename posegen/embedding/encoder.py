"""Define encoders, which turn texts into vectors of unit length, and run them in batches.

An encoder wraps a backend for one kind of model. The backend prepares texts (tokenisation, without the model) and then runs
the model on a batch. It does not decide which texts form a batch. Several batches run at the same time, within the cores and
the memory of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_positive
from posegen.foundations.machine import available_cores, available_memory

TOKEN_BUDGET = 1024
"""Default number of tokens in a batch, padding included."""
MIN_BUDGET, MAX_CPU_BUDGET, MAX_GPU_BUDGET = 256, 512, 65536
"""Tokens in a batch. On a CPU, larger batches exceed its caches and are slower."""
_MEMORY_SHARE = 4
"""Batches take this fraction, 1 / 4, of the free memory."""
_MAX_WORKERS = 8
"""Most batches at the same time. One batch per core is a quarter faster than one batch on all cores: the matrices of short
texts are small, and threads that share one wait for each other."""


@dataclass(frozen=True)
class Prepared:
    """Tokenised texts.

    Attributes
    ----------
    lengths : int64 [n]
        Number of tokens of each text.
    inputs : object
        Tokens in the form that the backend needs.
    """

    lengths: Array
    inputs: Any


@dataclass(frozen=True)
class Encoded:
    """Vectors of a batch of texts.

    Attributes
    ----------
    vectors : float32 [n, dimension]
        Of unit length.
    tokens : list of float32 [length, dimension]
        Vectors of the tokens of each text, if requested.
    """

    vectors: Array
    tokens: list[Array] = field(default_factory=list)


class Backend(Protocol):
    """A kind of model. Several threads may call `run` at the same time."""

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Tokenise texts; `as_query` if they are search queries instead of searched documents."""

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Embed, in one batch, the prepared texts at the positions `chosen`."""


@dataclass(frozen=True)
class Encoder:
    """Turns texts into vectors.

    Attributes
    ----------
    name : str
    dimension : int
    fingerprint : str
        Hash of everything that determines the vectors: weights, tokenizer, pooling, prompts, precision, token limit.
    backend : Backend
    limit : int
        Most tokens of a text; the rest of a longer text is ignored.
    has_tokens : bool
        Whether it can return vectors of tokens.
    description : dict
        Further properties for readers: kind, precision, device, agreement.
    token_bytes : int
        Approximate bytes of memory per token of a batch.
    reference : Backend or None
        The exact model, if `backend` approximates it.
    batch_tokens : int
        Most tokens of a batch on a CPU.
    is_cached : bool
        Whether its vectors are cached for other datasets; looking them up takes longer than computing them otherwise.
    """

    name: str
    dimension: int
    fingerprint: str
    backend: Backend = field(repr=False)
    limit: int
    has_tokens: bool = False
    description: dict[str, Any] = field(default_factory=dict)
    token_bytes: int = 4096
    reference: Backend | None = field(default=None, repr=False)
    batch_tokens: int = MAX_CPU_BUDGET
    is_cached: bool = True

    def encode(self, texts: Sequence[str], *, as_query: bool = False) -> Array:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str
        as_query : bool
            Whether they are search queries; some models encode these differently.

        Returns
        -------
        float32 [n, dimension]
            Of unit length.

        Raises
        ------
        UsageError
            If `texts` is a single string.
        """
        if isinstance(texts, str):
            raise UsageError(f"encode takes a list of texts; write [{texts!r:.60}]")
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if len(texts):
            prepared = self.backend.prepare(texts, as_query=as_query)
            for chosen in plan_batches(prepared.lengths, TOKEN_BUDGET):
                vectors[chosen] = self.backend.run(prepared, chosen, tokens=False).vectors
        return vectors


def plan_batches(lengths: Array, budget: int) -> list[Array]:
    """Group texts of similar length into batches.

    Texts are padded to the longest of their batch, so a batch costs its longest text times the number of texts. The batches
    depend on the lengths and the budget only, so embedding the same texts again gives the same batches.

    Parameters
    ----------
    lengths : int [n]
        Number of tokens of each text.
    budget : int
        Most tokens of a batch, padding included; a longer text forms a batch of its own.

    Returns
    -------
    list of int64 [batch]
        Positions of the texts of each batch, longest texts first: a shortage of memory shows at once, and the last batches,
        which leave workers idle, are short.

    Examples
    --------
    >>> [batch.tolist() for batch in plan_batches(np.array([3, 9, 2, 8, 3]), 16)]
    [[1], [3, 0], [4, 2]]
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    batches, first = [], 0
    while first < len(order):
        longest = max(1, int(lengths[order[first]]))
        count = max(1, budget // longest)
        batches.append(order[first : first + count])
        first += count
    return batches


def unit_length(vectors: Array) -> Array:
    """Scale vectors to length 1; a zero vector becomes the first unit vector.

    >>> unit_length(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [1.0, 0.0]]
    """
    wide = np.asarray(vectors, np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    empty = lengths[..., 0] == 0
    scaled = wide / np.where(lengths == 0, 1.0, lengths)
    scaled[empty, 0] = 1.0
    return scaled.astype(np.float32)


def resolve_workers(workers: int | None) -> int:
    """Return the number of batches that are embedded at the same time: `workers`, or one per core.

    Raises
    ------
    UsageError
        If it is less than 1.
    """
    require_positive("--workers", workers)
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
    most = encoder.batch_tokens
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
