"""Cache vectors across all datasets and tables of a user, by encoder and text, in one SQLite file per encoder.

The cache is an optimisation only: absent and damaged vectors are computed again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash

from posegen.embedding.encoder import Encoder, Runner, resolve_workers
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.foundations.machine import private_folder, user_cache
from posegen.foundations.progress import Progress

VARIABLE = "POSEGEN_EMBEDDING_CACHE"
"""Environment variable that names the folder; ``off`` disables the cache."""
MAX_BYTES = 4 << 30
"""Largest file of an encoder; vectors that would exceed it are not stored."""

_BLOCK = 2048
"""Texts that are embedded before their vectors are stored."""
# Other processes may use it at the same time. What a power failure loses is computed again.
_SETUP = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""


@dataclass
class VectorCache:
    """Vectors by text, opened by :func:`vector_cache`; without a table, none is known and none is stored."""

    table: sqlite3.Connection | None
    notify: Callable[[str], None]

    def complete(self, texts: Sequence[str], runner: Runner, report: Callable[[int], None]) -> tuple[Array, int]:
        """Return the vectors of distinct texts, and embed and store those that are missing.

        Parameters
        ----------
        texts : sequence of str
        runner : Runner
        report : callable
            Receives the number of texts that have a vector, after each batch.

        Returns
        -------
        vectors : float32 [n, dimension]
        embedded : int
            Number of texts that were missing.
        """
        vectors = np.full((len(texts), runner.encoder.dimension), np.nan, np.float32)
        keys = [xxhash.xxh3_128_digest(text.encode()) for text in texts]
        with self.errors():
            self._read(keys, vectors)
        missing = np.flatnonzero(np.isnan(vectors[:, 0]))
        report(done := len(texts) - len(missing))
        # Vectors of complete blocks are stored, so that a killed command resumes after them.
        for block in np.split(missing, range(_BLOCK, len(missing), _BLOCK)) if len(missing) else ():
            for chosen, found in runner.run([texts[row] for row in block.tolist()]):
                vectors[block[chosen]] = found
                report(done := done + len(chosen))
            with self.errors():
                self._store([keys[row] for row in block.tolist()], vectors[block])
        return vectors, len(missing)

    def _read(self, keys: Sequence[bytes], vectors: Array) -> None:
        if self.table is None:
            return
        size = vectors[:1].nbytes
        for row, key in enumerate(keys):
            (stored,) = self.table.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone() or (None,)
            # One that is damaged, or has another dimension, is missing.
            if isinstance(stored, bytes) and stored[size:] == _check(key, stored[:size]):
                vectors[row] = np.frombuffer(stored[:size], "<f4")

    def _store(self, keys: Sequence[bytes], vectors: Array) -> None:
        if self.table is None:
            return
        (pages,), (size,) = (self.table.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        if pages * size + 2 * vectors.nbytes < MAX_BYTES:
            rows = zip(keys, (vector.tobytes() for vector in vectors.astype("<f4")), strict=True)
            values = ((key, data + _check(key, data)) for key, data in rows)
            self.table.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", values)
            self.table.commit()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Give the table up, with a message, if it cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError, PosegenError) as error:
            self.table = None
            self.notify(f"the cache of vectors cannot be used ({error}); continuing without it")


@contextmanager
def vector_cache(encoder: Encoder, notify: Callable[[str], None], *, cached: bool = True) -> Iterator[VectorCache]:
    """Open the cache of an encoder, creating it if necessary.

    Parameters
    ----------
    encoder : Encoder
    notify : callable
        Receives a message if the cache cannot be used.
    cached : bool
        Whether to use it; otherwise nothing is found or stored.

    Yields
    ------
    VectorCache
    """
    named, known = os.environ.get(VARIABLE, ""), VectorCache(None, notify)
    with ExitStack() as opened:
        if cached and named.lower() != "off":
            with known.errors():
                # Other users could store other vectors in a folder that is not private.
                path = private_folder(Path(named or user_cache() / "embeddings")) / f"{encoder.fingerprint}.sqlite"
                known.table = opened.enter_context(closing(sqlite3.connect(path, timeout=5.0, check_same_thread=False)))
                known.table.executescript(_SETUP)
        yield known


def _check(key: bytes, data: bytes) -> bytes:
    return xxhash.xxh3_64_digest(key + data)


def encode_texts(
    texts: Sequence[str], encoder: Encoder, progress: Progress, *, workers: int | None = None, cached: bool = True
) -> tuple[Array, int]:
    """Return the vectors of texts, float32 [text, dimension], and the number of distinct texts that were in no cache.

    Parameters
    ----------
    texts : sequence of str
    encoder : Encoder
    progress : Progress
    workers : int, optional
        Number of batches at the same time.
    cached : bool
        Whether the cache is used.
    """
    number: dict[str, int] = {}
    rows = [number.setdefault(text, len(number)) for text in texts]
    progress.start("embed", len(number), unit="texts")
    try:
        with vector_cache(encoder, progress.log, cached=cached) as known:
            runner = Runner(encoder, encoder.budget, resolve_workers(workers), progress.log)
            vectors, embedded = known.complete(list(number), runner, progress.update)
    finally:
        progress.stop()
    return vectors[rows], embedded
