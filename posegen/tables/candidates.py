"""Candidates for the model of a table: the features that each reads, how it is fitted, and its error in cross-validation.

Features are words and characters of texts, numbers, categories, vectors, and comparisons of pairs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform
from posegen.tables.columns import Columns, Rows

FOLDS = 5
STRENGTHS: tuple[float, ...] = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Inverse regularisation of linear models: C, or 10 / alpha."""
_FEW_STRENGTHS = (1.0, 10.0)
_MOST_LABELS = 400_000
"""Rows times categories, above which fewer strengths are tried."""
_FEWEST_BOOSTED, _MOST_BOOSTED = 100, 2_000_000
"""Least rows, and most rows times categories, of boosted trees."""
_LEAST_PROBABILITY = 1e-6
_TEMPERATURES = np.exp(np.linspace(np.log(0.2), np.log(5), 33))

_WORD = r"(?u)\d+|[^\W\d_]+"
"""Digits are words of their own: ``x6`` and ``pack of 6`` have one in common."""
_PHRASES = re.compile(r"[,;.|\n]")
_MOST_FEATURES = 200_000
_COMPONENTS = 50
_MOST_CLUSTERS, _ROWS_PER_CLUSTER, _FEWEST_CLUSTERED = 300, 5, 300


@dataclass(frozen=True)
class Candidate:
    """A candidate.

    Attributes
    ----------
    name : str
        Also that of its file.
    title : str
        For readers.
    head : str
        ``constant``, ``linear`` or ``boosted``. Trees read few components of texts, and numbers that are missing as such.
    words : str
        ``tfidf``: frequencies of words and parts of words; ``counts``: which words occur, whose effects add up.
    encoded : bool
        Whether the vectors of the encoder are read.
    """

    name: str
    title: str
    head: str = "linear"
    words: str = "tfidf"
    encoded: bool = False


CONSTANT = Candidate("constant", "constant", "constant")
BASELINE = Candidate("linear", "linear baseline")
ALL = {
    candidate.name: candidate
    for candidate in (
        CONSTANT,
        BASELINE,
        Candidate("counts", "linear, of words that occur", words="counts"),
        Candidate("boosted", "boosted trees", "boosted"),
        Candidate("encoded", "linear, with vectors of the encoder", encoded=True),
        Candidate("encoded-counts", "linear, of words that occur and vectors of the encoder", "linear", "counts", True),
    )
}
"""All candidates by name, the cheapest first."""


