"""Commands as real processes that start fast: each is forked from a process that has loaded and compiled everything.

The forking process starts no threads, so that its children work. The environment of a child,
including the call at which it dies, is set before it starts.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posegen.dataset.storage.address import AnyPath
from tests.faults.injection import preloaded

ROOT = Path(__file__).parents[2]
SETTINGS = (
    "frames=20",
    "variants.speed=null",
    "variants.position=null",
    "variants.scale=null",
    "store.shard=4",
    "store.chunk=2",
)
"""Settings for the config `smoke`: small samples with two variants, so that a shard takes some milliseconds."""

COMMAND = [
    *("generate", "--config", "smoke", "--workers", "1", "--quiet"),
    *(part for setting in SETTINGS for part in ("--set", setting)),
]


@dataclass(frozen=True)
class Finished:
    """Result of a command: its exit code, or minus the signal that killed it, and its output."""

    code: int
    printed: str


class Forks:
    """Runs commands, one after another."""

    def __init__(self, folder: Path) -> None:
        self._printed = folder / "printed"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forks"],
            cwd=ROOT,
            env=os.environ | preloaded(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def generate(self, out: AnyPath, *options: str, **environment: str) -> Finished:
        """Run ``posegen generate`` with one worker."""
        return self.run(*COMMAND, "--out", str(out), *options, **environment)

    def run(self, *command: str, **environment: str) -> Finished:
        """Run a command of posegen."""
        stdin, stdout = self._process.stdin, self._process.stdout
        # Where a bucket is, and what was read of it.
        passed = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "POSEGEN_READ_CACHE"))}
        environment = passed | environment
        assert stdin is not None
        assert stdout is not None
        print(
            json.dumps({"command": command, "environment": environment, "printed": str(self._printed)}), file=stdin, flush=True
        )
        status = int(stdout.readline())
        return Finished(os.waitstatus_to_exitcode(status), self._printed.read_text(encoding="utf-8"))

    def close(self) -> None:
        """End the forking process."""
        self._process.communicate()


def main() -> None:
    # Loaded and compiled once for all children. It starts no thread that they would lack.
    import posegen.generation.derive  # noqa: F401
    from posegen.cli.main import main as command

    with tempfile.TemporaryDirectory() as folder:
        assert command([*COMMAND, "--samples", "2", "--out", f"{folder}/first"]) == 0
    gc.freeze()  # as in tests/running.py
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        print(os.waitpid(child, 0)[1], flush=True)


def _become(request: dict[str, Any]) -> None:
    from posegen.cli.main import main as command

    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    handle = os.open(request["printed"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    code = command(request["command"])
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
