"""Progress display of long commands: a bar on a terminal, plain lines elsewhere, nothing with ``--quiet``.

Every stage reports through :class:`Progress`. What a stage reports besides the count, such as the loss or the memory in use, it
passes as text.
"""

from __future__ import annotations

import sys
import time
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from posegen.quantities import human_time
from posegen.wording import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress


SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """A display of progress that shows nothing, and the interface of the others.

    One task is shown at a time: ``start``, any number of ``update`` calls, ``stop``. Messages may be logged at any time.
    """

    def log(self, text: str) -> None:
        """Print a message."""

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0) -> None:
        """Begin a task.

        Parameters
        ----------
        task : str
            What is done, such as "generate".
        total : int
            Number of units of the whole task.
        unit : str, optional
            Plural noun.
        done : int, optional
            Units that an earlier session completed. They do not count towards the rate.
        """

    def update(self, done: int, details: str = "") -> None:
        """Report that `done` units are complete, with further text such as a rate."""

    def stop(self) -> None:
        """End the task, complete or not. Without a task, do nothing."""


class LineProgress(Progress):
    """A display that prints a plain line every few seconds, and one when the task is complete.

    Examples
    --------
    >>> progress = LineProgress(sys.stdout)
    >>> progress.start("generate", 1000)
    generate: 0 of 1,000 samples (0%)
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._task: tuple[str, int, str] | None = None
        self._first, self._started, self._last = 0, 0.0, 0.0

    def log(self, text: str) -> None:
        """Print a message."""
        print(printable(text), file=self._stream, flush=True)

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0) -> None:
        """Begin a task and print its size."""
        self._task, self._first, self._started = (task, total, unit), done, time.monotonic()
        self._print(done, "")

    def update(self, done: int, details: str = "") -> None:
        """Print the state of the task if the last line is old enough or the task is complete."""
        if self._task and (time.monotonic() - self._last >= SECONDS_BETWEEN_LINES or done >= self._task[1]):
            self._print(done, details)

    def stop(self) -> None:
        """End the task."""
        self._task = None

    def _print(self, done: int, details: str) -> None:
        """Print the state of the task, with the time left at the rate of this session, once something is complete."""
        assert self._task
        task, total, unit = self._task
        self._last = time.monotonic()
        seconds = self._last - self._started
        parts = [f"{task}: {done:,} of {total:,} {unit} ({100 * done // max(total, 1)}%)", details]
        if done > self._first and seconds > 0:
            rate = (done - self._first) / seconds
            parts.insert(1, f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.1f} {unit}/s")
            parts.append(f"{human_time((total - done) / rate)} left")
        self.log(", ".join(part for part in parts if part))


class TerminalProgress(Progress):
    """A display with a moving bar, drawn by rich."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: RichProgress | None = None

    def log(self, text: str) -> None:
        """Print a message above the bar."""
        self._console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self.stop()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[figures]}", markup=False),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=self._console,
        )
        self._bar.add_task(printable(task), total=total, completed=done, unit=unit, figures=unit)
        self._bar.start()

    def update(self, done: int, details: str = "") -> None:
        """Move the bar."""
        if self._bar is None:
            return
        task = self._bar.tasks[0]
        self._bar.update(task.id, completed=done)
        unit = task.fields["unit"]
        rate = f"{unit}, {task.speed:,.1f} {unit}/s" if task.speed else unit
        self._bar.update(task.id, figures=printable(f"{rate}, {details}" if details else rate))

    def stop(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream)


def make_progress(*, quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """Return the display that suits `stream`.

    Parameters
    ----------
    quiet : bool, optional
        Whether to show nothing.
    stream : text file, optional
        Standard error by default.
    """
    stream = stream or sys.stderr
    if quiet:
        return Progress()
    return TerminalProgress(stream) if stream.isatty() else LineProgress(stream)
