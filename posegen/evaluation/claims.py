"""Whether captions are true: every statement of every caption, of segments too, held against the stored joints."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from posegen.config import CONTENT_VERSION, Config
from posegen.library import Library, load_library
from posegen.store.read import Dataset, strange
from posegen.truth.check import check_statement, see_actors, statements_of
from posegen.validation import validated

__all__ = ["Claims", "check_captions"]

SAMPLES_AT_ONCE = 20
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


def check_captions(dataset: Dataset, samples: range) -> dict[str, Claims] | None:
    """Hold the statements of captions against the joints.

    Parameters
    ----------
    dataset : Dataset
    samples : range

    Returns
    -------
    dict of str to Claims, or None
        By kind of statement; None for a dataset without joints, or of another library or content version than there is now.
    """
    library = _library(dataset)
    if library is None or "joints" not in dataset.fields:
        return None
    counted: Counter[tuple[str, bool | None]] = Counter()
    wrong: dict[str, list[str]] = {}
    for first in range(0, len(samples), SAMPLES_AT_ONCE):
        chosen = samples[first : first + SAMPLES_AT_ONCE]
        joints = dataset.arrays("joints", np.array(chosen))
        with strange(dataset.path):
            rows = [row for sample in chosen for row in dataset.rows(sample)]
            seen = see_actors(
                joints.reshape(-1, *joints.shape[2:]), [row["actors"] for row in rows], library, dataset.header.fps
            )
            for row, actors in zip(rows, seen, strict=True):
                for statement in statements_of(row):
                    verdict = check_statement(statement, actors, library)
                    kind = statement["kind"]
                    counted[kind, verdict] += 1
                    named = wrong.setdefault(kind, [])
                    if verdict is False and len(named) < MOST_NAMED:
                        value = f" {statement['value']}" if statement["value"] else ""
                        named.append(f"sample {row['sample']} {row['variant']}: {statement['action']}{value}")
    return {
        kind: Claims(counted[kind, True], counted[kind, False], counted[kind, None], named)
        for kind, named in sorted(wrong.items())
    }


def _library(dataset: Dataset) -> Library | None:
    header = dataset.header
    if header.content_version != CONTENT_VERSION:
        return None
    config = validated(Config, header.config, lambda key: f"{dataset.path}: in the config of its dataset.json: ")
    library = load_library(config.story.library)
    return library if config.identity(library) == header.identity else None
