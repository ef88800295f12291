"""Run test modules as programs, each in a process forked from one that has imported the packages of training.

That process starts no threads, so that its children are sound.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.once import made_once

__all__ = ["Programs", "hear_interrupts", "run_once"]

ROOT = Path(__file__).parents[1]


class Programs:
    """Run modules one after another. The process that forks is started with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, folder: Path, module: str, *arguments: str | Path, **environment: str) -> None:
        """Run ``python -m MODULE``; its standard output is stored as ``FOLDER/reported.json``."""
        if self._process is None:
            self._process = _started()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        printed, errors = folder / "reported.json", folder / "errors.txt"
        request = {
            "module": module,
            "arguments": [str(argument) for argument in arguments],
            "environment": environment,
            "printed": str(printed),
            "errors": str(errors),
        }
        print(json.dumps(request), file=stdin, flush=True)
        assert stdout.readline() == "0\n", errors.read_text(encoding="utf-8")

    def close(self) -> None:
        """End the process that forks."""
        if self._process is not None:
            self._process.communicate()


def run_once(
    factory: pytest.TempPathFactory,
    programs: Programs,
    name: str,
    module: str,
    *arguments: str,
    prepare: Callable[[Path], object] = lambda folder: None,
    **environment: str,
) -> tuple[Path, dict[str, Any]]:
    """Run a module once for all workers of pytest-xdist, and return its folder, which `prepare` fills, and what it prints.

    Its last argument is the folder.
    """

    def make(folder: Path) -> None:
        prepare(folder)
        programs.run(folder, module, *arguments, folder, **environment)

    folder = made_once(factory, name, make)
    return folder, json.loads((folder / "reported.json").read_text(encoding="utf-8"))


def _started() -> subprocess.Popen[str]:
    # One thread, since other tests use the other core.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.running"]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def hear_interrupts() -> None:
    """Stop ignoring Ctrl-C in a child before its program starts: it inherits that from a test in a background job."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> None:
    gc.disable()
    import posegen.training.train  # noqa: F401

    # Every run searches for cycles a few times: a child would read, and so copy, all objects of the imported packages.
    gc.freeze()
    gc.enable()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        print(os.waitpid(child, 0)[1], flush=True)


def _become(request: dict[str, Any]) -> None:
    """Run the module of a request in this process."""
    code = 1
    try:
        os.environ.update(request["environment"])
        # The standard input carries requests, which are not for the module.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "printed"), (2, "errors")):
            os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        sys.argv[1:] = request["arguments"]
        runpy.run_module(request["module"], run_name="__main__")
        sys.stdout.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
