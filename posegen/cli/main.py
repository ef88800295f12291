"""The ``posegen`` command: list and import subcommands, and turn every error into one message and an exit code.

It guards the standard streams of the process, which may be closed, full, or a pipe whose reader has ended.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from types import FrameType
from typing import Any, TextIO, cast

import click

from posegen import __version__
from posegen.cli.options import example
from posegen.foundations.errors import PosegenError, ServerError, UsageError
from posegen.foundations.import_path import protect_imports
from posegen.foundations.wording import did_you_mean, hidden_character, printable, shown

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

_UNUSABLE_PATH = {
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EPERM, errno.EROFS,
}  # fmt: skip
_LONGEST_LINE = 5000

COMMANDS = {
    "generate": ("generate", "Generate a dataset of labelled human motion."),
    "status": ("generate", "Show how far a dataset is that runs are making."),
    "finish": ("generate", "Publish a dataset that several jobs have made."),
    "info": ("datasets", "Describe a dataset and how to read it."),
    "verify": ("datasets", "Check the files of a dataset and repair damaged shards."),
    "recipe": ("datasets", "Write or check a small file that determines a dataset."),
    "diff": ("datasets", "Compare the contents of two datasets."),
    "profile": ("generate", "Estimate time, memory and disk for a dataset."),
    "derive": ("generate", "Compute fields from the motion, such as velocity."),
    "mix": ("datasets", "Combine datasets into one for reading, in a ratio."),
    "run": ("generate", "Run the pipeline: generate, embed, train, evaluate."),
    "view": ("page", "Look at sequences in the browser."),
    "show": ("pictures", "Draw a sample as a picture or an animation."),
    "report": ("page", "Write a dataset as one page, with its evaluation."),
    "actions": ("pictures", "List and draw actions."),
    "compose": ("text_motion", "Generate motion for a text, without a model."),
    "search": ("texts", "Find samples that match a text."),
    "embed": ("texts", "Compute text embeddings of the captions."),
    "paraphrase": ("texts", "Reword captions with a language model and check them."),
    "pairs": ("texts", "Mine pairs of a table's texts."),
    "import": ("clips", "Import clips of mocap as actions."),
    "convert": ("clips", "Convert clips of mocap to another format."),
    "export": ("export", "Export sequences in the format of another program."),
    "push": ("export", "Upload a dataset to the Hugging Face Hub or to S3."),
    "evaluate": ("evaluate", "Measure plausibility of motion and truth of captions."),
    "benchmark": ("benchmark", "Measure whether a text-to-motion model obeys texts."),
    "train": ("train", "Train a model on a dataset or a config."),
    "worth": ("train", "Measure how many real clips generated ones are worth."),
    "runs": ("models", "List and compare training runs."),
    "predict": ("models", "Run a trained model and save its predictions."),
    "animate": ("text_motion", "Generate motion for a text with a trained model."),
    "compare": ("models", "Decide whether two clips show the same person."),
    "export-model": ("models", "Export a trained model to ONNX or safetensors."),
    "config": ("config", "Show and compare configs; list presets."),
    "docs": ("docs", "Print a page of the documentation."),
}
"""The module of each command in this package, and its line in the list of commands, in the order of groups."""

_GROUPS = {
    "generate": "Datasets", "view": "Pictures and pages", "compose": "Texts", "import": "Clips and formats",
    "evaluate": "Measures", "train": "Models", "config": "Help",
}  # fmt: skip
"""Title of the group that begins with a command."""


class LazyGroup(click.Group):
    """A command group that imports a command only when it is used, so that help and usage errors are immediate."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of a first use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import a command."""
        if cmd_name not in COMMANDS:
            ctx.fail(f"unknown command {shown(cmd_name)}{did_you_mean(cmd_name, COMMANDS)}")
        name = cmd_name.replace("-", "_")
        name += "_" if iskeyword(name) else ""
        command: click.Command = getattr(import_module(f"posegen.cli.{COMMANDS[cmd_name][0]}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, (_, line) in COMMANDS.items():
            groups.setdefault(_GROUPS.get(name) or [*groups][-1], []).append((f"{name:<12}", line))
        for title, lines in groups.items():
            with formatter.section(title):
                formatter.write_dl(lines)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=example("posegen generate --config smoke"),
)
@click.version_option(__version__, message="posegen %(version)s", help="Print the version.")
def posegen() -> None:
    """Generate labelled 3D human motion, identical on every machine."""


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
    if arguments is not None:
        return run(posegen, arguments)
    ended = {"code": FAILURE}
    atexit.register(_end_process, ended)  # before all others, which run before it
    protect_imports()
    guard_streams()
    # A process that ignores it, or whose parent handles it, keeps that.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = run(posegen, sys.argv[1:])
    except SystemExit as left:  # click prints completions for the shell, and exits
        ended["code"] = SUCCESS if left.code in (None, SUCCESS) else FAILURE
        raise
    if code == INTERRUPTED:
        # A second signal during shutdown would end the process with another exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ended["code"] = code
    return code


def _end_process(ended: dict[str, int]) -> None:
    """End the process without taking libraries down, which takes up to a second.

    Threads of pyarrow that release memory of Python meanwhile abort the process: on a busy machine, one command of 25 ended
    with "terminate called without an active exception" after its result.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, PosegenError):
            stream.flush()
    os._exit(ended["code"])


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """Handle SIGTERM like Ctrl-C; a second one ends the process at once."""
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


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
    if sys.platform == "win32":
        return _report("Windows is not supported. Run posegen in WSL 2, https://learn.microsoft.com/windows/wsl", FAILURE)
    try:
        _check_text(arguments)
        result = command.main(list(arguments) or ["--help"], prog_name="posegen", standalone_mode=False)
    except (PosegenError, ServerError) as error:
        return _report(str(error), USAGE if isinstance(error, UsageError) else FAILURE)
    except click.UsageError as error:
        message = error.format_message().rstrip(".")
        if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option) and error.param.help:
            message += f" ({error.param.help.rstrip('.')})"
        if error.ctx:
            message += f"{' See' if message.endswith(('?', '?)')) else '; see'} {error.ctx.command_path} --help"
        return _report(message, USAGE)
    except click.ClickException as error:
        return _report(error.format_message(), FAILURE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("posegen: interrupted", err=True)
        return INTERRUPTED
    except OSError as error:
        # Disk, network or permissions: not a fault of the program, so no traceback.
        if error.errno in _UNUSABLE_PATH and error.filename:
            return _report(f"{error.filename}: cannot be used ({error.strerror}); choose another path", USAGE)
        from posegen.foundations.machine import describe_full_disk

        return _report(describe_full_disk(error, os.getcwd()) or str(error), FAILURE)
    except MemoryError as error:
        return _report(f"not enough memory: {error}", FAILURE)
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        return _report(f"{error}: raise the limit of memory or processes (ulimit -v, ulimit -u), then run it again", FAILURE)
    except ModuleNotFoundError as error:
        from posegen.foundations.plugins import install_hint

        hint = install_hint(error)
        if hint is None:
            raise
        return _report(hint, USAGE)
    return result if isinstance(result, int) else SUCCESS


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse arguments with control characters or invalid UTF-8, before any command runs."""
    for argument in arguments:
        if hidden_character(argument):
            raise UsageError(f"{shown(argument)}: must be one line of UTF-8 text without control characters")


def _report(message: str, code: int) -> int:
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in message.split("\n")]
    click.echo(f"posegen: error: {printable(chr(10).join(lines))}", err=True)
    return code


