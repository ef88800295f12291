"""How a run says how it goes: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TextIO

import psutil

from posegen.quantities import human_bytes, human_time

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Bar", "Lines", "Machine", "Progression", "Reporter", "Silence", "reporter"]

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_MEASUREMENTS = 1.0


@dataclass(frozen=True)
class Progression:
    """How far a run is.

    Attributes
    ----------
    samples : samples made so far by this run
    total : samples that this run has to make
    sequences : sequences made so far by this run
    bytes : bytes written so far by this run
    seconds : how long it has been at it
    """

    samples: int
    total: int
    sequences: int
    bytes: int
    seconds: float

    @property
    def samples_per_second(self) -> float:
        """Samples a second since the run started."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0

    @property
    def sequences_per_second(self) -> float:
        """Sequences a second since the run started."""
        return self.sequences / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at the rate so far; None while nothing is done yet."""
        return (self.total - self.samples) / self.samples_per_second if self.samples else None


class Reporter(Protocol):
    """What a run tells about itself. Subclassing is not needed."""

    def say(self, text: str) -> None:
        """Tell something in words."""

    def start(self, progression: Progression) -> None:
        """The work begins."""

    def update(self, progression: Progression) -> None:
        """Something was done."""

    def stop(self) -> None:
        """The work is over, for whatever reason."""


class Silence:
    """Says nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def start(self, progression: Progression) -> None:
        """Say nothing."""

    def update(self, progression: Progression) -> None:
        """Say nothing."""

    def stop(self) -> None:
        """Say nothing."""


class Machine:
    """CPU and memory that this process and its workers use, measured once a second at most."""

    def __init__(self) -> None:
        self._processes: dict[int, psutil.Process] = {}
        self._measured = float("-inf")
        self.cpu_percent = 0.0
        self.memory = 0

    def measure(self) -> str:
        """Measure if the last time is long enough ago, and say what is used."""
        now = time.monotonic()
        if now - self._measured >= SECONDS_BETWEEN_MEASUREMENTS:
            self._measured = now
            self._add_up()
        return f"CPU {self.cpu_percent:.0f}%, {human_bytes(self.memory)} memory"

    def _add_up(self) -> None:
        parent = psutil.Process()
        known = self._processes
        self._processes = {p.pid: known.get(p.pid, p) for p in (parent, *parent.children(recursive=True))}
        self.cpu_percent, self.memory = 0.0, 0
        for process in self._processes.values():
            try:
                # A process that is seen for the first time counts from the next measurement on.
                self.cpu_percent += process.cpu_percent()
                self.memory += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue


@dataclass
class Lines:
    """A plain line every few seconds."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    machine: Machine = field(default_factory=Machine)
    _last: float = float("-inf")

    def say(self, text: str) -> None:
        """Print `text`."""
        print(text, file=self.stream, flush=True)

    def start(self, progression: Progression) -> None:
        """Say what is to be done."""
        self.machine.measure()
        self._last = time.monotonic()
        self.say(f"{progression.total:,} samples to make")

    def update(self, progression: Progression) -> None:
        """Print how far it is, if it is time for it."""
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES and progression.samples < progression.total:
            return
        self._last = now
        share = 100 * progression.samples // max(progression.total, 1)
        self.say(f"{progression.samples:,} of {progression.total:,} samples ({share}%), {figures(progression, self.machine)}")

    def stop(self) -> None:
        """Nothing to clean up."""


class Bar:
    """A bar that moves, for a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        from rich.console import Console

        self._console = Console(file=stream or sys.stderr)
        self._machine = Machine()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def say(self, text: str) -> None:
        """Print `text` above the bar."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def start(self, progression: Progression) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._machine.measure()
        self._progress = Progress(
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} samples, {task.fields[figures]}"),
            console=self._console,
        )
        self._task = self._progress.add_task("", total=progression.total, figures="starting")
        self._progress.start()

    def update(self, progression: Progression) -> None:
        """Move the bar."""
        if self._progress is not None and self._task is not None:
            text = figures(progression, self._machine)
            self._progress.update(self._task, completed=progression.samples, figures=text)

    def stop(self) -> None:
        """Leave the bar as it is."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def reporter(*, quiet: bool = False, stream: TextIO | None = None) -> Reporter:
    """What suits `stream`: a bar on a terminal, lines elsewhere, nothing with `quiet`."""
    stream = stream or sys.stderr
    if quiet:
        return Silence()
    return Bar(stream) if stream.isatty() else Lines(stream)


def figures(progression: Progression, machine: Machine) -> str:
    """Rates, size, load and the time left, in one line."""
    left = progression.seconds_left
    return (
        f"{progression.samples_per_second:,.0f} samples/s, {progression.sequences_per_second:,.0f} sequences/s, "
        f"{human_bytes(progression.bytes)}, {machine.measure()}, {'?' if left is None else human_time(left)} left"
    )
