"""How paraphrases lie beside a dataset: who made them, a Parquet part and a receipt for each shard.

::

    DATASET/paraphrases/MODEL/
      paraphrases.json          of which dataset, by which model of which host, asked how, since when
      answers.sqlite            answers as they came, by caption
      parts/part-00000.parquet  a row for each caption: sample, variant, caption, kind, text, paraphrase, reason
      receipts/00000.json       what the part consists of, what was kept and what was refused; written last
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import xxhash
from pydantic import ConfigDict

from posegen.dataset.documents import STRICT, Count, Origin, plain_data, read_sealed, seal
from posegen.dataset.files import read_file
from posegen.errors import PosegenError, UsageError
from posegen.wording import shown

__all__ = [
    "FOLDER",
    "SCHEMA",
    "Provenance",
    "Receipt",
    "check_plain",
    "check_provenance",
    "folder_of",
    "hash_of",
    "part_path",
    "read_receipt",
    "receipt_path",
]

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
"""`caption` is the number of the caption in its row; `paraphrase` is null where none was kept, and `reason` says why."""

_MOST_BYTES = 1 << 20
_LONGEST_NAME = 100
_CURE = "Delete this folder of paraphrases, and they are made anew"


@dataclass(frozen=True)
class Provenance:
    """Where paraphrases come from: all that decides what the server is asked. `begun` is when, in UTC."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    identity: str
    endpoint: str
    model: str
    prompt: str
    temperature: float | None
    begun: str


@dataclass(frozen=True)
class Receipt:
    """That the paraphrases of a shard are complete.

    Attributes
    ----------
    shard, samples, captions : int
        Number of the shard, how many of its samples are paraphrased and how many captions they have.
    source : str
        Hash of the shard's table of captions.
    size, xxh3 : bytes of the part, and their hash
    kept : int
        Captions that have a paraphrase.
    refused : dict of str to int
        Captions that have none, by reason.
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
        """Write the receipt as a sealed document."""
        return seal(plain_data(self))


def folder_of(dataset: Path, model: str) -> Path:
    """Give the place of a model's paraphrases, refusing links on the way there."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip(".-")[:_LONGEST_NAME] or "model"
    for folder in (dataset / FOLDER, dataset / FOLDER / name):
        try:
            mode = os.lstat(folder).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(mode):
            msg = f"{folder}: is a link or no folder. A dataset's folders are its own: take it away"
            raise PosegenError(msg)
    return dataset / FOLDER / name


def check_plain(path: Path) -> None:
    """Refuse what is there and is no plain file."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        msg = f"{path}: is no plain file. Take it away"
        raise PosegenError(msg)


def part_path(folder: Path, shard: int) -> Path:
    """Place of the part of a shard."""
    return folder / "parts" / f"part-{shard:05}.parquet"


def receipt_path(folder: Path, shard: int) -> Path:
    """Place of the receipt of a shard."""
    return folder / "receipts" / f"{shard:05}.json"


def hash_of(data: bytes) -> str:
    """Give the XXH3-128 hash of some bytes."""
    return str(xxhash.xxh3_128_hexdigest(data))


def check_provenance(folder: Path, wanted: Provenance) -> Provenance | None:
    """Compare what is there with what is asked for.

    Returns
    -------
    Provenance or None
        That of the paraphrases that are there; None where there are none.

    Raises
    ------
    UsageError
        If they are of another dataset, or were asked for in another way; says in what.
    """
    try:
        data = read_file(folder / HEADER, _MOST_BYTES)
    except FileNotFoundError:
        return None
    source = Origin(str(folder / HEADER), _CURE)
    there = read_sealed(Provenance, data, source)
    differing = [name for name, value in asdict(wanted).items() if name != "begun" and getattr(there, name) != value]
    if differing:
        told = "; ".join(
            f"{name} {shown(getattr(there, name))} there, {shown(getattr(wanted, name))} here" for name in differing
        )
        msg = (
            f"{folder}: holds paraphrases that were asked for otherwise ({told}). Take that folder away, or ask as it was asked"
        )
        raise UsageError(msg)
    return there


def header_bytes(provenance: Provenance) -> bytes:
    """Write where paraphrases come from as a sealed document."""
    return seal(plain_data(provenance), indent=2)


def read_receipt(folder: Path, shard: int) -> Receipt | None:
    """Read the receipt of a shard whose part is as it was written; None where either is missing or is not.

    A part that is not as it was written is made again, from the answers that are kept.
    """
    try:
        data = read_file(receipt_path(folder, shard), _MOST_BYTES)
        receipt = read_sealed(Receipt, data, Origin(f"{folder}: receipt {shard}", _CURE))
        part = read_file(part_path(folder, shard), receipt.size)
    except (FileNotFoundError, PosegenError):
        return None
    sound = receipt.shard == shard and (len(part), hash_of(part)) == (receipt.size, receipt.xxh3)
    return receipt if sound else None
