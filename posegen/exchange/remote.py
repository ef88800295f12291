"""Where ``posegen push`` uploads files: what the Hub and a bucket have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CARD = "README.md"


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

    def compare(self, files: Sequence[PushedFile], is_ours: Callable[[str], bool]) -> dict[str, bool]:
        """Return for each file that is there, and whose name is one of ours, whether it equals the one to upload."""

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
