"""The ``posegen`` command: finds the subcommand, and turns every error into one message and an exit code."""

from __future__ import annotations

import errno
import gc
import signal
import sys
import unicodedata
from collections.abc import Sequence

import click

from posegen.cli.lazy import LazyGroup
from posegen.cli.options import example
from posegen.errors import PosegenError, UsageError
from posegen.version import __version__
from posegen.wording import printable, shown

__all__ = ["COMMANDS", "DONE", "FAILED", "INTERRUPTED", "MISUSED", "main", "run"]

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

_BAD_PLACES = {
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EPERM, errno.EROFS,
}  # fmt: skip
_LONGEST_LINE = 5000

COMMANDS = {
    "profile": ("posegen.cli.profile:profile", "Tell what a dataset will cost, before it is made."),
    "generate": ("posegen.cli.generate:generate", "Make a dataset of labelled human motion."),
    "info": ("posegen.cli.info:info", "Tell what is in a dataset, and how to read it."),
    "verify": ("posegen.cli.verify:verify", "Check every byte of a dataset, and repair what is damaged."),
    "diff": ("posegen.cli.diff:diff", "Tell whether two datasets hold the same, and where not."),
    "derive": ("posegen.cli.derive:derive", "Add fields that follow from the motion, such as velocity."),
    "show": ("posegen.cli.show:show", "Draw a sample as a picture or an animation."),
    "compose": ("posegen.cli.compose:compose", "Make the motion that a text tells of."),
    "evaluate": ("posegen.cli.evaluate:evaluate", "Tell how plausible motion is, and how true captions are."),
    "embed": ("posegen.cli.embed:embed", "Turn captions into vectors, each distinct text once."),
    "search": ("posegen.cli.search:search", "Find samples that show what a text tells of."),
    "train": ("posegen.cli.train:train", "Train a model on a dataset, or on a config without one."),
    "run": ("posegen.cli.run:run", "Generate, embed, train and evaluate, by one command."),
    "runs": ("posegen.cli.runs:runs", "List and compare what was trained."),
    "animate": ("posegen.cli.animate:animate", "Have a trained model make the motion that a text tells of."),
    "predict": ("posegen.cli.predict:predict", "Write what a trained model says of a dataset."),
    "export-model": ("posegen.cli.export_model:export_model", "Write a trained model for other programs."),
    "paraphrase": ("posegen.cli.paraphrase:paraphrase", "Have captions reworded by a language model, and checked."),
    "actions": ("posegen.cli.actions:actions", "Look at actions: list, show."),
    "config": ("posegen.cli.config:config", "Look at configs: show, diff, presets."),
}
"""For each command the place of its code, and its help in the list."""


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    click.echo(f"posegen {__version__}")
    ctx.exit(DONE)


posegen = LazyGroup(
    COMMANDS,
    name="posegen",
    help="Labelled 3D human motion, as much as asked for, the same on every machine.",
    epilog=example("posegen generate --config smoke"),
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
        )
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process unless given.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed or found bad, 2 bad usage or input, 130 interrupted.
    """
    code = run(posegen, sys.argv[1:] if arguments is None else arguments, alone=arguments is None)
    if arguments is None:
        # The process ends: Python need not go over a million objects, of modules mostly, for cycles that nobody reaches.
        gc.freeze()
    if arguments is None and code == INTERRUPTED:
        # Who presses Ctrl-C again while Python takes its leave would end it by the signal, with another exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def run(command: click.Command, arguments: Sequence[str], *, alone: bool = False) -> int:
    """Run a command, turning its errors into a message and an exit code.

    Parameters
    ----------
    command : click.Command
        The command.
    arguments : sequence of str
        Without the name of the program; none are as good as ``--help``.
    alone : bool
        Whether the process does nothing else, and ends with the command.

    Returns
    -------
    int
        As for :func:`main`. A command may return one itself.
    """
    try:
        _check_text(arguments)
        result = command.main(list(arguments) or ["--help"], prog_name="posegen", standalone_mode=False, obj=alone)
    except UsageError as error:
        return _report(str(error), MISUSED)
    except PosegenError as error:
        return _report(str(error), FAILED)
    except click.UsageError as error:
        hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
        return _report(error.format_message().rstrip(".") + hint, MISUSED)
    except click.ClickException as error:
        return _report(error.format_message(), FAILED)
    except (click.Abort, KeyboardInterrupt):
        click.echo("posegen: interrupted", err=True)
        return INTERRUPTED
    except OSError as error:
        # The disk, the network, permissions: not faults of the program, so no traceback.
        if error.errno in _BAD_PLACES and error.filename:
            return _report(f"{error.filename}: cannot be used ({error.strerror}); name another place", MISUSED)
        return _report(str(error), FAILED)
    except MemoryError as error:
        return _report(f"memory is short: {error}", FAILED)
    return result if isinstance(result, int) else DONE


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse names and values that a file system, a terminal or a file of ours would trip over, before any command does."""
    for argument in arguments:
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in argument):
            msg = f"{shown(argument)}: must be one line of UTF-8 text without control characters"
            raise UsageError(msg)


def _report(message: str, code: int) -> int:
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in message.split("\n")]
    click.echo(f"posegen: error: {printable(chr(10).join(lines))}", err=True)
    return code
