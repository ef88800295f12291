"""``posegen actions``: list the actions of a library and draw them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import Output, command, config_option, example, file_option, set_option

if TYPE_CHECKING:
    from posegen.library.load import Library


@click.group(epilog=example("posegen actions show wave -o wave.gif"))
def actions() -> None:
    """List and draw actions."""


@command("posegen actions list", group=actions, name="list")
@config_option
@set_option
def list_actions(config: str | None, overrides: Sequence[str], output: Output) -> None:
    """List all actions of a config's library by family."""
    library = _library(config, overrides)
    width = max(map(len, library.actions))
    entries, lines = [], []
    for family, names in library.families.items():
        lines.append(family)
        for name in names:
            action = library.action(name)
            entry = {
                "name": name,
                "family": family,
                "support": action.support,
                "parts": list(action.parts),
                "layered": action.layered,
                "sided": action.sided,
                "repeated": action.repetitions is not None,
                "themes": [theme for theme, content in library.themes.items() if content.actions.get(name)],
            }
            entries.append(entry)
            remarks = [remark for key, remark in (("layered", "layered over another"), ("sided", "either side")) if entry[key]]
            lines.append(f"  {name:<{width}}  {', '.join([action.support, ' '.join(action.parts), *remarks])}")
    output.result(entries, "\n".join(lines))


@command("posegen actions show wave -o wave.gif", group=actions)
@click.argument("name", metavar="NAME")
@file_option("Output file: .gif or .mp4 (animation) or .png (poses).  [default: NAME.gif]", required=False)
@config_option
@set_option
def show(name: str, out: Path | None, config: str | None, overrides: Sequence[str], output: Output) -> None:
    """Draw one action, performed by a person of average build."""
    from posegen.library.channels import widest
    from posegen.viewing.render import check_path, render_all

    library = _library(config, overrides)
    library.index(name)  # before it becomes part of a file name
    path = check_path(out or Path(f"{name}.gif"))
    # Imported after the checks, because kernels take a moment to load.
    from posegen.viewing.gallery import demonstrate

    clip = demonstrate(library, name)
    render_all([clip], path)
    widened = library.action(name).ranges.items()
    ranges = {channel: (*widest(channel, wide.min, wide.max), wide.source) for channel, wide in widened}
    lines = [f"{channel} ranges from {low:g} to {high:g} degrees: {text}" for channel, (low, high, text) in ranges.items()]
    document = {"path": path, "name": name, "frames": clip.joints.shape[1], "fps": clip.fps, "ranges": ranges}
    output.summary(document, "\n".join([f"Wrote {path}.", *lines]))


@command("posegen actions page -o docs", group=actions)
@file_option("Output folder.  [default: current folder]", metavar="FOLDER", required=False)
@config_option
@set_option
def page(out: Path | None, config: str | None, overrides: Sequence[str], output: Output) -> None:
    """Write the page actions.md with a picture of each action."""
    library = _library(config, overrides)
    # Imported after the checks, because kernels take a moment to load.
    from posegen.viewing.gallery import write_gallery

    written = list(write_gallery(library, out or Path()))
    pictures = len(written) - 1
    output.summary({"path": written[-1], "pictures": pictures}, f"Wrote {written[-1]} and {pictures} pictures.")


def _library(config: str | None, overrides: Sequence[str]) -> Library:
    from posegen.config.load import load_config
    from posegen.library.load import load_library

    return load_library(load_config(config, overrides).story.library)
