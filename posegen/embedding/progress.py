"""How far embedding is: a bar on a terminal, a line every few seconds elsewhere, nothing if asked to be quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from posegen.embedding.stage import Progress
from posegen.wording import printable

__all__ = ["line_of", "reporter"]

SECONDS_BETWEEN_LINES = 5.0

Tell = Callable[[Progress], None]
Say = Callable[[str], None]


@contextmanager
def reporter(*, quiet: bool = False, stream: TextIO | None = None) -> Iterator[tuple[Tell, Say]]:
    """Give what is told of progress, and what says things in words.

    Parameters
    ----------
    quiet : bool
    stream : text file, optional
        Standard error unless given.
    """
    stream = stream or sys.stderr
    if quiet:
        yield (lambda progress: None), (lambda text: None)
    elif stream.isatty():
        with _bar(stream) as both:
            yield both
    else:
        yield _lines(stream)


def line_of(progress: Progress) -> str:
    """Tell of progress in one line.

    >>> line_of(Progress("embedding texts", 2048, 11011, 512.3, 17.5))
    'embedding texts: 2,048 of 11,011, 512 texts/s, 18 s left'
    """
    rate = "" if progress.rate is None else f", {progress.rate:,.0f} texts/s"
    left = "" if progress.left is None else f", {_time(progress.left)} left"
    return f"{progress.what}: {progress.done:,} of {progress.total:,}{rate}{left}"


def _time(seconds: float) -> str:
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _lines(stream: TextIO) -> tuple[Tell, Say]:
    last = time.monotonic()

    def say(text: str) -> None:
        print(printable(text), file=stream, flush=True)

    def tell(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(line_of(progress))

    return tell, say


@contextmanager
def _bar(stream: TextIO) -> Iterator[tuple[Tell, Say]]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as RichProgress

    console = Console(file=stream)
    columns = (BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with RichProgress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("starting", total=None)

        def tell(progress: Progress) -> None:
            shown.update(task, total=progress.total, completed=progress.done, description=line_of(progress))

        def say(text: str) -> None:
            console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

        yield tell, say
