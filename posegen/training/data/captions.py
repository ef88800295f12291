"""Captions of clips as model input: embeddings of a text encoder.

In training a clip is shown with one of its captions; the choice depends on the seed, the batch, the sample and
the variant only. In validation and test a clip has all its captions. Captions are written by :mod:`posegen.captions` and
embedded by :mod:`posegen.embedding`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import xxhash
from numpy.typing import ArrayLike

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
        return clips | self.of(clips["sample"], clips["variant"], seed, batch.number)

    def of(self, sample: Array, variant: Array, seed: int | None = None, number: int = 0) -> dict[str, Array]:
        """Return the captions of clips: all, or with a seed the one that is drawn for batch `number`.

        Parameters
        ----------
        sample, variant : int64 [clip]
            Sample numbers and variant indices.
        seed : int, optional
        number : int

        Returns
        -------
        dict
            ``row`` int64 [clip, caption]: number of each text, -1 where a clip has fewer captions; ``text`` float32 [clip,
            caption, dimension]: its embedding, or zeros.
        """
        shards, within = np.divmod(sample, self.shard)
        rows = np.full((len(sample), self.embeddings.captions), -1, np.int64)
        for shard in np.unique(shards).tolist():
            own = shards == shard
            rows[own] = self.embeddings.of_sequences(shard)[within[own], variant[own]]
        if seed is not None:
            rows = rows[np.arange(len(rows)), _drawn(sample, variant, seed, number, (rows >= 0).sum(axis=1))][:, None]
        return {"row": rows, "text": np.nan_to_num(self.embeddings.take(rows), copy=False, nan=0.0)}


def _drawn(sample: Array, variant: Array, seed: int, number: int, counts: ArrayLike) -> Array:
    """Draw the number of a caption for each clip of batch `number`, int64 [clip], from those that it has."""
    draws = clip_draws(sample, variant, seed, number, Draw.CAPTION)[:, 0]
    return integers(draws, 0, np.maximum(counts, 1) - 1)


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
        if seed is None:  # validation clips recur
            return clips | _embed_cached(self.encoder, tuple(map(tuple, texts)))
        chosen = _drawn(clips["sample"], clips["variant"], seed, batch.number, list(map(len, texts)))
        return clips | _embed(self.encoder, [own[i : i + 1] for own, i in zip(texts, chosen.tolist(), strict=True)])


@dataclass(frozen=True)
class OwnCaptions:
    """A text for each of a user's clips, which are embedded once, and the captions of generated clips beside them.

    Attributes
    ----------
    encoder : str
    texts : tuple of str
        Text of each clip.
    others : Captions or None
        Captions of the generated clips; None: there are none.
    find : callable or None
        Returns sample, variant and first frame of generated clips by their numbers, which follow those of all own clips.
    """

    encoder: str
    texts: tuple[str, ...]
    others: Captions | None = None
    find: Callable[[Array], tuple[Array, Array, Array]] | None = None

    def __call__(self, clips: dict[str, Array], batch: SequenceBatch, seed: int | None) -> dict[str, Array]:
        """Return clips of a batch with one caption each; see :class:`Captions`."""
        distinct = tuple(sorted(set(self.texts)))
        found = _embed_cached(self.encoder, tuple((text,) for text in distinct))
        number, is_own = clips["sample"], clips["sample"] < len(self.texts)
        which = [distinct.index(self.texts[i]) for i in np.where(is_own, number, 0).tolist()]
        both = {name: values[which] for name, values in found.items()}
        if self.others is not None and self.find is not None and not is_own.all():
            sample, variant, _ = self.find(number[~is_own])
            for name, values in self.others.of(sample, variant, seed or 0, batch.number).items():
                both[name][~is_own] = values
        return clips | both


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
