"""Search a dataset by text: find the samples that show what the text describes.

The fit of a text to a segment combines its similarity to the segment's caption with its fit to the segment's action. The
latter combines the similarity to the nearest captions of the action in the dataset and to related phrases that captions do not
use, the projection on the direction that separates the action from others, and the evidence of single words. A sample scores
as its best segment, plus a small bonus for a caption similar to the text. The searched data are prepared by
:mod:`posegen.embedding.search`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.lock import locked
from posegen.dataset.overlays import commit_part, read_overlay_receipt, read_part, read_part_table
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.tables import column_numbers, encode_table, field_of, owners
from posegen.embedding.cache import vector_cache
from posegen.embedding.encoder import Encoder
from posegen.embedding.neighbours import DIGITS
from posegen.embedding.query_encoder import load_query_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.yaml_files import read_yaml

SEARCH = "search"
VERSION = 5
_RELATED = Path(__file__).parent / "related"
MAX_CAPTIONS = 40
"""Most captions per action in the fit of directions. An action may have thousands, which would outweigh the related phrases."""
REGULARISATION = 10.0
"""Inverse strength of regularisation, scikit-learn's `C`."""
MAX_ITERATIONS = 300
UNSEEN = 1
"""Pseudo-count of phrases of other actions that contain a word: a single phrase is weak evidence."""
CAPTIONS_AS_PHRASES = 20
"""Number of phrases as which all captions of an action count: there are thousands, with the same few words."""
_SEGMENTS = [f"actors.list.element.segments.list.element.{name}" for name in ("text", "action")]
_SCHEMAS = {
    "phrases": pa.schema([("text", pa.string()), ("action", pa.string()), ("related", pa.bool_())]),
    "places": pa.schema([("sample", pa.int64()), ("variant", pa.string()), ("phrase", pa.int32())]),
    "stems": pa.schema([("stem", pa.string())]),
}
_ARRAYS = ("vectors", "directions", "shares")
"""Arrays of the index, in NumPy files: decoding them from Parquet took a third of the time of a search."""

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
class RelatedPhrases:
    """Phrases for actions that captions do not use, by action.

    `subject` is the subject to add to a phrase that does not start with one of `own`.
    """

    words: dict[str, tuple[str, ...]]
    subject: str
    own: tuple[str, ...]

    def sentence(self, phrase: str) -> str:
        """Return the phrase with a subject."""
        return phrase if phrase.split(" ", 1)[0] in self.own else f"{self.subject} {phrase}".strip()


@dataclass(frozen=True)
class SearchIndex:
    """Phrases of a dataset, and the sequences that contain them.

    Attributes
    ----------
    texts, actions : list of str
        Text and action of each phrase.
    related : bool [phrases]
        Whether it is a related phrase, which no sample contains.
    vectors : float32 [phrases, dimension]
    samples, phrases : int64 [occurrences]
        Sample and phrase of each occurrence, sorted by sample.
    variants : list of str
        Variant of each occurrence.
    directions : float32 [actions, dimension + 1]
        See :func:`action_directions`.
    words : WordEvidence
        Evidence of single words for actions.
    """

    texts: list[str]
    actions: list[str]
    related: Array
    vectors: Array
    samples: Array
    phrases: Array
    variants: list[str]
    directions: Array
    words: WordEvidence

    @cached_property
    def numbers(self) -> Array:
        """Number of the action of each phrase, in alphabetical order: int64 [phrases]."""
        return np.unique(self.actions, return_inverse=True)[1]


@cache
def read_related_phrases(language: str) -> RelatedPhrases:
    """Read the related phrases of a language; empty if there are none."""
    path = _RELATED / f"{language}.yaml"
    if not path.is_file():
        return RelatedPhrases({}, "", ())
    document = read_yaml(path)
    words = {action: tuple(phrases) for action, phrases in document["actions"].items()}
    return RelatedPhrases(words, document["subject"], tuple(document["own"]))


