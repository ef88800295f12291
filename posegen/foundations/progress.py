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

from posegen.foundations.quantities import human_rate, human_time
from posegen.foundations.wording import counted, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn


SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_SIGNS = 2.0
"""Time between the lines of work that is not counted, where there is no terminal."""
SECONDS_UNTIL_WAITING = 0.7
"""Time without any display after which a terminal shows that a command is at work."""

_SECONDS_BEFORE_ESTIMATE = 3.0
"""Time after the first unit before an estimate: workers start together, and their first units end together."""
_BAR = 24
_SMALLEST_BAR = 8


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
        self._since: tuple[float, int] | None = None  # when the first unit was done, and the count then

    def count(self, done: int, details: str) -> None:
        self.done, self.details, self._counted = done, details, time.monotonic()
        if self._since is None and done > self._first:
            self._since = self._counted, done

    @property
    def whole(self) -> str:
        """The number of units of the whole task."""
        return counted(self.total, self.unit.removesuffix("s"))

    @property
    def rate(self) -> float | None:
        """Units per second since the start, once some are done."""
        seconds = self._counted - self.started
        return (self.done - self._first) / seconds if self.done > self._first and seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds left, which pass between two counts: by the units after the first one, before which much is loaded."""
        if self.done >= self.total:
            return 0.0
        began, first = self._since or (self._counted, 0)
        if self._counted - began < _SECONDS_BEFORE_ESTIMATE:
            return None
        rate = max((self.done - first) / (self._counted - began), self.rate or 0.0)
        return max(0.0, (self.total - self.done) / rate - (time.monotonic() - self._counted))

    @property
    def time(self) -> str:
        """The time left; while it is not known and at the end, the time since the start."""
        left = self.left
        return human_time(time.monotonic() - self.started) if not left else f"{human_time(left)} left"

    @property
    def figures(self) -> str:
        """Rate and details, the most important first."""
        return ", ".join(filter(None, ("" if self.rate is None else human_rate(self.rate, self.unit), self.details)))

    @property
    def counted(self) -> str:
        """The count and the figures, for a bar, which shows the share."""
        return ", ".join(filter(None, (f"{self.done:,}/{self.whole}" if self.total else "", self.figures)))


class Progress:
    """A display of progress that shows nothing, and the interface of the others.

    One task is shown at a time: ``start``, any number of ``update`` calls, ``stop``. Messages may be logged at any time.
    """

    _task: _Task | None = None

    @property
    def is_counting(self) -> bool:
        """Whether a task is shown."""
        return self._task is not None

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
        self._last, self._name = float("-inf"), ""

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
        counted = f"{task.name}: {task.done:,} of {task.whole} ({100 * task.done // max(task.total, 1)}%)"
        left = "" if task.left is None else f"{human_time(task.left)} left"
        self.log(", ".join(filter(None, (counted, task.figures, left))))


class TerminalProgress(Progress):
    """A display with a moving bar, drawn by rich. A narrow terminal has no room for all figures."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: RichProgress | None = None
        self._work = ""
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()

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
            self._draw(counted, [BarColumn(bar_width=bar), TaskProgressColumn()], total, keep=keep)

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
                self._draw(_Task(self._work, 0, "", 0), [], None)

    def _draw(self, task: _Task, bar: list[ProgressColumn], total: int | None, *, keep: bool = False) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        # What is formatted each time that it is drawn.
        name, left = (TextColumn(f"{{task.fields[shown].{text}}}", markup=False) for text in ("name", "time"))
        rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        figures = TextColumn("{task.fields[shown].counted}", markup=False, table_column=rest)
        columns = [SpinnerColumn("line", finished_text=" "), name, *bar, left, figures]
        # Results are written to another stream than the bar, which must not redirect them.
        redirected = {"redirect_stdout": False, "redirect_stderr": False}
        self._bar = Progress(*columns, console=self._console, transient=not keep, expand=True, **redirected)  # type: ignore[arg-type]
        self._bar.add_task("", total=total, completed=task.done, shown=task)
        self._bar.start()

    def _remove(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

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
