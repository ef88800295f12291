"""Measure captions: count true and false statements, and clips with actions that no caption can mention."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posegen.checks.statements import check_statement, observe_actors, row_statements
from posegen.config.schema import CONTENT_VERSION
from posegen.dataset.read import Dataset
from posegen.evaluation.recording import LEGS, Recording
from posegen.foundations.arrays import Array
from posegen.foundations.constants import STANDING
from posegen.library.load import Library, load_library

Row = Mapping[str, Any]

MAX_EXAMPLES = 10
"""Most false statements of a kind that are listed."""


@dataclass(frozen=True)
class StatementCounts:
    """Checks of the statements of one kind.

    Attributes
    ----------
    true, false : int
        Number of statements that the joints confirm and that they contradict.
    open : int
        Number of statements for which posegen has no measurement.
    wrong : list of str
        The first false ones.
    """

    true: int
    false: int
    open: int
    wrong: list[str]


Checked = Counter[tuple[str, bool | None, str]]
"""Numbers of statements by kind, whether they are true, and for the first false ones where they are."""


def check_rows(joints: Array, rows: Sequence[Row], library: Library, fps: int) -> Checked:
    """Check the statements of captions and segments of some rows against the stored joints.

    Parameters
    ----------
    joints : float32 [sample, variant, actor, frame, 22, 3]
    rows : sequence of mappings
        Rows of the same samples, one for each variant.
    library : Library
        Library of the dataset.
    fps : int
    """
    checked, wrong = Checked(), Counter[str]()
    seen = observe_actors(joints.reshape(-1, *joints.shape[2:]), [row["actors"] for row in rows], library, fps)
    for row, actors in zip(rows, seen, strict=True):
        for statement in row_statements(row):
            kind, verdict, where = statement["kind"], check_statement(statement, actors, library), ""
            if verdict is False and wrong[kind] < MAX_EXAMPLES:
                wrong[kind] += 1
                done = f"{statement['action']} {statement['value']}".rstrip()
                where = f"sample {row['sample']} {row['variant']}: {done}"
            checked[kind, verdict, where] += 1
    return checked


def count_statements(checked: Checked) -> dict[str, StatementCounts]:
    """Return the counts by kind of statement."""
    numbers, wrong = Counter[tuple[str, bool | None]](), dict[str, list[str]]()
    for (kind, verdict, where), count in checked.items():
        numbers[kind, verdict] += count
        wrong.setdefault(kind, []).extend([where] * (where != ""))
    return {
        kind: StatementCounts(numbers[kind, True], numbers[kind, False], numbers[kind, None], wrong[kind][:MAX_EXAMPLES])
        for kind in sorted(wrong)
    }


def library_of_dataset(dataset: Dataset) -> Library | None:
    """Return the library of a dataset; None if it is gone, or if it or the content version has changed since the generation."""
    header, folder = dataset.header, dataset.config.story.library
    if header.content_version != CONTENT_VERSION or not (folder is None or os.path.isdir(folder)):
        return None
    library = load_library(folder)
    return library if dataset.config.identity(library) == header.identity else None


SECONDS = 0.4
"""Shortest time of an action outside all segments that counts: no caption can mention it."""


@dataclass(frozen=True)
class Uncaptioned:
    """Clips that show an action which no segment covers for :data:`SECONDS` or longer.

    Attributes
    ----------
    clips : int
        Number of all clips.
    legs, any_part : float
        Share of them with such an action of the legs, and of any body part.
    """

    clips: int
    legs: float
    any_part: float


def find_uncaptioned(recording: Recording) -> dict[str, int]:
    """Count the clip, and the clip as uncaptioned if it shows such an action; empty without labels."""
    if recording.labels is None or not recording.segments:
        return {}
    uncovered = (recording.labels != recording.number(STANDING)) & (recording.labels < len(recording.actions))
    for segment in recording.segments:
        shown = slice(int(segment["start"]), int(segment["end"]))
        uncovered[shown] &= recording.labels[shown] != recording.number(segment["action"])
    legs, any_part = (frames.sum() >= SECONDS * recording.fps for frames in (uncovered[:, LEGS], uncovered.any(1)))
    return {"clips": 1, "legs": int(legs), "any_part": int(any_part)}


def uncaptioned_shares(counted: Counter[str]) -> Uncaptioned | None:
    """Return the shares, of the sums of :func:`find_uncaptioned`; None without a clip that has labels."""
    clips = counted["clips"]
    return Uncaptioned(clips, counted["legs"] / clips, counted["any_part"] / clips) if clips else None
