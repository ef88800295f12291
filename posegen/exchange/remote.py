"""Where ``posegen push`` uploads files: what the Hub and a bucket have in common, and errors without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CARD = "README.md"
_SECRETS = re.compile(r"TOKEN|SECRET|PASSWORD|ACCESS_KEY")
_SHORTEST_SECRET = 4


@dataclass(frozen=True)
class PushedFile:
    """A file to upload: its name there, where it is, its size in bytes, and its SHA-256 in hexadecimal digits."""

    name: str
    path: Path
    size: int
    sha256: str


class Remote(Protocol):
    """A place that files are uploaded to.

    Attributes
    ----------
    url : str
    dataset_name : str
        What the card passes to ``datasets.load_dataset``.
    """

    url: str
    dataset_name: str

    def compare(self, files: Sequence[PushedFile]) -> dict[str, bool]:
        """Return for the card and each Parquet file that is there whether it equals the one to upload."""

    def send(self, file: PushedFile, report: Callable[[int], None]) -> None:
        """Upload a file, and report from time to time how many bytes are sent."""

    def commit(self, removed: Sequence[str]) -> None:
        """Show the files that were sent, and remove others."""


def is_pushed(name: str) -> bool:
    """Return whether a push writes files of this name.

    Examples
    --------
    >>> is_pushed("data/train-00000.parquet"), is_pushed("notes.txt")
    (True, False)
    """
    return name == CARD or (name.startswith("data/") and name.endswith(".parquet"))


def without_secrets(text: str) -> str:
    """Return the first line of a message without signatures of addresses and values of secret environment variables.

    Examples
    --------
    >>> without_secrets("403 for https://me:word@host/file?X-Signature=1f")
    '403 for https://host/file'
    """
    line = next(iter(text.strip().splitlines()), "")
    for value in sorted(_secrets(), key=len, reverse=True):
        line = line.replace(value, "***")
    return re.sub(r"(https?://)(?:[^\s/@]*@)?([^\s?'\"]*)(?:\?[^\s'\"]*)?", r"\1\2", line)


def _secrets() -> Iterable[str]:
    return {value for name, value in os.environ.items() if _SECRETS.search(name) and len(value) >= _SHORTEST_SECRET}