def _parts(rows: Rows, columns: Columns, candidate: Candidate) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the values and the new transformer of each part; None: the values are features as they are."""
    if candidate.head == "constant":
        return
    tfidf = partial(TfidfVectorizer, sublinear_tf=True, max_features=_MOST_FEATURES, dtype=np.float32)
    is_linear = candidate.head == "linear"
    for name, texts in rows.texts.items():
        words: Any = tfidf(ngram_range=(1, 2), token_pattern=_WORD)
        if not is_linear:
            words = make_pipeline(words, TruncatedSVD(_COMPONENTS, random_state=0))
        elif candidate.words == "counts":
            words = CountVectorizer(binary=True, token_pattern=_WORD, min_df=2, dtype=np.float32)
        if is_linear or not columns.pair:
            yield f"words {name}", texts, words
        if is_linear and candidate.words == "tfidf":
            yield f"characters {name}", texts, tfidf(analyzer="char", ngram_range=(2, 5))
        if candidate.encoded:
            yield f"encoded {name}", rows.encoded[name], None
    if columns.numbers and is_linear:
        logs = np.sign(rows.numbers) * np.log1p(np.abs(rows.numbers))
        imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)
        yield "numbers", np.concatenate([rows.numbers, logs], axis=1), make_pipeline(imputer, StandardScaler())
    elif columns.numbers:
        yield "numbers", rows.numbers, None
    if columns.small:
        ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        yield "categories", rows.small, OneHotEncoder(handle_unknown="ignore", dtype=np.float32) if is_linear else ordinal
    for name, vectors in rows.vectors.items():
        if name not in columns.pair:
            yield f"vectors {name}", vectors, StandardScaler() if is_linear else None
    if columns.pair:
        yield "pair", pair_features(rows, columns, encoded=candidate.encoded), StandardScaler() if is_linear else None


def fit_features(rows: Rows, columns: Columns, candidate: Candidate) -> tuple[dict[str, Any], Any]:
    """Fit the transformers of the features of rows; return these by name, and the features, dense or sparse [row, feature].

    A column without any word has no features.
    """
    fitted: dict[str, Any] = {}
    for name, values, transformer in _parts(rows, columns, candidate):
        if transformer is not None:
            try:
                fitted[name] = transformer.fit(values)
            except ValueError as error:
                if not any(reason in str(error) for reason in ("vocabulary", "After pruning", "n_components")):
                    raise
    return fitted, features(rows, columns, candidate, fitted)


def features(rows: Rows, columns: Columns, candidate: Candidate, fitted: dict[str, Any]) -> Any:
    """Return the features of rows by fitted transformers, dense or sparse [row, feature]."""
    matrices = []
    for name, values, transformer in _parts(rows, columns, candidate):
        if transformer is None or name in fitted:
            matrix = values if transformer is None else fitted[name].transform(values)
            # A vector has about the length of a text's frequencies, however many components it has.
            is_vector = name.startswith("vectors") and transformer is not None
            matrices.append(matrix / np.sqrt(matrix.shape[1]) if is_vector else matrix)
    if not any(sparse.issparse(matrix) for matrix in matrices):
        return np.concatenate([np.zeros((len(rows), 1)), *matrices], axis=1)
    return sparse.hstack([sparse.csr_matrix(matrix) for matrix in matrices], format="csr")


def text_groups(rows: Rows, groups: Array) -> Array:
    """Return groups of rows, int64 [row], for folds: two thirds of the rows share one with all rows that have similar texts."""
    texts = [" ".join(each) for each in zip(*rows.texts.values(), strict=True)]
    count = min(_MOST_CLUSTERS, len(texts) // _ROWS_PER_CLUSTER)
    if len(texts) < _FEWEST_CLUSTERED or len(set(texts)) <= count:
        return groups
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True).fit_transform(
        [f"{each} ." for each in texts]
    )
    reduced = TruncatedSVD(min(_COMPONENTS, vectors.shape[1]), random_state=0).fit_transform(vectors)
    cluster = np.asarray(KMeans(count, n_init=1, random_state=0).fit_predict(reduced), np.int64)
    # Groups are positive. A word that is in one cluster only could otherwise not be learned at all.
    return np.where(cluster % 3 > 0, -1 - cluster, groups)


def pair_features(rows: Rows, columns: Columns, *, encoded: bool) -> Array:
    """Return how alike the two values of a pair are, float64 [row, feature]: vectors or texts."""
    one, other = ({**rows.vectors, **rows.texts}[name] for name in columns.pair)
    if columns.pair[0] in rows.vectors:
        return _vector_features(one, other)
    hashing = partial(HashingVectorizer, alternate_sign=False, dtype=np.float32)
    parts = [
        np.asarray(each.transform(one).multiply(each.transform(other)).sum(axis=1))
        for each in (hashing(token_pattern=_WORD), hashing(analyzer="char_wb", ngram_range=(3, 4)))
    ]
    parts.append(np.array([_overlaps(*texts) for texts in zip(one, other, strict=True)]))
    if encoded:
        parts.append(_vector_features(*(rows.encoded[name] for name in columns.pair)))
    return np.concatenate(parts, axis=1).astype(np.float64)


def pair_similarity(rows: Rows, columns: Columns) -> Array:
    """Return how similar the two values of a pair are, float64 [row]: the cosine of vectors, or common words."""
    is_vector = columns.pair[0] in rows.vectors
    return np.asarray(pair_features(rows, columns, encoded=False)[:, -2 if is_vector else 0])


def _vector_features(one: Array, other: Array) -> Array:
    difference, product = np.abs(one - other), one * other
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosine = product.sum(axis=1) / np.maximum(lengths, 1e-12)
    return np.column_stack([difference, product, cosine, np.linalg.norm(difference, axis=1)])


def _overlaps(one: str, other: str) -> list[float]:
    """Return the Jaccard index and the overlap coefficient of the words, then of the phrases between commas, of two texts."""
    overlaps = []
    for split in (re.compile(_WORD).findall, lambda text: [part.strip() for part in _PHRASES.split(text)]):
        first, second = ({part for part in split(text.lower()) if part} for text in (one, other))
        common = len(first & second)
        overlaps += [common / max(1, len(first | second)), common / max(1, min(len(first), len(second)))]
    return overlaps


def suited(columns: Columns, rows: int) -> tuple[Candidate, ...]:
    """Return the candidates that suit a table with a number of rows, the cheapest first."""
    # Of texts alone, words as they occur are better than their components.
    only_texts = len(columns.inputs) == len(columns.texts) - len(columns.pair)
    can_boost = not only_texts and rows >= _FEWEST_BOOSTED and rows * max(1, len(columns.categories)) <= _MOST_BOOSTED
    has_encoder = columns.encoder is not None
    suits = {"counts": bool(columns.texts), "encoded": has_encoder, "encoded-counts": has_encoder, "boosted": can_boost}
    return tuple(each for each in ALL.values() if suits.get(each.name, True))


@dataclass(frozen=True)
class Fitted:
    """A fitted model: transformers of the features by name, and the head, an estimator of scikit-learn."""

    candidate: Candidate
    parts: dict[str, Any]
    head: Any

    def scores(self, rows: Rows, columns: Columns) -> Array:
        """Return probabilities [row, category], or numbers [row, 1] as they are trained."""
        return _scores(self.head, features(rows, columns, self.candidate, self.parts), columns)


def encode(label: Array, columns: Columns) -> Array:
    """Return labels as they are trained: the logarithm of positive numbers."""
    return np.log(label) if columns.is_ratio else label


def decode(scores: Array, columns: Columns) -> Array:
    """Return numbers in the unit of the label."""
    return np.exp(scores[:, 0]) if columns.is_ratio else scores[:, 0]


def fit(candidate: Candidate, strength: float, rows: Rows, label: Array, columns: Columns) -> Fitted:
    """Fit a candidate to rows with labels as they are trained."""
    parts, matrix = fit_features(rows, columns, candidate)
    return Fitted(candidate, parts, _head(candidate, strength, matrix, columns).fit(matrix, label))


def trial_seconds(candidate: Candidate, rows: Rows, label: Array, columns: Columns) -> tuple[float, float]:
    """Return the seconds that the features of rows take, and the fit of a head to them; not of an encoder's vectors."""
    begin = time.perf_counter()
    if columns.categories and len(np.unique(label)) < 2:
        label = np.arange(len(label)) % 2
    _, matrix = fit_features(rows, columns, replace(candidate, encoded=False))
    fitted = time.perf_counter()
    _head(candidate, 1.0, matrix, columns).fit(matrix, label)
    return fitted - begin, time.perf_counter() - fitted


