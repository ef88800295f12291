"""Whether captions are true: every statement of every caption, of segments too, held against the stored joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from posegen.checks.check import check_statement, see_actors, statements_of
from posegen.config.schema import CONTENT_VERSION, Config
from posegen.config.validation import validated
from posegen.dataset.read import Dataset, strange
from posegen.library import Library, load_library

__all__ = ["Claims", "ClaimsTally", "library_of"]

Array = NDArray[Any]

MOST_NAMED = 10


@dataclass(frozen=True)
class Claims:
    """Statements of one kind.

    Attributes
    ----------
    true, false : int
        How many the joints show, and how many not.
    open : int
        How many cannot be measured: posegen does not know how they would show.
    wrong : list of str
        The first false ones.
    """

    true: int
    false: int
    open: int
    wrong: list[str]


class ClaimsTally:
    """Holds statements of captions against the joints, some rows at a time.

    Parameters
    ----------
    dataset : Dataset
    """

    def __init__(self, dataset: Dataset) -> None:
        self._library = library_of(dataset)
        self._dataset = dataset
        self._counted: Counter[tuple[str, bool | None]] = Counter()
        self._wrong: dict[str, list[str]] = {}

    def add(self, joints: Array, rows: Sequence[Mapping[str, Any]]) -> None:
        """Check the captions of some rows.

        Parameters
        ----------
        joints : float32 [sample, variant, actor, frame, 22, 3]
        rows : sequence of mappings
            Of the same samples, a row for each variant.
        """
        if self._library is None:
            return
        with strange(self._dataset.path):
            flat = joints.reshape(-1, *joints.shape[2:])
            seen = see_actors(flat, [row["actors"] for row in rows], self._library, self._dataset.header.fps)
            for row, actors in zip(rows, seen, strict=True):
                for statement in statements_of(row):
                    self._take_down(statement, row, check_statement(statement, actors, self._library))

    def _take_down(self, statement: Mapping[str, Any], row: Mapping[str, Any], verdict: bool | None) -> None:
        kind = statement["kind"]
        self._counted[kind, verdict] += 1
        named = self._wrong.setdefault(kind, [])
        if verdict is False and len(named) < MOST_NAMED:
            value = f" {statement['value']}" if statement["value"] else ""
            named.append(f"sample {row['sample']} {row['variant']}: {statement['action']}{value}")

    def claims(self) -> dict[str, Claims] | None:
        """Give what was found by kind of statement; None for a dataset of another library or content version than now."""
        if self._library is None:
            return None
        counted = self._counted
        return {
            kind: Claims(counted[kind, True], counted[kind, False], counted[kind, None], named)
            for kind, named in sorted(self._wrong.items())
        }


def library_of(dataset: Dataset) -> Library | None:
    """Give the library that a dataset was made with; None where it was another one, or another content version, than now."""
    header = dataset.header
    if header.content_version != CONTENT_VERSION:
        return None
    config = validated(Config, header.config, lambda key: f"{dataset.path}: in the config of its dataset.json: ")
    library = load_library(config.story.library)
    return library if config.identity(library) == header.identity else None
