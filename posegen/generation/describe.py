"""Summary of a dataset: its size, its actions, example captions, and code that reads it.

Shards are read one after another, so that memory does not grow with the dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from posegen.arrays import Array
from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.skeleton import PARTS

CAPTION_EXAMPLES = 6


@dataclass(frozen=True)
class ActionShare:
    """Share of the frames with an action: on the legs, and on any part of the body."""

    action: str
    legs: float
    any: float


@dataclass(frozen=True)
class CaptionExample:
    """A caption and the sequence that it describes."""

    sample: int
    variant: str
    text: str


@dataclass(frozen=True)
class Description:
    """Summary of a dataset.

    Attributes
    ----------
    path : Path
    header : Header
    samples : int
    fields : dict of str to str
        Type and dimensions of each array.
    hours : float
        Duration of all sequences together, whatever the number of actors.
    sizes : dict of str to int
        Bytes on disk of each array and of the rows.
    actions : tuple of ActionShare
        Of the base variant, the most frequent first.
    captions : tuple of CaptionExample
    note : str
        What a user should know before relying on the number of samples; empty if there is nothing.
    resampled, dropped : int or None
        Samples that were resampled after failed caption or joint-limit checks, and statements that were dropped because no
        attempt passed, over all sequences; None for a dataset without these columns.
    """

    path: Path
    header: Header
    samples: int
    fields: dict[str, str]
    hours: float
    sizes: dict[str, int]
    actions: tuple[ActionShare, ...]
    captions: tuple[CaptionExample, ...]
    note: str
    resampled: int | None
    dropped: int | None

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return self.samples * len(self.header.variants)

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return sum(self.sizes.values())


def describe(path: str | Path) -> Description:
    """Return the summary of a dataset.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Description
    """
    dataset = open_dataset(path)
    header = dataset.header
    with content_errors(path):
        return Description(
            path=dataset.path,
            header=header,
            samples=len(dataset),
            fields={field.name: _array_text(dataset, field) for field in header.all_fields},
            hours=(_count(dataset, "length", lambda lengths: lengths, 1) or 0) / header.fps / 3600,
            sizes=dataset.sizes(),
            actions=_action_shares(dataset),
            captions=tuple(islice(_captions(dataset), CAPTION_EXAMPLES)),
            note=dataset.note,
            resampled=_count(dataset, "attempt", lambda attempts: pc.greater(attempts, 0), len(header.variants)),
            dropped=_count(dataset, "dropped", pc.list_value_length, 1),
        )


def _array_text(dataset: Dataset, field: ArrayField) -> str:
    note = "" if field.name in dataset.fields else "; missing for some samples: `posegen derive` completes it"
    return f"{field.dtype} ({', '.join(('sample', *field.dims))}){note}"


def reading_lines(description: Description) -> list[str]:
    """Return five lines of Python that read the dataset without posegen."""
    path = str(description.path)
    array = "joints" if "joints" in description.fields else next(iter(description.fields))
    return [
        "import pyarrow.parquet, zarr",
        f"motion = zarr.open_group({path + '/motion.zarr'!r}, mode='r')",
        f"{array} = motion[{array!r}][0, 0]  # sample 0, variant {description.header.variants[0]}",
        f"rows = pyarrow.parquet.read_table({path + '/sequences'!r}, filters=[('sample', '==', 0)]).to_pylist()",
        f"print({array}.shape, rows[0]['captions'][0]['text'])",
    ]


def count_actions(labels: Array, actions: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Count the frames with each action.

    Parameters
    ----------
    labels : uint16 [..., part]
        Action of each part in each frame; numbers from `actions` on mean absent.
    actions : int
        Number of actions.

    Returns
    -------
    (int64 [actions], int64 [actions], int)
        Frames with the action on the legs, frames with it on any part, and all frames in which an actor is present.
    """
    flat = labels.reshape(-1, labels.shape[-1])
    flat = flat[(flat < actions).any(axis=1)]
    legs = np.bincount(flat[:, PARTS.index("legs")], minlength=actions)[:actions]
    any_part = np.zeros(actions, np.int64)
    for part in range(flat.shape[1]):
        # A frame counts once for an action, however many parts perform it.
        is_new = (flat[:, part, None] != flat[:, :part]).all(axis=1)
        any_part += np.bincount(flat[is_new, part], minlength=actions)[:actions]
    return legs, any_part, len(flat)


def _action_shares(dataset: Dataset) -> tuple[ActionShare, ...]:
    if "action" not in dataset.fields:
        return ()
    names = dataset.header.field("action").attributes["names"]
    legs, any_part, frames = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64), 0
    for block in dataset.blocks("action", 0, len(dataset), 0):
        # The base variant only: all variants have the same actions.
        more = count_actions(block, len(names))
        legs, any_part, frames = legs + more[0], any_part + more[1], frames + more[2]
    shares = [ActionShare(name, int(legs[i]) / frames, int(any_part[i]) / frames) for i, name in enumerate(names) if frames]
    return tuple(sorted(shares, key=lambda share: (-share.any, share.action)))


def _count(dataset: Dataset, column: str, measure: Callable[[Any], Any], rows: int) -> int | None:
    """Return the sum of a measure of a column over all rows, divided by the number of rows with equal values."""
    total = 0
    for shard in range(dataset.header.shards()):
        table = dataset.table(shard)
        if column not in table.column_names:
            return None
        total += pc.sum(measure(table[column])).as_py() or 0
    return total // rows


def _captions(dataset: Dataset) -> Iterator[CaptionExample]:
    """Yield one caption of each sample, with a different position and variant each time."""
    for sample in range(len(dataset)):
        rows = dataset.rows(sample)
        row = rows[sample % len(rows)]
        captions = row["captions"]
        if captions:
            yield CaptionExample(sample, row["variant"], captions[sample % len(captions)]["text"])