def _head(candidate: Candidate, strength: float, matrix: Any, columns: Columns) -> Any:
    if candidate.head == "constant":
        return DummyClassifier(strategy="prior") if columns.categories else DummyRegressor(strategy="median")
    if candidate.head == "boosted":
        options = {"learning_rate": 0.1, "max_iter": 100, "max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
        return (HistGradientBoostingClassifier if columns.categories else HistGradientBoostingRegressor)(**options)
    if not columns.categories:
        return Ridge(alpha=10 / strength)
    if sparse.issparse(matrix):
        # In a tenth of the time of a solver for all categories at once.
        return OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear", dual=True, tol=0.01, random_state=0))
    return LogisticRegression(C=strength, max_iter=300)


def _scores(head: Any, matrix: Any, columns: Columns) -> Array:
    if not columns.categories:
        return np.asarray(head.predict(matrix), np.float64)[:, None]
    probabilities = np.zeros((matrix.shape[0], len(columns.categories)))
    # A fold may lack a category.
    probabilities[:, np.asarray(head.classes_, np.int64)] = head.predict_proba(matrix)
    return np.nan_to_num(probabilities, nan=1 / len(columns.categories))


def folds_of(groups: Array, label: Array, columns: Columns, seed: int) -> Array:
    """Return the fold of each row, int64 [row]: groups stay together, and categories are spread."""
    names, first, which = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(uniform(seed, np.arange(len(names)), Stream.SPLIT, 1)[:, 0])
    if columns.categories:
        order = order[np.argsort(label[first][order], kind="stable")]
    fold = np.empty(len(names), np.int64)
    fold[order] = np.arange(len(names)) % FOLDS
    return fold[which]


@dataclass(frozen=True)
class Found:
    """Result of the cross-validation of a candidate.

    Attributes
    ----------
    error : float
        See :func:`errors`.
    strength : float
        Inverse regularisation.
    temperature : float or None
        See :func:`heated`.
    """

    error: float
    strength: float
    temperature: float | None = None


def cross_validate(
    candidate: Candidate, rows: Rows, label: Array, folds: Array, columns: Columns, strengths: Sequence[float] = STRENGTHS
) -> tuple[Found, Array]:
    """Return the result of the best strength of a candidate, and its calibrated scores of rows that it was not fitted on."""
    few = len(label) * max(1, len(columns.categories)) > _MOST_LABELS
    tried = tuple(each for each in strengths if each in _FEW_STRENGTHS) if few and len(strengths) > 1 else tuple(strengths)
    tried = tried if candidate.head == "linear" else tried[:1]
    shape = len(label), max(1, len(columns.categories))
    scores = {strength: np.zeros(shape) for strength in tried}
    # Features are fitted once, without labels: it takes a fifth of the time.
    _, matrix = fit_features(rows, columns, candidate)
    for fold in np.unique(folds):
        own = folds == fold
        fitting = candidate if len(np.unique(label[~own])) > 1 else CONSTANT
        for strength, every in scores.items():
            head = _head(fitting, strength, matrix, columns).fit(matrix[~own], label[~own])
            every[own] = _scores(head, matrix[own], columns)
    found = []
    for strength, every in scores.items():
        temperature = temperature_of(every, label) if columns.categories else None
        calibrated = heated(every, temperature)
        found.append((Found(float(errors(calibrated, label, columns).mean()), strength, temperature), calibrated))
    return min(found, key=lambda each: each[0].error)


def errors(scores: Array, label: Array, columns: Columns) -> Array:
    """Return the error of each row, which compares candidates: the log loss, SMAPE as a share, or the absolute error."""
    if columns.categories:
        return -np.log(np.maximum(scores[np.arange(len(label)), label.astype(np.int64)], _LEAST_PROBABILITY))
    if columns.is_ratio:
        return np.asarray(2 * np.tanh(np.abs(scores[:, 0] - label) / 2))
    return np.asarray(np.abs(scores[:, 0] - label))


def heated(probabilities: Array, temperature: float | None) -> Array:
    """Return calibrated probabilities, p^(1/T), normalised; numbers, which have no temperature, as they are.

    >>> heated(np.array([[0.9, 0.1]]), 1.0).round(3).tolist(), heated(np.array([[0.9, 0.1]]), 2.0).round(3).tolist()
    ([[0.9, 0.1]], [[0.75, 0.25]])
    """
    if temperature is None:
        return probabilities
    powers = np.maximum(probabilities, _LEAST_PROBABILITY) ** (1 / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def temperature_of(probabilities: Array, label: Array) -> float:
    """Return the temperature with the least log loss."""
    true = np.arange(len(label)), label.astype(np.int64)
    return float(min(_TEMPERATURES, key=lambda each: -np.log(heated(probabilities, each)[true]).mean()))
