"""Contact sheets: a sequence at one look, as poses spaced evenly over its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from posegen.errors import UsageError
from posegen.viewing.bars import bars_height, draw_bars
from posegen.viewing.clip import Clip
from posegen.viewing.draw import draw_figures, draw_floor, draw_seats
from posegen.viewing.lettering import line_height, typeface, wrap, write_lines
from posegen.viewing.plan import draw_plan
from posegen.viewing.view import Placement, View, facing, middle, view_from

__all__ = ["sheet_of_clip", "sheet_of_samples"]

Array = NDArray[Any]

FINER = 2
"""Figures are drawn this many times larger and then reduced, which smooths their edges."""

MARGIN = 10
TEXT_SIZE = 14
PLAN_SHARE = 0.11
"""Share of the width that the path from above takes."""

PAPER = (255, 255, 255)


def sheet_of_clip(
    clip: Clip,
    *,
    poses: int = 12,
    width: int = 1440,
    scale: float = 92.0,
    azimuth: float = -50.0,
    elevation: float = 14.0,
) -> Image.Image:
    """Contact sheet of one sequence.

    Parameters
    ----------
    clip : Clip
    poses : int
        How many poses, spaced evenly from the first frame to the last.
    width : int
        Pixels; the poses take as many rows as they need.
    scale : float
        Pixels to the metre, reduced where the figures would not fit.
    azimuth, elevation : float
        Degrees from which the sequence is seen, relative to where the first actor faces in the first frame; the default
        sees it from ahead on its right side, so that it walks to the right.

    Returns
    -------
    Image
    """
    heading = facing(clip.joints)
    chosen = np.unique(np.linspace(0, clip.frames - 1, min(poses, clip.frames)).round().astype(int))
    body = _body(clip, chosen, view_from(azimuth, elevation, heading), heading, (width - 2 * MARGIN, scale))
    caption = wrap(clip.caption, TEXT_SIZE, width - 2 * MARGIN)
    title_height = line_height(TEXT_SIZE) if clip.title else 0
    text_height = line_height(TEXT_SIZE) * len(caption)
    height = title_height + body.height + bars_height(clip) + text_height + 3 * MARGIN
    sheet = Image.new("RGB", (width, height), PAPER)
    canvas = ImageDraw.Draw(sheet)
    if clip.title:
        write_lines(canvas, (MARGIN, MARGIN // 2), [clip.title], TEXT_SIZE, (120, 120, 126))
    top = title_height + MARGIN // 2
    sheet.paste(body, (MARGIN, top))
    top += body.height + MARGIN // 2
    draw_bars(canvas, clip, MARGIN, top, width - 2 * MARGIN)
    write_lines(canvas, (MARGIN, top + bars_height(clip) + MARGIN // 2), caption, TEXT_SIZE)
    return sheet


def sheet_of_samples(
    clips: Sequence[Clip], *, poses: int = 10, width: int = 1200, columns: int = 1, scale: float = 70.0
) -> Image.Image:
    """Contact sheets of several sequences on one, in `columns` side by side, row by row.

    Raises
    ------
    UsageError
        If there is no sequence.
    """
    if not clips:
        msg = "a sheet needs at least one sequence"
        raise UsageError(msg)
    sheets = [sheet_of_clip(clip, poses=poses, width=width // columns, scale=scale) for clip in clips]
    rows = [sheets[i : i + columns] for i in range(0, len(sheets), columns)]
    heights = [max(sheet.height for sheet in row) for row in rows]
    whole = Image.new("RGB", (width, sum(heights)), PAPER)
    canvas = ImageDraw.Draw(whole)
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for column, sheet in enumerate(row):
            whole.paste(sheet, (column * (width // columns), top))
        top += height
        canvas.line((0, top - 1, width, top - 1), fill=(200, 200, 206))
    return whole


def _body(clip: Clip, chosen: Array, view: View, heading: float, room: tuple[int, float]) -> Image.Image:
    """Poses, and to their right the path from above."""
    width, scale = room
    plan_width = round(PLAN_SHARE * width)
    poses = _poses(clip, chosen, view, width - plan_width - MARGIN, scale)
    whole = Image.new("RGB", (width, poses.height), PAPER)
    whole.paste(poses, (0, 0))
    whole.paste(draw_plan(clip, chosen, (plan_width, poses.height - MARGIN), heading), (width - plan_width, 0))
    return whole


def _poses(clip: Clip, chosen: Array, view: View, width: int, scale: float) -> Image.Image:
    """Cells of the chosen frames, in rows."""
    centre = middle(clip.joints)
    left, right, low, high = _extent(clip, view, centre, chosen)
    scale = min(scale, width / (right - left))
    columns = min(len(chosen), max(1, int(width / ((right - left) * scale))))
    # As many rows as needed, filled evenly.
    rows = -(-len(chosen) // columns)
    columns = -(-len(chosen) // rows)
    cell = (width // columns, round((high - low) * scale) + line_height(11))
    whole = Image.new("RGB", (width, rows * cell[1]), PAPER)
    fine = scale * FINER
    placement = Placement(view, fine, (FINER * cell[0] / 2 - fine * (left + right) / 2, fine * high))
    for number, frame in enumerate(chosen):
        picture = Image.new("RGB", (cell[0] * FINER, cell[1] * FINER), PAPER)
        canvas = ImageDraw.Draw(picture)
        draw_floor(canvas, placement, centre[frame], (cell[0] / 2 / scale, max(0.6, (right - left) / 2)))
        draw_seats(canvas, placement, centre[frame], clip.seats)
        contacts = None if clip.contacts is None else clip.contacts[:, frame]
        draw_figures(canvas, placement, centre[frame], clip.joints[:, frame], contacts)
        picture = picture.reduce(FINER)
        time = f"{frame / clip.fps:.2f} s"
        at = (cell[0] / 2, cell[1] - line_height(11))
        ImageDraw.Draw(picture).text(at, time, fill=(120, 120, 126), font=typeface(11), anchor="ma")
        whole.paste(picture, (number % columns * cell[0], number // columns * cell[1]))
    return whole


def _extent(clip: Clip, view: View, centre: Array, chosen: Array) -> tuple[float, float, float, float]:
    """Left, right, low and high border of all chosen poses in the picture, in metres from its centre."""
    points = Placement(view, 1.0, (0.0, 0.0)).pixels(clip.joints[:, chosen], centre[None, chosen, None])
    points = points[np.isfinite(points).all(-1)]
    edge = 0.16
    return (
        min(-0.45, float(points[:, 0].min()) - edge),
        max(0.45, float(points[:, 0].max()) + edge),
        min(-0.2, -float(points[:, 1].max()) - edge),
        max(1.4, -float(points[:, 1].min()) + 0.3),
    )
