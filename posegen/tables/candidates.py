"""Candidates for the model of a table: what each reads, how it is fitted, and its error in cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier

from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform
from posegen.tables.columns import Columns, Rows
from posegen.tables.features import Recipe, features, fit_features

FOLDS = 5
STRENGTHS = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Inverse regularisation of linear models: C, or 10 / alpha."""
_FEW_STRENGTHS = (1.0, 10.0)
_MOST_LABELS = 400_000
"""Rows times categories, above which fewer strengths are tried."""
_FEWEST_BOOSTED, _MOST_BOOSTED = 100, 2_000_000
"""Least rows, and most rows times categories, of boosted trees."""
_LEAST_PROBABILITY = 1e-6
_TEMPERATURES = np.exp(np.linspace(np.log(0.2), np.log(5), 33))


TFIDF = Recipe()


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
        ``constant``, ``linear`` or ``boosted``.
    recipe : Recipe
    """

    name: str
    title: str
    head: str
    recipe: Recipe = TFIDF


CONSTANT = Candidate("constant", "constant", "constant")
BASELINE = Candidate("linear", "linear baseline", "linear")
CANDIDATES = (
    CONSTANT,
    BASELINE,
    Candidate("counts", "linear, of words that occur", "linear", Recipe("counts")),
    Candidate("boosted", "boosted trees", "boosted", Recipe(dense=True)),
    Candidate("encoded", "linear, with vectors of the encoder", "linear", Recipe(encoded=True)),
    Candidate("encoded-counts", "linear, of words that occur and vectors of the encoder", "linear", Recipe("counts", True)),
)


def candidates_for(columns: Columns, rows: int) -> tuple[Candidate, ...]:
    """Return the candidates that suit a table with a number of rows, the cheapest first."""
    labels = rows * max(1, len(columns.categories))
    trees = rows >= _FEWEST_BOOSTED and labels <= _MOST_BOOSTED and len(columns.inputs) > len(columns.texts) - len(columns.pair)
    unsuited = {"counts", "encoded", "encoded-counts"} if not columns.texts else set()
    unsuited |= {"encoded", "encoded-counts"} if columns.encoder is None else set()
    # Of texts alone, words as they occur are better than their components.
    unsuited |= set() if trees else {"boosted"}
    return tuple(each for each in CANDIDATES if each.name not in unsuited)


@dataclass(frozen=True)
class Fitted:
    """A fitted model: transformers of the features by name, and the head; a constant's head is its scores."""

    candidate: Candidate
    parts: dict[str, Any]
    head: Any

    def scores(self, rows: Rows, columns: Columns) -> Array:
        """Return probabilities [row, category], or numbers [row, 1] as they are trained."""
        if self.candidate.head == "constant":
            return np.tile(np.asarray(self.head, np.float64), (len(rows), 1))
        return _scores(self.head, features(rows, columns, self.candidate.recipe, self.parts), columns)


def encode(label: Array, columns: Columns) -> Array:
    """Return labels as they are trained: the logarithm of positive numbers."""
    return np.log(label) if columns.is_ratio else label


def decode(scores: Array, columns: Columns) -> Array:
    """Return numbers in the unit of the label."""
    return np.exp(scores[:, 0]) if columns.is_ratio else scores[:, 0]


def fit(candidate: Candidate, strength: float, rows: Rows, label: Array, columns: Columns) -> Fitted:
    """Fit a candidate to rows with labels as they are trained."""
    if candidate.head == "constant":
        return Fitted(candidate, {}, _constant(label, columns))
    with _quietly():
        parts, matrix = fit_features(rows, columns, candidate.recipe)
        return Fitted(candidate, parts, _head(candidate, strength, matrix, columns).fit(matrix, label))


def trial_seconds(candidate: Candidate, rows: Rows, label: Array, columns: Columns) -> tuple[float, float]:
    """Return the seconds that the features of rows take, and the fit of a head to them; not of an encoder's vectors."""
    recipe, begin = replace(candidate.recipe, encoded=False), time.perf_counter()
    if candidate.head == "constant":
        return 0.0, 0.0
    if columns.categories and len(np.unique(label)) < 2:
        label = np.arange(len(label)) % 2
    with _quietly():
        _, matrix = fit_features(rows, columns, recipe)
        fitted = time.perf_counter()
        _head(candidate, 1.0, matrix, columns).fit(matrix, label)
    return fitted - begin, time.perf_counter() - fitted


def _constant(label: Array, columns: Columns) -> list[float]:
    if not columns.categories:
        return [float(np.median(label))]
    counts = np.bincount(label.astype(np.int64), minlength=len(columns.categories))
    return list(map(float, counts / counts.sum()))


def _head(candidate: Candidate, strength: float, matrix: Any, columns: Columns) -> Any:
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
    probabilities = np.full((matrix.shape[0], len(columns.categories)), 0.0)
    # A fold may lack a category.
    probabilities[:, np.asarray(head.classes_, np.int64)] = head.predict_proba(matrix)
    return np.nan_to_num(probabilities, nan=1 / len(columns.categories))


@contextmanager
def _quietly() -> Iterator[None]:
    """Ignore that a solver reached its limit of iterations: cross-validation compares what it has by then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


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
    with _quietly():
        # Features are fitted once, without labels: it takes a fifth of the time.
        matrix = None if candidate.head == "constant" else fit_features(rows, columns, candidate.recipe)[1]
        for fold in np.unique(folds):
            own = folds == fold
            for strength, every in scores.items():
                if matrix is None or len(np.unique(label[~own])) < 2:
                    every[own] = _constant(label[~own], columns)
                else:
                    head = _head(candidate, strength, matrix, columns).fit(matrix[~own], label[~own])
                    every[own] = _scores(head, matrix[own], columns)
    found = []
    for strength, every in scores.items():
        temperature = temperature_of(every, label) if columns.categories else None
        calibrated = heated(every, temperature)
        found.append((Found(float(errors(calibrated, label, columns).mean()), strength, temperature), calibrated))
    return min(found, key=lambda each: each[0].error)


def errors(scores: Array, label: Array, columns: Columns) -> Array:
    """Return the error of each row by which candidates are compared: the log loss, SMAPE as a share, or the absolute error."""
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
