"""Mine pairs of a user's own texts: for rows of a table a similar row, and a hard negative, which is near but different.

Rows are compared by their sets, such as ingredients, through an inverted index, or by vectors, through faiss. Either way a row
is compared with a bounded number of candidates, never with all rows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from posegen.dataset.files import write_durably
from posegen.dataset.table_files import is_text, read_table, require_parquet, text_columns
from posegen.dataset.tables import encode_table
from posegen.embedding.cache import encode_texts
from posegen.embedding.encoder import unit_length
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.embedding.own_texts import VECTOR
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known, require_positive
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.randomness import Stream, permuted

POSITIVE, NEGATIVE = 0.4, 0.2
"""Least Jaccard index of the sets of a positive, and what that of a hard negative stays below."""
NEIGHBOURS, SIMILARITY, NEGATIVE_SHARE = 64, 0.7, 0.9
"""Neighbours by vectors; least cosine of a positive; a negative is less similar than this share of the positive's cosine."""
_EXACT = 20_000
"""Number of vectors up to which all are compared; it takes half a minute of a core at most."""
_MAX_LISTS, _MIN_PER_LIST, _PROBED_LISTS = 1024, 64, 32
"""Of the inverted index of more vectors: most lists, least mean number of vectors per list, and lists that are searched."""
_TRAINING_PER_LIST, _TRAINING_ROUNDS = 40, 8
_DIGITS = 6
"""Decimals to which cosines are rounded, so that the last bits of sums do not matter."""
_POSTINGS = 128
"""Most rows of an item that are candidates: those after the row, and then from the first one."""
_PROBES = 16
"""Rows that are candidates of a row although they may share no item."""
_BLOCK = 1024
_SEPARATORS = re.compile(r"[,;|]")


class _Pair(NamedTuple):
    """Rows of an anchor, its positive and its negative, and the similarity of the first two."""

    anchor: int
    positive: int
    negative: int
    score: float


_Find = Callable[[Array], Iterator[_Pair]]
"""Yields the pairs of some anchors."""


@dataclass(frozen=True)
class MinedPairs:
    """Result of :func:`mine_table`: the table, its pairs, the rows that were compared, and by what."""

    path: Path
    pairs: int
    rows: int
    by: str
    seconds: float


def mine_table(
    path: Path,
    out: Path,
    columns: Sequence[str],
    *,
    overlap: str | None = None,
    count: int | None = None,
    encoder: str = DEFAULT,
    progress: Progress | None = None,
) -> MinedPairs:
    """Write a table of anchors, positives and hard negatives: texts, their rows, and the similarity of anchor and positive.

    Parameters
    ----------
    path : Path
        CSV or Parquet file.
    out : Path
        Parquet file.
    columns : sequence of str
        Columns of texts; several are joined as :func:`join_columns` does.
    overlap : str, optional
        Column of sets: lists, or texts separated by ``,``, ``;`` or ``|``. By default rows are compared by vectors.
    count : int, optional
        Most pairs; by default each row is an anchor.
    encoder : str, optional
        Computes the vectors, unless the table has the column ``vector`` or ``COLUMN_vector``.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the table has no such columns, or no two rows are similar.
    """
    start, display = time.monotonic(), progress or Progress()
    require_extra("embed")
    require_positive("--count", count)
    require_parquet(out)
    table = read_table(path, display.log)
    texts = np.array(join_columns(path, table, columns), object)
    present = np.flatnonzero([bool(text.strip()) for text in texts])
    own = texts[present].tolist()
    if overlap is None:
        by, find = "vectors", _by_vectors(_vectors(table.take(present), columns, own, encoder, display), display)
    else:
        require_known(f"{path}: has no column", overlap, table.column_names)
        by, find = f"sets of {overlap}", _by_sets(_sets(path, table.take(present), overlap))
    most = min(count or len(own), len(own))
    found: list[_Pair] = []
    order = permuted(0, np.arange(len(own)), len(own), Stream.ORDER)
    display.start("mine pairs", most, unit="pairs")
    for rows in np.split(order, range(_BLOCK, len(order), _BLOCK)):
        if len(found) < most:
            found += [pair for pair in find(rows) if own[pair.anchor] != own[pair.positive]]
            display.update(min(len(found), most))
    display.stop()
    if not found:
        least = f"a cosine of {SIMILARITY}" if overlap is None else f"a Jaccard index of {POSITIVE}"
        raise UsageError(f"{path}: no two rows with different texts have {least} or more. Compare them by other columns")
    write_durably(out, encode_table(_pair_table(found[:most], own, present)))
    return MinedPairs(out, len(found[:most]), len(own), by, time.monotonic() - start)


def _pair_table(pairs: Sequence[_Pair], texts: Sequence[str], rows: Array) -> pa.Table:
    """Return pairs with their texts, and the numbers of their rows in the table that they were mined from."""
    *members, scores = (np.array(values) for values in zip(*pairs, strict=True))
    made = {name: [texts[row] for row in own.tolist()] for name, own in zip(_Pair._fields, members, strict=False)}
    made |= {f"{name}_row": rows[own] for name, own in zip(_Pair._fields, members, strict=False)}
    return pa.table(made | {"score": pa.array(scores, pa.float32())})


def join_columns(path: Path, table: pa.Table, columns: Sequence[str]) -> list[str]:
    """Return a text for each row: the cell of a single column, or ``column: cell`` of several, separated by semicolons.

    >>> join_columns(Path(), pa.table({"a": ["x", None], "b": ["1", "2"]}), ["a", "b"])
    ['a: x; b: 1', 'b: 2']
    """
    text_columns(path, table, columns)
    cells = [table[name].to_pylist() for name in columns]
    if len(columns) == 1:
        return ["" if cell is None else str(cell) for cell in cells[0]]
    rows = (zip(columns, row, strict=True) for row in zip(*cells, strict=True))
    return ["; ".join(f"{name}: {cell}" for name, cell in row if cell not in (None, "")) for row in rows]


