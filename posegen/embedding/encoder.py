"""Define encoders, which turn texts into vectors of unit length, and run them in batches.

An encoder wraps a backend for one kind of model. The backend splits texts into tokens, without the model, and then runs the
model on a batch. It does not decide which texts form a batch. Several batches run at the same time, within the cores and the
memory of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_positive
from posegen.foundations.machine import available_cores

CPU_BUDGET, GPU_BUDGET = 512, 16384
"""Tokens in a batch, padding included. On a CPU, larger batches exceed its caches and are slower."""
_MAX_WORKERS = 8
"""Most batches at the same time. One batch per core is a quarter faster than one batch on all cores: the matrices of short
texts are small, and threads that share one wait for each other."""


class Backend(Protocol):
    """A kind of model. Several threads may call `run` at the same time."""

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> list[Any]:
        """Return the tokens of each text; `as_query` if they are search queries instead of searched documents."""

    def run(self, tokens: Sequence[Any]) -> Array:
        """Embed the texts of a batch from their tokens: float32 [n, dimension], of unit length."""


@dataclass(frozen=True)
class Encoder:
    """Turns texts into vectors.

    Attributes
    ----------
    name : str
    dimension : int
    fingerprint : str
        Hash of everything that determines the vectors: weights, tokenizer, pooling, prompts, token limit.
    backend : Backend
    limit : int
        Most tokens of a text; the rest of a longer text is ignored.
    description : dict
        Further properties for readers: kind, device, prompts.
    """

    name: str
    dimension: int
    fingerprint: str
    backend: Backend = field(repr=False)
    limit: int
    description: dict[str, Any] = field(default_factory=dict)

    @property
    def budget(self) -> int:
        """Number of tokens in a batch, padding included."""
        return GPU_BUDGET if self.description.get("device") == "cuda" else CPU_BUDGET

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
        tokens = self.backend.prepare(texts, as_query=as_query) if len(texts) else []
        for chosen in plan_batches([len(own) for own in tokens], self.budget):
            vectors[chosen] = self.backend.run([tokens[text] for text in chosen.tolist()])
        return vectors


def plan_batches(lengths: Sequence[int], budget: int) -> list[Array]:
    """Group texts of similar length into batches.

    Texts are padded to the longest of their batch, so a batch costs its longest text times the number of texts. The batches
    depend on the lengths and the budget only, so embedding the same texts again gives the same batches.

    Parameters
    ----------
    lengths : sequence of int
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
    >>> [batch.tolist() for batch in plan_batches([3, 9, 2, 8, 3], 16)]
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
    notify : callable
        Receives a message when memory is insufficient.
    """

    encoder: Encoder
    budget: int
    workers: int
    notify: Callable[[str], None]

    def run(self, texts: Sequence[str]) -> Iterator[tuple[Array, Array]]:
        """Embed texts.

        Yields
        ------
        (int64 [n], float32 [n, dimension])
            Positions of some of the texts, and their vectors.

        Raises
        ------
        PosegenError
            If memory is insufficient for a single text.
        """
        tokens = self.encoder.backend.prepare(texts, as_query=False)
        batches = plan_batches([len(own) for own in tokens], self.budget)
        with ThreadPoolExecutor(self.workers, "embedding") as threads:
            for found in threads.map(lambda chosen: list(self._run_batch(tokens, chosen)), batches):
                yield from found

    def _run_batch(self, tokens: Sequence[Any], chosen: Array) -> Iterator[tuple[Array, Array]]:
        """Embed a batch, or its halves if memory is insufficient."""
        batch = [tokens[text] for text in chosen.tolist()]
        longest = max(map(len, batch))
        try:
            found = self.encoder.backend.run(batch)
        except Exception as error:
            # torch raises an error of its own for this, recognisable by its message only.
            message = str(error).lower()
            if not isinstance(error, MemoryError) and "alloc" not in message and "out of memory" not in message:
                raise
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
            yield from self._run_batch(tokens, part)
