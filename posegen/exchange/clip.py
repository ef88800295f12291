"""A clip: the motion of one person, as exports write it and imports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posegen.arrays import Array


@dataclass(frozen=True)
class Clip:
    """One actor of a sequence.

    Attributes
    ----------
    name : str
        Sample with six digits or more; ``M`` before it for the mirror variant, otherwise the variant's name behind it; the number
        of the actor last, except for the first one: ``000012``, ``M000012``, ``000012_speed``, ``000012_1``.
    sample : int
    split : str
        Split of the sample.
    fps : int
    joints : float32 [frame, 22, 3]
        Metres; the frames in which the actor is present.
    captions : tuple of str
        Of the sequence; they speak of all its actors.
    actors : int
        Number of actors in the sequence.
    row : mapping
        The sequence's row; see :func:`posegen.synthesis.rows_schema`.
    """

    name: str
    sample: int
    split: str
    fps: int
    joints: Array
    captions: tuple[str, ...]
    actors: int
    row: Mapping[str, Any]


def clip_name(sample: int, variant: str, actor: int) -> str:
    """Return the name of a clip.

    >>> clip_name(12, "base", 0), clip_name(12, "mirror", 0), clip_name(12, "speed", 1)
    ('000012', 'M000012', '000012_speed_1')
    """
    mirrored = "M" if variant == "mirror" else ""
    ending = "" if variant in ("base", "mirror") else f"_{variant}"
    return f"{mirrored}{sample:06}{ending}{f'_{actor}' if actor else ''}"
