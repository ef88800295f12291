"""Longest silence of each command on a terminal of 80 columns: python -m benchmarks.silence [--only TEXT].

A silence is a time in which no text of the screen changes: a bar that is drawn again as it was is silent. Commands run one
after another in a temporary folder, the first ones with empty caches of kernels and embeddings. The CPU time of a silence is
what it lasts on a machine that does nothing else. All commands together take about half an hour and write
``benchmarks/results/silence.md``.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import pty
import re
import resource
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import psutil

from benchmarks.measure import ROOT, posegen
from posegen.cli.main import COMMANDS
from tests.exchange import servers as buckets
from tests.paraphrase import servers as models
from tests.signals import hear_interrupts

RESULTS = ROOT / "benchmarks" / "results" / "silence.md"
COLUMNS = 80
LIMIT_SECONDS = 2.0
"""Silence that a person takes for a failure."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TRAIN = ("--set", "steps=60", "--preset", "quick")
_TEXT = "a person walks forward, then waves"
_SERVED = "Press Ctrl-C"
"""What a command prints that serves until it is interrupted."""

COLD = (
    "show --config default --sample 7 -o cold.png",
    "generate --config smoke --out cold",
    "view --config default --no-browser",
    "compose TEXT -o cold.npz",
    "run smoke --set retrieval:steps=60 --set motion:steps=60 --preset quick",
    "train smoke --task action STEPS --out runs/cold",
    "verify cold --deep",
    "derive cold --add rotation",
    "export cold --to amass -o amass",
    "evaluate cold",
    "import amass --out cold_library",
    "embed cold",
)
"""Commands that are run with empty caches."""

WARM = (
    "generate --samples 400 --out data",
    "generate --samples 400 --out data",
    "generate --config smoke --out parts --part 1/1",
    "status parts",
    "finish parts",
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
    "config diff default crowd",
    "docs",
    "docs reading",
    "profile --samples 100",
    "derive data --add velocity",
    "export data --to bvh -o bvh --variant base",
    "export data --to humanml3d -o humanml3d",
    "export data --to glb -o glb --split test",
    "import bvh --out library",
    "mix data data -o mix.json",
    "view data --no-browser",
    "view bvh/000000.bvh --no-browser",
    "view --config default --no-browser",
    "report data --samples 100 -o report.html",
    "evaluate data --samples 100 --figure evaluation.png",
    "evaluate data --all",
    "evaluate bvh --samples 50",
    "embed data --pairs --report",
    "embed data",
    "search data TEXT",
    "embed texts.txt -o texts.parquet",
    "search texts.parquet TEXT",
    "paraphrase data --endpoint ENDPOINT --model any --limit 20",
    "push data s3://bucket/motion --split test",
    "train data --task action STEPS --out runs/action",
    "train data --task attribute STEPS --out runs/attribute",
    "train data --task text STEPS --out runs/text",
    "train data --task retrieval STEPS --out runs/retrieval",
    "train data --task motion STEPS --out runs/motion",
    "train data --task identity STEPS --out runs/identity",
    "runs",
    "animate runs/motion TEXT -o animated.gif",
    "evaluate data --animated runs/motion --encoder runs/retrieval --samples 40",
    "view runs/motion --no-browser",
    "predict runs/action data -o predictions.parquet",
    "compare runs/identity bvh/000000.bvh bvh/000001.bvh",
    "export-model runs/action --format onnx -o action.onnx",
)
"""Commands in the order in which they need each other's results."""


