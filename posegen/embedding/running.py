"""Running an encoder on batches: several at once, and smaller ones where memory is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.embedding.batching import plan_batches
from posegen.embedding.encoder import Encoded, Encoder, Prepared
from posegen.errors import PosegenError

__all__ = ["Runner"]

Array = NDArray[Any]


@dataclass
class Runner:
    """Runs an encoder on the texts of one shard after another.

    Attributes
    ----------
    encoder : Encoder
    budget : int
        Tokens in a batch, with padding.
    workers : int
        Batches at once. They share the model: what it does, it does outside of Python's lock.
    tokens : bool
        Whether the vectors of tokens are wanted.
    notify : callable
        Told when memory is short.
    done : callable
        Told how many texts were embedded, after each batch.
    halved : int
        How often batches had to be cut in two.
    """

    encoder: Encoder
    budget: int
    workers: int
    tokens: bool
    notify: Callable[[str], None]
    done: Callable[[int], None] = lambda count: None
    halved: int = field(default=0, init=False)

    def run(self, prepared: Prepared) -> Iterator[tuple[Array, Encoded]]:
        """Embed prepared texts.

        Yields
        ------
        (int64 [n], Encoded)
            Positions of some of the texts, and their vectors.

        Raises
        ------
        PosegenError
            If there is too little memory for a single text.
        """
        batches = plan_batches(prepared.lengths, self.budget)
        if self.workers == 1:
            for chosen in batches:
                yield from self._one(prepared, chosen)
            return
        with ThreadPoolExecutor(self.workers, "embedding") as threads:
            for found in threads.map(lambda chosen: list(self._one(prepared, chosen)), batches):
                yield from found

    def _one(self, prepared: Prepared, chosen: Array) -> Iterator[tuple[Array, Encoded]]:
        """Embed a batch; if there is too little memory for it, its halves."""
        try:
            found = self.encoder.backend.run(prepared, chosen, tokens=self.tokens)
        except MemoryError as error:
            longest = int(prepared.lengths[chosen].max())
            if len(chosen) == 1:
                msg = (
                    f"memory is short even for one text of {longest} tokens ({error!s:.200}). Free some, or lower --max-tokens"
                )
                raise PosegenError(msg) from error
            self.halved += 1
            half = len(chosen) // 2
            self.budget = max(1, min(self.budget, half * longest))  # for the shards that follow
            self.notify(f"memory is short for {len(chosen)} texts of {longest} tokens at once: going on with {half}")
        else:
            self.done(len(chosen))
            yield chosen, found
            return
        for part in np.split(chosen, [half]):
            yield from self._one(prepared, part)
