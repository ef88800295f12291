"""Labels over time, drawn under a sequence: a bar for each track of actions, thin ones for the contacts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from posegen.skeleton import CONTACTS
from posegen.viewing.clip import Clip
from posegen.viewing.draw import COLOURS
from posegen.viewing.lettering import INK, typeface

__all__ = ["bars_height", "draw_bars", "stretches"]

Array = NDArray[Any]

TRACK_HEIGHT = 15
CONTACT_HEIGHT = 9
NAME_WIDTH = 92

PALETTE = (
    (166, 206, 227),
    (178, 223, 138),
    (253, 205, 120),
    (222, 190, 226),
    (251, 180, 174),
    (204, 235, 197),
    (229, 216, 189),
    (179, 205, 227),
    (254, 217, 166),
    (217, 217, 217),
)


def stretches(labels: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Label, first frame and end (exclusive) of each stretch of equal labels."""
    start = 0
    for i in range(1, len(labels) + 1):
        if i == len(labels) or labels[i] != labels[start]:
            yield labels[start], start, i
            start = i


def bars_height(clip: Clip) -> int:
    """Pixels that the bars of a sequence need."""
    return TRACK_HEIGHT * len(clip.tracks) + CONTACT_HEIGHT * len(_contact_rows(clip))


def draw_bars(canvas: ImageDraw.ImageDraw, clip: Clip, left: int, top: int, width: int) -> None:
    """Bars of a sequence over `width` pixels, with the names of the tracks to their left."""
    colours = _label_colours(clip.tracks)
    for name, labels in clip.tracks.items():
        canvas.text((left, top), name, fill=INK, font=typeface(11))
        for label, start, end in stretches(labels):
            _stretch(canvas, label, colours[label], _span(left, width, start, end, clip.frames), top)
        top += TRACK_HEIGHT
    for name, touching in _contact_rows(clip):
        canvas.text((left, top - 2), name, fill=INK, font=typeface(9))
        colour = COLOURS.get(name.split()[-2] if len(name.split()) > 1 else "", COLOURS["contact"])
        for label, start, end in stretches([str(t) for t in touching]):
            if label == "True":
                x0, x1 = _span(left, width, start, end, clip.frames)
                canvas.rectangle((x0, top, x1 - 1, top + CONTACT_HEIGHT - 3), fill=colour)
        top += CONTACT_HEIGHT


def _span(left: int, width: int, start: int, end: int, frames: int) -> tuple[float, float]:
    scale = (width - NAME_WIDTH) / frames
    return left + NAME_WIDTH + start * scale, left + NAME_WIDTH + end * scale


def _stretch(
    canvas: ImageDraw.ImageDraw, label: str, colour: tuple[int, int, int] | None, span: tuple[float, float], top: int
) -> None:
    if colour is None:
        return
    canvas.rectangle((span[0], top, max(span[0], span[1] - 2), top + TRACK_HEIGHT - 3), fill=colour)
    if typeface(10).getlength(label) < span[1] - span[0] - 4:
        canvas.text((span[0] + 3, top), label, fill=INK, font=typeface(10))


def _label_colours(tracks: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, int, int] | None]:
    """A colour for each label in order of appearance, none for the empty label."""
    colours: dict[str, tuple[int, int, int] | None] = {"": None}
    for labels in tracks.values():
        for label in labels:
            if label not in colours:
                colours[label] = PALETTE[(len(colours) - 1) % len(PALETTE)]
    return colours


def _contact_rows(clip: Clip) -> list[tuple[str, Array]]:
    """Name and truth per frame of each contact point that touches at all."""
    if clip.contacts is None:
        return []
    touching = clip.contacts == 1
    many = len(touching) > 1
    rows = []
    for actor, point in np.argwhere(touching.any(1)):
        name = CONTACTS[point].replace("_", " ")
        rows.append((f"{actor + 1} {name}" if many else name, touching[actor, :, point]))
    return rows
