"""Captions of clips that are made on the way: their texts come with the clips, and are embedded when a batch needs them.

They are as :mod:`posegen.training.clips.captions` gives those of a dataset: which one is drawn is the same there and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.embedding import Encoder, load_encoder
from posegen.randomness import integers
from posegen.training.clips.drawing import CAPTION, draws_of

__all__ = ["FreshCaptions", "encoder_of"]

Array = NDArray[Any]

_REMEMBERED = 100
"""Batches that models are judged by; those of `best` are so many."""


@dataclass(frozen=True)
class FreshCaptions:
    """Captions that an encoder embeds on the way.

    Attributes
    ----------
    encoder : str
        Its name. The model is loaded by each process that needs it, and always has the same number of threads, so that
        vectors do not depend on which process makes them.
    dimension : int
        Numbers in a vector.
    """

    encoder: str
    dimension: int

    def all_of(self, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
        """Give all captions of clips; see :meth:`posegen.training.clips.captions.Captions.all_of`.

        Clips that a model is judged by come again and again, so the last ones are remembered.
        """
        return _embedded_again(self.encoder, tuple(tuple(own) for own in texts))

    def drawn(self, sample: Array, variant: Array, texts: Sequence[Sequence[str]], seed: int, number: int) -> dict[str, Array]:
        """Draw a caption of each clip for batch `number`; see :meth:`posegen.training.clips.captions.Captions.drawn`."""
        draws = draws_of(sample, variant, seed, number, CAPTION)[:, 0]
        places = integers(draws, 0, [max(1, len(own)) - 1 for own in texts])
        return _embedded(self.encoder, [own[place : place + 1] for own, place in zip(texts, places.tolist(), strict=True)])


def encoder_of(name: str) -> Encoder:
    """Load an encoder, once in each process."""
    return _loaded(name)


@lru_cache(2)
def _loaded(name: str) -> Encoder:
    return load_encoder(name, workers=1)


@lru_cache(_REMEMBERED)
def _embedded_again(encoder: str, texts: tuple[tuple[str, ...], ...]) -> dict[str, Array]:
    return _embedded(encoder, texts)


def _embedded(encoder: str, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Embed some texts of each clip: ``row``, by which equal texts are known, and ``text``, their vectors."""
    loaded = _loaded(encoder)
    rows = np.full((len(texts), max(map(len, texts))), -1, np.int64)
    vectors = np.zeros((*rows.shape, loaded.dimension), np.float32)
    flat = [(i, j, text) for i, own in enumerate(texts) for j, text in enumerate(own)]
    clip, place = [i for i, _, _ in flat], [j for _, j, _ in flat]
    rows[clip, place] = [xxhash.xxh3_64_intdigest(text.encode()) >> 1 for _, _, text in flat]
    vectors[clip, place] = loaded.encode([text for _, _, text in flat])
    return {"row": rows, "text": vectors}
