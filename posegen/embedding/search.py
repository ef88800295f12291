"""Search a dataset by text: find the samples that show what the text describes.

The fit of a text to a segment is that to the segment's action, plus a small share of the similarity to the segment's caption.
The fit to an action is the mean similarity to the nearest of its phrases, plus the evidence of single words. Phrases of an
action are some of its captions in the dataset, and related phrases that captions do not use. A sample scores as its best
segment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.lock import locked
from posegen.dataset.overlays import commit_part, read_overlay_receipt, read_part
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.tables import column_numbers, owners
from posegen.embedding.cache import encode_texts
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import load_fingerprinted
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.progress import Progress
from posegen.foundations.yaml_files import read_yaml

DIGITS = 6
"""Decimals to which scores are rounded, so that the last bits of sums do not matter."""
SEARCH = "search"
VERSION = 7
_RELATED = Path(__file__).parent / "related"
_SEGMENTS = [f"actors.list.element.segments.list.element.{name}" for name in ("text", "action")]
_FILE = f"{SEARCH}/index.npz"

MAX_CAPTIONS = 40
"""Most captions in the dataset that are phrases of an action, which may have thousands, with the same few words."""
NEAREST = 3
"""Number of nearest phrases whose mean similarity is that of an action."""
WORD_WEIGHT = 0.3
"""Weight of the evidence of single words, relative to similarity."""
SEGMENT_WEIGHT = 0.02
"""Weight of the similarity to the segment's own caption."""


@dataclass(frozen=True)
class SearchIndex:
    """Phrases of a dataset, and the sequences that contain them.

    The vector of a short text may miss its one rare word, such as "genuflects". A word that occurs in phrases of one action
    only is evidence of that action; one that occurs everywhere is evidence of none.

    Attributes
    ----------
    texts, actions : str [phrases]
        Text and action of each caption of a segment, then of each related phrase, which no sample contains.
    counted : bool [phrases]
        Whether it is a phrase of its action, as are all related phrases, and at most :data:`MAX_CAPTIONS` captions.
    vectors : float32 [phrases, dimension]
    samples, phrases : int64 [occurrences]
        Sample and phrase of each occurrence, sorted by sample.
    variants : str [occurrences]
    stems : str [stems]
        Known stems of words.
    shares : float64 [stems, actions]
        Share of each action, in alphabetical order, in the phrases that contain a stem; see :func:`count_stems`.
    """

    texts: Array
    actions: Array
    counted: Array
    vectors: Array
    samples: Array
    phrases: Array
    variants: Array
    stems: Array
    shares: Array

    @cached_property
    def numbers(self) -> Array:
        """Number of the action of each phrase: int64 [phrases]."""
        return np.unique(self.actions, return_inverse=True)[1]

    def fits(self, text: str, query: Array) -> Array:
        """Return the fit of each phrase to a query, float64 [phrases]: a text and its vector, float32 [dimension]."""
        near = (self.vectors @ query).astype(np.float64)
        of_action = WORD_WEIGHT * self.shares[np.isin(self.stems, find_stems(text))].sum(axis=0)
        for action in range(len(of_action)):
            of_action[action] += np.sort(near[self.counted & (self.numbers == action)])[-NEAREST:].mean()
        fits: Array = of_action[self.numbers] + SEGMENT_WEIGHT * near
        return fits


@cache
def read_related_phrases(language: str) -> dict[str, Any]:
    """Read the phrases of a language that captions do not use, by action, and what is needed for :func:`to_sentence`."""
    path = _RELATED / f"{language}.yaml"
    return dict(read_yaml(path)) if path.is_file() else {"actions": {}, "subject": "", "own": ()}


def to_sentence(phrase: str, related: Mapping[str, Any]) -> str:
    """Return a phrase with the subject of its language, unless it starts with a word before subjects of phrases."""
    return phrase if phrase.split(" ", 1)[0] in related["own"] else f"{related['subject']} {phrase}".strip()


