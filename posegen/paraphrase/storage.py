"""Storage of paraphrases beside a dataset: provenance, answers of the server, and a Parquet part and a receipt for each shard.

::

    DATASET/paraphrases/MODEL/
      paraphrases.json          dataset, host, model, hash of the prompt, temperature, date of the first run
      answers.sqlite            answers as received, by caption
      parts/part-00000.parquet  a row for each caption: sample, variant, caption, kind, text, paraphrase, reason
      receipts/paraphrases/00000.json  hash of the part, number of paraphrases and of refusals; written last
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import ConfigDict

from posegen.dataset.documents import STRICT, seal
from posegen.dataset.files import write_durably
from posegen.dataset.overlays import list_differences, load_overlay_header, overlay_folder
from posegen.errors import PosegenError, UsageError

FOLDER = "paraphrases"
HEADER = "paraphrases.json"
ANSWERS = "answers.sqlite"
SCHEMA = pa.schema(
    [
        ("sample", pa.int64()),
        ("variant", pa.string()),
        ("caption", pa.int32()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("paraphrase", pa.string()),
        ("reason", pa.string()),
    ]
)
"""`caption` is the number of the caption in its row; `paraphrase` is null where it was refused, and `reason` is the reason."""

_HINT = "Delete this folder of paraphrases and run the command again"


@dataclass(frozen=True)
class Provenance:
    """Origin of paraphrases: all that determines what the server is asked. `begun` is the date of the first run, in UTC."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    identity: str
    endpoint: str
    model: str
    prompt: str
    temperature: float | None
    begun: str


class Answers:
    """A table of answers by caption, opened by :func:`open_answers`. An answer is None where none was usable."""

    def __init__(self, table: sqlite3.Connection) -> None:
        self._table = table

    def find(self, captions: Sequence[str]) -> dict[str, str | None]:
        """Return the answers of the captions that have one."""
        query = "SELECT caption, answer FROM answers WHERE caption = ?"
        return dict(row for caption in captions for row in self._table.execute(query, (caption,)))

    def add(self, caption: str, answer: str | None) -> None:
        """Store an answer; when this returns, it is on the disk."""
        self._table.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (caption, answer))
        self._table.commit()


@contextmanager
def open_answers(path: Path) -> Iterator[Answers]:
    """Open a table of answers, or create it.

    Raises
    ------
    PosegenError
        If the file is not such a table, or is damaged.
    """
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        msg = f"{path}: is not a regular file. Delete it"
        raise PosegenError(msg)
    try:
        with closing(sqlite3.connect(path)) as table:
            table.execute("PRAGMA synchronous = FULL")
            table.execute("CREATE TABLE IF NOT EXISTS answers (caption TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID")
            table.commit()
            yield Answers(table)
    except sqlite3.Error as error:
        msg = f"{path}: cannot be used ({error}). Delete it: complete parts stay, the other captions are asked for again"
        raise PosegenError(msg) from error


def model_folder(dataset: Path, model: str) -> Path:
    """Return the folder of a model's paraphrases; PosegenError if a link is in its path."""
    return overlay_folder(dataset, FOLDER, model, "parts", "receipts")


def part_path(shard: int) -> str:
    """Return the path of a shard's part, inside the folder of a model."""
    return f"parts/part-{shard:05}.parquet"


def check_provenance(folder: Path, asked: Provenance, run: str) -> None:
    """Compare the stored provenance with that of this run; store it if there is none.

    Raises
    ------
    UsageError
        If the paraphrases belong to another dataset, or were asked for differently.
    """
    stored = load_overlay_header(Provenance, folder / HEADER, _HINT)
    if stored is None:
        write_durably(folder / HEADER, seal(asked, indent=2), run)
    elif differences := list_differences(asdict(stored), asdict(asked) | {"begun": stored.begun}):
        msg = f"{folder}: was asked for differently ({'; '.join(differences)}). Delete that folder, or use the same options"
        raise UsageError(msg)
