"""Search a dataset by text: find the samples that show what the text describes.

The fit of a text to a segment combines its similarity to the segment's caption with its fit to the segment's action. The
latter combines the similarity to the nearest captions of the action in the dataset and to related phrases that captions do not
use, the projection on the direction that separates the action from others, and the evidence of single words. A sample scores
as its best segment, plus a small bonus for a caption similar to the text. The searched data are prepared by
:mod:`posegen.embedding.search_index`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posegen.arrays import Array
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.read import Dataset, open_dataset
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import find_encoder
from posegen.embedding.neighbours import DIGITS
from posegen.embedding.search_index import SearchIndex, open_index
from posegen.errors import PosegenError, UsageError

NEAREST_CAPTIONS, NEAREST_RELATED = 10, 3
"""Numbers of nearest captions and of nearest related phrases whose mean similarity is that of an action."""
CAPTION_WEIGHT = 0.05
"""Weight of those captions if there are related phrases too."""
WORD_WEIGHT = 0.2
"""Weight of the evidence of single words, relative to similarity."""
DIRECTION_WEIGHT = 0.02
"""Weight of the projection on the action's direction."""
ACTION_WEIGHT = 0.98
"""Weight of the fit to the action; the rest is that of the segment's own caption."""
BONUS_WEIGHT = 0.1
"""Weight of the nearest caption of the sample, relative to that of the best segment."""


@dataclass(frozen=True)
class Match:
    """A sample that fits a text.

    Attributes
    ----------
    sample : int
    score : float
        Fit; larger is better.
    variant : str
        The first variant with the best fit.
    variants : tuple of str
        All variants with the same fit.
    caption : str
        The caption of `variant` nearest to the text.
    action, segment : str
        Action and caption of the best segment.
    actions : tuple of str
        All actions of the sequence.
    """

    sample: int
    score: float
    variant: str
    variants: tuple[str, ...]
    caption: str
    action: str
    segment: str
    actions: tuple[str, ...]


class Search:
    """A dataset prepared for search by :func:`open_search`."""

    def __init__(self, dataset: Dataset, embeddings: Embeddings, encoder: Encoder, index: SearchIndex) -> None:
        self.dataset = dataset
        self.embeddings = embeddings
        self.encoder = encoder
        self._index = index
        self._vectors = embeddings.vectors()
        rows = embeddings.rows
        self._captions, self._samples = (rows.column(name).to_numpy() for name in ("row", "sample"))
        self._variants = rows.column("variant").to_pylist()

    def find(self, text: str, top: int = 10) -> list[Match]:
        """Return the samples that fit a text best.

        Parameters
        ----------
        text : str
        top : int
            Number of samples.

        Returns
        -------
        list of Match
            Best first, ties by sample. Variants of a sample count as one.

        Raises
        ------
        UsageError
            If the text is empty, or `top` is less than 1.
        """
        if not text.strip() or top < 1:
            msg = "search for at least one sample" if text.strip() else "the text to search for is empty"
            raise UsageError(msg)
        query = self.encoder.encode([text], as_query=True)[0]
        fits = fit_phrases(text, query, self._index)[self._index.phrases]
        near = (self._vectors @ query)[self._captions]
        of_caption, of_segment = np.full(len(self.dataset), -1.0), np.full(len(self.dataset), -np.inf)
        np.maximum.at(of_caption, self._samples, near)
        np.maximum.at(of_segment, self._index.samples, fits)
        score = np.round((of_segment + BONUS_WEIGHT * of_caption) / (1 + BONUS_WEIGHT), DIGITS)
        best = np.lexsort((np.arange(len(score)), -score))[:top]
        return [self._match(int(sample), float(score[sample]), fits, near) for sample in best if np.isfinite(score[sample])]

    def _match(self, sample: int, score: float, fits: Array, near: Array) -> Match:
        index = self._index
        begin, end = np.searchsorted(index.samples, (sample, sample + 1))
        own = np.round(fits[begin:end], DIGITS)
        best = begin + np.flatnonzero(own == own.max())
        variants = tuple(dict.fromkeys(index.variants[position] for position in best.tolist()))
        row = next(row for row in self.dataset.rows(sample) if row["variant"] == variants[0])
        first, last = np.searchsorted(self._samples, (sample, sample + 1)).tolist()
        captions = [position for position in range(first, last) if self._variants[position] == variants[0]]
        phrase = index.phrases[best[0]]
        return Match(
            sample=sample,
            score=score,
            variant=variants[0],
            variants=variants,
            caption=self.embeddings.texts[int(self._captions[max(captions, key=near.__getitem__)])],
            action=index.actions[phrase],
            segment=index.texts[phrase],
            actions=tuple(dict.fromkeys(segment["action"] for actor in row["actors"] for segment in actor["segments"])),
        )


