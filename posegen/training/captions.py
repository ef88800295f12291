"""Captions of clips, as a text encoder's vectors: read from what ``posegen embed`` left beside the dataset.

In training each clip is shown with one of its captions, which one depends on the step, the sample and the variant; with so
many hard negatives behind it as are asked for. When a model is judged, a clip has all its captions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.embedding.pairs import PairTable, open_pairs
from posegen.randomness import integers
from posegen.store.vectors.read import Embeddings, open_embeddings
from posegen.training.drawing import CAPTION, draws_of

__all__ = ["Captions", "open_captions"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Captions:
    """Captions of the clips of a dataset.

    Attributes
    ----------
    embeddings : Embeddings
    shard : int
        Samples in a shard of the dataset.
    hard : int
        Hard negatives that a clip is shown with.
    pairs : PairTable or None
        That knows them.
    """

    embeddings: Embeddings
    shard: int
    hard: int = 0
    pairs: PairTable | None = None

    def all_of(self, sample: Array, variant: Array) -> dict[str, Array]:
        """Give all captions of clips.

        Parameters
        ----------
        sample, variant : int64 [clip]
            Their samples, and the places of their variants.

        Returns
        -------
        dict
            ``row`` int64 [clip, caption]: number of each text, -1 where there is none; ``text`` float32
            [clip, caption, dimension]: its vector, zeros where there is none.
        """
        return self._with_vectors(self._rows(sample, variant))

    def drawn(self, sample: Array, variant: Array, seed: int, number: int) -> dict[str, Array]:
        """Draw a caption of each clip for batch `number`, and give it with hard negatives behind it; as :meth:`all_of`."""
        rows, hard = self._rows(sample, variant), self.hard
        draws = draws_of(sample, variant, seed, number, CAPTION, 1 + hard)
        told = (rows >= 0).sum(axis=1)
        chosen = rows[np.arange(len(rows)), integers(draws[:, 0], 0, np.maximum(told, 1) - 1)]
        shown = np.full((len(rows), 1 + hard), -1, np.int64)
        shown[:, 0] = chosen
        if self.pairs is not None:
            for i, row in enumerate(chosen.tolist()):
                known = self.pairs.negatives(row) if row < self.pairs.texts else shown[i, :0]
                if len(known):
                    shown[i, 1:] = known[integers(draws[i, 1:], 0, len(known) - 1)]
        return self._with_vectors(shown)

    def _rows(self, sample: Array, variant: Array) -> Array:
        shards, places = np.divmod(sample, self.shard)
        found = np.full((len(sample), self.embeddings.captions), -1, np.int64)
        for shard in np.unique(shards).tolist():
            here = shards == shard
            found[here] = self.embeddings.of_sequences(shard)[places[here], variant[here]]
        return found

    def _with_vectors(self, rows: Array) -> dict[str, Array]:
        return {"row": rows, "text": np.nan_to_num(self.embeddings.take(rows), copy=False, nan=0.0)}


def open_captions(dataset: Path, shard: int, encoder: str | None, hard: int = 0) -> Captions:
    """Open the captions of a dataset, with `hard` hard negatives each.

    Raises
    ------
    UsageError
        If there are no vectors of them, or no pairs where those are needed.
    """
    return Captions(open_embeddings(dataset, encoder), shard, hard, open_pairs(dataset, encoder) if hard else None)
