"""Animated GIFs of a sequence, with a camera that follows the actors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from posegen.viewing.canvas import (
    COLOURS,
    INK,
    Placement,
    draw_figures,
    draw_floor,
    draw_seats,
    facing,
    line_height,
    middle,
    typeface,
    view_from,
    wrap,
    write_lines,
)
from posegen.viewing.clip import Clip

Array = NDArray[Any]

FINER = 2
PAPER = (255, 255, 255)
GREY = (120, 120, 126)
TEXT_SIZE = 14
MARGIN = 10
FADING_STEPS = 12
"""Number of shades of each colour in a GIF."""

MOST_PER_SECOND = 30.0
"""Frames per second; viewers slow down GIFs with many more."""


def shown_frames(frames: int, fps: float) -> tuple[Array, list[int]]:
    """Return the frames of a GIF and the duration of each in milliseconds.

    A GIF stores durations in hundredths of a second. Rounding errors are carried over to later frames, so that the total
    duration is that of the sequence.
    """
    step = max(1, round(fps / MOST_PER_SECOND))
    shown = np.arange(0, frames, step)
    ends = np.round(np.append(shown[1:], frames) / fps * 100).astype(int)
    return shown, [int(10 * d) for d in np.diff(ends, prepend=0)]


def save_gif(clip: Clip, path: Path, *, size: int = 400, azimuth: float = -40.0, elevation: float = 16.0) -> None:
    """Write a sequence as a looping animated GIF.

    Parameters
    ----------
    clip : Clip
    path : Path
    size : int
        Width and height of the animated part in pixels; title and caption are added above and below.
    azimuth, elevation : float
        Direction of the camera in degrees, relative to the heading of the first actor in the first frame.
    """
    placement, centre, reach = _camera(clip, size, azimuth, elevation)
    page, top = _page(clip, size)
    shown, durations = shown_frames(clip.frames, clip.fps)
    pictures = []
    for frame in shown:
        picture = Image.new("RGB", (size * FINER, size * FINER), PAPER)
        canvas = ImageDraw.Draw(picture)
        draw_floor(canvas, placement, centre[frame], reach)
        draw_seats(canvas, placement, centre[frame], clip.seats)
        contacts = None if clip.contacts is None else clip.contacts[:, frame]
        draw_figures(canvas, placement, centre[frame], clip.joints[:, frame], contacts)
        whole = page.copy()
        whole.paste(picture.reduce(FINER), (0, top))
        _write_time(whole, clip, int(frame), top, size)
        pictures.append(whole)
    palette = _palette()
    small = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    small[0].save(path, format="GIF", save_all=True, append_images=small[1:], duration=durations, loop=0, optimize=False)


def _camera(clip: Clip, size: int, azimuth: float, elevation: float) -> tuple[Placement, Array, tuple[float, float]]:
    """Return a camera that keeps every actor in the picture in every frame."""
    view = view_from(azimuth, elevation, facing(clip.joints))
    centre = middle(clip.joints)
    points = Placement(view, 1.0, (0.0, 0.0)).pixels(clip.joints, centre[None, :, None])
    points = points[np.isfinite(points).all(-1)]
    across = max(0.9, float(np.abs(points[:, 0]).max()) + 0.2)
    low = max(0.35, float(points[:, 1].max()) + 0.2)
    high = max(1.5, float(-points[:, 1].min()) + 0.35)
    metres = max(2 * across, low + high)
    scale = size * FINER / metres
    # Spare height is split equally above and below.
    spare = (metres - low - high) / 2
    placement = Placement(view, scale, (size * FINER / 2, scale * (high + spare)))
    return placement, centre, (metres / 2, max(1.0, across))


def _page(clip: Clip, size: int) -> tuple[Image.Image, int]:
    """Return the page with title and caption, which all frames share, and the top of the animated part."""
    caption = wrap(clip.caption, TEXT_SIZE, size - 2 * MARGIN)
    top = line_height(TEXT_SIZE) + MARGIN // 2
    height = top + size + line_height(TEXT_SIZE) * len(caption) + MARGIN
    page = Image.new("RGB", (size, height), PAPER)
    canvas = ImageDraw.Draw(page)
    write_lines(canvas, (MARGIN, MARGIN // 2), [clip.title], TEXT_SIZE, GREY)
    write_lines(canvas, (MARGIN, top + size), caption, TEXT_SIZE)
    return page, top


def _write_time(page: Image.Image, clip: Clip, frame: int, top: int, size: int) -> None:
    canvas = ImageDraw.Draw(page)
    time = f"{frame / clip.fps:.2f} s   frame {frame}"
    canvas.text((size - MARGIN, MARGIN // 2), time, fill=GREY, font=typeface(12), anchor="ra")
    labels = list(dict.fromkeys(track[frame] for track in clip.tracks.values() if track[frame]))
    write_lines(canvas, (MARGIN, top), [" + ".join(labels)], TEXT_SIZE + 2, INK)


def _palette() -> Image.Image:
    """Return the palette of all colours and their blends with the paper; frames share it, so that nothing flickers."""
    palette = Image.new("P", (1, 1))
    fading = [
        round(tone + (paper - tone) * step / FADING_STEPS)
        for colour in (*COLOURS.values(), INK, GREY)
        for step in range(FADING_STEPS)
        for tone, paper in zip(colour, PAPER, strict=True)
    ]
    palette.putpalette([*PAPER, *fading])
    return palette
