"""Encoders: what turns texts into vectors of unit length.

An encoder wraps a backend, which knows one kind of model. A backend prepares texts (tokenises them, which takes no part of
the model) and then runs on some of them at once. Which texts go together is not its choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from posegen.embedding.batching import BUDGET, plan_batches
from posegen.errors import UsageError

__all__ = ["Backend", "Encoded", "Encoder", "Prepared", "unit_length"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Prepared:
    """Texts made ready.

    Attributes
    ----------
    lengths : int64 [n]
        Tokens of each.
    inputs : object
        What the backend needs of them.
    """

    lengths: Array
    inputs: Any


@dataclass(frozen=True)
class Encoded:
    """Vectors of some texts.

    Attributes
    ----------
    vectors : float32 [n, dimension]
        Of unit length.
    tokens : list of float32 [length, dimension]
        Vectors of each text's tokens, where they were asked for.
    """

    vectors: Array
    tokens: list[Array] = field(default_factory=list)


class Backend(Protocol):
    """A kind of model. `run` may be called by several threads at once."""

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Make texts ready; `as_query` where they are what is searched for, not what is searched."""

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Embed those of the prepared texts whose positions are `chosen`, all at once."""


@dataclass(frozen=True)
class Encoder:
    """Turns texts into vectors.

    Attributes
    ----------
    name : str
    dimension : int
    fingerprint : str
        Hash of everything in it that decides vectors: weights, tokenizer, pooling, prompts, precision, token limit.
    backend : Backend
    limit : int
        Most tokens of a text that are looked at; what follows is cut off.
    has_tokens : bool
        Whether it can give the vectors of tokens.
    told : dict
        What else a reader may want to know: kind, precision, device, agreement.
    token_bytes : int
        Bytes of memory that a token of a batch takes, roughly.
    reference : Backend or None
        The exact one, where `backend` only comes near it.
    """

    name: str
    dimension: int
    fingerprint: str
    backend: Backend = field(repr=False)
    limit: int
    has_tokens: bool = False
    told: dict[str, Any] = field(default_factory=dict)
    token_bytes: int = 4096
    reference: Backend | None = field(default=None, repr=False)

    def encode(self, texts: Sequence[str], *, as_query: bool = False) -> Array:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str
        as_query : bool
            Whether they are what is searched for, where the model knows a difference.

        Returns
        -------
        float32 [n, dimension]
            Of unit length.

        Raises
        ------
        UsageError
            If it is given one text instead of a sequence of them.
        """
        if isinstance(texts, str):
            msg = f"encode takes a list of texts; write [{texts!r:.60}]"
            raise UsageError(msg)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if len(texts):
            prepared = self.backend.prepare(texts, as_query=as_query)
            for chosen in plan_batches(prepared.lengths, BUDGET):
                vectors[chosen] = self.backend.run(prepared, chosen, tokens=False).vectors
        return vectors


def unit_length(vectors: Array) -> Array:
    """Scale vectors to length 1; one of nothing but zeros becomes the first unit vector.

    >>> unit_length(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [1.0, 0.0]]
    """
    wide = np.asarray(vectors, np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    empty = lengths[..., 0] == 0
    scaled = wide / np.where(lengths == 0, 1.0, lengths)
    scaled[empty, 0] = 1.0
    return scaled.astype(np.float32)
