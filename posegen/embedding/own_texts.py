"""Embed a user's own texts: a table with a column of vectors for each column of texts; and search it.

Datasets are embedded by :mod:`posegen.embedding.stage`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from posegen.dataset.files import write_durably
from posegen.dataset.table_files import read_table, require_parquet, text_columns
from posegen.dataset.tables import encode_table
from posegen.embedding.cache import encode_texts
from posegen.embedding.models import DEFAULT, find_encoder, load_fingerprinted
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress

VECTOR = "vector"
_METADATA = b"posegen"


@dataclass(frozen=True)
class EmbeddedTexts:
    """Result of :func:`embed_texts`.

    Attributes
    ----------
    path : Path
        The table that was written.
    columns : tuple of str
        Columns of texts.
    encoder : str
    rows, distinct, embedded : int
        Rows of the table, distinct texts in it, and those whose vectors were in no cache.
    dimension : int
    """

    path: Path
    columns: tuple[str, ...]
    encoder: str
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
    max_tokens: int | None = None,
    cached: bool = True,
    progress: Progress | None = None,
) -> EmbeddedTexts:
    """Write a table with the vectors of its texts, each distinct text embedded once.

    Parameters
    ----------
    path : Path
        CSV or Parquet file.
    out : Path
        Parquet file: the columns of the table, and ``vector`` float32 [dimension] of unit length; ``COLUMN_vector`` for each
        column if there are several.
    encoder : str
        Its name or folder.
    columns : sequence of str
        Columns of texts; by default ``text``, else all columns of texts.
    workers, max_tokens, cached
        See :func:`posegen.embedding.stage.embed`.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the file cannot be read, has no such columns, or there is no such encoder.
    """
    require_parquet(out)
    display = progress or Progress()
    table = read_table(path, display.log)
    known = text_columns(path, table, columns)
    if not known:
        raise UsageError(f"{path}: has no column of texts, but {', '.join(table.column_names)}. Store texts as strings")
    chosen = tuple(columns) or (("text",) if "text" in known else known)
    texts = [text or "" for name in chosen for text in table[name].to_pylist()]
    found = find_encoder(encoder, max_tokens=max_tokens, notify=display.log)
    loaded = found.load(workers)
    vectors, embedded = encode_texts(texts, loaded, display, workers=workers, cached=cached)
    for name, rows in zip(chosen, np.split(vectors, len(chosen)), strict=True):
        stored = VECTOR if len(chosen) == 1 else f"{name}_{VECTOR}"
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), loaded.dimension)
        table = table.drop_columns([stored] if stored in table.column_names else []).append_column(stored, values)
    document = {
        "encoder": found.name, "source": found.source, "fingerprint": loaded.fingerprint, "limit": max_tokens,
        "columns": list(chosen),
    }  # fmt: skip
    write_durably(out, encode_table(table.replace_schema_metadata({_METADATA: json.dumps(document)})))
    return EmbeddedTexts(out, chosen, found.name, len(table), len(set(texts)), embedded, loaded.dimension)


def search_texts(path: Path, query: str, top: int, notify: Callable[[str], None] = print) -> list[TextMatch]:
    """Return the rows of a table of :func:`embed_texts` whose first column of texts is closest to a query, best first.

    Parameters
    ----------
    path : Path
    query : str
    top : int
        Number of rows; rows with equal texts count once.
    notify : callable
        Receives a message when a model is downloaded.

    Raises
    ------
    UsageError
        If the table was not written by ``posegen embed``, or its encoder is not available.
    PosegenError
        If another encoder has the name of that of the table.
    """
    table = read_table(path)
    try:
        document = json.loads((table.schema.metadata or {})[_METADATA])
        column, *_ = document["columns"]
        source, fingerprint, limit = (document[key] for key in ("source", "fingerprint", "limit"))
        texts, stored = table[column], table[VECTOR if len(document["columns"]) == 1 else f"{column}_{VECTOR}"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: is no table of `posegen embed`. Run: posegen embed TEXTS.csv -o {path}") from error
    first: dict[str, int] = {}
    for row, text in enumerate(texts.to_pylist()):
        if text:
            first.setdefault(text, row)
    vectors = np.array(stored.combine_chunks().flatten(), np.float32).reshape(len(table), -1)[list(first.values())]
    loaded = load_fingerprinted(str(path), source, fingerprint, limit, notify)
    scores = vectors @ loaded.encode([query], as_query=True)[0]
    found = [TextMatch(row, float(score), text) for (text, row), score in zip(first.items(), scores, strict=True)]
    return sorted(found, key=lambda match: -match.score)[:top]