@dataclass
class Screen:
    """What a command has written, and how long its text did not change.

    Attributes
    ----------
    first : float or None
        Seconds until the first text.
    longest, cpu, at : float
        Longest silence, the CPU time of the command in it, and when it began, in seconds since the start.
    before : str
        The last text before it.
    """

    process: psutil.Process
    started: float = field(default_factory=time.monotonic)
    first: float | None = None
    longest: float = 0.0
    cpu: float = 0.0
    at: float = 0.0
    before: str = ""
    _changed: float = 0.0
    _changed_cpu: float = 0.0
    _line: str = ""

    def show(self, text: str) -> None:
        """Take text that has been written."""
        lines = [line.strip() for line in re.split(r"[\r\n]+", _CONTROL.sub("", text))]
        new = [line for line in lines if line and line != self._line]
        if not new:
            return
        self.pause()
        self.first = self.first if self.first is not None else self._now()
        self._changed, self._changed_cpu, self._line = self._now(), cpu_seconds(self.process), new[-1]

    def pause(self) -> None:
        """Count the time since the last change."""
        if self._now() - self._changed > self.longest:
            self.longest, self.at, self.before = self._now() - self._changed, self._changed, self._line
            self.cpu = max(0.0, cpu_seconds(self.process) - self._changed_cpu)

    def _now(self) -> float:
        return time.monotonic() - self.started


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU time of a process and its children; 0 if it has ended."""
    try:
        own = process.cpu_times()
        seconds = own.user + own.system + own.children_user + own.children_system
        for child in process.children(recursive=True):
            times = child.cpu_times()
            seconds += times.user + times.system
    except psutil.NoSuchProcess:
        return 0.0
    return float(seconds)


@dataclass(frozen=True)
class Silence:
    """Silence of one command: its screen, its duration and CPU time in seconds, and its exit code."""

    command: str
    screen: Screen
    seconds: float
    cpu: float
    code: int

    @property
    def row(self) -> str:
        """The row of the table."""
        screen = self.screen
        first = "none" if screen.first is None else f"{screen.first:.1f}"
        after = screen.before[:40].replace("|", "/")
        figures = (
            f"`{self.command}`",
            first,
            f"{screen.longest:.1f}",
            f"{screen.cpu:.1f}",
            f"{screen.at:.1f}",
            after,
            f"{self.seconds:.1f}",
            f"{self.cpu:.1f}",
            str(self.code),
        )
        return f"| {' | '.join(figures)} |"


def measure_silence(command: Sequence[str], folder: Path, columns: int = COLUMNS, **variables: str) -> Silence:
    """Run a command on a pseudo-terminal and measure how long its screen does not change; interrupt it if it serves."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **variables}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    standard = dict.fromkeys(("stdin", "stdout", "stderr"), child)
    process = subprocess.Popen(command, cwd=folder, env=environment, preexec_fn=hear_interrupts, **standard)
    screen, is_serving = Screen(psutil.Process(process.pid)), False
    os.close(child)
    while True:
        ready, _, _ = select.select([parent], [], [], 0.1)
        try:
            data = os.read(parent, 65536) if ready else b""
        except OSError:  # the command has ended
            break
        text = data.decode(errors="replace")
        if data:
            screen.show(text)
        elif ready or process.poll() is not None:
            break
        if _SERVED in text and not is_serving:
            is_serving = True
            process.terminate()
    screen.pause()
    process.wait()
    os.close(parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Silence(" ".join(map(str, command)), screen, time.monotonic() - screen.started, cpu, process.returncode)


def measure_all(folder: Path, only: str = "", *, warm: bool = False) -> Iterator[Silence]:
    """Measure all commands in a folder, or those that contain a text, or those with warm caches."""
    (folder / "texts.txt").write_text(f"{_TEXT}\na person sits down\n", encoding="utf-8")
    with ExitStack() as running:
        endpoint = running.enter_context(models.serving(lambda caption, _: caption)).url
        bucket = running.enter_context(buckets.serving("s3", folder / "bucket"))
        own = {
            "AWS_ENDPOINT_URL": bucket, "AWS_ACCESS_KEY_ID": buckets.KEY, "AWS_SECRET_ACCESS_KEY": buckets.SECRET,
            "AWS_REGION": "us-east-1", "POSEGEN_EMBEDDING_CACHE": str(folder / "vectors"),
        }  # fmt: skip
        words_of = {"STEPS": _TRAIN, "TEXT": (_TEXT,), "ENDPOINT": (endpoint,)}
        for number, line in enumerate((*COLD, *WARM)):
            if only in line and not (warm and number < len(COLD)):
                arguments = [argument for word in line.split() for argument in words_of.get(word, (word,))]
                is_cold = number < len(COLD)
                cold = {
                    "POSEGEN_KERNEL_CACHE": str(folder / f"kernels-{number}"),
                    "POSEGEN_EMBEDDING_CACHE": str(folder / f"vectors-{number}"),
                }
                found = measure_silence(posegen(*arguments), folder, **(own | (cold if is_cold else {})))
                yield replace(found, command=f"{line}{' (cold)' if is_cold else ''}")


def main() -> None:
    """Print a table of the silences, and write it if all commands were measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the commands that are measured")
    parser.add_argument("--warm", action="store_true", help="leave out the commands with empty caches")
    parser.add_argument("--folder", type=Path, help="folder to work in; kept")
    options = parser.parse_args()
    missing = COMMANDS.keys() - {line.split()[0] for line in (*COLD, *WARM)}
    if missing:
        raise SystemExit(f"no line for the commands {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        columns = (
            "command",
            "first text (s)",
            "longest silence (s)",
            "its CPU time (s)",
            "at (s)",
            "after",
            "whole (s)",
            "CPU time (s)",
            "exit code",
        )
        lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        print("\n".join(lines), flush=True)
        found = []
        for silence in measure_all(folder, options.only, warm=options.warm):
            found.append(silence)
            print(silence.row, flush=True)
        long = [silence for silence in found if silence.screen.longest > LIMIT_SECONDS]
        failed = [silence.command for silence in found if silence.code]
        summary = f"{len(long)} of {len(found)} commands are silent for more than {LIMIT_SECONDS:.0f} s."
        if failed:
            summary += f" {len(failed)} failed, so that their silence says little: {', '.join(failed)}."
        print(summary)
        if not options.only and not options.warm:
            where = f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}"
            load = f"load {os.getloadavg()[2]:.1f} in the last 15 minutes"
            rows = [*lines, *(silence.row for silence in found)]
            title = "# Silence of commands on a terminal of 80 columns"
            RESULTS.write_text("\n".join([title, "", summary, "", *rows, "", f"{where}, {load}. `{__spec__.name}`", ""]))


if __name__ == "__main__":
    sys.exit(main())