def open_index(dataset: Dataset, embeddings: Embeddings, load: Callable[[], Encoder], *, cached: bool = True) -> SearchIndex:
    """Open the search index of a dataset, computing it if necessary.

    Parameters
    ----------
    dataset : Dataset
    embeddings : Embeddings
    load : callable
        Returns the encoder of the embeddings, if it is needed.
    cached : bool
        Whether vectors of phrases are read from the cache shared between datasets, and stored there.

    Returns
    -------
    SearchIndex

    Raises
    ------
    PosegenError
        If the dataset is damaged, or another process is at work.
    """
    # The identity covers the library, whose language decides which of the files is read.
    related = [path.read_bytes() for path in sorted(_RELATED.glob("*.yaml"))]
    parts = [dataset.rows_hash(shard) for shard in range(dataset.header.shards())]
    folder, fingerprint = embeddings.folder, embeddings.header.fingerprint
    inputs = [repr((VERSION, len(dataset), fingerprint, dataset.header.identity, byte_hash(related))), *parts]
    source = byte_hash(f"{each}\n".encode() for each in inputs)
    index = _read_stored(folder, source)
    if index is None:
        with locked(folder):
            index, data = _compute(dataset, load(), cached=cached), BytesIO()
            np.savez(data, **vars(index))
            counts = {"phrases": len(index.texts), "places": len(index.samples), "actions": index.shares.shape[1]}
            commit_part(folder, SEARCH, 0, len(dataset), source, counts, {_FILE: [data.getvalue()]})
    return index


def _read_stored(folder: AnyPath, source: str) -> SearchIndex | None:
    """Return the stored index; None if there is none, if it has another source, or if it is damaged."""
    try:
        receipt = read_overlay_receipt(folder, SEARCH, 0)
        if receipt.source != source:
            return None
        with content_errors(folder / SEARCH), np.load(BytesIO(read_part(folder, receipt, _FILE)), allow_pickle=False) as stored:
            return SearchIndex(**stored)
    except (FileNotFoundError, PosegenError):
        return None