def _vectors(table: pa.Table, columns: Sequence[str], texts: Sequence[str], encoder: str, progress: Progress) -> Array:
    """Return the vectors of texts: those of the table, or those of an encoder."""
    for name in (VECTOR, f"{columns[0]}_{VECTOR}"):
        if len(columns) == 1 and name in table.column_names and pa.types.is_fixed_size_list(table.schema.field(name).type):
            stored = table[name].combine_chunks()
            if stored.null_count == 0:
                progress.log(f"comparing the vectors of the column {name}")
                return unit_length(np.array(stored.flatten(), np.float32).reshape(len(table), -1))
    loaded = find_encoder(encoder, notify=progress.log).load(None)
    return encode_texts(texts, loaded, progress)[0]


def _by_vectors(vectors: Array, progress: Progress) -> _Find:
    with progress.working("build the index"):
        index = neighbour_index(vectors)

    def find(rows: Array) -> Iterator[_Pair]:
        cosines, others = index.search(vectors[rows], min(len(vectors), NEIGHBOURS + 1))
        for row, near, similar in zip(rows.tolist(), others, np.round(cosines, _DIGITS), strict=True):
            order = np.lexsort((near, -similar))  # ties by row
            order = order[(near[order] >= 0) & (near[order] != row)]
            same = order[(similar[order] >= SIMILARITY) & (similar[order] < 1)]
            far = order[similar[order] < NEGATIVE_SHARE * similar[same[0]]] if len(same) else same
            if len(far):
                yield _Pair(row, int(near[same[0]]), int(near[far[0]]), float(similar[same[0]]))

    return find


def neighbour_index(vectors: Array, *, exact: int = _EXACT) -> Any:
    """Return an index of faiss of vectors of unit length, which depends on these only: its seed is fixed.

    Parameters
    ----------
    vectors : float32 [n, dimension]
    exact : int
        Number of vectors up to which the search is exact; more are searched with inverted lists.
    """
    import faiss

    faiss.omp_set_num_threads(available_cores())
    index: Any = faiss.IndexFlatIP(vectors.shape[1])
    if len(vectors) > exact:
        number = max(1, min(_MAX_LISTS, len(vectors) // _MIN_PER_LIST))
        index = faiss.IndexIVFFlat(index, vectors.shape[1], number, faiss.METRIC_INNER_PRODUCT)
        index.cp.niter, index.cp.seed, index.cp.spherical, index.nprobe = _TRAINING_ROUNDS, 1, True, _PROBED_LISTS
        index.train(vectors[np.arange(_TRAINING_PER_LIST * number) * len(vectors) // (_TRAINING_PER_LIST * number)])
    index.add(vectors)
    return index


def _sets(path: Path, table: pa.Table, column: str) -> Any:
    """Return the items of each row as a sparse matrix [row, item]."""
    from sklearn.preprocessing import MultiLabelBinarizer

    kind = table.schema.field(column).type
    if not (is_text(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise UsageError(f"{path}: {column} has the type {kind}; it must hold lists, or texts separated by , ; or |")
    cells = table[column].to_pylist()
    split = [_SEPARATORS.split(cell) if isinstance(cell, str) else cell or [] for cell in cells]
    sets = [{name for item in own if (name := str(item).strip().lower())} for own in split]
    return MultiLabelBinarizer(sparse_output=True).fit_transform(sets).astype(np.float32)


def _by_sets(sets: Any) -> _Find:
    columns, sizes = sets.tocsc(), np.diff(sets.indptr)
    steps = np.arange(1, _PROBES + 1)
    anywhere = steps + steps**2 * len(sizes) // (_PROBES + 1) ** 2  # unequal steps: a table may repeat itself every few rows

    def candidates(row: int, items: Array) -> Array:
        """Return rows that share an item, and a few others: all that share one may be too similar for a negative."""
        found = [(row + anywhere) % len(sizes)]
        for item in items:
            postings = columns.indices[columns.indptr[item] : columns.indptr[item + 1]]
            # With a number of another type, all postings would be converted.
            first = np.searchsorted(postings, postings.dtype.type(row)) + 1
            found.append(np.take(postings, np.arange(first, first + min(_POSTINGS, len(postings) - 1)), mode="wrap"))
        others = np.sort(np.concatenate(found))
        # As `numpy.setdiff1d`, which takes three times as long for a few hundred numbers.
        return np.asarray(others[(np.diff(others, prepend=-1) != 0) & (others != row)])

    def find(rows: Array) -> Iterator[_Pair]:
        own = np.zeros(sets.shape[1], np.float32)
        for row in rows[sizes[rows] > 0].tolist():
            items = sets.indices[sets.indptr[row] : sets.indptr[row + 1]]
            others = candidates(row, items)
            own[items] = 1
            shared = sets[others] @ own
            own[items] = 0
            jaccard = shared / (len(items) + sizes[others] - shared)
            same, far = np.flatnonzero(jaccard >= POSITIVE), np.flatnonzero(jaccard < NEGATIVE)
            if len(same) and len(far):
                positive, negative = same[np.argmax(jaccard[same])], far[np.argmax(jaccard[far])]
                yield _Pair(row, int(others[positive]), int(others[negative]), float(jaccard[positive]))

    return find
