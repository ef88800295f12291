"""Faults on demand, for tests that attack the generation of a dataset.

The environment variable ``POSEGEN_FAULT`` holds faults, separated by commas:

- ``kill:sample=13`` kills the process that is about to make sample 13, as the out-of-memory killer would;
- ``hang:sample=13`` makes it hang;
- ``memory:sample=13`` makes it find too little memory;
- ``raise:sample=13`` makes sample 13 fail;
- ``sleep:seconds=0.2`` slows every shard down.

With ``:once=FILE`` behind it, a fault of a sample strikes once: FILE must not be there then, and is made.

Without the variable this module does nothing. A fault never changes what a sample holds. The faults of storing are in
:mod:`posegen.dataset.faults`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["VARIABLE", "InjectedError", "trip_sample", "trip_shard"]

VARIABLE = "POSEGEN_FAULT"


class InjectedError(Exception):
    """What the fault ``raise`` raises."""


def trip_shard() -> None:
    """Called at the start of each shard."""
    for action, key, value, _ in _wanted():
        if (action, key) == ("sleep", "seconds"):
            time.sleep(float(value))


def trip_sample(start: int, stop: int) -> None:
    """Called before samples `start` to `stop` are made."""
    for action, key, value, once in _wanted():
        if key == "sample" and start <= int(value) < stop and not _has_struck(once):
            _strike(action, f"{action}:{key}={value}")


def _wanted() -> Iterator[tuple[str, str, str, str]]:
    """Give the action, key and value of each fault, and the file that says whether it has struck."""
    for fault in filter(None, os.environ.get(VARIABLE, "").split(",")):
        action, _, condition = fault.partition(":")
        key, _, value = condition.partition("=")
        value, _, once = value.partition(":once=")
        yield action, key, value, once


def _has_struck(once: str) -> bool:
    if not once:
        return False
    try:
        Path(once).touch(exist_ok=False)
    except FileExistsError:
        return True
    return False


def _strike(action: str, fault: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while action == "hang":
        time.sleep(1.0)
    if action == "memory":
        msg = f"the fault {fault} in {VARIABLE}"
        raise MemoryError(msg)
    if action == "raise":
        msg = f"the fault {fault} in {VARIABLE}"
        raise InjectedError(msg)
