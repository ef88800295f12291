"""Pictures of clips: an animated GIF or a video with a camera that follows the actors, and contact sheets with poses, label
bars and the path from above.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS
from posegen.viewing import canvas
from posegen.viewing.canvas import Camera
from posegen.viewing.clip import Clip, label_intervals
from posegen.viewing.palette import BARS, CONTACT, GREY, INK, LEFT, MIDDLE, RIGHT, SIDES

MARGIN, TEXT_SIZE, LINE_HEIGHT = 10, 13, 19
_LETTER = 0.58
"""Width of a letter, relative to the size of the text."""

SHEET_CAMERA, GIF_CAMERA = (-50.0, 14.0), (-40.0, 16.0)
"""Azimuth and elevation in degrees, relative to the heading of the first actor in the first frame: the camera is ahead of the
actor on its right side, so that the actor walks to the right."""
PLAN_SHARE = 0.11
"""Share of the width for the path from above."""
TRACK_HEIGHT, CONTACT_HEIGHT, NAME_WIDTH = 15, 9, 92
"""Pixels of bars of labels and contacts, and of their names."""


def image_of(page: Figure) -> Image.Image:
    """Draw a page."""
    drawn: Any = page.canvas
    drawn.draw()
    return Image.fromarray(np.asarray(drawn.buffer_rgba())).convert("RGB")


def sheet_of_clip(clip: Clip, *, poses: int = 12, width: int = 1440, scale: float = 92.0) -> Image.Image:
    """Return the contact sheet of one sequence.

    Parameters
    ----------
    clip : Clip
    poses : int
        Number of poses, evenly spaced from the first frame to the last.
    width : int
        Pixels; poses are wrapped into rows.
    scale : float
        Pixels per metre, reduced if the figures do not fit.

    Returns
    -------
    Image
    """
    heading, inner = canvas.facing(clip.joints), width - 2 * MARGIN
    view, plan = canvas.view_from(*SHEET_CAMERA, heading), round(PLAN_SHARE * inner)
    chosen = np.unique(np.linspace(0, clip.frames - 1, min(poses, clip.frames)).round().astype(int))
    bounds = _bounds(clip, view, chosen)
    room = inner - plan - MARGIN
    scale = min(scale, room / (bounds[1] - bounds[0]))
    # The minimum number of rows, filled evenly.
    rows = -(-len(chosen) // max(1, int(room / (bounds[1] - bounds[0]) / scale)))
    columns = -(-len(chosen) // rows)
    cell = room / columns, (bounds[3] - bounds[2]) * scale + LINE_HEIGHT
    bars = _bar_rows(clip)
    bars_height = sum(height for *_, height in bars)
    page, top = _page(clip, width, round(rows * cell[1] + bars_height + MARGIN))
    for number, frame in enumerate(chosen):
        box = MARGIN + number % columns * cell[0], top + number // columns * cell[1], cell[0], cell[1] - LINE_HEIGHT
        axes = canvas.add_view(page, box, bounds, scale)
        _draw_frame(axes, clip, frame, view, canvas.middle(clip.joints)[frame], cell[0] / 2 / scale)
        _write(page, (box[0] + cell[0] / 2, box[1] + box[3]), f"{frame / clip.fps:.2f} s", 11, GREY, ha="center")
    draw_plan(page, (width - MARGIN - plan, top, plan, rows * cell[1] - MARGIN), clip, chosen, heading)
    box = MARGIN + NAME_WIDTH, top + rows * cell[1] + MARGIN // 2, inner - NAME_WIDTH, max(bars_height, 1)
    draw_bars(canvas.add_axes(page, box), bars)
    return image_of(page)


def _page(clip: Clip, width: int, height: int) -> tuple[Figure, int]:
    """Return a page with title and caption, and the top of the room of `height` pixels between them."""
    letters, top = int((width - 2 * MARGIN) / _LETTER / TEXT_SIZE), LINE_HEIGHT + MARGIN // 2
    caption = [line for paragraph in clip.caption.splitlines() for line in textwrap.wrap(paragraph, letters)]
    below = LINE_HEIGHT * len(caption) + MARGIN
    # The encoder of videos needs an even number of pixels.
    page = canvas.new_page(width, -(-(top + height + below) // 2) * 2)
    _write(page, (MARGIN, MARGIN // 2), clip.title, TEXT_SIZE, GREY)
    for number, line in enumerate(caption):
        _write(page, (MARGIN, top + height + number * LINE_HEIGHT), line, TEXT_SIZE)
    return page, top


def _write(page: Figure, at: tuple[float, float], text: str, size: int, colour: str = INK, **options: Any) -> Any:
    """Write text below a place in pixels from the upper left corner."""
    options |= {"fontsize": size, "color": colour, "va": "top", "parse_math": False, "transform": None}
    return page.text(at[0], page.bbox.height - at[1], text, **options)


def _draw_frame(axes: Axes, clip: Clip, frame: int, view: Array, centre: Array, radius: float) -> None:
    """Draw the floor, seats and figures of one frame."""
    camera = Camera(view, centre)
    canvas.draw_floor(axes, camera, radius)
    whole = [seat for seat in clip.seats if abs(camera.project(np.array(seat.top))[0]) + 0.7 * seat.size < radius]
    canvas.draw_seats(axes, camera, whole)  # none that the edge would cut
    canvas.draw_figures(axes, camera, clip.joints[:, frame], None if clip.contacts is None else clip.contacts[:, frame])


def _bounds(clip: Clip, view: Array, frames: Array) -> tuple[float, float, float, float]:
    """Return the left, right, lower and upper border of figures in metres from the centre of each frame."""
    away = clip.joints[:, frames] - canvas.middle(clip.joints)[frames][:, None]
    points = Camera(view, np.zeros(3)).project(away[np.isfinite(away).all(-1)])
    (left, low), (right, high) = points.min(0) - 0.2, points.max(0) + 0.2
    return min(-0.45, left), max(0.45, right), min(-0.2, low), max(1.4, high + 0.1)


Bar = tuple[int, int, str, str]
"""First frame, end, colour and label."""


def _bar_rows(clip: Clip) -> list[tuple[str, list[Bar], int]]:
    """Return name, bars and height of each track, and of each contact point that is ever in contact."""
    every = dict.fromkeys(label for labels in clip.tracks.values() for label in labels if label)
    colours = dict(zip(every, cycle(BARS), strict=False))
    rows = []
    for name, labels in clip.tracks.items():
        bars = [(start, end, colours[label], label) for label, start, end in label_intervals(labels) if label]
        rows.append((name, bars, TRACK_HEIGHT))
    touching = np.zeros((1, 1, 1), bool) if clip.contacts is None else clip.contacts == 1
    for actor, point in np.argwhere(touching.any(1)):
        name = f"{actor + 1} {CONTACTS[point]}" if len(touching) > 1 else CONTACTS[point]
        colour = SIDES.get(CONTACTS[point].partition("_")[0], CONTACT)
        bars = [(start, end, colour, "") for value, start, end in label_intervals(touching[actor, :, point]) if value]
        rows.append((name.replace("_", " "), bars, CONTACT_HEIGHT))
    return rows


def draw_bars(axes: Axes, rows: list[tuple[str, list[Bar], int]]) -> None:
    """Draw rows of bars, with their names to their left."""
    frames = max((end for _, bars, _ in rows for _, end, _, _ in bars), default=1)
    top = 0
    for name, bars, height in rows:
        middle_of_row = top + height / 2 - 1
        axes.text(-NAME_WIDTH / axes.bbox.width * frames, middle_of_row, name, fontsize=min(11, height), va="center_baseline")
        for start, end, colour, label in bars:
            axes.barh(middle_of_row, end - start, height - 3, start, color=colour)
            if label and len(label) * 10 * _LETTER < (end - start) / frames * axes.bbox.width:
                axes.text(start, middle_of_row, f" {label}", fontsize=10, color=INK, va="center_baseline")
        top += height
    axes.set(xlim=(0, frames), ylim=(max(top, 1), 0))
    axes.set_axis_off()


def draw_plan(page: Figure, box: tuple[float, float, float, float], clip: Clip, chosen: Array, heading: float) -> None:
    """Draw the paths of all actors seen from above, with `heading` pointing up.

    A figure marks each chosen frame by its shoulders, the left one in blue, its head and a line to the front; the first one is
    named. The grey bar is one metre long.
    """
    camera = Camera(canvas.view_from(180.0, 90.0, heading), np.zeros(3))
    names = ("pelvis", "left_shoulder", "neck", "right_shoulder", "head")
    joints = camera.project(clip.joints[:, :, [JOINTS.index(name) for name in names]])
    (left, low), (right, high) = np.nanmin(joints, (0, 1, 2)) - 0.45, np.nanmax(joints, (0, 1, 2)) + 0.45
    axes = canvas.add_view(page, box, (left, right, low, high), 92.0)
    for path in joints:
        axes.plot(*path[:, 0].T, color=GREY, linewidth=1)
        figures = path[chosen]
        across = figures[:, 1] - figures[:, 3]
        # Seen from above, the front is a quarter turn clockwise from the direction right shoulder to left shoulder.
        ahead = across[:, ::-1] * [1.0, -1.0] / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
        canvas.draw_lines(axes, np.stack([figures[:, 4], figures[:, 4] + 0.28 * ahead], axis=1), MIDDLE, 0.025)
        for side, colour in ((1, LEFT), (3, RIGHT)):
            canvas.draw_lines(axes, figures[:, (2, side)], colour, 0.06)
        canvas.draw_lines(axes, figures[:, 4, None] + [[0.0, 0.0], [1e-4, 0.0]], MIDDLE, 0.16)
        axes.annotate(
            "start", figures[0, 0], (0, -14), textcoords="offset points", fontsize=10, color=GREY, ha="center", va="top"
        )
    x, y = (limits[0] + 0.02 * np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim()))
    axes.plot([x, x + 1], [y, y], color=GREY, linewidth=2)
    axes.text(x + 1.1, y, "1 m", fontsize=10, color=GREY, va="center")
    _write(page, (box[0], box[1]), "from above", 10, GREY)


GIF_SIZE = 400
"""Width and height of the animated part in pixels; title and caption are above and below it."""
MOST_PER_SECOND = 30.0
"""Frames per second; viewers slow down GIFs with many more."""
_SAMPLED = 8
"""Frames from which the colours of a GIF are chosen."""


def save_gif(clip: Clip, path: Path) -> None:
    """Write a sequence as a looping animated GIF.

    A GIF stores durations in hundredths of a second. Rounding errors are carried over to later frames, so that the total
    duration is that of the sequence. All frames have the same colours, so that nothing flickers.
    """
    shown = np.arange(0, clip.frames, max(1, round(clip.fps / MOST_PER_SECOND)))
    ends = np.round(np.append(shown[1:], clip.frames) / clip.fps * 100).astype(int)
    film = list(draw_film(clip, shown))
    some = Image.fromarray(np.concatenate([np.asarray(film[i]) for i in np.linspace(0, len(film) - 1, _SAMPLED).astype(int)]))
    colours = some.quantize()
    small = [picture.quantize(palette=colours, dither=Image.Dither.NONE) for picture in film]
    durations = (10 * np.diff(ends, prepend=0)).tolist()
    small[0].save(path, format="GIF", save_all=True, append_images=small[1:], duration=durations, loop=0, optimize=False)


def save_mp4(clip: Clip, path: Path) -> None:
    """Write all frames of a sequence as a video in H.264, which browsers and presentations play."""
    from imageio_ffmpeg import write_frames

    video = None
    for picture in draw_film(clip, range(clip.frames)):
        if video is None:
            # ffmpeg takes the format from the name, which may end in .MP4.
            options = {"fps": clip.fps, "codec": "libx264", "macro_block_size": 2, "output_params": ["-f", "mp4"]}
            video = write_frames(str(path), picture.size, quality=8, ffmpeg_log_level="error", **options)
            video.send(None)
        video.send(picture.tobytes())
    if video is not None:
        video.close()


def draw_film(clip: Clip, shown: Iterable[int], size: int = GIF_SIZE) -> Iterator[Image.Image]:
    """Yield pictures of frames, `size` pixels wide, with a camera that follows the actors and keeps every one inside."""
    page, top = _page(clip, size, size)
    whole = image_of(page)
    # Text takes most of the time, so that the caption is drawn once.
    moving = canvas.new_page(size, top + size)
    view, centre = canvas.view_from(*GIF_CAMERA, canvas.facing(clip.joints)), canvas.middle(clip.joints)
    bounds = _bounds(clip, view, np.arange(clip.frames))
    across = max(0.9, *np.abs(bounds[:2]))
    axes = canvas.add_view(moving, (0, top, size, size), (-across, across, *bounds[2:]))
    _write(moving, (MARGIN, MARGIN // 2), clip.title, TEXT_SIZE, GREY)
    time = _write(moving, (size - MARGIN, MARGIN // 2), "", 12, GREY, ha="right")
    doing = _write(moving, (MARGIN, top), "", TEXT_SIZE + 2)
    for frame in shown:
        for artist in list(axes.collections):
            artist.remove()
        _draw_frame(axes, clip, frame, view, centre[frame], across)
        time.set_text(f"{frame / clip.fps:.2f} s   frame {frame}")
        doing.set_text(" + ".join(dict.fromkeys(track[frame] for track in clip.tracks.values() if track[frame])))
        whole.paste(image_of(moving))
        yield whole.copy()
