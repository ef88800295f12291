"""Text in pictures: one typeface that comes with Pillow, and wrapping to a width."""

from __future__ import annotations

from functools import cache

from PIL import ImageDraw, ImageFont

__all__ = ["INK", "line_height", "typeface", "wrap", "write_lines"]

INK = (40, 40, 46)


@cache
def typeface(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The typeface that comes with Pillow, so that pictures look the same on every machine."""
    return ImageFont.load_default(size)


def line_height(size: int) -> int:
    """Distance of two lines of text in pixels."""
    return round(size * 1.35)


def wrap(text: str, size: int, width: float) -> list[str]:
    """Lines of `text` that are at most `width` pixels wide, keeping its own line breaks; a longer word has its own line."""
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
    """Write lines under each other from the upper left corner `at`."""
    for i, line in enumerate(lines):
        canvas.text((at[0], at[1] + i * line_height(size)), line, fill=colour, font=typeface(size))
