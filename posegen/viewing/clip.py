"""What a viewer is given: one sequence with its words and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.skeleton import CONTACTS, JOINTS

__all__ = ["Clip", "Seat", "make_clip"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Seat:
    """A box to sit or stand on: the centre of its top in metres (x, y, z), its breadth and depth, and its thickness.

    Without a thickness it stands on the floor.
    """

    top: tuple[float, float, float]
    size: float = 0.42
    thickness: float | None = None


@dataclass(frozen=True)
class Clip:
    """One sequence as it is drawn; build it with :func:`make_clip`, which checks it.

    Attributes
    ----------
    joints : float [actors, frames, 22, 3]
        Metres; NaN where an actor is absent.
    caption : str
    fps : float
    title : str
        A short line over the picture, such as ``sample 3, base``.
    tracks : mapping of str to sequence of str
        Per-frame labels by the name of their track, such as ``legs``.
    contacts : uint8 [actors, frames, 9] or None
        1 where the point of :data:`posegen.skeleton.CONTACTS` touches.
    seats : tuple of Seat
    """

    joints: Array
    caption: str = ""
    fps: float = 25.0
    title: str = ""
    tracks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    contacts: Array | None = None
    seats: tuple[Seat, ...] = ()

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return int(self.joints.shape[1])


def make_clip(
    joints: Array,
    caption: str = "",
    fps: float = 25.0,
    *,
    title: str = "",
    actions: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    contacts: Array | None = None,
    seats: Sequence[Seat] = (),
) -> Clip:
    """Check a sequence and cut off the frames at its end in which nobody is there.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3] or [frames, 22, 3]
    caption : str
    fps : float
    title : str
    actions : sequence of str, mapping of str to sequence of str, or None
        A label for each frame, or several tracks of them by name.
    contacts : [actors, frames, 9] or [frames, 9] or None
    seats : sequence of Seat

    Returns
    -------
    Clip

    Raises
    ------
    UsageError
        If the shapes do not fit together, or no frame has a figure in it.
    """
    joints = np.asarray(joints, np.float64)
    joints = joints[None] if joints.ndim == 3 else joints
    if joints.ndim != 4 or joints.shape[2:] != (len(JOINTS), 3):
        msg = f"joints to draw must have the shape [actors, frames, {len(JOINTS)}, 3], not {list(joints.shape)}"
        raise UsageError(msg)
    if not fps > 0:
        msg = f"fps must be above 0, not {fps}"
        raise UsageError(msg)
    there = np.flatnonzero(np.isfinite(joints).all((2, 3)).any(0))
    if not len(there):
        msg = "there is nothing to draw: no frame of the sequence has a figure in it"
        raise UsageError(msg)
    length = int(there[-1]) + 1
    tracks = _tracks(actions, joints.shape[1], length)
    if contacts is not None:
        contacts = np.asarray(contacts)
        contacts = contacts[None] if contacts.ndim == 2 else contacts
        expected = (*joints.shape[:2], len(CONTACTS))
        if contacts.shape != expected:
            msg = f"contacts must have the shape {list(expected)} to go with the joints, not {list(contacts.shape)}"
            raise UsageError(msg)
        contacts = contacts[:, :length]
    return Clip(joints[:, :length], caption, float(fps), title, tracks, contacts, tuple(seats))


def _tracks(
    actions: Sequence[str] | Mapping[str, Sequence[str]] | None, frames: int, length: int
) -> dict[str, tuple[str, ...]]:
    if actions is None:
        return {}
    named = actions if isinstance(actions, Mapping) else {"action": actions}
    for name, labels in named.items():
        if len(labels) != frames:
            msg = f"the labels of '{name}' must be one for each of the {frames} frames, but there are {len(labels)}"
            raise UsageError(msg)
    return {name: tuple(labels[:length]) for name, labels in named.items()}