def open_index(dataset: Dataset, folder: AnyPath, encoder: Encoder, *, cached: bool = True) -> SearchIndex:
    """Open the search index of a dataset, computing it if necessary.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Folder of the encoder's vectors.
    encoder : Encoder
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
    inputs = [repr((VERSION, len(dataset), encoder.fingerprint, dataset.header.identity, byte_hash(related))), *parts]
    source = byte_hash(f"{each}\n".encode() for each in inputs)
    index = _read_stored(folder, source)
    if index is None:
        with locked(folder):
            index = _compute(dataset, encoder, cached=cached)
            _store(index, folder, len(dataset), source)
    return index


def _compute(dataset: Dataset, encoder: Encoder, *, cached: bool) -> SearchIndex:
    from posegen.library.load import read_words

    related = read_related_phrases(str(read_words(dataset.config.story.library)["language"]))
    numbers: dict[tuple[str, str], int] = {}
    occurrences = [_find_phrases(dataset, shard, numbers) for shard in range(dataset.header.shards())]
    present = {action for _, action in numbers}
    pairs = [*numbers, *((word, action) for action in sorted(present) for word in related.words.get(action, ()))]
    vectors = _encode([related.sentence(text) for text, _ in pairs], encoder, cached=cached)
    texts, actions = [text for text, _ in pairs], [action for _, action in pairs]
    of_action, is_related = np.unique(actions, return_inverse=True)[1], np.arange(len(pairs)) >= len(numbers)
    places = pa.concat_tables([_SCHEMAS["places"].empty_table(), *occurrences])
    directions = action_directions(vectors, of_action, is_related)
    words = count_words(texts, of_action, is_related)
    return SearchIndex(texts, actions, is_related, vectors, *_columns(places), directions, words)


def _encode(texts: list[str], encoder: Encoder, *, cached: bool) -> Array:
    """Return the vectors of texts, most of which all datasets have: related phrases."""
    with vector_cache(encoder, lambda _: None, cached=cached) as known:
        vectors, is_missing = known.look_up(texts)
        missing = [texts[row] for row in np.flatnonzero(is_missing).tolist()]
        vectors[is_missing] = encoder.encode(missing)
        known.store(missing, vectors[is_missing])
    return vectors


def _store(index: SearchIndex, folder: AnyPath, samples: int, source: str) -> None:
    tables = {
        "phrases": [index.texts, index.actions, index.related],
        "places": [index.samples, index.variants, index.phrases],
        "stems": [list(index.words.stems)],
    }
    encoded = {name: pa.table(columns, schema=_SCHEMAS[name]) for name, columns in tables.items()}
    files = {_table_path(name): [encode_table(table)] for name, table in encoded.items()}
    for name, array in zip(_ARRAYS, (index.vectors, index.directions, index.words.shares), strict=True):
        data = BytesIO()
        np.save(data, array, allow_pickle=False)
        files[_array_path(name)] = [data.getvalue()]
    counts = {name: len(table) for name, table in encoded.items()} | {"actions": len(index.directions)}
    commit_part(folder, SEARCH, 0, samples, source, counts, files)


def _table_path(name: str) -> str:
    return f"{SEARCH}/{name}.parquet"


def _array_path(name: str) -> str:
    return f"{SEARCH}/{name}.npy"


def _columns(places: pa.Table) -> tuple[Array, Array, list[str]]:
    """Return samples, phrases and variants."""
    samples, phrases = (column_numbers(places.column(name)) for name in ("sample", "phrase"))
    return samples, phrases.astype(np.int64), places.column("variant").to_pylist()


def _find_phrases(dataset: Dataset, shard: int, numbers: dict[tuple[str, str], int]) -> pa.Table:
    """Return the occurrences of phrases in the sequences of a shard, and number new phrases."""
    table = dataset.table(shard, ["sample", "variant", *_SEGMENTS])
    with content_errors(dataset.path):
        actors = table.column("actors").combine_chunks()
        segments = field_of(actors.flatten(), "segments")
        text, action = (field_of(segments.flatten(), name) for name in ("text", "action"))
        of_sequence = pa.table([owners(actors)[owners(segments)], text, action], ["sequence", "text", "action"])
    # Groups are in no order that pyarrow promises.
    found = (
        of_sequence.group_by(of_sequence.column_names)
        .aggregate([])
        .sort_by([(name, "ascending") for name in of_sequence.column_names])
    )
    pairs = zip(found.column("text").to_pylist(), found.column("action").to_pylist(), strict=True)
    phrase = pa.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], pa.int32())
    return (
        table.select(["sample", "variant"])
        .take(found.column("sequence"))
        .append_column("phrase", phrase)
        .cast(_SCHEMAS["places"])
    )


def _read_stored(folder: AnyPath, source: str) -> SearchIndex | None:
    """Return the stored index; None if there is none, if it has another source, or if it is damaged."""
    try:
        receipt = read_overlay_receipt(folder, SEARCH, 0)
        if receipt.source != source:
            return None
        phrases, places, stems = (
            read_part_table(folder, receipt, _table_path(name), receipt.numbers[name], schema)
            for name, schema in _SCHEMAS.items()
        )
        vectors, directions, shares = (
            np.load(BytesIO(read_part(folder, receipt, _array_path(name))), allow_pickle=False) for name in _ARRAYS
        )
    except (FileNotFoundError, PosegenError):
        return None
    with content_errors(folder / SEARCH):
        words = WordEvidence({stem: number for number, stem in enumerate(stems.column("stem").to_pylist())}, shares)
        texts, actions, related = (phrases.column(name).to_pylist() for name in ("text", "action", "related"))
        return SearchIndex(texts, actions, np.array(related, bool), vectors, *_columns(places), directions, words)


def action_directions(vectors: Array, numbers: Array, related: Array) -> Array:
    """Return, for each action, the direction of vectors that separates its phrases from those of other actions.

    The nearest phrase may be near because of its subject or place. Logistic regression over all phrases finds what matters.

    Parameters
    ----------
    vectors : float32 [phrases, dimension]
        Of unit length.
    numbers : int64 [phrases]
        Action of each phrase, from 0 without gaps.
    related : bool [phrases]
        Whether each is a related phrase; the others are captions of segments.

    Returns
    -------
    float32 [actions, dimension + 1]
        Coefficients, and the intercept in the last column, of the log probability of each action up to a common constant;
        their mean over actions is 0.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    count = int(numbers.max()) + 1
    if count == 1:
        return np.zeros((1, vectors.shape[1] + 1), np.float32)
    chosen = np.concatenate([_training_phrases(np.flatnonzero(numbers == action), related) for action in range(count)])
    model = LogisticRegression(C=REGULARISATION, max_iter=MAX_ITERATIONS, tol=1e-3)
    # Threads would wait for each other in these narrow products, and the last bits would depend on their number.
    with threadpool_limits(1):
        model.fit(vectors[chosen].astype(np.float64), numbers[chosen])
    found = np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)
    if count == 2:  # for two classes, scikit-learn returns the second only
        found = np.concatenate([-found, found]) / 2
    centred: Array = (found - found.mean(axis=0)).astype(np.float32)
    return centred