def fit_phrases(text: str, query: Array, index: SearchIndex) -> Array:
    """Return the fit of each phrase of an index to a query.

    Parameters
    ----------
    text : str
    query : float32 [dimension]
        Vector of the text, of unit length.
    index : SearchIndex

    Returns
    -------
    float64 [phrases]
    """
    near = (index.vectors @ query).astype(np.float64)
    of_action = WORD_WEIGHT * index.words.evidence(text)
    of_action += DIRECTION_WEIGHT * (index.directions[:, :-1] @ query + index.directions[:, -1])
    for action in range(len(index.directions)):
        own = index.numbers == action
        captions = _mean_of_largest(near[own & ~index.related], NEAREST_CAPTIONS)
        related = _mean_of_largest(near[own & index.related], NEAREST_RELATED)
        if captions is None or related is None:
            of_action[action] += related if captions is None else captions
        else:
            of_action[action] += CAPTION_WEIGHT * captions + (1 - CAPTION_WEIGHT) * related
    fits: Array = ACTION_WEIGHT * of_action[index.numbers] + (1 - ACTION_WEIGHT) * near
    return fits


def _mean_of_largest(values: Array, count: int) -> float | None:
    return float(np.sort(values)[-count:].mean()) if len(values) else None


def _load_encoder_of(embeddings: Embeddings, notify: Callable[[str], None]) -> Encoder:
    """Load the encoder that computed vectors, in float32, which is exact and fast enough for single texts.

    Raises
    ------
    UsageError
        If it is not available any more.
    PosegenError
        If another encoder has its name now.
    """
    description, (model, _, precision) = embeddings.header.details, embeddings.header.fingerprint.rpartition("-")
    source, limit = str(description.get("source", embeddings.encoder)), description.get("limit")
    # The fingerprint includes a lower token limit, if one was requested.
    for tokens in (None, limit if isinstance(limit, int) else None):
        found = find_encoder(source, max_tokens=tokens, notify=notify)
        if found.fingerprint == model:
            return found.load("float32" if "float32" in found.precisions else precision, 1)
    msg = (
        f"{embeddings.folder}: was made by another {embeddings.encoder} than the current {source}. "
        "Restore the encoder that it was made by, or embed again beside it with `posegen embed --name NAME`"
    )
    raise PosegenError(msg)


def open_search(path: str | Path, encoder: str | None = None, notify: Callable[[str], None] = print) -> Search:
    """Open a dataset for search, and prepare its search index if necessary.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded.
    encoder : str, optional
        Name of the vectors; not needed if there is only one set.
    notify : callable
        Receives a message when a model is downloaded.

    Returns
    -------
    Search

    Raises
    ------
    UsageError
        If there are no embeddings, several of which none is named, or if their encoder is not available.
    PosegenError
        If the dataset or its embeddings are damaged, or another encoder has the name of theirs.
    """
    embeddings = open_embeddings(path, encoder)
    dataset = open_dataset(path, embeddings.folder.name)
    loaded = _load_encoder_of(embeddings, notify)
    return Search(dataset, embeddings, loaded, open_index(dataset, embeddings.folder, loaded))
