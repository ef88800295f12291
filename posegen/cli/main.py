"""The ``posegen`` command: list and import subcommands, and turn every error into one message and an exit code."""

from __future__ import annotations

import errno
import signal
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from posegen.cli.options import example
from posegen.errors import PosegenError, UsageError
from posegen.extras import install_hint
from posegen.version import __version__
from posegen.wording import did_you_mean, printable, shown

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

_UNUSABLE_PATH = {
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EPERM, errno.EROFS,
}  # fmt: skip
_LONGEST_LINE = 5000

COMMANDS = {
    "profile": ("posegen.cli.profile:profile", "Estimate time, memory and disk for a dataset."),
    "generate": ("posegen.cli.generate:generate", "Generate a dataset of labelled human motion."),
    "info": ("posegen.cli.info:info", "Describe a dataset and how to read it."),
    "verify": ("posegen.cli.verify:verify", "Check every byte of a dataset and repair damaged shards."),
    "diff": ("posegen.cli.diff:diff", "Compare the contents of two datasets."),
    "derive": ("posegen.cli.derive:derive", "Compute fields from the motion, such as velocity."),
    "show": ("posegen.cli.show:show", "Draw a sample as a picture or an animation."),
    "compose": ("posegen.cli.compose:compose", "Generate motion for a text, without a model."),
    "evaluate": ("posegen.cli.evaluate:evaluate", "Measure plausibility of motion and truth of captions."),
    "embed": ("posegen.cli.embed:embed", "Compute text embeddings of the captions."),
    "search": ("posegen.cli.search:search", "Find samples that match a text."),
    "train": ("posegen.cli.train:train", "Train a model on a dataset or a config."),
    "run": ("posegen.cli.run:run", "Run the pipeline: generate, embed, train, evaluate."),
    "runs": ("posegen.cli.runs:runs", "List and compare training runs."),
    "animate": ("posegen.cli.animate:animate", "Generate motion for a text with a trained model."),
    "predict": ("posegen.cli.predict:predict", "Run a trained model and save its predictions."),
    "export-model": ("posegen.cli.export_model:export_model", "Export a trained model to ONNX or safetensors."),
    "paraphrase": ("posegen.cli.paraphrase:paraphrase", "Reword captions with a language model and check them."),
    "actions": ("posegen.cli.actions:actions", "List and draw actions."),
    "config": ("posegen.cli.config:config", "Show and compare configs; list presets."),
}
"""Module and attribute of each command, and its line in the list of commands."""


def _print_version(ctx: click.Context, _parameter: click.Parameter, requested: bool) -> None:
    if not requested or ctx.resilient_parsing:
        return
    click.echo(f"posegen {__version__}")
    ctx.exit(SUCCESS)


class LazyGroup(click.Group):
    """A command group that imports a command only when it is used, so that help and usage errors are immediate.

    Parameters
    ----------
    commands_at : mapping of str to (str, str)
        ``"module:attribute"`` and help line of each command.
    **options
        As for :class:`click.Group`.
    """

    def __init__(self, commands_at: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self._commands_at = dict(commands_at)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order in which a new user needs them."""
        del ctx
        return list(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; return None if there is no command of that name."""
        del ctx
        if cmd_name not in self._commands_at:
            return None
        module, _, attribute = self._commands_at[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            msg = f"{module}:{attribute} is not a click command"
            raise TypeError(msg)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named by the first argument."""
        if args[0] not in self._commands_at and not args[0].startswith("-"):
            _refuse(ctx, args[0], self._commands_at)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._commands_at.items()])


def _refuse(ctx: click.Context, name: str, known: Mapping[str, object]) -> NoReturn:
    ctx.fail(f"unknown command {shown(name)}{did_you_mean(name, known)}")


posegen = LazyGroup(
    COMMANDS,
    name="posegen",
    help="Generate labelled 3D human motion, identical on every machine.",
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
        Default: those of the process.

    Returns
    -------
    int
        The exit code: 0 success, 1 failure, 2 wrong usage or invalid input, 130 interrupted.
    """
    code = run(posegen, sys.argv[1:] if arguments is None else arguments)
    if arguments is None and code == INTERRUPTED:
        # A second Ctrl-C during shutdown would end the process by the signal, with another exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command and turn its errors into a message and an exit code.

    Parameters
    ----------
    command : click.Command
        The command.
    arguments : sequence of str
        Without the name of the program. No arguments are equivalent to ``--help``.

    Returns
    -------
    int
        As for :func:`main`. A command may return an exit code itself.
    """
    try:
        _check_text(arguments)
        result = command.main(list(arguments) or ["--help"], prog_name="posegen", standalone_mode=False)
    except UsageError as error:
        return _report(str(error), USAGE)
    except PosegenError as error:
        return _report(str(error), FAILURE)
    except click.UsageError as error:
        hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
        return _report(error.format_message().rstrip(".") + hint, USAGE)
    except click.ClickException as error:
        return _report(error.format_message(), FAILURE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("posegen: interrupted", err=True)
        return INTERRUPTED
    except OSError as error:
        # Disk, network or permissions: not a fault of the program, so no traceback.
        if error.errno in _UNUSABLE_PATH and error.filename:
            return _report(f"{error.filename}: cannot be used ({error.strerror}); choose another path", USAGE)
        return _report(str(error), FAILURE)
    except MemoryError as error:
        return _report(f"not enough memory: {error}", FAILURE)
    except ModuleNotFoundError as error:
        message = install_hint(error)
        if message is None:
            raise
        return _report(message, USAGE)
    return result if isinstance(result, int) else SUCCESS


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse arguments with control characters or invalid UTF-8, before any command runs."""
    for argument in arguments:
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in argument):
            msg = f"{shown(argument)}: must be one line of UTF-8 text without control characters"
            raise UsageError(msg)


def _report(message: str, code: int) -> int:
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in message.split("\n")]
    click.echo(f"posegen: error: {printable(chr(10).join(lines))}", err=True)
    return code
