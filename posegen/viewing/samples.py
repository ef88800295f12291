"""From a sample's arrays and rows to what is drawn: a clip for each of its variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.skeleton import CONTACTS, JOINTS, PARTS
from posegen.viewing.clip import Clip, Seat, make_clip

__all__ = ["clip_of_sequence", "seats_of", "tracks_of", "treads_of"]

TREAD, TREAD_THICKNESS, BALL_HEIGHT, LEAST_RISE = 0.26, 0.04, 0.02, 0.08
"""Metres: breadth and thickness of what a foot stands on, the ball's joint above the sole, and the least height of a tread."""

Array = NDArray[Any]


def clip_of_sequence(
    joints: Array,
    row: Mapping[str, Any],
    fps: float,
    *,
    action: Array | None = None,
    contact: Array | None = None,
    names: Sequence[str] = (),
) -> Clip:
    """Make a clip of one sequence.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    row : mapping
        Its row in the table of sequences.
    fps : float
    action : [actors, frames, 5] or None
        Index into `names`; any other number means none.
    contact : [actors, frames, 9] or None
    names : sequence of str
        Of the actions.

    Returns
    -------
    Clip
        With every caption of the row, a line each.
    """
    return make_clip(
        joints,
        "\n".join(caption["text"] for caption in row["captions"]),
        fps,
        title=f"sample {row['sample']}, {row['variant']}",
        actions=None if action is None else tracks_of(action, names),
        contacts=contact,
        seats=() if contact is None else _surfaces(joints, contact, row),
    )


def _surfaces(joints: Array, contact: Array, row: Mapping[str, Any]) -> list[Seat]:
    return seats_of(joints, contact, [actor["seat_height"] for actor in row.get("actors", ())]) + treads_of(joints, contact)


def seats_of(joints: Array, contact: Array, heights: Sequence[float]) -> list[Seat]:
    """Find the seats that are sat on: one under the pelvis for each stretch of frames in which a seat is touched.

    Who touches something lower with the seat lies on the floor.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    contact : [actors, frames, 9]
    heights : sequence of float
        Height of each actor's seat, in metres.
    """
    seats = []
    pelvis, point = JOINTS.index("pelvis"), CONTACTS.index("seat")
    for height, places, touching in zip(heights, joints[..., pelvis, :], contact[..., point] == 1, strict=False):
        begins = np.flatnonzero(touching & ~np.roll(touching, 1) | (touching & (np.arange(len(touching)) == 0)))
        seats += [Seat((float(places[f, 0]), float(height), float(places[f, 2]))) for f in begins if places[f, 1] > height > 0]
    return seats


def treads_of(joints: Array, contact: Array) -> list[Seat]:
    """Find what is stood on above the floor, such as treads and rungs: one slab for each time that a foot is set down there.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3]
    contact : [actors, frames, 9]
    """
    treads = []
    for side in ("left", "right"):
        ball, point = JOINTS.index(f"{side}_foot"), CONTACTS.index(f"{side}_toe")
        for places, touching in zip(joints[..., ball, :], contact[..., point] == 1, strict=True):
            begins = np.flatnonzero(touching & ~np.concatenate([[False], touching[:-1]]))
            treads += [
                Seat((float(places[f, 0]), float(places[f, 1]) - BALL_HEIGHT, float(places[f, 2])), TREAD, TREAD_THICKNESS)
                for f in begins
                if places[f, 1] > LEAST_RISE
            ]
    return treads


def tracks_of(action: Array, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Tracks of per-frame labels: one for each part that does something else than the parts before it.

    Parameters
    ----------
    action : [actors, frames, 5]
        Index into `names`; any other number means none.
    names : sequence of str

    Returns
    -------
    dict of str to tuple of str
        By part, with the actor's number first where there are several.
    """
    tracks: dict[str, tuple[str, ...]] = {}
    for actor, frames in enumerate(action):
        seen: list[tuple[str, ...]] = []
        for part, indices in zip(PARTS, frames.T, strict=True):
            labels = tuple(names[i].replace("_", " ") if 0 <= i < len(names) else "" for i in indices.tolist())
            if labels not in seen and any(labels):
                seen.append(labels)
                tracks[f"{actor + 1} {part}" if len(action) > 1 else part] = labels
    return {name.replace("_", " "): labels for name, labels in tracks.items()}
