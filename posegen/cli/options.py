"""Options that several commands share, and the output of a command: a result as text or JSON, tables, notes and progress."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce, wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from posegen.foundations.errors import UsageError, require_local
from posegen.foundations.progress import Progress, compilation_shown, make_progress
from posegen.foundations.quantities import parse_duration
from posegen.foundations.wording import printable, shown

if TYPE_CHECKING:
    from posegen.dataset.storage.address import AnyPath

Command = TypeVar("Command", bound=Callable[..., Any])


class _LocalPath(click.Path):
    """A path on this machine."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; UsageError if it is an address."""
        require_local(value)
        return super().convert(value, param, ctx)


class _DatasetPath(_LocalPath):
    """A dataset: a folder on this machine, or an address in a bucket."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; UsageError if it is another address."""
        from posegen.dataset.storage.address import storage_of, to_path

        found = to_path(value)
        return super().convert(value, param, ctx) if storage_of(found).local else found


PATH = _LocalPath(path_type=Path)
DATASET = _DatasetPath(path_type=Path)
_ARRAYS = ".npz"
_SPLITS = ("training", "validation", "test")


class _Whole(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2, for mypy only
    """An integer. The config model checks its range."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not re.fullmatch(r"[-+]?[0-9]{1,40}", value):
            self.fail(f"must be a whole number of at most 40 digits (got {shown(value)})", param, ctx)
        return int(value)


WHOLE = _Whole()


class Number(click.FloatRange):
    """A number within bounds. click's own type accepts NaN, which is neither below nor above a bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("must be a number (got nan)", param, ctx)
        return number


def _seconds(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Convert a duration such as 90s or 1h30m to seconds."""
    del ctx
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{parameter.opts[0]} {error}") from None


def _check_motion_file(ctx: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """Refuse a file that cannot be written, before anything is computed."""
    from posegen.viewing.render import SUFFIXES, check_path

    del ctx, parameter
    return check_path(path, (*SUFFIXES, _ARRAYS))


def completed(names: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """Return the option of click with which a shell completes the names that a function returns."""
    return {"shell_complete": lambda ctx, param, typed: [name for name in names() if name.startswith(typed)]}


_CONFIG = {"help": "Name of a preset, or a YAML file."} | completed(lambda: resolve_name("posegen.config.load:presets")())
config_option = click.option("-c", "--config", metavar="NAME|PATH", default="default", **_CONFIG)
samples_option = click.option("-n", "--samples", type=WHOLE, metavar="N", help="Number of samples.  [default: from the config]")
workers_option = click.option("-w", "--workers", type=WHOLE, metavar="W", help="Worker processes.  [default: one per core]")
seed_option = click.option("-s", "--seed", type=WHOLE, metavar="S", help="Random seed.  [default: from the config]")


def selection_options(verb: str) -> Callable[[Command], Command]:
    """Add the options that select sequences; the command takes `splits`, `variants` and `where`."""
    several = f"to {verb}; may be repeated.  [default: all]"
    where = "Condition on the columns of the table of sequences.  [default: all]"
    options = [
        click.option(
            "--split",
            "splits",
            type=click.Choice((*_SPLITS, "train", "val")),
            multiple=True,
            default=_SPLITS,
            show_default=False,
            help=f"Split {several}",
        ),
        click.option("--variant", "variants", metavar="VARIANT", multiple=True, help=f"Variant {several}"),
        click.option("--where", metavar="SQL", default="", show_default=False, help=where),
    ]
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def quoted(path: AnyPath) -> str:
    """Return a path as a word of a command."""
    return shlex.quote(str(path))


def refuse_useless(where: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for an option that is given and has no effect, with `where` in the message, such as "on clips"."""
    for option, value in given.items():
        if value is not None and value is not False and value != ():
            raise UsageError(f"{option} has no effect {where}. Remove it")


def part_option(verb: str) -> Callable[[Command], Command]:
    """Add ``--part``; the command takes `part` as text."""
    return click.option("--part", metavar="I/N|all", help=f"{verb} only part I of N, beside other jobs.  [default: all]")


def settings_option(text: str) -> Callable[[Command], Command]:
    """Add ``--set``, which may be repeated; the command takes `overrides`."""
    return click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help=f"{text}; may be repeated.")


set_option = settings_option("Override a config key, for example story.actors.max=2")


def dataset_options(command: Command) -> Command:
    """Add the options that change a config; the command takes `samples`, `workers`, `seed` and `overrides`."""
    return samples_option(workers_option(seed_option(set_option(command))))


def loads_config(command: Command) -> Command:
    """Load the config that the options above name; the command takes it as `config`, in place of their values."""

    @wraps(command)
    def with_config(
        config: str, overrides: Sequence[str], samples: int | None = None, workers: int | None = None, seed: int | None = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        from posegen.config.load import load_config

        return command(config=load_config(config, overrides, samples=samples, workers=workers, seed=seed), **options)

    return cast(Command, with_config)


def folder_option(text: str, kind: click.Path = PATH) -> Callable[[Command], Command]:
    """Add ``-o`` for a folder; the command takes `out`, None if it is not given."""
    return click.option("-o", "--out", type=kind, metavar="DIR", help=text)


def file_option(text: str, *, metavar: str = "FILE", required: bool = True, **options: Any) -> Callable[[Command], Command]:
    """Add ``-o`` for a file; the command takes `out`."""
    return click.option("-o", "--out", type=PATH, metavar=metavar, required=required, help=text, **options)


_MOTION_FILE = "Output file: .gif or .mp4 (animation), .png (poses over time) or .npz (arrays)."
motion_file_option = file_option(_MOTION_FILE, callback=_check_motion_file)


def write_motion(out: Path, arrays: Mapping[str, Any], draw: Callable[[Path], object]) -> None:
    """Write arrays and the names of the joints to an ``.npz`` file, or draw a picture."""
    if out.suffix.lower() != _ARRAYS:
        draw(out)
        return
    import numpy as np

    from posegen.foundations.skeleton import JOINTS

    with out.open("wb") as file:  # NumPy would add .npz to a name such as out.NPZ
        np.savez_compressed(file, joint_names=np.array(JOINTS), **arrays)


def clip_options(command: Command) -> Command:
    """Add the options that replace detected properties of clips; the command takes `unit`, `up` and `names`."""
    unit = click.option("--unit", type=click.Choice(["m", "cm", "mm", "in", "ft", "dm"]), help="Unit.  [default: detected]")
    axes = click.Choice(["x", "y", "z", "-x", "-y", "-z"])
    up = click.option("--up", type=axes, help="Axis that points upwards.  [default: detected]")
    names = click.option("--names", type=PATH, metavar="YAML", help="Names of the joints.  [default: detected]")
    return unit(up(names(command)))


def budget_option(text: str) -> Callable[[Command], Command]:
    """Add ``--budget``; the command takes `budget` in seconds, None if it is not given."""
    return click.option("--budget", metavar="TIME", callback=_seconds, help=text)


@dataclass(frozen=True)
class Output:
    """Output of a command.

    Attributes
    ----------
    as_json, quiet : bool
        Whether ``--json`` and ``--quiet`` are given.
    """

    as_json: bool
    quiet: bool

    def result(self, document: object, text: str) -> None:
        """Print the result of a command: the document with ``--json``, otherwise the text.

        Parameters
        ----------
        document : object
            Plain data, dataclasses and paths. NaN and infinity become null, because JSON has neither.
        text : str
            Characters that a terminal would interpret are escaped.
        """
        self.leave()
        if not self.as_json:
            click.echo(_coloured(printable(text)))
            return
        from pydantic_core import to_jsonable_python

        plain = to_jsonable_python(document, inf_nan_mode="null", fallback=str)
        encoded = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
        click.echo(re.sub(r"[^\n -~]", lambda char: char[0] if char[0].isprintable() else json.dumps(char[0])[1:-1], encoded))

    def summary(self, document: object, text: str) -> None:
        """Print the summary of a command; ``--quiet`` omits the text."""
        if self.as_json or not self.quiet:
            self.result(document, text)

    def warn(self, text: str) -> None:
        """Print a line on standard error, even if ``--quiet`` is given."""
        self.leave()
        click.echo(printable(text), err=True)

    def note(self, text: str) -> None:
        """Print a line on standard error, unless ``--quiet`` is given."""
        self.progress().log(text)

    def refuse(self, reason: str) -> None:
        """Print as a note why a clip is left out."""
        self.note(f"refused: {reason}")

    def progress(self) -> Progress:
        """Return the display of progress on standard error, the same one each time."""
        return self._display

    @cached_property
    def _display(self) -> Progress:
        return make_progress(quiet=self.quiet)

    @contextmanager
    def waiting(self, work: str) -> Iterator[None]:
        """Show `work` on a terminal, such as "load the encoder", whenever a command shows nothing else."""
        self.progress().wait(work)
        try:
            with compilation_shown(self.progress()):
                yield
        finally:
            self.leave()

    def leave(self) -> None:
        """End the display of progress."""
        self.progress().wait("")
        self.progress().stop()

    def counter(self, task: str) -> Callable[[int, int], None]:
        """Return a function that shows how many of its shards a task has done; it ends the task with the last."""
        display = self.progress()

        def report(done: int, total: int) -> None:
            if not display.is_counting:
                display.start(task, total, unit="shards")
            display.update(done)
            if done == total:
                display.stop()

        return report

    @contextmanager
    def resumable(self, folder: AnyPath) -> Iterator[None]:
        """Report after an interruption that the same command resumes the work in `folder`."""
        try:
            yield
        except KeyboardInterrupt:
            self.note(f"stopped; complete results stay in {folder}; run the same command to resume")
            raise


def _coloured(text: str) -> str:
    """Return a text with pass in green and fail in red at the end of lines, where the terminal shows colours."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return re.sub(
        r"\b(pass|fail)$", lambda word: click.style(word[0], "green" if word[0] == "pass" else "red"), text, flags=re.M
    )


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


def command(
    *examples: str, group: click.Group | None = None, name: str | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command with ``--json`` and ``--quiet``; it takes `output`.

    Parameters
    ----------
    *examples : str
        See :func:`example`.
    group : click.Group, optional
        The group to which the command belongs.
    name : str, optional
        Default: the name of the function.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def with_output(*, as_json: bool, quiet: bool, **options: Any) -> Any:
            output = Output(as_json, quiet)
            with output.waiting(click.get_current_context().command_path):
                return function(output=output, **options)

        make = click.command if group is None else group.command
        made = make(name, epilog=example(*examples))(with_output)
        made.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document and nothing else."),
            click.Option(["-q", "--quiet"], is_flag=True, help="Print no progress and no notes."),
        ]
        return made

    return decorate
