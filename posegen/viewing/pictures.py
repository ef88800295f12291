"""Pictures of clips: an animated GIF or a video with a camera that follows the actors, and contact sheets with poses, label
bars and the path from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, sole_points
from posegen.viewing.canvas import COLOURS, FINER, PAPER, Placement, draw_frame, facing, middle, view_from
from posegen.viewing.clip import Clip, label_intervals

INK, GREY = (40, 40, 46), (120, 120, 126)
MARGIN, TEXT_SIZE = 10, 14


@cache
def typeface(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's packaged typeface, so that pictures look the same on every machine."""
    return ImageFont.load_default(size)


def line_height(size: int) -> int:
    """Return the distance of two lines of text in pixels."""
    return round(size * 1.35)


def wrap(text: str, size: int, width: float) -> list[str]:
    """Split `text` into lines of at most `width` pixels, keeping its line breaks; a longer word gets a line of its own."""
    face = typeface(size)
    lines: list[str] = []
    for paragraph in text.splitlines():
        started = False
        for word in paragraph.split():
            longer = f"{lines[-1]} {word}" if started else word
            if started and face.getlength(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
            started = True
    return lines


def write_lines(
    canvas: ImageDraw.ImageDraw, at: tuple[float, float], lines: list[str], size: int, colour: tuple[int, int, int] = INK
) -> None:
    """Write lines of text below each other from the upper left corner `at`."""
    for i, line in enumerate(lines):
        canvas.text((at[0], at[1] + i * line_height(size)), line, fill=colour, font=typeface(size))


SHEET_CAMERA, GIF_CAMERA = (-50.0, 14.0), (-40.0, 16.0)
"""Azimuth and elevation in degrees, relative to the heading of the first actor in the first frame: the camera is ahead of the
actor on its right side, so that the actor walks to the right."""
PLAN_SHARE = 0.11
"""Share of the width for the path from above."""


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
    heading = facing(clip.joints)
    chosen = np.unique(np.linspace(0, clip.frames - 1, min(poses, clip.frames)).round().astype(int))
    body = _body(clip, chosen, view_from(*SHEET_CAMERA, heading), heading, (width - 2 * MARGIN, scale))
    sheet, top = _page(clip, width, body.height + bars_height(clip) + MARGIN)
    sheet.paste(body, (MARGIN, top))
    draw_bars(ImageDraw.Draw(sheet), clip, MARGIN, top + body.height + MARGIN // 2, width - 2 * MARGIN)
    return sheet


def _page(clip: Clip, width: int, height: int) -> tuple[Image.Image, int]:
    """Return a page with title and caption, and the top of the room of `height` pixels between them."""
    caption = wrap(clip.caption, TEXT_SIZE, width - 2 * MARGIN)
    top = line_height(TEXT_SIZE) + MARGIN // 2
    page = Image.new("RGB", (width, top + height + line_height(TEXT_SIZE) * len(caption) + MARGIN), PAPER)
    canvas = ImageDraw.Draw(page)
    write_lines(canvas, (MARGIN, MARGIN // 2), [clip.title], TEXT_SIZE, GREY)
    write_lines(canvas, (MARGIN, top + height), caption, TEXT_SIZE)
    return page, top


def sheet_of_samples(
    clips: Sequence[Clip], *, poses: int = 10, width: int = 1200, columns: int = 1, scale: float = 70.0
) -> Image.Image:
    """Return the contact sheets of several sequences on one page, in `columns`, row by row."""
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


def _body(clip: Clip, chosen: Array, view: Array, heading: float, room: tuple[int, float]) -> Image.Image:
    """Return the poses with the path from above to their right."""
    width, scale = room
    plan_width = round(PLAN_SHARE * width)
    poses = _poses(clip, chosen, view, width - plan_width - MARGIN, scale)
    whole = Image.new("RGB", (width, poses.height), PAPER)
    whole.paste(poses, (0, 0))
    whole.paste(draw_plan(clip, chosen, (plan_width, poses.height - MARGIN), heading), (width - plan_width, 0))
    return whole


def _poses(clip: Clip, chosen: Array, view: Array, width: int, scale: float) -> Image.Image:
    """Return the poses of the chosen frames, in rows."""
    centre = middle(clip.joints)
    left, right, low, high = _extent(clip, view, centre, chosen)
    scale = min(scale, width / (right - left))
    columns = min(len(chosen), max(1, int(width / ((right - left) * scale))))
    # The minimum number of rows, filled evenly.
    rows = -(-len(chosen) // columns)
    columns = -(-len(chosen) // rows)
    cell = (width // columns, round((high - low) * scale) + line_height(11))
    whole = Image.new("RGB", (width, rows * cell[1]), PAPER)
    fine = scale * FINER
    placement = Placement(view, fine, (FINER * cell[0] / 2 - fine * (left + right) / 2, fine * high))
    for number, frame in enumerate(chosen):
        reach = (cell[0] / 2 / scale, max(0.6, (right - left) / 2))
        picture = draw_frame(clip, frame, placement, centre[frame], cell, reach)
        time = f"{frame / clip.fps:.2f} s"
        at = (cell[0] / 2, cell[1] - line_height(11))
        ImageDraw.Draw(picture).text(at, time, fill=GREY, font=typeface(11), anchor="ma")
        whole.paste(picture, (number % columns * cell[0], number // columns * cell[1]))
    return whole


def _extent(clip: Clip, view: Array, centre: Array, chosen: Array) -> tuple[float, float, float, float]:
    """Return the left, right, lower and upper border of the chosen poses in metres from the picture's centre."""
    points = Placement(view, 1.0, (0.0, 0.0)).pixels(clip.joints[:, chosen], centre[None, chosen, None])
    points = points[np.isfinite(points).all(-1)]
    edge = 0.16
    return (
        min(-0.45, float(points[:, 0].min()) - edge),
        max(0.45, float(points[:, 0].max()) + edge),
        min(-0.2, -float(points[:, 1].max()) - edge),
        max(1.4, -float(points[:, 1].min()) + 0.3),
    )


TRACK_HEIGHT = 15
CONTACT_HEIGHT = 9
NAME_WIDTH = 92

PALETTE = ("#a6cee3", "#b2df8a", "#fdcd78", "#debee2", "#fbb4ae", "#ccebc5", "#e5d8bd", "#b3cde3", "#fed9a6", "#d9d9d9")


def bars_height(clip: Clip) -> int:
    """Return the height of a sequence's bars in pixels."""
    return TRACK_HEIGHT * len(clip.tracks) + CONTACT_HEIGHT * len(_contact_rows(clip))


def draw_bars(canvas: ImageDraw.ImageDraw, clip: Clip, left: int, top: int, width: int) -> None:
    """Draw the bars of a sequence over `width` pixels, with the names of the tracks to their left."""
    every = dict.fromkeys(label for labels in clip.tracks.values() for label in labels if label)
    colours = dict(zip(every, cycle(PALETTE), strict=False))
    for name, labels in clip.tracks.items():
        canvas.text((left, top), name, fill=INK, font=typeface(11))
        for label, start, end in label_intervals(labels):
            if label:
                _draw_interval(canvas, label, colours[label], _span(left, width, start, end, clip.frames), top)
        top += TRACK_HEIGHT
    for name, touching in _contact_rows(clip):
        canvas.text((left, top - 2), name, fill=INK, font=typeface(9))
        colour = COLOURS.get(name.split()[-2] if len(name.split()) > 1 else "", COLOURS["contact"])
        for label, start, end in label_intervals(touching):
            if label:
                x0, x1 = _span(left, width, start, end, clip.frames)
                canvas.rectangle((x0, top, x1 - 1, top + CONTACT_HEIGHT - 3), fill=colour)
        top += CONTACT_HEIGHT


def _span(left: int, width: int, start: int, end: int, frames: int) -> tuple[float, float]:
    scale = (width - NAME_WIDTH) / frames
    return left + NAME_WIDTH + start * scale, left + NAME_WIDTH + end * scale


def _draw_interval(canvas: ImageDraw.ImageDraw, label: str, colour: str, span: tuple[float, float], top: int) -> None:
    canvas.rectangle((span[0], top, max(span[0], span[1] - 2), top + TRACK_HEIGHT - 3), fill=colour)
    if typeface(10).getlength(label) < span[1] - span[0] - 4:
        canvas.text((span[0] + 3, top), label, fill=INK, font=typeface(10))


def _contact_rows(clip: Clip) -> list[tuple[str, Array]]:
    """Return name and per-frame state of each contact point that is ever in contact."""
    if clip.contacts is None:
        return []
    touching = clip.contacts == 1
    many = len(touching) > 1
    rows = []
    for actor, point in np.argwhere(touching.any(1)):
        name = CONTACTS[point].replace("_", " ")
        rows.append((f"{actor + 1} {name}" if many else name, touching[actor, :, point]))
    return rows


ABOVE = 90.0


def draw_plan(clip: Clip, chosen: Array, size: tuple[int, int], heading: float) -> Image.Image:
    """Return a picture of the paths of all actors seen from above, with `heading` pointing up.

    A dot with a short line towards the front marks each chosen frame, a ring the first one. Lines in the colour of their
    side are soles in full contact. The grey bar is one metre long.
    """
    view = view_from(180.0, ABOVE, heading)
    pelvis = clip.joints[:, :, 0]
    flat = Placement(view, 1.0, (0.0, 0.0)).pixels(pelvis, np.zeros(3))
    there = flat[np.isfinite(flat).all(-1)]
    low, high = there.min(0) - 0.45, there.max(0) + 0.45
    scale = FINER * min((size[0] - 4) / (high[0] - low[0]), (size[1] - 16) / (high[1] - low[1]), 60.0)
    at = np.array(size) * FINER / 2 - scale * (low + high) / 2
    placement = Placement(view, scale, (float(at[0]), float(at[1])))
    picture = Image.new("RGB", (size[0] * FINER, size[1] * FINER), (250, 250, 251))
    canvas = ImageDraw.Draw(picture)
    for actor in range(len(pelvis)):
        _draw_soles(canvas, clip, actor, placement)
        _draw_path(canvas, clip, actor, chosen, placement)
    bottom = size[1] * FINER - 5
    canvas.line((6, bottom, 6 + scale, bottom), fill=(150, 150, 156), width=4)
    picture = picture.reduce(FINER)
    text = ImageDraw.Draw(picture)
    text.text((5 + scale / FINER + 3, size[1] - 9), "1 m", fill=GREY, font=typeface(10), anchor="lm")
    text.text((3, 2), "from above", fill=GREY, font=typeface(10))
    return picture


def _draw_path(canvas: ImageDraw.ImageDraw, clip: Clip, actor: int, chosen: Array, placement: Placement) -> None:
    pelvis = clip.joints[actor, :, 0]
    there = np.isfinite(clip.joints[actor]).all((1, 2))
    path = placement.pixels(pelvis[there], np.zeros(3))
    canvas.line(path.ravel().tolist(), fill=COLOURS["middle"], width=2)
    left, right = (clip.joints[actor, :, JOINTS.index(f"{side}_hip")] for side in ("left", "right"))
    across = left - right
    for frame in chosen[there[chosen]]:
        # Seen from above, the front is a quarter turn clockwise from the direction right hip to left hip.
        ahead = np.array([-across[frame, 2], 0.0, across[frame, 0]])
        ahead /= max(float(np.sqrt((ahead * ahead).sum())), 1e-9)
        start, end = placement.pixels(np.stack([pelvis[frame], pelvis[frame] + 0.3 * ahead]), np.zeros(3))
        canvas.line([*start.tolist(), *end.tolist()], fill=COLOURS["middle"], width=3)
        radius, fill = (6.0, PAPER) if frame == chosen[0] else (3.5, COLOURS["middle"])
        canvas.circle(start.tolist(), radius, fill=fill, outline=COLOURS["middle"], width=2)


def _draw_soles(canvas: ImageDraw.ImageDraw, clip: Clip, actor: int, placement: Placement) -> None:
    if clip.contacts is None:
        return
    soles = placement.pixels(sole_points(clip.joints[actor]), np.zeros(3))
    for side, heel in (("left", 0), ("right", 2)):
        flat = (clip.contacts[actor, :, heel : heel + 2] == 1).all(-1) & np.isfinite(soles[:, heel : heel + 2]).all((1, 2))
        for pair in soles[flat, heel : heel + 2]:
            canvas.line(pair.ravel().tolist(), fill=COLOURS[side], width=4)


GIF_SIZE = 400
"""Width and height of the animated part in pixels; title and caption are above and below it."""
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


def save_gif(clip: Clip, path: Path) -> None:
    """Write a sequence as a looping animated GIF."""
    shown, durations = shown_frames(clip.frames, clip.fps)
    palette = _palette()
    small = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in _film(clip, shown)]
    small[0].save(path, format="GIF", save_all=True, append_images=small[1:], duration=durations, loop=0, optimize=False)


def save_mp4(clip: Clip, path: Path) -> None:
    """Write all frames of a sequence as a video in H.264, which browsers and presentations play."""
    from imageio_ffmpeg import write_frames

    video = None
    for picture in _film(clip, range(clip.frames)):
        size = picture.width + picture.width % 2, picture.height + picture.height % 2  # the encoder wants even ones
        if video is None:
            # ffmpeg takes the format from the name, which may end in .MP4.
            options = {"fps": clip.fps, "codec": "libx264", "macro_block_size": 2, "output_params": ["-f", "mp4"]}
            video = write_frames(str(path), size, pix_fmt_in="rgb24", quality=8, ffmpeg_log_level="error", **options)
            video.send(None)
        even = Image.new("RGB", size, PAPER)
        even.paste(picture)
        video.send(even.tobytes())
    if video is not None:
        video.close()


def _film(clip: Clip, shown: Iterable[int]) -> Iterator[Image.Image]:
    """Yield pictures of frames, with a camera that follows the actors."""
    placement, centre, reach = _camera(clip)
    page, top = _page(clip, GIF_SIZE, GIF_SIZE)
    for frame in shown:
        whole = page.copy()
        whole.paste(draw_frame(clip, frame, placement, centre[frame], (GIF_SIZE, GIF_SIZE), reach), (0, top))
        _write_time(whole, clip, int(frame), top)
        yield whole


def _camera(clip: Clip) -> tuple[Placement, Array, tuple[float, float]]:
    """Return a camera that keeps every actor in the picture in every frame."""
    view = view_from(*GIF_CAMERA, facing(clip.joints))
    centre = middle(clip.joints)
    points = Placement(view, 1.0, (0.0, 0.0)).pixels(clip.joints, centre[None, :, None])
    points = points[np.isfinite(points).all(-1)]
    across = max(0.9, float(np.abs(points[:, 0]).max()) + 0.2)
    low = max(0.35, float(points[:, 1].max()) + 0.2)
    high = max(1.5, float(-points[:, 1].min()) + 0.35)
    metres = max(2 * across, low + high)
    scale = GIF_SIZE * FINER / metres
    # Spare height is split equally above and below.
    spare = (metres - low - high) / 2
    placement = Placement(view, scale, (GIF_SIZE * FINER / 2, scale * (high + spare)))
    return placement, centre, (metres / 2, max(1.0, across))


def _write_time(page: Image.Image, clip: Clip, frame: int, top: int) -> None:
    canvas = ImageDraw.Draw(page)
    time = f"{frame / clip.fps:.2f} s   frame {frame}"
    canvas.text((GIF_SIZE - MARGIN, MARGIN // 2), time, fill=GREY, font=typeface(12), anchor="ra")
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
