"""The command line as a whole: help, exit codes, and lazy imports."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from posegen import __version__
from posegen.cli.main import COMMANDS, main, run
from posegen.cli.options import Output
from posegen.foundations.errors import PosegenError, UsageError

HEAVY = {"numpy", "numba", "pydantic", "pyarrow", "zarr", "torch", "yaml", "joblib", "rich", "matplotlib", "psutil", "xxhash"}


def imported_by(*arguments: str) -> tuple[set[str], str]:
    """Return the packages that a command imports, and its output."""
    command = [sys.executable, "-X", "importtime", "-m", "posegen", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}, done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["config", "--help"], ["config", "show", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    packages, printed = imported_by(*arguments)
    assert "click" in packages
    assert not packages & HEAVY
    assert "posegen" in printed


def test_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in printed
        assert text in printed
    assert main([]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_ends_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    _, example, lines = printed.rpartition("Example:\n")
    assert example
    assert all(line.strip().startswith("posegen ") for line in lines.strip().splitlines())
    assert f"posegen {name}" in lines


def test_windows_is_refused_up_front(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["--version"]) == 1
    assert "Windows is not supported. Run posegen in WSL 2" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"posegen {__version__}\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (PosegenError("shard 3 is damaged"), 1, "posegen: error: shard 3 is damaged"),
        (UsageError("no such thing"), 2, "posegen: error: no such thing"),
        (click.UsageError("Bad option."), 2, "posegen: error: Bad option; see posegen --help"),
        (click.FileError("a.txt", "gone"), 1, "posegen: error: Could not open file 'a.txt': gone"),
        (PermissionError(13, "Denied", "/x"), 2, "posegen: error: /x: cannot be used (Denied); choose another path"),
        (OSError(5, "Input/output error", "/x"), 1, "posegen: error: [Errno 5] Input/output error: '/x'"),
        (KeyboardInterrupt(), 130, "posegen: interrupted"),
    ],
)
def test_errors_become_a_message_and_a_code(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def fail() -> None:
        raise error

    assert run(fail, ["--"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.strip() == message


def test_faults_of_the_program_keep_their_traceback() -> None:
    @click.command()
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(fail, ["--"])


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["nope"], 2)])
def test_a_process_ends_behind_its_own_clean_up_and_without_that_of_libraries(arguments: list[str], code: int) -> None:
    script = f"""
import atexit, sys, time, threading
from posegen.cli.main import main
class Library:
    def __del__(self):
        sys.stdout.write("library taken down")
library = Library()
thread = threading.Thread(target=lambda: (time.sleep(0.1), sys.stdout.write("thread ended ")))
thread.start()
sys.argv[1:] = {arguments!r}
main_code = main()
atexit.register(sys.stdout.write, "registered later ")
sys.exit(main_code)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout.removeprefix(f"posegen {__version__}\n") == "thread ended registered later "
    assert "library taken down" not in done.stdout


def completions(*words: str) -> list[str]:
    shell = {"_POSEGEN_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("posegen", *words)), "COMP_CWORD": str(len(words))}
    ended = subprocess.run(
        [sys.executable, "-m", "posegen"], capture_output=True, text=True, check=True, env=os.environ | shell
    )
    return [line.partition(",")[2] for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("generate", "--config", "cr"), ["crowd"]),
        (("export", "data", "--to", "hu"), ["humanml3d"]),
        (("train", "data", "--task", "re"), ["retrieval"]),
        (("actions", "show", "wav"), ["wave"]),
        (("docs", "quo"), ["quotas"]),
    ],
)
def test_values_are_completed(words: tuple[str, ...], found: list[str]) -> None:
    assert completions(*words) == found


def test_verdicts_are_coloured_in_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=False, quiet=False).result(None, "skate  pass\njerk  fail")
    assert capsys.readouterr().out == "skate  pass\njerk  fail\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Output(as_json=False, quiet=False).result(None, "skate  pass\njerk  fail")
    assert capsys.readouterr().out == "skate  \x1b[32mpass\x1b[0m\njerk  \x1b[31mfail\x1b[0m\n"