_OUTPUT, _ERRORS = 1, 2


def guard_streams() -> None:
    """Make failures to write results one error, and ignore failures to write messages.

    Standard output carries results: if it cannot be written, the command fails, but written files stay. Standard error carries
    progress, notes and error messages: if it cannot be written, the command continues.
    """
    if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
        return  # the program runs inside another one, which has redirected them
    # A file that is opened later, here or in a worker, must not take the number of a closed stream, to which libraries write.
    for number in (0, _OUTPUT, _ERRORS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_WRONLY if number == _ERRORS else os.O_RDONLY), True)
    output: Any = sys.stdout or os.fdopen(_OUTPUT, "w", closefd=False)
    errors = sys.stderr or os.fdopen(_ERRORS, "w", closefd=False)
    output.reconfigure(errors="backslashreplace")  # for letters that its encoding lacks, as on standard error
    sys.stdout, sys.stderr = (cast(TextIO, _Stream(stream, needed=stream is output)) for stream in (output, errors))


class _Stream:
    """A text stream. After a failure, the rest of the buffer and all later text are discarded."""

    def __init__(self, stream: TextIO, *, needed: bool) -> None:
        self._stream = stream
        self._needed = needed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if text != "":  # which click writes to learn the kind of the stream
            self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self._needed:
                if isinstance(error, BrokenPipeError):
                    raise  # click ends the command without a message: the reader wants no more
                msg = f"standard output cannot be written ({error.strerror}); redirect it elsewhere. Written files are complete"
                raise PosegenError(msg) from error
