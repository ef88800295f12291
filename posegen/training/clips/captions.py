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

from posegen.dataset.vectors.read import Embeddings, open_embeddings
from posegen.embedding.pairs import PairTable, open_pairs
from posegen.errors import PosegenError, UsageError
from posegen.randomness import integers
from posegen.training.clips.drawing import CAPTION, draws_of

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
        That knows them; without any in training, too, models are judged by them.
    unfit : str or None
        Why pairs that are there cannot be used.
    """

    embeddings: Embeddings
    shard: int
    hard: int = 0
    pairs: PairTable | None = None
    unfit: str | None = None

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
            [clip, caption, dimension]: its vector, zeros where there is none. Where pairs are known, ``hard_row`` and
            ``hard_text`` are the same of the hard negative that is nearest to each caption.
        """
        rows = self._rows(sample, variant)
        found = self._with_vectors(rows)
        if self.pairs is None:
            return found
        nearest = self._with_vectors(np.array([[self._nearest(row) for row in own] for own in rows.tolist()], np.int64))
        return found | {f"hard_{name}": values for name, values in nearest.items()}

    def drawn(self, sample: Array, variant: Array, seed: int, number: int) -> dict[str, Array]:
        """Draw a caption of each clip for batch `number`, and give it with hard negatives behind it; as :meth:`all_of`."""
        rows, hard = self._rows(sample, variant), self.hard
        draws = draws_of(sample, variant, seed, number, CAPTION, 1 + hard)
        told = (rows >= 0).sum(axis=1)
        chosen = rows[np.arange(len(rows)), integers(draws[:, 0], 0, np.maximum(told, 1) - 1)]
        shown = np.full((len(rows), 1 + hard), -1, np.int64)
        shown[:, 0] = chosen
        if hard:
            for i, row in enumerate(chosen.tolist()):
                known = self._negatives(row)
                if len(known):
                    shown[i, 1:] = known[integers(draws[i, 1:], 0, len(known) - 1)]
        return self._with_vectors(shown)

    def _negatives(self, row: int) -> Array:
        """Give the hard negatives of a text; none of one that came when pairs were found already."""
        known = self.pairs is not None and 0 <= row < self.pairs.texts
        return self.pairs.negatives(row) if self.pairs is not None and known else np.empty(0, np.int64)

    def _nearest(self, row: int) -> int:
        known = self._negatives(row)
        return int(known[0]) if len(known) else -1

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
    embeddings, unfit = open_embeddings(dataset, encoder), None
    try:
        pairs: PairTable | None = open_pairs(dataset, encoder)
    except PosegenError as error:
        if hard:
            raise
        # Nothing is learned from them, so nothing need wait for them; where there are none at all, nothing is to be told.
        pairs, unfit = None, None if isinstance(error, UsageError) else str(error)
    return Captions(embeddings, shard, hard, pairs, unfit)
