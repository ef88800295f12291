"""Progress display of long commands: a bar on a terminal, plain lines elsewhere, nothing with ``--quiet``.

Every stage reports through :class:`Progress`. What a stage reports besides the count, such as the loss or the memory in use, it
passes as text. Between tasks, a terminal shows what is waited for.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from posegen.quantities import human_time
from posegen.wording import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress


SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_SIGNS = 2.0
"""Time between the lines of work that is not counted, where there is no terminal."""
SECONDS_UNTIL_WAITING = 0.7
"""Time without any display after which a terminal shows that a command is at work."""

_BAR = 24
_SMALLEST_BAR = 8
_AROUND_BAR = 9
"""Characters of the spinner, the percentage and the spaces between columns."""


@dataclass
class _Task:
    """A task that is counted, and when it was last counted. Rate and time left are those of this session."""

    name: str
    total: int
    unit: str
    done: int
    details: str = ""
    started: float = field(default_factory=lambda: time.monotonic())

    def __post_init__(self) -> None:
        self._first, self._counted = self.done, self.started

    def count(self, done: int, details: str) -> None:
        self.done, self.details, self._counted = done, details, time.monotonic()

    @property
    def rate(self) -> float | None:
        """Units per second, once some are done."""
        seconds = self._counted - self.started
        return (self.done - self._first) / seconds if self.done > self._first and seconds > 0 else None

    @property
    def time(self) -> str:
        """The time left, which passes between two counts; before the first one and at the end, the time since the start."""
        now = time.monotonic()
        if self.rate is None or self.done >= self.total:
            return human_time(now - self.started)
        return f"{human_time(max(0.0, (self.total - self.done) / self.rate - (now - self._counted)))} left"

    @property
    def figures(self) -> list[str]:
        """Rate and details, the most important first."""
        rate = self.rate
        per_second = "" if rate is None else f"{rate:,.0f} {self.unit}/s" if rate >= 10 else f"{rate:.1f} {self.unit}/s"
        return [figure for figure in (per_second, *self.details.split(", ")) if figure]


class Progress:
    """A display of progress that shows nothing, and the interface of the others.

    One task is shown at a time: ``start``, any number of ``update`` calls, ``stop``. Messages may be logged at any time.
    """

    is_counting = False
    """Whether a task is shown."""

    def log(self, text: str) -> None:
        """Print a message."""

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0, keep: bool = True) -> None:
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
        keep : bool, optional
            Whether the bar stays on the screen when the task has ended.
        """

    def update(self, done: int, details: str = "") -> None:
        """Report that `done` units are complete, with further text such as a rate."""

    def stop(self) -> None:
        """End the task, complete or not. Without a task, do nothing."""

    def wait(self, work: str) -> None:
        """Show from now on, whenever no task is shown, that `work` is done, such as "load the encoder"; empty: show nothing."""

    @contextmanager
    def working(self, work: str) -> Iterator[None]:
        """Print every two seconds inside this context that `work` is done, where there is no terminal."""
        yield


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
        self._task: _Task | None = None
        self._last, self._name = float("-inf"), ""

    @property
    def is_counting(self) -> bool:  # type: ignore[override]
        """Whether a task is shown."""
        return self._task is not None

    def log(self, text: str) -> None:
        """Print a message."""
        print(printable(text), file=self._stream, flush=True)

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0, keep: bool = True) -> None:
        """Begin a task and print its size, unless it was shown a moment ago."""
        del keep
        self._task = _Task(task, total, unit, done)
        if task != self._name or self._is_due():
            self._print(self._task)

    def update(self, done: int, details: str = "") -> None:
        """Print the state of the task if the last line is old enough or the task is complete."""
        if self._task:
            self._task.count(done, details)
            if self._is_due() or done >= self._task.total:
                self._print(self._task)

    def stop(self) -> None:
        """End the task."""
        self._task = None

    def wait(self, work: str) -> None:
        """Print `work` if a task was shown before; at the beginning of a command, print nothing."""
        if work and self._name:
            self.log(work)

    @contextmanager
    def working(self, work: str) -> Iterator[None]:
        """Print `work` with the time since the start every two seconds inside this context."""
        ended, begin = threading.Event(), time.monotonic()

        def report() -> None:
            while not ended.wait(SECONDS_BETWEEN_SIGNS):
                self.log(f"{work}: {human_time(time.monotonic() - begin)}")

        thread = threading.Thread(target=report, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _is_due(self) -> bool:
        return time.monotonic() - self._last >= SECONDS_BETWEEN_LINES

    def _print(self, task: _Task) -> None:
        """Print the state of the task, with the time left once something is complete."""
        self._last, self._name = time.monotonic(), task.name
        counted = f"{task.name}: {task.done:,} of {task.total:,} {task.unit} ({100 * task.done // max(task.total, 1)}%)"
        left = [] if task.rate is None else [f"{human_time((task.total - task.done) / task.rate)} left"]
        self.log(", ".join([counted, *task.figures, *left]))


class TerminalProgress(Progress):
    """A display with a moving bar, drawn by rich. Of what a narrow terminal has no room for, the figures go first."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: RichProgress | None = None
        self._task: _Task | None = None
        self._work = ""
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()

    @property
    def is_counting(self) -> bool:  # type: ignore[override]
        """Whether a task is shown."""
        return self._task is not None

    def log(self, text: str) -> None:
        """Print a message above the bar."""
        with self._lock:
            self._console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0, keep: bool = True) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, TaskProgressColumn

        with self._lock:
            self._remove()
            self._task = counted = _Task(printable(task), total, unit, done)
            bar = max(_SMALLEST_BAR, min(_BAR, self._console.width // 4))
            columns = [
                self._text("name"),
                BarColumn(bar_width=bar),
                TaskProgressColumn(),
                self._text("time"),
                self._text("room"),
            ]
            self._draw(columns, _Drawn(counted, self._console, bar), total, keep=keep)

    def update(self, done: int, details: str = "") -> None:
        """Move the bar."""
        with self._lock:
            if self._bar is not None and self._task is not None:
                self._task.count(done, printable(details))
                self._bar.update(self._bar.tasks[0].id, completed=done)

    def stop(self) -> None:
        """Leave the bar as it is."""
        with self._lock:
            self._remove()
            if self._work:
                self._timer = threading.Timer(SECONDS_UNTIL_WAITING, self._show_waiting)
                self._timer.daemon = True
                self._timer.start()

    def wait(self, work: str) -> None:
        """Show `work` after a moment without a task, with the time since then."""
        with self._lock:
            self._work = printable(work)
            if self._task is None:
                self.stop()

    def _show_waiting(self) -> None:
        with self._lock:
            if self._bar is None and self._work:
                waiting = _Drawn(_Task(self._work, 0, "", 0), self._console, 0)
                self._draw([self._text("name"), self._text("time")], waiting, None, keep=False)

    def _draw(self, columns: list[object], drawn: _Drawn, total: int | None, *, keep: bool) -> None:
        from rich.progress import Progress, SpinnerColumn

        shown = [SpinnerColumn("line", finished_text=" "), *columns]
        # Results are written to another stream than the bar, which must not redirect them.
        redirected = {"redirect_stdout": False, "redirect_stderr": False}
        self._bar = Progress(*shown, console=self._console, transient=not keep, **redirected)  # type: ignore[arg-type]
        self._bar.add_task("", total=total, completed=drawn.task.done, drawn=drawn)
        self._bar.start()

    def _remove(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    @staticmethod
    def _text(name: str) -> object:
        """Return a column that shows a property of the task, read each time that it is drawn."""
        from rich.progress import TextColumn

        return TextColumn(f"{{task.fields[drawn].{name}}}", markup=False)

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream)


@dataclass(frozen=True)
class _Drawn:
    """The texts of a task on a terminal."""

    task: _Task
    console: Console
    bar: int

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def time(self) -> str:
        return self.task.time

    @property
    def room(self) -> str:
        """The count and as many figures as there is room for beside the bar."""
        room = self.console.width - len(self.task.name) - self.bar - len(self.time) - _AROUND_BAR - 1
        shown = ""
        for figure in (f"{self.task.done:,}/{self.task.total:,} {self.task.unit}", *self.task.figures):
            longer = f"{shown}, {figure}" if shown else figure
            if len(longer) > room:
                break
            shown = longer
        return shown


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
    # A terminal that cannot move the cursor would show nothing of a bar.
    can_redraw = stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return TerminalProgress(stream) if can_redraw else LineProgress(stream)


_COMPILATION: list[Progress] = [Progress()]


@contextmanager
def compilation_shown(display: Progress) -> Iterator[None]:
    """Show the compilation of kernels in a display inside this context: any call may compile, and a minute passes then."""
    _COMPILATION.append(display)
    try:
        yield
    finally:
        _COMPILATION.remove(display)


def compilation_display() -> Progress:
    """Return the display of the innermost :func:`compilation_shown`; one that shows nothing outside of it."""
    return _COMPILATION[-1]