def _compute(dataset: Dataset, encoder: Encoder, *, cached: bool) -> SearchIndex:
    from posegen.library.load import read_words

    related = read_related_phrases(str(read_words(dataset.config.story.library)["language"]))
    numbers: dict[tuple[str, str], int] = {}
    occurrences = pa.concat_tables([_find_phrases(dataset, shard, numbers) for shard in range(dataset.header.shards())])
    present = sorted({action for _, action in numbers})
    pairs = [*numbers, *((word, action) for action in present for word in related["actions"].get(action, ()))]
    # Most texts are related phrases, which all datasets have, so that the cache holds them.
    sentences = [to_sentence(text, related) for text, _ in pairs]
    vectors, _ = encode_texts(sentences, encoder, Progress(), workers=1, cached=cached)
    texts, actions = (np.array(each, str) for each in zip(*pairs, strict=True))
    counted = np.ones(len(pairs), bool)
    for action in present:
        own = np.flatnonzero(actions[: len(numbers)] == action)
        counted[np.setdiff1d(own, own[:: -(-len(own) // MAX_CAPTIONS)])] = False
    stems, shares = count_stems(texts[counted], actions[counted])
    samples, phrases = (column_numbers(occurrences[name]).astype(np.int64) for name in ("sample", "phrase"))
    variants = np.array(occurrences["variant"].to_pylist(), str)
    return SearchIndex(texts, actions, counted, vectors, samples, phrases, variants, stems, shares)


def _find_phrases(dataset: Dataset, shard: int, numbers: dict[tuple[str, str], int]) -> pa.Table:
    """Return the occurrences of phrases in the sequences of a shard, and number new phrases."""
    table = dataset.table(shard, ["sample", "variant", *_SEGMENTS])
    with content_errors(dataset.path):
        actors = table.column("actors").combine_chunks()
        segments = pc.struct_field(actors.flatten(), "segments")
        text, action = (pc.struct_field(segments.flatten(), name) for name in ("text", "action"))
        of_sequence = pa.table([owners(actors)[owners(segments)], text, action], ["sequence", "text", "action"])
    # Groups are in no order that pyarrow promises.
    order = [(name, "ascending") for name in of_sequence.column_names]
    found = of_sequence.group_by(of_sequence.column_names).aggregate([]).sort_by(order)
    pairs = zip(found.column("text").to_pylist(), found.column("action").to_pylist(), strict=True)
    phrases = [numbers.setdefault(pair, len(numbers)) for pair in pairs]
    return (
        table.select(["sample", "variant"])
        .take(found.column("sequence"))
        .append_column("phrase", pa.array(phrases, pa.int64()))
    )


def count_stems(phrases: Array, actions: Array) -> tuple[Array, Array]:
    """Return the word stems of phrases, str [stems], and the share of each action in the phrases with a stem.

    A share, float64 [stems, actions], is that of one more phrase: a stem of a single phrase is weak evidence.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(analyzer=find_stems, binary=True)
    occurs = words.fit_transform(phrases.tolist())
    counts = occurs.T @ (actions[:, None] == np.unique(actions)).astype(np.float64)
    return words.get_feature_names_out().astype(str), counts / (counts.sum(axis=1, keepdims=True) + 1)


def find_stems(text: str) -> list[str]:
    """Return the stems of the words of an English text: kneels and kneeling have the same stem."""
    return [_stem(word) for word in re.findall(r"[^\W\d_]+", text.lower())]


@cache
def _stem(word: str) -> str:
    import snowballstemmer

    return str(snowballstemmer.stemmer("english").stemWord(word))


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


@dataclass(frozen=True)
class Search:
    """A dataset prepared for search by :func:`open_search`."""

    dataset: Dataset
    embeddings: Embeddings
    load: Callable[[], Encoder]
    index: SearchIndex

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
            raise UsageError("search for at least one sample" if text.strip() else "the text to search for is empty")
        query, index = self.load().encode([text], as_query=True)[0], self.index
        fits = np.round(index.fits(text, query), DIGITS)[index.phrases]
        score = np.full(len(self.dataset), -np.inf)
        np.maximum.at(score, index.samples, fits)
        best = np.lexsort((np.arange(len(score)), -score))[:top]
        return [self._match(int(sample), float(score[sample]), fits, query) for sample in best if np.isfinite(score[sample])]

    def _match(self, sample: int, score: float, fits: Array, query: Array) -> Match:
        index = self.index
        begin, end = np.searchsorted(index.samples, (sample, sample + 1))
        best = begin + np.flatnonzero(fits[begin:end] == score)
        variants = tuple(dict.fromkeys(index.variants[best].tolist()))
        row = next(row for row in self.dataset.rows(sample) if row["variant"] == variants[0])
        captions = [caption["text"] for caption in row["captions"]]
        near = self.embeddings.of_sample(sample)[self.dataset.header.variants.index(variants[0]), : len(captions)] @ query
        phrase = index.phrases[best[0]]
        return Match(
            sample=sample,
            score=score,
            variant=variants[0],
            variants=variants,
            caption=captions[int(near.argmax())],
            action=str(index.actions[phrase]),
            segment=str(index.texts[phrase]),
            actions=tuple(dict.fromkeys(segment["action"] for actor in row["actors"] for segment in actor["segments"])),
        )


def search(path: str | AnyPath, text: str, top: int = 10, *, encoder: str | None = None) -> list[Match]:
    """Return the samples of a dataset that fit a text best; see :func:`open_search` and :meth:`Search.find`.

    Examples
    --------
    >>> import posegen
    >>> posegen.search("data/none", "someone waves")
    Traceback (most recent call last):
    posegen.foundations.errors.MissingPathError: data/none: is not a dataset: there is no such folder. ...
    """
    return open_search(path, encoder).find(text, top)


def open_search(
    path: str | AnyPath, encoder: str | None = None, notify: Callable[[str], None] = print, *, cached: bool = True
) -> Search:
    """Open a dataset for search, and prepare its search index if necessary.

    Parameters
    ----------
    path : str or Path
        The dataset, whose captions are embedded.
    encoder : str, optional
        Name of the vectors; not needed if there is only one set.
    notify : callable
        Receives a message when a model is downloaded.
    cached : bool
        Whether vectors of phrases are read from the cache shared between datasets, and stored there.

    Returns
    -------
    Search

    Raises
    ------
    UsageError
        If there are no embeddings, if there are several and none is named, or if their encoder is not available.
    PosegenError
        If the dataset or its embeddings are damaged, or another encoder has the name of theirs.
    """
    embeddings = open_embeddings(path, encoder)
    dataset, header = open_dataset(path, embeddings.folder.name), embeddings.header
    limit = header.details.get("limit")
    limit = limit if isinstance(limit, int) else None
    load = cache(lambda: load_fingerprinted(str(embeddings.folder), embeddings.source, header.fingerprint, limit, notify))
    return Search(dataset, embeddings, load, open_index(dataset, embeddings, load, cached=cached))
