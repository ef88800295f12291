"""Faults of generation for tests: samples at which the process dies, hangs, runs out of memory or fails.

The environment variable ``POSEGEN_FAULT`` holds them, separated by commas:

- ``kill:sample=13`` kills the process before it makes sample 13, as the out-of-memory killer would;
- ``hang:sample=13`` makes it hang;
- ``memory:sample=13`` raises MemoryError;
- ``raise:sample=13`` raises :class:`InjectedError`;
- ``sleep:seconds=0.2`` delays every shard.

With the suffix ``:once=FILE``, a fault of a sample occurs once: FILE must not exist before, and is created.

Without it this module does nothing. A fault never changes the content of a sample. Nothing outside the
process knows which sample it makes; faults of the disk, which are calls of the C library, come from `tests/faults/injection.c`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "POSEGEN_FAULT"


class InjectedError(Exception):
    """The error of the fault ``raise``."""


def inject_shard_fault() -> None:
    """Inject the faults of a shard. Call it at the start of each shard."""
    for action, key, value, _ in _faults():
        if (action, key) == ("sleep", "seconds"):
            time.sleep(float(value))


def inject_sample_fault(start: int, stop: int) -> None:
    """Inject the faults of samples `start` to `stop`. Call it before they are made."""
    for action, key, value, once in _faults():
        if key == "sample" and start <= int(value) < stop and not _has_occurred(once):
            _inject(action, f"the fault {action}:{key}={value} in {VARIABLE}")


def _faults() -> Iterator[tuple[str, str, str, str]]:
    """Yield the action, key and value of each fault, and the file that records whether it has occurred."""
    for fault in filter(None, os.environ.get(VARIABLE, "").split(",")):
        action, _, condition = fault.partition(":")
        key, _, value = condition.partition("=")
        value, _, once = value.partition(":once=")
        yield action, key, value, once


def _has_occurred(once: str) -> bool:
    if not once:
        return False
    try:
        Path(once).touch(exist_ok=False)
    except FileExistsError:
        return True
    return False


def _inject(action: str, message: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while action == "hang":
        time.sleep(1.0)
    if action == "memory":
        raise MemoryError(message)
    if action == "raise":
        raise InjectedError(message)
