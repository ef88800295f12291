"""What a repair means to come to, written down before it begins.

While shards are made again, the dataset has fewer samples. If the repair dies then, nothing else could tell how many there
were, and the next repair would be content with what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict

from posegen.dataset.documents import STRICT, Count, Origin, read_sealed, seal
from posegen.dataset.files import read_file, remove_durably, write_durably
from posegen.dataset.layout import REPAIR_FILE
from posegen.errors import PosegenError

__all__ = ["forget", "intend", "intended_samples"]

_MOST_BYTES = 1000


@dataclass(frozen=True)
class _RepairRecord:
    """Content of `repair.json`: the number of samples that the dataset will have."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    samples: Count


def intend(path: Path, samples: int, run: str) -> None:
    """Write down how many samples the dataset at `path` is to have."""
    write_durably(path / REPAIR_FILE, seal({"samples": samples}), run)


def intended_samples(path: Path) -> int:
    """Tell how many samples a repair that did not end meant to come to; 0 if there is none."""
    source = Origin(REPAIR_FILE, "")
    try:
        return read_sealed(_RepairRecord, read_file(path / REPAIR_FILE, _MOST_BYTES), source).samples
    except (FileNotFoundError, PosegenError):
        return 0


def forget(path: Path) -> None:
    """Remove the note: the repair has ended."""
    remove_durably(path / REPAIR_FILE)
