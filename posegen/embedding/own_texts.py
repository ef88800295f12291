"""Embed a user's own texts: a table with a column of vectors for each column of texts; and search it.

Datasets are embedded by :mod:`posegen.embedding.stage`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from posegen.dataset.files import write_durably
from posegen.dataset.table_files import TABLES, read_table, text_columns
from posegen.dataset.tables import encode_table
from posegen.embedding.cache import vector_cache
from posegen.embedding.encoder import Runner, batch_budget, resolve_workers
from posegen.embedding.models import DEFAULT, FoundEncoder, find_encoder
from posegen.embedding.query_encoder import load_query_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.progress import Progress

ENDINGS = (*TABLES, ".txt")
"""Endings of the names of files with texts."""
VECTOR = "vector"
_METADATA = b"posegen"
_AT_ONCE = 2048


@dataclass(frozen=True)
class EmbeddedTexts:
    """Result of :func:`embed_texts`.

    Attributes
    ----------
    path : Path
        The table that was written.
    columns : tuple of str
        Columns of texts.
    encoder, precision : str
    rows, distinct, embedded : int
        Rows of the table, distinct texts in it, and those whose vectors were in no cache.
    dimension : int
    """

    path: Path
    columns: tuple[str, ...]
    encoder: str
    precision: str
    rows: int
    distinct: int
    embedded: int
    dimension: int


class TextMatch(NamedTuple):
    """A row found by :func:`search_texts`: its number, cosine to the query, and text."""

    row: int
    score: float
    text: str


def embed_texts(
    path: Path,
    out: Path,
    encoder: str = DEFAULT,
    *,
    columns: Sequence[str] = (),
    workers: int | None = None,
    precision: str | None = None,
    max_tokens: int | None = None,
    cached: bool = True,
    progress: Progress | None = None,
) -> EmbeddedTexts:
    """Write a table with the vectors of its texts, each distinct text embedded once.

    Parameters
    ----------
    path : Path
        CSV or Parquet file, or a text file with a text in each line.
    out : Path
        Parquet file: the columns of the table, and ``vector`` float32 [dimension] of unit length; ``COLUMN_vector`` for each
        column if there are several.
    encoder : str
        Its name or folder.
    columns : sequence of str
        Columns of texts; by default ``text``, else all columns of texts.
    precision : str, optional
        ``float32`` by default, since the agreement of other precisions is not measured here.
    workers, max_tokens, cached
        See :func:`posegen.embedding.stage.embed`.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the file cannot be read, has no such columns, or there is no such encoder.
    """
    if out.suffix.lower() != ".parquet":
        raise UsageError(f"{out}: the file name must end in .parquet")
    display = progress or Progress()
    table = read_own_texts(path, display.log)
    chosen = _chosen(path, table, columns)
    texts = [text or "" for name in chosen for text in table[name].to_pylist()]
    found = find_encoder(encoder, max_tokens=max_tokens, notify=display.log)
    runner = _runner(found, precision, workers, display)
    loaded = runner.encoder
    vectors, distinct, embedded = _embed_all(texts, runner, display, cached=cached)
    for name, rows in zip(chosen, np.split(vectors, len(chosen)), strict=True):
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), loaded.dimension)
        table = _with_column(table, VECTOR if len(chosen) == 1 else f"{name}_{VECTOR}", values)
    used = loaded.fingerprint.rpartition("-")[2]
    document = {
        "encoder": found.name, "source": str(found.source), "fingerprint": loaded.fingerprint, "limit": max_tokens,
        "columns": list(chosen),
    }  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    write_durably(out, encode_table(table.replace_schema_metadata({_METADATA: json.dumps(document)})))
    display.wait("prepare the search")
    load_query_encoder(str(out), str(found.source), loaded.fingerprint, max_tokens, lambda _: None)
    return EmbeddedTexts(out, chosen, found.name, used, len(table), distinct, embedded, loaded.dimension)


def read_own_texts(path: Path, notify: Callable[[str], None]) -> pa.Table:
    """Read a table, or the lines of a text file as its column ``text``; empty lines are left out.

    Raises
    ------
    UsageError
        If the file cannot be read or has no texts.
    """
    if path.suffix.lower() != ".txt":
        return read_table(path, notify)
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as text ({error!s:.200}). Save it as UTF-8") from error
    lines = [line for line in lines if line]
    if not lines:
        raise UsageError(f"{path}: has no texts. Write one in each line")
    return pa.table({"text": lines})


def _chosen(path: Path, table: pa.Table, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of texts to embed."""
    known = text_columns(table)
    for name in columns:
        require_known(f"{path}: has no column of texts", name, known)
    if not known:
        raise UsageError(f"{path}: has no column of texts, but {', '.join(table.column_names)}. Store texts as strings")
    return tuple(columns) or (("text",) if "text" in known else known)


