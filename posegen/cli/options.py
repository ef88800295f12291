"""Options and output functions that several commands share."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from posegen.errors import UsageError
from posegen.quantities import parse_duration
from posegen.wording import printable, shown

Command = TypeVar("Command", bound=Callable[..., Any])

_LONGEST_NAME = 255


class _Whole(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2, for mypy only
    """An integer. The config model checks its range."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not re.fullmatch(r"[-+]?[0-9]{1,40}", value):
            self.fail(f"must be a whole number of at most 40 digits (got {shown(value)})", param, ctx)
        return int(value)


WHOLE = _Whole()


def config_option(command: Command) -> Command:
    """Add ``--config``; the command takes `config`."""
    text = "Name of a preset, or path of a YAML file."
    return click.option("--config", metavar="NAME|PATH", default="default", show_default=True, help=text)(command)


def set_option(command: Command) -> Command:
    """Add ``--set``, which may be repeated; the command takes `overrides`."""
    text = "Override a config key, for example story.actors.max=2; may be repeated."
    return click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help=text)(command)


def samples_option(command: Command) -> Command:
    """Add ``--samples``; the command takes `samples`, None if it is not given."""
    return click.option("--samples", type=WHOLE, metavar="N", help="Number of samples.  [default: from the config]")(command)


def workers_option(command: Command) -> Command:
    """Add ``--workers``; the command takes `workers`, None if it is not given."""
    return click.option("--workers", type=WHOLE, metavar="W", help="Number of worker processes.  [default: one per core]")(
        command
    )


def seed_option(command: Command) -> Command:
    """Add ``--seed``; the command takes `seed`, None if it is not given."""
    return click.option("--seed", type=WHOLE, metavar="S", help="Random seed.  [default: from the config]")(command)


def out_option(command: Command) -> Command:
    """Add ``--out``; the command takes `out`, None if it is not given."""
    text = "Output folder.  [default: data/CONFIG-SEED]"
    return click.option("--out", type=click.Path(path_type=Path), metavar="DIR", callback=check_path_length, help=text)(command)


def check_path_length(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file name that is too long, before parent folders are created."""
    del ctx, parameter
    if path is not None and any(len(os.fsencode(name)) > _LONGEST_NAME for name in path.parts):
        msg = f"--out {shown(str(path))}: contains a name of more than {_LONGEST_NAME} bytes; shorten it"
        raise UsageError(msg)
    return path


def seconds_of(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Convert the duration given to an option, such as 90s or 1h30m, to seconds."""
    del ctx
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        msg = f"{parameter.opts[0]} {error}"
        raise UsageError(msg) from None


def json_option(command: Command) -> Command:
    """Add ``--json``; the command takes `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")(command)


def quiet_option(command: Command) -> Command:
    """Add ``--quiet``; the command takes `quiet`."""
    return click.option("--quiet", is_flag=True, help="Print no progress and no notes.")(command)


def example(*lines: str) -> str:
    """Return the examples at the end of a command's help.

    Parameters
    ----------
    *lines : str
        Commands that work as printed.

    Returns
    -------
    str
        The `epilog` for click.
    """
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def print_json(document: object) -> None:
    """Print the one JSON document of ``--json`` on standard output.

    Parameters
    ----------
    document : object
        Plain data with finite numbers.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    # Characters that a terminal would interpret are escaped as in JSON.
    click.echo(re.sub(r"[^\n -~]", lambda char: char[0] if char[0].isprintable() else json.dumps(char[0])[1:-1], text))


def note(text: str, *, quiet: bool) -> None:
    """Print a line on standard error, unless `quiet` is set.

    Parameters
    ----------
    text : str
        One line.
    quiet : bool
        Value of ``--quiet``.
    """
    if not quiet:
        click.echo(printable(text), err=True)
