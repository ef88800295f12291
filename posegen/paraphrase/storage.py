"""Storage of paraphrases beside a dataset: provenance, answers of the server, and a Parquet part and a receipt for each shard.

::

    DATASET/paraphrases/MODEL/
      paraphrases.json          dataset, host, model, hash of the prompt, temperature, date of the first run
      answers.sqlite            answers as received, by caption
      parts/part-00000.parquet  a row for each caption: sample, variant, caption, kind, text, paraphrase, reason
      receipts/00000.json       contents of the part, number of paraphrases and of refusals; written last
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import xxhash
from pydantic import ConfigDict

from posegen.dataset.documents import STRICT, Count, Origin, plain_data, read_sealed, seal
from posegen.dataset.files import read_file, write_durably
from posegen.errors import PosegenError, UsageError
from posegen.wording import shown

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

_MOST_BYTES = 1 << 20
_LONGEST_NAME = 100
_CAPTIONS_PER_QUERY = 500
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


@dataclass(frozen=True)
class Receipt:
    """Marks the paraphrases of a shard as complete.

    Attributes
    ----------
    shard, samples, captions : int
        Number of the shard, and how many samples and captions of it were paraphrased.
    source : str
        Hash of the shard's table of captions.
    size, xxh3 : bytes of the part, and their hash
    kept : int
        Captions with a paraphrase.
    refused : dict of str to int
        Captions without one, by reason.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    shard: Count
    samples: Count
    captions: Count
    source: str
    size: Count
    xxh3: str
    kept: Count
    refused: dict[str, Count]

    def to_bytes(self) -> bytes:
        """Return the receipt as a sealed document."""
        return seal(plain_data(self))


class Answers:
    """A table of answers by caption, opened by :func:`open_answers`. An answer is None where none was usable."""

    def __init__(self, table: sqlite3.Connection) -> None:
        self._table = table

    def __len__(self) -> int:
        (count,) = self._table.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    def find(self, captions: Sequence[str]) -> dict[str, str | None]:
        """Return the answers of the captions that have one."""
        found: dict[str, str | None] = {}
        for first in range(0, len(captions), _CAPTIONS_PER_QUERY):
            some = captions[first : first + _CAPTIONS_PER_QUERY]
            marks = ",".join("?" * len(some))
            found |= dict(self._table.execute(f"SELECT caption, answer FROM answers WHERE caption IN ({marks})", some))
        return found

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
    """Return the folder of a model's paraphrases; a link in its place is refused."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip(".-")[:_LONGEST_NAME] or "model"
    for folder in (dataset / FOLDER, dataset / FOLDER / name):
        if os.path.lexists(folder) and not stat.S_ISDIR(os.lstat(folder).st_mode):
            msg = f"{folder}: is a link or not a folder. A dataset contains its own folders: delete it"
            raise PosegenError(msg)
    return dataset / FOLDER / name


def part_path(folder: Path, shard: int) -> Path:
    """Return the path of a shard's part."""
    return folder / "parts" / f"part-{shard:05}.parquet"


def receipt_path(folder: Path, shard: int) -> Path:
    """Return the path of a shard's receipt."""
    return folder / "receipts" / f"{shard:05}.json"


def hash_bytes(data: bytes) -> str:
    """Return the XXH3-128 hash of bytes."""
    return str(xxhash.xxh3_128_hexdigest(data))


def check_provenance(folder: Path, asked: Provenance, run: str) -> None:
    """Compare the stored provenance with that of this run; store it if there is none.

    Raises
    ------
    UsageError
        If the paraphrases belong to another dataset, or were asked for differently.
    """
    path = folder / HEADER
    try:
        data = read_file(path, _MOST_BYTES)
    except FileNotFoundError:
        write_durably(path, seal(plain_data(asked), indent=2), run)
        return
    stored = read_sealed(Provenance, data, Origin(str(path), _HINT))
    differing = [name for name, value in asdict(asked).items() if name != "begun" and getattr(stored, name) != value]
    if differing:
        values = [f"{name} {shown(getattr(stored, name))} there, {shown(getattr(asked, name))} here" for name in differing]
        msg = f"{folder}: was asked for differently ({'; '.join(values)}). Delete that folder, or use the same options"
        raise UsageError(msg)


def read_receipt(folder: Path, shard: int) -> Receipt | None:
    """Read the receipt of a shard; return None where it or its part is missing or damaged.

    Such a part is written again from the stored answers.
    """
    try:
        data = read_file(receipt_path(folder, shard), _MOST_BYTES)
        receipt = read_sealed(Receipt, data, Origin(f"{folder}: receipt {shard}", _HINT))
        part = read_file(part_path(folder, shard), receipt.size)
    except (FileNotFoundError, PosegenError):
        return None
    intact = receipt.shard == shard and (len(part), hash_bytes(part)) == (receipt.size, receipt.xxh3)
    return receipt if intact else None
