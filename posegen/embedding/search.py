"""Searching a dataset by a text: which samples show what it tells of.

How well a text fits a segment is how near it is to what is said of the segment, and how well it fits the segment's action: how
near it is to the nearest of all that the dataset says of that action, and of phrases for it that captions do not use; how far
it lies in the direction that tells the action from others; and how much its single words tell of it. A sample fits as well as
its best segment, and a little better the nearer one of its captions is to the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.read import Dataset, open_dataset
from posegen.embedding.encoder import Encoder
from posegen.embedding.finding import find_encoder
from posegen.embedding.loading import loaded
from posegen.embedding.neighbours import DIGITS
from posegen.embedding.search_index import SearchIndex, open_index
from posegen.errors import PosegenError, UsageError

__all__ = ["Found", "Search", "encoder_of", "fitting", "open_search"]

Array = NDArray[Any]

SAID, RELATED = 10, 3
"""So many of the nearest texts of an action, and of the phrases related to it, tell how near a text is to the action."""
OF_SAID = 0.05
"""Weight of those texts, where there are related phrases, too."""
OF_WORDS = 0.2
"""Weight of what single words tell of the action, beside how near the text is to it."""
OF_DIRECTION = 0.02
"""Weight of how far the text lies in the direction of the action."""
OF_ACTION = 0.98
"""Weight of how well a text fits the action; the rest is that of what is said of the segment."""
OF_CAPTION = 0.1
"""Weight of how near a text is to a caption, beside that of the best segment."""


@dataclass(frozen=True)
class Found:
    """A sample that fits a text.

    Attributes
    ----------
    sample : int
    score : float
        How well it fits; larger is better.
    variant : str
        In which variant it fits best, the first of several.
    variants : tuple of str
        In which it fits as well.
    caption : str
        That caption of `variant` which is nearest to the text.
    action, segment : str
        Of the segment that fits best: its action, and what is said of it.
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
    """A dataset that is ready to be searched; made by :func:`open_search`."""

    def __init__(self, dataset: Dataset, embeddings: Embeddings, encoder: Encoder, index: SearchIndex) -> None:
        self.dataset = dataset
        self.embeddings = embeddings
        self.encoder = encoder
        self._index = index
        self._vectors = embeddings.vectors()
        rows = embeddings.rows
        self._captions, self._samples = (rows.column(name).to_numpy() for name in ("row", "sample"))
        self._variants = rows.column("variant").to_pylist()

    def find(self, text: str, top: int = 10) -> list[Found]:
        """Find the samples that fit a text best.

        Parameters
        ----------
        text : str
        top : int
            How many.

        Returns
        -------
        list of Found
            Best first; samples that fit equally well in their order. Variants of a sample are one.

        Raises
        ------
        UsageError
            If the text is empty, or none are asked for.
        """
        if not text.strip() or top < 1:
            msg = "search for at least one sample" if text.strip() else "the text to search for is empty"
            raise UsageError(msg)
        query = self.encoder.encode([text], as_query=True)[0]
        fits = fitting(text, query, self._index)[self._index.phrases]
        near = (self._vectors @ query)[self._captions]
        of_caption, of_segment = np.full(len(self.dataset), -1.0), np.full(len(self.dataset), -np.inf)
        np.maximum.at(of_caption, self._samples, near)
        np.maximum.at(of_segment, self._index.samples, fits)
        score = np.round((of_segment + OF_CAPTION * of_caption) / (1 + OF_CAPTION), DIGITS)
        best = np.lexsort((np.arange(len(score)), -score))[:top]
        return [self._found(int(sample), float(score[sample]), fits, near) for sample in best if np.isfinite(score[sample])]

    def _found(self, sample: int, score: float, fits: Array, near: Array) -> Found:
        begin, end = np.searchsorted(self._index.samples, (sample, sample + 1))
        own = np.round(fits[begin:end], DIGITS)
        best = begin + np.flatnonzero(own == own.max())
        variants = tuple(dict.fromkeys(self._index.variants[place] for place in best.tolist()))
        row = next(row for row in self.dataset.rows(sample) if row["variant"] == variants[0])
        first, last = np.searchsorted(self._samples, (sample, sample + 1)).tolist()
        nearest = max((place for place in range(first, last) if self._variants[place] == variants[0]), key=near.__getitem__)
        actions = dict.fromkeys(segment["action"] for actor in row["actors"] for segment in actor["segments"])
        phrase = self._index.phrases[best[0]]
        return Found(
            sample,
            score,
            variants[0],
            variants,
            self.embeddings.texts[int(self._captions[nearest])],
            self._index.actions[phrase],
            self._index.texts[phrase],
            tuple(actions),
        )


def fitting(text: str, query: Array, index: SearchIndex) -> Array:
    """Tell how well each phrase of an index fits a query.

    Parameters
    ----------
    text : str
    query : float32 [dimension]
        The vector of the text, of unit length.
    index : SearchIndex

    Returns
    -------
    float64 [phrases]
    """
    near = (index.vectors @ query).astype(np.float64)
    of_action = OF_WORDS * index.words.telling(text)
    of_action += OF_DIRECTION * (index.directions[:, :-1] @ query + index.directions[:, -1])
    for action in range(len(index.names)):
        own = index.numbers == action
        said, related = _nearest(near[own & ~index.related], SAID), _nearest(near[own & index.related], RELATED)
        if said is None or related is None:
            of_action[action] += related if said is None else said
        else:
            of_action[action] += OF_SAID * said + (1 - OF_SAID) * related
    fits: Array = OF_ACTION * of_action[index.numbers] + (1 - OF_ACTION) * near
    return fits


def _nearest(near: Array, most: int) -> float | None:
    return float(np.sort(near)[-most:].mean()) if len(near) else None


def encoder_of(embeddings: Embeddings, notify: Callable[[str], None] = print) -> Encoder:
    """Load the encoder that vectors were made by, in float32: for a text at a time that is quick, and nothing is more exact.

    Raises
    ------
    UsageError
        If it is no longer there.
    PosegenError
        If there is another one in its place.
    """
    told, (model, _, precision) = embeddings.header.details, embeddings.header.fingerprint.rpartition("-")
    source, limit = str(told.get("source", embeddings.encoder)), told.get("limit")
    # Whether a lower limit of tokens was asked for is part of the fingerprint.
    for tokens in (None, limit if isinstance(limit, int) else None):
        found = find_encoder(source, max_tokens=tokens, notify=notify)
        if found.fingerprint == model:
            return loaded(found, "float32" if "float32" in found.precisions else precision, 1)
    msg = (
        f"{embeddings.folder}: was made by another {embeddings.encoder} than there is now as {source}. "
        f"Put back the one that it was made by, or embed anew beside it with `posegen embed --name NAME`"
    )
    raise PosegenError(msg)


def open_search(path: str | Path, encoder: str | None = None, notify: Callable[[str], None] = print) -> Search:
    """Open a dataset to be searched, making what search looks through if it is not there yet.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded already.
    encoder : str, optional
        Whose vectors; the only ones there unless given.
    notify : callable
        Told when something is downloaded.

    Returns
    -------
    Search

    Raises
    ------
    UsageError
        If there are no embeddings, or several and none is named, or their encoder is no longer there.
    PosegenError
        If the dataset or its embeddings are damaged, or the encoder is not the one that made them.
    """
    embeddings = open_embeddings(path, encoder)
    dataset = open_dataset(path, embeddings.folder.name)
    used = encoder_of(embeddings, notify)
    return Search(dataset, embeddings, used, open_index(dataset, embeddings.folder, used))
