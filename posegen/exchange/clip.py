"""A clip: the motion of one person, as exports write it and imports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posegen.foundations.arrays import Array
from posegen.library.load import Library


@dataclass(frozen=True)
class Clip:
    """One actor of a sequence.

    Attributes
    ----------
    name : str
        See :func:`clip_name`.
    split : str
        Split of the sample.
    fps : int or float
    joints : float32 [frame, 22, 3]
        Metres; the frames in which the actor is present.
    offsets : float64 [22, 3]
        Offset of each joint from its parent in the rest pose of :mod:`posegen.foundations.skeleton`, metres.
    contact : uint8 [frame, point]
        1 while a point of :data:`posegen.foundations.skeleton.CONTACTS` touches something.
    action : uint16 [frame, part]
        Index of the action of each body part.
    library : Library
        Of these actions.
    stature : float
        Metres.
    captions : tuple of str
        Of the sequence; they describe all its actors.
    actor : int
        Index in the sequence.
    fields : dict of str to ndarray [frame, ...]
        Arrays of derived fields that the format asks for.
    given_label : str
        Label in the source of a clip that belongs to no dataset.
    """

    name: str
    split: str
    fps: float
    joints: Array
    offsets: Array
    contact: Array
    action: Array
    library: Library
    stature: float
    captions: tuple[str, ...]
    actor: int
    fields: Mapping[str, Array]
    given_label: str = ""

    @cached_property
    def label(self) -> str:
        """The action with the most labels of body parts over the frames; standing only if there is no other.

        Without labels of frames, as of recordings, the label given.
        """
        actions = self.library.actions
        counts = np.bincount(self.action.ravel(), minlength=len(actions))[: len(actions)]
        if not counts.any():
            return self.given_label
        standing = counts.copy()
        counts[self.library.index("stand")] = 0
        return actions[int((counts if counts.any() else standing).argmax())]


def clip_name(sample: int, variant: str, actor: int) -> str:
    """Return the name of a clip: the number of its sample, with marks of variants and of all actors except the first.

    >>> clip_name(12, "base", 0), clip_name(12, "mirror", 0), clip_name(12, "speed", 1)
    ('000012', 'M000012', '000012_speed_1')
    """
    mirrored = "M" if variant == "mirror" else ""
    ending = "" if variant in ("base", "mirror") else f"_{variant}"
    return f"{mirrored}{sample:06}{ending}{f'_{actor}' if actor else ''}"
