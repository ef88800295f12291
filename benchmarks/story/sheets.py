"""A contact sheet for each theme, for inspection: ``python -m benchmarks.story.sheets FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from posegen.library.load import load_library
from posegen.viewing.clip import Clip, clip_of_config
from posegen.viewing.pictures import sheet_of_clip

SAMPLES = 6
"""Sequences on a sheet."""


def sheets(folder: Path) -> Iterator[Path]:
    """Write a sheet of samples of each theme."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in load_library().themes:
        clips = [clip_of_config("default", i, overrides=[f"story.themes={{{theme}: 1}}"]) for i in range(SAMPLES)]
        place = folder / f"{theme}.png"
        sheet_of_samples(clips).save(place)
        yield place


def sheet_of_samples(clips: Sequence[Clip], columns: int = 2, width: int = 1800) -> Image.Image:
    """Return the contact sheets of several sequences on one page, row by row."""
    drawn = [sheet_of_clip(clip, poses=10, width=width // columns, scale=70.0) for clip in clips]
    rows = [drawn[i : i + columns] for i in range(0, len(drawn), columns)]
    heights = [max(sheet.height for sheet in row) for row in rows]
    whole, top = Image.new("RGB", (width, sum(heights)), (255, 255, 255)), 0
    for row, height in zip(rows, heights, strict=True):
        for column, sheet in enumerate(row):
            whole.paste(sheet, (column * (width // columns), top))
        top += height
    return whole


if __name__ == "__main__":
    print(*sheets(Path(sys.argv[1])), sep="\n")
