"""Mine pairs of a user's own texts: for rows of a table a similar row, and a hard negative, which is near but different.

Rows are compared by their sets, such as ingredients, through an inverted index, or by vectors, through faiss. Either way a row
is compared with a bounded number of candidates, never with all rows. Pairs of a dataset's captions are mined by
:mod:`posegen.embedding.pairs`, which knows what captions claim.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from posegen.dataset.files import write_durably
from posegen.dataset.table_files import is_text, read_table, text_columns
from posegen.dataset.tables import encode_table
from posegen.embedding.encoder import unit_length
from posegen.embedding.models import DEFAULT
from posegen.embedding.neighbours import find_neighbours, neighbour_index
from posegen.embedding.own_texts import VECTOR, vectors_of_texts
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known, require_positive
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.randomness import Stream, permuted

POSITIVE, NEGATIVE = 0.4, 0.2
"""Least Jaccard index of the sets of a positive, and what that of a hard negative stays below."""
NEIGHBOURS, SIMILARITY, NEGATIVE_SHARE = 64, 0.7, 0.9
"""Neighbours by vectors; least cosine of a positive; a negative is less similar than this share of the positive's cosine."""
_POSTINGS = 128
"""Most rows of an item that are candidates: those after the row, and then from the first one."""
_PROBES = 16
"""Rows that are candidates of a row although they may share no item."""
_BLOCK = 1024
_SEPARATORS = re.compile(r"[,;|]")


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
    require_extra("embed")
    require_positive("--count", count)
    if out.suffix.lower() != ".parquet":
        raise UsageError(f"{out}: the file name must end in .parquet")
    start, display = time.monotonic(), progress or Progress()
    table = read_table(path, display.log)
    for name in columns:
        require_known(f"{path}: has no column of texts", name, text_columns(table))
    texts = join_columns(table, columns)
    present = np.flatnonzero([bool(text.strip()) for text in texts])
    if overlap is None:
        vectors = _vectors(table, columns, texts, present, encoder, display)
        by, find = "vectors", _by_vectors(vectors, display)
    else:
        require_known(f"{path}: has no column", overlap, table.column_names)
        by, find = f"sets of {overlap}", _by_sets(_sets(path, table, overlap, present))
    order = permuted(0, np.arange(len(present)), len(present), Stream.ORDER)
    most = min(count or len(present), len(present))
    display.start("mine pairs", most, unit="pairs")
    found: list[tuple[int, int, int, float]] = []
    for rows in np.split(order, range(_BLOCK, len(order), _BLOCK)):
        for row, positive, negative, score in find(rows):
            if texts[present[row]] != texts[present[positive]]:
                found.append((int(present[row]), int(present[positive]), int(present[negative]), score))
        display.update(min(len(found), most))
        if len(found) >= most:
            break
    display.stop()
    if not found:
        least = f"a cosine of {SIMILARITY}" if overlap is None else f"a Jaccard index of {POSITIVE}"
        raise UsageError(f"{path}: no two rows with different texts have {least} or more. Compare them by other columns")
    anchors, positives, negatives, scores = zip(*found[:most], strict=True)
    members = {"anchor": anchors, "positive": positives, "negative": negatives}
    made = {name: [texts[row] for row in rows] for name, rows in members.items()}
    made |= {f"{name}_row": pa.array(rows, pa.int64()) for name, rows in members.items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    write_durably(out, encode_table(pa.table(made | {"score": pa.array(scores, pa.float32())})))
    return MinedPairs(out, len(anchors), len(present), by, time.monotonic() - start)


def join_columns(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """Return a text for each row: the cell of a single column, or ``column: cell`` of several, separated by semicolons.

    >>> join_columns(pa.table({"a": ["x", None], "b": [1, 2]}), ["a", "b"])
    ['a: x; b: 1', 'b: 2']
    """
    cells = [table[name].to_pylist() for name in columns]
    if len(columns) == 1:
        return ["" if cell is None else str(cell) for cell in cells[0]]
    rows = (zip(columns, row, strict=True) for row in zip(*cells, strict=True))
    return ["; ".join(f"{name}: {cell}" for name, cell in row if cell not in (None, "")) for row in rows]


def _vectors(
    table: pa.Table, columns: Sequence[str], texts: Sequence[str], present: Array, encoder: str, progress: Progress
) -> Array:
    """Return the vectors of the present texts: those of the table, or those of an encoder."""
    for name in (VECTOR, f"{columns[0]}_{VECTOR}"):
        if len(columns) == 1 and name in table.column_names and pa.types.is_fixed_size_list(table.schema.field(name).type):
            stored = table[name].combine_chunks()
            if stored.null_count == 0:
                progress.log(f"comparing the vectors of the column {name}")
                return unit_length(np.array(stored.flatten(), np.float32).reshape(len(table), -1)[present])
    return vectors_of_texts([texts[row] for row in present.tolist()], encoder, progress)


def _by_vectors(vectors: Array, progress: Progress) -> Callable[[Array], Iterator[tuple[int, int, int, float]]]:
    with progress.working("build the index"):
        index = neighbour_index(vectors)

    def find(rows: Array) -> Iterator[tuple[int, int, int, float]]:
        others, cosines = find_neighbours(index, vectors, rows, NEIGHBOURS)
        for row, near, similar in zip(rows.tolist(), others, cosines, strict=True):
            same = np.flatnonzero((similar >= SIMILARITY) & (similar < 1))
            far = np.flatnonzero((near >= 0) & (similar < NEGATIVE_SHARE * similar[same[0]])) if len(same) else same
            if len(far):
                yield row, int(near[same[0]]), int(near[far[0]]), float(similar[same[0]])

    return find


def _sets(path: Path, table: pa.Table, column: str, present: Array) -> Any:
    """Return the items of each present row as a sparse matrix [row, item]."""
    from scipy.sparse import csr_matrix

    kind = table.schema.field(column).type
    if not (is_text(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise UsageError(f"{path}: {column} has the type {kind}; it must hold lists, or texts separated by , ; or |")
    cells = table[column].take(pa.array(present)).to_pylist()
    split = [_SEPARATORS.split(cell) if isinstance(cell, str) else cell or [] for cell in cells]
    sets = [{name for item in own if (name := str(item).strip().lower())} for own in split]
    number = {name: i for i, name in enumerate(sorted(set().union(*sets)))}
    items = [sorted(number[name] for name in own) for own in sets]
    offsets = np.cumsum([0, *map(len, items)])
    flat = np.fromiter((item for own in items for item in own), np.int32, offsets[-1])
    return csr_matrix((np.ones(len(flat), np.float32), flat, offsets), (len(sets), max(1, len(number))))


def _by_sets(sets: Any) -> Callable[[Array], Iterator[tuple[int, int, int, float]]]:
    columns, sizes = sets.tocsc(), np.diff(sets.indptr)
    steps = np.arange(1, _PROBES + 1)
    anywhere = steps + steps**2 * len(sizes) // (_PROBES + 1) ** 2  # unequal steps: a table may repeat itself every few rows

    def candidates(row: int, items: Array) -> Array:
        """Return rows that share an item, and a few others: all that share one may be too similar for a negative."""
        found = [(row + anywhere) % len(sizes)]
        for item in items:
            postings = columns.indices[columns.indptr[item] : columns.indptr[item + 1]]
            first = np.searchsorted(postings, row) + 1
            found.append(np.take(postings, np.arange(first, first + min(_POSTINGS, len(postings) - 1)), mode="wrap"))
        others: Array = np.setdiff1d(np.concatenate(found), [row])
        return others

    def find(rows: Array) -> Iterator[tuple[int, int, int, float]]:
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
                yield row, int(others[positive]), int(others[negative]), float(jaccard[positive])

    return find
