"""Cache vectors across all datasets of a user, by encoder and text, in one SQLite file per encoder.

The cache is an optimisation only: absent and damaged vectors are computed again.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import xxhash

from posegen.embedding.encoder import Encoder
from posegen.foundations.arrays import Array
from posegen.foundations.machine import user_cache

VARIABLE = "POSEGEN_EMBEDDING_CACHE"
"""Environment variable that names the folder; ``off`` disables the cache."""
MAX_BYTES = 4 << 30
"""Largest file of an encoder; vectors that would exceed it are not stored."""

_CHECK_BYTES = 8
# Other processes may use it at the same time. What a power failure loses is computed again.
_SETUP = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""


def cache_folder() -> Path | None:
    """Return the folder of the caches: that in :data:`VARIABLE`, or one in the user's cache; None if it is ``off``."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() == "off":
        return None
    return Path(named or user_cache() / "embeddings")


class VectorCache:
    """Vectors by text, opened by :func:`vector_cache`; empty and read-only without a table."""

    def __init__(self, table: sqlite3.Connection | None, dimension: int, notify: Callable[[str], None]) -> None:
        self._table = table
        self._bytes = 4 * dimension
        self._notify = notify

    def look_up(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """Return the vectors of texts, float32 [n, dimension], NaN where none is stored, and where that is: bool [n]."""
        vectors, is_missing = np.full((len(texts), self._bytes // 4), np.nan, np.float32), np.ones(len(texts), bool)
        if self._table is None:
            return vectors, is_missing
        try:
            for position, key in enumerate(map(_key, texts)):
                (stored,) = self._table.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone() or (None,)
                # One that is damaged, or has another dimension, is missing.
                if isinstance(stored, bytes) and len(stored) == self._bytes + _CHECK_BYTES:
                    data = stored[: self._bytes]
                    if stored[self._bytes :] == _check(key, data):
                        vectors[position], is_missing[position] = np.frombuffer(data, "<f4"), False
        except sqlite3.Error as error:
            self._give_up(error)
        return vectors, is_missing

    def store(self, texts: Sequence[str], vectors: Array) -> None:
        """Store the vectors, float32 [n, dimension], of texts."""
        if self._table is None:
            return
        try:
            (pages,), (size,) = (self._table.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
            if pages * size + len(texts) * 2 * self._bytes > MAX_BYTES:
                return
            rows = zip(map(_key, texts), (vector.tobytes() for vector in vectors.astype("<f4")), strict=True)
            self._table.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", ((key, data + _check(key, data)) for key, data in rows)
            )
            self._table.commit()
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        self._table = None
        self._notify(f"the cache of vectors cannot be used ({error}); continuing without it")


@contextmanager
def vector_cache(encoder: Encoder, notify: Callable[[str], None], *, cached: bool = True) -> Iterator[VectorCache]:
    """Open the cache of an encoder, creating it if necessary.

    Parameters
    ----------
    encoder : Encoder
    notify : callable
        Receives a message if the cache cannot be used.
    cached : bool
        Whether to use it; otherwise, and for an encoder that is not cached, nothing is found or stored.

    Yields
    ------
    VectorCache
    """
    folder, table = cache_folder(), None
    with ExitStack() as opened:
        try:
            if folder is not None and cached and encoder.is_cached:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                path = folder / f"{encoder.fingerprint}.sqlite"
                _check_owner(folder, stat.S_ISDIR)
                if os.path.lexists(path):
                    _check_owner(path, stat.S_ISREG)
                file = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
                table = opened.enter_context(closing(file))
                table.executescript(_SETUP)
        except (sqlite3.Error, OSError) as error:
            notify(f"the cache of vectors in {folder} cannot be used ({error}); continuing without it")
            table = None
        yield VectorCache(table, encoder.dimension, notify)


def _check_owner(path: Path, is_expected: Callable[[int], bool]) -> None:
    """Raise OSError if a path is of another kind, or belongs to another user, who could store other vectors in it."""
    status = os.lstat(path)
    if not is_expected(status.st_mode) or status.st_uid != os.geteuid():
        raise OSError(f"{path.name} belongs to another user, or is a link or a special file")


def _key(text: str) -> bytes:
    return xxhash.xxh3_128_digest(text.encode())


def _check(key: bytes, data: bytes) -> bytes:
    return xxhash.xxh3_64_digest(key + data)
