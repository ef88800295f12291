"""Captions of clips as model input: embeddings of a text encoder.

In training a clip is shown with one of its captions; the choice depends on the seed, the batch, the sample and
the variant only. In validation and test a clip has all its captions. Captions are written by :mod:`posegen.captions` and
embedded by :mod:`posegen.embedding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import xxhash

from posegen.dataset.batches import CAPTIONS, SequenceBatch
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.storage.address import AnyPath
from posegen.embedding import Encoder, load_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import integers
from posegen.training.data.features import Draw, clip_draws

_CACHED_BATCHES = 100


@dataclass(frozen=True)
class Captions:
    """Embedded captions of a dataset.

    Attributes
    ----------
    embeddings : Embeddings
    shard : int
        Samples per shard of the dataset.
    """

    embeddings: Embeddings
    shard: int

    def __call__(self, clips: dict[str, Array], batch: SequenceBatch, seed: int | None) -> dict[str, Array]:
        """Return clips of a batch with their captions: the drawn one of each if there is a seed, else all."""
        sample, variant = clips["sample"], clips["variant"]
        return clips | (self.all_of(sample, variant) if seed is None else self.drawn(sample, variant, seed, batch.number))

    def all_of(self, sample: Array, variant: Array) -> dict[str, Array]:
        """Return all captions of clips.

        Parameters
        ----------
        sample, variant : int64 [clip]
            Sample numbers and variant indices.

        Returns
        -------
        dict
            ``row`` int64 [clip, caption]: number of each text, -1 where a clip has fewer captions; ``text`` float32 [clip,
            caption, dimension]: its embedding, or zeros.
        """
        return self._embedded(self._rows(sample, variant))

    def drawn(self, sample: Array, variant: Array, seed: int, number: int) -> dict[str, Array]:
        """Draw one caption per clip for batch `number`; arrays as in :meth:`all_of`."""
        rows = self._rows(sample, variant)
        draws = clip_draws(sample, variant, seed, number, Draw.CAPTION)[:, 0]
        chosen = integers(draws, 0, np.maximum((rows >= 0).sum(axis=1), 1) - 1)
        return self._embedded(rows[np.arange(len(rows)), chosen][:, None])

    def _rows(self, sample: Array, variant: Array) -> Array:
        shards, within = np.divmod(sample, self.shard)
        rows = np.full((len(sample), self.embeddings.captions), -1, np.int64)
        for shard in np.unique(shards).tolist():
            own = shards == shard
            rows[own] = self.embeddings.of_sequences(shard)[within[own], variant[own]]
        return rows

    def _embedded(self, rows: Array) -> dict[str, Array]:
        return {"row": rows, "text": np.nan_to_num(self.embeddings.take(rows), copy=False, nan=0.0)}


def open_captions(dataset: str | AnyPath, shard: int, encoder: str | None) -> Captions:
    """Open the embedded captions of a dataset; UsageError if they are not embedded."""
    return Captions(open_embeddings(dataset, encoder), shard)


@dataclass(frozen=True)
class FreshCaptions:
    """Captions of clips that are generated during training; they are embedded when a batch needs them.

    The captions drawn are those that :class:`Captions` draws for the same clips.

    Attributes
    ----------
    encoder : str
        Name of the text encoder. Each process loads it with the same number of threads, so that the embeddings do not depend on
        the process.
    """

    encoder: str

    def __call__(self, clips: dict[str, Array], batch: SequenceBatch, seed: int | None) -> dict[str, Array]:
        """Return clips of a batch with their captions; see :class:`Captions`."""
        texts = batch.values[CAPTIONS]
        own = self.all_of(texts) if seed is None else self.drawn(clips["sample"], clips["variant"], texts, seed, batch.number)
        return clips | own

    def all_of(self, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
        """Return all captions of clips; see :meth:`Captions.all_of`. Results are cached, as validation clips recur."""
        return _embed_cached(self.encoder, tuple(tuple(own) for own in texts))

    def drawn(self, sample: Array, variant: Array, texts: Sequence[Sequence[str]], seed: int, number: int) -> dict[str, Array]:
        """Draw one caption per clip for batch `number`; see :meth:`Captions.drawn`."""
        draws = clip_draws(sample, variant, seed, number, Draw.CAPTION)[:, 0]
        chosen = integers(draws, 0, [max(1, len(own)) - 1 for own in texts])
        return _embed(self.encoder, [own[i : i + 1] for own, i in zip(texts, chosen.tolist(), strict=True)])


@lru_cache(2)
def encoder_of(name: str) -> Encoder:
    """Load a text encoder, once per process."""
    return load_encoder(name, workers=1)


def _embed(encoder: str, texts: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Embed some texts per clip: ``row``, equal for equal texts, and ``text``, the embeddings."""
    loaded = encoder_of(encoder)
    rows = np.full((len(texts), max(map(len, texts))), -1, np.int64)
    vectors = np.zeros((*rows.shape, loaded.dimension), np.float32)
    flat = [(i, j, text) for i, own in enumerate(texts) for j, text in enumerate(own)]
    index = [i for i, _, _ in flat], [j for _, j, _ in flat]
    rows[index] = [xxhash.xxh3_64_intdigest(text.encode()) >> 1 for _, _, text in flat]
    vectors[index] = loaded.encode([text for _, _, text in flat])
    return {"row": rows, "text": vectors}


_embed_cached = lru_cache(_CACHED_BATCHES)(_embed)
