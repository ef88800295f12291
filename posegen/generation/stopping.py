"""Ctrl-C and SIGTERM: one of them stops a run once; more of them do not disturb it while it clears up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["stoppable", "undisturbed"]


@contextmanager
def stoppable() -> Iterator[Callable[[], None]]:
    """Raise KeyboardInterrupt in here on the first Ctrl-C or SIGTERM, and leave later ones aside.

    Yields
    ------
    callable
        To call between steps. Python swallows an exception that strikes inside a finaliser or a callback; this raises
        it again, so that no request to stop is lost.
    """
    requests: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        requests.append(number)
        if len(requests) == 1:
            raise KeyboardInterrupt

    def check() -> None:
        if requests:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    # A process that was told to ignore Ctrl-C, by nohup or as a background job of a shell, goes on ignoring it.
    watched = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in watched}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Leave Ctrl-C and SIGTERM aside in here: for what must be done in the end, and takes a moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
