"""``posegen actions``: list the actions of a library and draw them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import config_option, example, json_option, note, print_json, quiet_option
from posegen.errors import PosegenError
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.library.load import Library


@click.group(epilog=example("posegen actions show wave -o wave.gif"))
def actions() -> None:
    """List and draw actions."""


@actions.command("list", epilog=example("posegen actions list"))
@config_option
@json_option
def list_actions(config: str | None, as_json: bool) -> None:
    """List all actions of a config's library by family."""
    library = _library(config)
    entries = [_entry(library, family, name) for family, names in library.families.items() for name in names]
    if as_json:
        print_json(entries)
        return
    width = max(len(entry["name"]) for entry in entries)
    for family, names in library.families.items():
        click.echo(printable(family))
        for entry in entries:
            if entry["name"] in names:
                click.echo(printable(f"  {entry['name']:<{width}}  {_summary(entry)}"))


@actions.command(epilog=example("posegen actions show wave -o wave.gif"))
@click.argument("name", metavar="NAME")
@click.option(
    "-o",
    "out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Output file: .gif (animation) or .png (poses).  [default: NAME.gif]",
)
@config_option
@json_option
@quiet_option
def show(name: str, out: Path | None, config: str | None, as_json: bool, quiet: bool) -> None:
    """Draw one action, performed by a person of average build."""
    from posegen.library.channels import widest
    from posegen.viewing.render import check_path, render_all

    library = _library(config)
    library.index(name)  # before it becomes part of a file name
    path = check_path(out or Path(f"{name}.gif"))
    # Imported after the checks, because kernels take a moment to load.
    from posegen.viewing.gallery import demonstrate

    clip = demonstrate(library, name)
    render_all([clip], path)
    widened = library.action(name).ranges.items()
    ranges = {channel: (*widest(channel, wide.min, wide.max), wide.source) for channel, wide in widened}
    if as_json:
        print_json({"path": str(path), "name": name, "frames": clip.joints.shape[1], "fps": clip.fps, "ranges": ranges})
        return
    note(f"wrote {path}", quiet=quiet)
    for channel, (low, high, source) in ranges.items():
        note(f"{channel} ranges from {low:g} to {high:g} degrees: {source}", quiet=quiet)


@actions.command(epilog=example("posegen actions page -o docs"))
@click.option(
    "-o",
    "out",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Output folder.  [default: current folder]",
)
@config_option
@json_option
@quiet_option
def page(out: Path, config: str | None, as_json: bool, quiet: bool) -> None:
    """Write the page actions.md with a picture of each action."""
    library = _library(config)
    # Imported after the checks, because kernels take a moment to load.
    from posegen.viewing.gallery import write_gallery

    try:
        written = list(write_gallery(library, out))
    except OSError as error:
        msg = f"{out}: cannot be written ({error.strerror}). Choose a writable folder with -o"
        raise PosegenError(msg) from error
    if as_json:
        print_json({"path": str(written[-1]), "pictures": len(written) - 1})
        return
    note(f"wrote {written[-1]} and {len(written) - 1} pictures", quiet=quiet)


def _library(config: str | None) -> Library:
    from posegen.config.load import load_config
    from posegen.library.load import load_library

    return load_library(load_config(config).story.library)


def _entry(library: Library, family: str, name: str) -> dict[str, Any]:
    action = library.action(name)
    return {
        "name": name,
        "family": family,
        "support": action.support,
        "parts": list(action.parts),
        "layered": action.layered,
        "sided": action.sided,
        "repeated": action.repetitions is not None,
        "themes": [theme for theme, content in library.themes.items() if content.actions.get(name)],
    }


def _summary(entry: dict[str, Any]) -> str:
    remarks = [remark for key, remark in (("layered", "layered over another"), ("sided", "either side")) if entry[key]]
    return ", ".join([entry["support"], " ".join(entry["parts"]), *remarks])