def vectors_of_texts(texts: Sequence[str], encoder: str, progress: Progress) -> Array:
    """Return the vectors of texts in float32 [text, dimension], those of the cache where it has them."""
    return _embed_all(texts, _runner(find_encoder(encoder, notify=progress.log), None, None, progress), progress, cached=True)[
        0
    ]


def _runner(found: FoundEncoder, precision: str | None, workers: int | None, progress: Progress) -> Runner:
    """Load an encoder, in float32 by default if it has that, and return what runs it."""
    count = resolve_workers(workers)
    loaded = found.load(precision or ("float32" if "float32" in found.precisions else None), count)
    return Runner(loaded, batch_budget(loaded, count), count, False, progress.log)


def _embed_all(texts: Sequence[str], runner: Runner, progress: Progress, *, cached: bool) -> tuple[Array, int, int]:
    """Return the vectors of texts, the number of distinct texts, and that of those that were in no cache."""
    distinct = list(dict.fromkeys(texts))
    vectors, embedded = embed_distinct(distinct, runner, progress, cached=cached)
    number = {text: i for i, text in enumerate(distinct)}
    return np.ascontiguousarray(vectors[[number[text] for text in texts]]), len(distinct), embedded


def embed_distinct(texts: Sequence[str], runner: Runner, progress: Progress, *, cached: bool) -> tuple[Array, int]:
    """Return the vectors of texts, float32 [text, dimension], and the number of those that were in no cache."""
    encoder, done = runner.encoder, 0
    progress.start("embed", len(texts), unit="texts")
    try:
        with vector_cache(encoder, progress.log, cached=cached) as known:
            vectors, is_missing = known.look_up(texts)
            missing = np.flatnonzero(is_missing)
            done = len(texts) - len(missing)
            # Vectors of complete blocks are cached, so that a killed command resumes behind them.
            for block in np.split(missing, range(_AT_ONCE, len(missing), _AT_ONCE)):
                new = [texts[i] for i in block.tolist()]
                if new:
                    for chosen, found in runner.run(encoder.backend.prepare(new, as_query=False)):
                        vectors[block[chosen]] = found.vectors
                        done += len(chosen)
                        progress.update(done)
                    known.store(new, vectors[block])
    finally:
        progress.stop()
    return vectors, len(missing)


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    kept = table.drop_columns([name]) if name in table.column_names else table
    return kept.append_column(name, values)


def search_texts(path: Path, query: str, top: int, notify: Callable[[str], None] = print) -> list[TextMatch]:
    """Return the rows of a table of :func:`embed_texts` whose first column of texts is closest to a query, best first.

    Parameters
    ----------
    path : Path
    query : str
    top : int
        Number of rows; rows with equal texts count once.
    notify : callable
        Receives a message when a model is downloaded, or loaded with torch.

    Raises
    ------
    UsageError
        If the table was not written by ``posegen embed``, or its encoder is not available.
    PosegenError
        If another encoder has the name of that of the table.
    """
    table = read_table(path)
    document = _description(path, table)
    column = document["columns"][0]
    name = VECTOR if len(document["columns"]) == 1 else f"{column}_{VECTOR}"
    texts = table[column].to_pylist()
    first = np.array(list({text: row for row, text in reversed(list(enumerate(texts)))}.values()), np.int64)
    vectors = np.array(table[name].combine_chunks().flatten(), np.float32).reshape(len(table), -1)
    loaded = load_query_encoder(str(path), document["source"], document["fingerprint"], document["limit"], notify)
    scores = vectors[first] @ loaded.encode([query], as_query=True)[0]
    best = np.argsort(-scores, kind="stable")[:top]
    return [TextMatch(int(first[i]), float(scores[i]), texts[first[i]]) for i in best.tolist()]


def _description(path: Path, table: pa.Table) -> dict[str, Any]:
    """Return the metadata of a table of :func:`embed_texts`."""
    metadata = (table.schema.metadata or {}).get(_METADATA)
    try:
        document: dict[str, Any] = json.loads(metadata or b"{}")
        columns = document["columns"]
        names = [VECTOR] if len(columns) == 1 else [f"{name}_{VECTOR}" for name in columns]
        if set(columns) | set(names) <= set(table.column_names) and {"source", "fingerprint", "limit"} <= set(document):
            return document
    except (ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{path}: is no table of `posegen embed`. Run: posegen embed TEXTS.csv -o {path}")
