"""Count what a shard contains: frames, actions, resampled samples, dropped statements.

A shard's receipt has its counts, so that a summary of a dataset reads neither tables nor arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from posegen.dataset.documents import Count, Document
from posegen.dataset.layout import ArrayField, Header
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import PARTS

_DIMS = ("variant", "actor", "frame", "part")


@dataclass(frozen=True)
class Counts(Document):
    """Counts of some samples.

    Attributes
    ----------
    frames : int
        Of all sequences together, whatever the number of actors; 0 for a table without `length`.
    resampled, dropped : int or None
        Samples that were resampled after failed caption or joint-limit checks, and statements that were dropped over all
        sequences; None for a table without these columns.
    flaws : int
        Sequences in which limbs cross as in the clip that an action was imported from, for each of their actors.
    present : int
        Frames of the base variant in which an actor is present.
    legs, any_part : list of int
        For each action of the field `action`, frames of the base variant with it on the legs, and on any part of the body;
        empty without such a field.
    """

    frames: Count
    resampled: Count | None
    dropped: Count | None
    present: Count
    legs: list[Count]
    any_part: list[Count]
    flaws: Count = 0


def labels_field(header: Header) -> ArrayField | None:
    """Return the field with the action of each body part in each frame; None if the dataset has none."""
    field = next((field for field in header.fields if field.name == "action"), None)
    is_labels = field and field.dims == _DIMS and field.shape[3] == len(PARTS) and field.dtype == "uint16"
    return field if field and is_labels and isinstance(field.attributes.get("names"), list) else None


def count_of_actions(header: Header) -> int:
    """Return the number of actions that are counted; 0 without :func:`labels_field`."""
    field = labels_field(header)
    return len(field.attributes["names"]) if field else 0


def no_counts(header: Header) -> Counts:
    """Return the counts of no samples."""
    none = [0] * count_of_actions(header)
    return Counts(frames=0, resampled=0, dropped=0, present=0, legs=none, any_part=none)


def count_content(header: Header, table: pa.Table, labels: Iterable[Array]) -> Counts:
    """Count the content of samples.

    Parameters
    ----------
    header : Header
    table : pyarrow.Table
        Their rows.
    labels : iterable of uint16 [sample, actor, frame, part]
        The actions of their base variant in blocks; nothing without :func:`labels_field`.
    """
    actions, names = count_of_actions(header), table.column_names
    legs, any_part, present = np.zeros(actions, np.int64), np.zeros(actions, np.int64), 0
    for block in labels:
        more = count_actions(block, actions)
        legs, any_part, present = legs + more[0], any_part + more[1], present + more[2]
    attempts = pc.sum(pc.greater(table["attempt"], 0)).as_py() if "attempt" in names else None
    kinds = pc.list_flatten(table["dropped"]) if "dropped" in names else None
    flaws = 0 if kinds is None else pc.sum(pc.equal(pc.struct_field(kinds, "kind"), "flaw")).as_py() or 0
    return Counts(
        frames=(pc.sum(table["length"]).as_py() or 0) if "length" in names else 0,
        resampled=None if attempts is None else attempts // len(header.variants),
        dropped=None if kinds is None else len(kinds) - flaws,
        present=present,
        legs=legs.tolist(),
        any_part=any_part.tolist(),
        flaws=flaws,
    )


def add_counts(one: Counts, other: Counts) -> Counts:
    """Return the counts of two sets of samples together."""
    return Counts(**{field.name: _sum(getattr(one, field.name), getattr(other, field.name)) for field in fields(Counts)})


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, list):
        return [first + second for first, second in zip(one, other, strict=True)]
    return None if one is None or other is None else one + other


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
    frames = flat[(flat < actions).any(axis=1)]
    any_part = np.zeros(actions, np.int64)
    for part in range(frames.shape[1]):
        # A frame counts once for an action, however many parts perform it.
        is_new = (frames[:, part, None] != frames[:, :part]).all(axis=1)
        any_part += _frames_of_each(frames[is_new, part], actions)
    return _frames_of_each(frames[:, PARTS.index("legs")], actions), any_part, len(frames)


def _frames_of_each(found: Array, actions: int) -> NDArray[np.int64]:
    """Return the frames with each action, int64 [actions]."""
    return np.bincount(found, minlength=actions)[:actions].astype(np.int64)