def _training_phrases(own: Array, related: Array) -> Array:
    captions = own[~related[own]]
    return np.concatenate([own[related[own]], captions[:: max(1, -(-len(captions) // MAX_CAPTIONS))]])


@dataclass(frozen=True)
class WordEvidence:
    """Evidence of word stems for actions, by the phrases that they occur in.

    The vector of a short text may miss its one rare word, such as "genuflects". A word that occurs in phrases of one action
    only is evidence of that action; one that occurs everywhere is evidence of none.

    Attributes
    ----------
    stems : dict of str to int
        Rows of the known stems.
    shares : float64 [stems, actions]
        Share of each action in the phrases that contain a stem.
    """

    stems: dict[str, int]
    shares: Array

    def evidence(self, text: str) -> Array:
        """Return the evidence of the words of a text for each action, float64 [actions]: the sum of their shares."""
        known = sorted({self.stems[stem] for stem in _stems(text) if stem in self.stems})
        found: Array = self.shares[known].sum(axis=0)
        return found


def count_words(phrases: Sequence[str], actions: ArrayLike, related: ArrayLike) -> WordEvidence:
    """Count the word stems of phrases.

    Parameters
    ----------
    phrases : sequence of str
    actions : int [phrases]
        Action of each phrase, from 0.
    related : bool [phrases]
        Whether each is a related phrase; the others are captions of segments.

    Returns
    -------
    WordEvidence
    """
    numbers, is_related = np.asarray(actions), np.asarray(related)
    captions = np.bincount(numbers[~is_related], minlength=int(numbers.max()) + 1)
    weights = np.where(is_related, 1.0, CAPTIONS_AS_PHRASES / np.maximum(captions[numbers], 1))
    stems: dict[str, int] = {}
    found = [
        (stems.setdefault(stem, len(stems)), phrase)
        for phrase, text in enumerate(phrases)
        for stem in dict.fromkeys(_stems(text))
    ]
    rows, of_phrase = np.array(found, np.int64).reshape(-1, 2).T
    counts = np.zeros((len(stems), len(captions)))
    np.add.at(counts, (rows, numbers[of_phrase]), weights[of_phrase])
    return WordEvidence(stems, counts / (counts.sum(axis=1, keepdims=True) + UNSEEN))


def _stems(text: str) -> list[str]:
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


class Search:
    """A dataset prepared for search by :func:`open_search`."""

    def __init__(self, dataset: Dataset, embeddings: Embeddings, encoder: Encoder, index: SearchIndex) -> None:
        self.dataset = dataset
        self.embeddings = embeddings
        self.encoder = encoder
        self._index = index
        self._vectors = embeddings.vectors()
        rows = embeddings.rows
        self._captions, self._samples = (column_numbers(rows.column(name)) for name in ("row", "sample"))
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
            raise UsageError("search for at least one sample" if text.strip() else "the text to search for is empty")
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
    """Load the encoder that computed vectors; see :func:`posegen.embedding.query_encoder.load_query_encoder`."""
    description = embeddings.header.details
    source, limit = str(description.get("source", embeddings.encoder)), description.get("limit")
    limit = limit if isinstance(limit, int) else None
    return load_query_encoder(str(embeddings.folder), source, embeddings.header.fingerprint, limit, notify)


def prepare_search(path: str | AnyPath, encoder: str, notify: Callable[[str], None] = print, *, cached: bool = True) -> None:
    """Compute what a search of a dataset needs unless it exists; parameters as of :func:`open_search`."""
    embeddings = open_embeddings(path, encoder)
    dataset = open_dataset(path, embeddings.folder.name)
    if len(dataset):
        open_index(dataset, embeddings.folder, _load_encoder_of(embeddings, notify), cached=cached)


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
        Receives a message when a model is downloaded, or loaded with torch.
    cached : bool
        Whether vectors of phrases are read from the cache shared between datasets, and stored there.

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
    return Search(dataset, embeddings, loaded, open_index(dataset, embeddings.folder, loaded, cached=cached))
