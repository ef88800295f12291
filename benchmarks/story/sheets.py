"""A contact sheet for each theme, to be looked at: ``python -m benchmarks.story.sheets FOLDER``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure
from posegen.library.load import load_library
from posegen.viewing.clip import Clip, clips_of_config
from posegen.viewing.pictures import sheet_of_samples

SAMPLES = 6
"""Sequences on a sheet."""


def measure(folder: Path) -> Iterator[Figure]:
    themes = list(load_library().themes)
    written = [path for path in sheets(folder) if path.stat().st_size > 0]
    name = f"contact sheets of {SAMPLES} samples, one for each theme"
    yield Figure(
        name, f"{len(written)}: {', '.join(path.stem for path in written)}", f"{len(themes)}", len(written) == len(themes)
    )


def sheets(folder: Path, themes: Sequence[str] = (), *, preset: str = "default") -> Iterator[Path]:
    """Write a sheet of samples of each theme, of all unless some are named."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in themes or load_library().themes:
        place = folder / f"{theme}.png"
        sheet_of_samples(clips_of_theme(theme, preset), columns=2, width=1800).save(place)
        yield place


def clips_of_theme(theme: str, preset: str) -> list[Clip]:
    """Make the samples of a theme."""
    return clips_of_config(preset, range(SAMPLES), overrides=[f"story.themes={{{theme}: 1}}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", action="append", default=[], help="a theme by name; all unless given")
    parser.add_argument("--preset", default="default")
    options = parser.parse_args()
    for path in sheets(options.folder, options.theme, preset=options.preset):
        print(path)


if __name__ == "__main__":
    main()
