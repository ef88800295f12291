"""Longest silence of each command on a terminal of 80 columns: python -m benchmarks.silence [--only TEXT].

A silence is a time in which no text of the screen changes: a bar that is drawn again as it was is silent. Commands run one
after another in a temporary folder, the first ones with an empty cache of kernels. Commands that need a server are left out.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import posegen

COLUMNS = 80
LIMIT_SECONDS = 2.0
"""Silence that a person takes for a failure."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TRAIN = ("--set", "steps=60", "--preset", "quick")
_TEXT = "a person walks forward, then waves"

COLD = (
    "show --config default --sample 7 -o cold.png",
    "generate --config smoke --out cold",
    "compose TEXT -o cold.npz",
    "train smoke --task action STEPS --out runs/cold",
)
"""Commands that are run with an empty cache of kernels."""

WARM = (
    "generate --samples 400 --out data",
    "info data",
    "info data --sample 7",
    "verify data",
    "verify data --deep",
    "diff data data",
    "show data --sample 3 -o sample.png",
    "show data --sample 3 -o sample.gif",
    "show data --sample 3 -o sample.mp4",
    "show --config default --sample 7 -o config.png",
    "compose TEXT -o composed.gif",
    "actions list",
    "actions show wave -o wave.gif",
    "config presets",
    "config show default",
    "profile --samples 100",
    "derive data --add velocity",
    "export data --to bvh -o bvh",
    "export data --to humanml3d -o humanml3d",
    "mix data data -o mix.json",
    "evaluate data --samples 100 --figure evaluation.png",
    "embed data",
    "search data TEXT",
    "train data --task action STEPS --out runs/action",
    "train data --task retrieval STEPS --out runs/retrieval",
    "train data --task motion STEPS --out runs/motion",
    "train data --task identity STEPS --out runs/identity",
    "runs",
    "animate runs/motion TEXT -o animated.gif",
    "predict runs/action data -o predictions.parquet",
    "export-model runs/action -o action.onnx",
)
"""Commands in the order in which they need each other's results."""


@dataclass
class Screen:
    """What a command has written, and how long its text did not change.

    Attributes
    ----------
    first : float or None
        Seconds until the first text.
    longest, at : float
        Longest silence, and when it began, in seconds since the start.
    before : str
        The last text before it.
    """

    started: float = field(default_factory=time.monotonic)
    first: float | None = None
    longest: float = 0.0
    at: float = 0.0
    before: str = ""
    _changed: float = 0.0
    _line: str = ""

    def show(self, text: str) -> None:
        """Take text that has been written."""
        lines = [line.strip() for line in re.split(r"[\r\n]+", _CONTROL.sub("", text))]
        new = [line for line in lines if line and line != self._line]
        if not new:
            return
        self.pause()
        self.first = self.first if self.first is not None else self._now()
        self._changed, self._line = self._now(), new[-1]

    def pause(self) -> None:
        """Count the time since the last change."""
        if self._now() - self._changed > self.longest:
            self.longest, self.at, self.before = self._now() - self._changed, self._changed, self._line

    def _now(self) -> float:
        return time.monotonic() - self.started


@dataclass(frozen=True)
class Silence:
    """Silence of one command: the seconds of the screen, of the command, and its exit code."""

    command: str
    screen: Screen
    seconds: float
    code: int


def measure_silence(command: Sequence[str], folder: Path, columns: int = COLUMNS, **variables: str) -> Silence:
    """Run a command on a pseudo-terminal and measure how long its screen does not change."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **variables}
    screen = Screen()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=child, stdout=child, stderr=child)
    os.close(child)
    while True:
        ready, _, _ = select.select([parent], [], [], 0.1)
        try:
            data = os.read(parent, 65536) if ready else b""
        except OSError:  # the command has ended
            break
        if data:
            screen.show(data.decode(errors="replace"))
        elif ready or process.poll() is not None:
            break
    process.wait()
    screen.pause()
    os.close(parent)
    return Silence(" ".join(map(str, command)), screen, time.monotonic() - screen.started, process.returncode)


def measure_all(folder: Path, only: str = "") -> Iterator[Silence]:
    """Measure all commands in a folder, or those that contain a text."""
    for number, line in enumerate((*COLD, *WARM)):
        if only in line:
            words = [word for part in line.split() for word in (_TRAIN if part == "STEPS" else (part,))]
            arguments = [_TEXT if word == "TEXT" else word for word in words]
            cold = {"POSEGEN_KERNEL_CACHE": str(folder / f"kernels-{number}")} if line in COLD else {}
            found = measure_silence(posegen(*arguments), folder, **cold)
            yield Silence(f"{line}{' (cold kernels)' if cold else ''}", found.screen, found.seconds, found.code)


def main() -> None:
    """Print a table of the silences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the commands that are measured")
    parser.add_argument("--folder", type=Path, help="folder to work in; kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        columns = ("command", "first text (s)", "longest silence (s)", "at (s)", "after", "whole (s)", "exit code")
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
        for found in measure_all(folder, options.only):
            screen = found.screen
            first = "none" if screen.first is None else f"{screen.first:.1f}"
            after = screen.before[:40].replace("|", "/")
            figures = (
                found.command,
                first,
                f"{screen.longest:.1f}",
                f"{screen.at:.1f}",
                after,
                f"{found.seconds:.1f}",
                found.code,
            )
            print(f"| {' | '.join(map(str, figures))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
