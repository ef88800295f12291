"""Features of rows for scikit-learn: words and characters of texts, numbers, categories, vectors, and comparisons of pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from posegen.foundations.arrays import Array
from posegen.tables.columns import Columns, Rows

_WORD = r"(?u)\d+|[^\W\d_]+"
"""Digits are words of their own: ``x6`` and ``pack of 6`` have one in common."""
_PHRASES = re.compile(r"[,;.|\n]")
_MOST_FEATURES = 200_000
_COMPONENTS = 50
_MOST_CLUSTERS, _ROWS_PER_CLUSTER, _FEWEST_CLUSTERED = 300, 5, 300


@dataclass(frozen=True)
class Recipe:
    """What features a model reads.

    Attributes
    ----------
    words : str
        ``tfidf``: frequencies of words and parts of words; ``counts``: which words occur, whose effects add up.
    encoded : bool
        Whether the vectors of the encoder are read.
    dense : bool
        Whether texts are reduced to few components, and missing numbers stay missing, for trees.
    """

    words: str = "tfidf"
    encoded: bool = False
    dense: bool = False


def _parts(rows: Rows, columns: Columns, recipe: Recipe) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the values and the new transformer of each part; None: the values are features as they are."""
    tfidf = partial(TfidfVectorizer, sublinear_tf=True, max_features=_MOST_FEATURES, dtype=np.float32)
    for name, texts in rows.texts.items():
        words = tfidf(ngram_range=(1, 2), token_pattern=_WORD)
        if recipe.dense and columns.pair:
            continue
        if recipe.dense:
            yield f"words {name}", texts, make_pipeline(words, TruncatedSVD(_COMPONENTS, random_state=0))
        elif recipe.words == "counts":
            yield f"words {name}", texts, CountVectorizer(binary=True, token_pattern=_WORD, min_df=2, dtype=np.float32)
        else:
            yield f"words {name}", texts, words
            yield f"characters {name}", texts, tfidf(analyzer="char", ngram_range=(2, 5))
        if recipe.encoded:
            yield f"encoded {name}", rows.encoded[name], None
    scaled = partial(make_pipeline, SimpleImputer(add_indicator=True, keep_empty_features=True))
    if columns.numbers:
        yield (
            "numbers",
            rows.numbers if recipe.dense else _with_logs(rows.numbers),
            None if recipe.dense else scaled(StandardScaler()),
        )
    if columns.small:
        ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        yield "categories", rows.small, ordinal if recipe.dense else OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
    for name, vectors in rows.vectors.items():
        if name not in columns.pair:
            yield f"vectors {name}", vectors, None if recipe.dense else StandardScaler()
    if columns.pair:
        yield "pair", pair_features(rows, columns, encoded=recipe.encoded), None if recipe.dense else StandardScaler()


def fit_features(rows: Rows, columns: Columns, recipe: Recipe) -> tuple[dict[str, Any], Any]:
    """Fit the transformers of the features of rows; return these by name, and the features, dense or sparse [row, feature].

    A column without any word has no features.
    """
    fitted: dict[str, Any] = {}
    for name, values, transformer in _parts(rows, columns, recipe):
        if transformer is not None:
            try:
                fitted[name] = transformer.fit(values)
            except ValueError as error:
                if "vocabulary" not in str(error) and "After pruning" not in str(error) and "n_components" not in str(error):
                    raise
    return fitted, features(rows, columns, recipe, fitted)


def features(rows: Rows, columns: Columns, recipe: Recipe, fitted: dict[str, Any]) -> Any:
    """Return the features of rows by fitted transformers, dense or sparse [row, feature]."""
    matrices = []
    for name, values, transformer in _parts(rows, columns, recipe):
        if transformer is None or name in fitted:
            matrix = values if transformer is None else fitted[name].transform(values)
            # A vector has about the length of a text's frequencies, however many components it has.
            is_vector = name.startswith("vectors") and not recipe.dense
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


def _with_logs(numbers: Array) -> Array:
    """Return numbers and their signed logarithms."""
    return np.concatenate([numbers, np.sign(numbers) * np.log1p(np.abs(numbers))], axis=1)


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
