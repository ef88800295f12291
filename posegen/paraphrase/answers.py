"""Answers that a server gave, by caption, kept on disk as they come: what is paid for once is not asked for again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from posegen.errors import PosegenError
from posegen.paraphrase.layout import check_plain

__all__ = ["Answers", "answers_at"]

_AT_ONCE = 500


class Answers:
    """A table of answers; made by :func:`answers_at`. An answer is None where none could be used."""

    def __init__(self, table: sqlite3.Connection) -> None:
        self._table = table

    def __len__(self) -> int:
        (count,) = self._table.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    def known(self, captions: Sequence[str]) -> dict[str, str | None]:
        """Look captions up; those that were not answered yet are left out."""
        found: dict[str, str | None] = {}
        for first in range(0, len(captions), _AT_ONCE):
            some = captions[first : first + _AT_ONCE]
            marks = ",".join("?" * len(some))
            found |= dict(self._table.execute(f"SELECT caption, answer FROM answers WHERE caption IN ({marks})", some))
        return found

    def keep(self, caption: str, answer: str | None) -> None:
        """Keep an answer; when this returns, it is on the disk."""
        self._table.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (caption, answer))
        self._table.commit()


@contextmanager
def answers_at(path: Path) -> Iterator[Answers]:
    """Open a table of answers, or make it.

    Raises
    ------
    PosegenError
        If what is there is no such table, or is damaged.
    """
    check_plain(path)
    try:
        with closing(sqlite3.connect(path)) as table:
            table.execute("PRAGMA synchronous = FULL")
            table.execute("CREATE TABLE IF NOT EXISTS answers (caption TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID")
            table.commit()
            yield Answers(table)
    except sqlite3.Error as error:
        msg = f"{path}: cannot be used ({error}). Delete it: what the complete parts hold stays, the rest is asked for again"
        raise PosegenError(msg) from error
