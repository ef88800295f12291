"""Faults on demand, for tests that attack the generation of a dataset.

The environment variable ``POSEGEN_FAULT`` holds faults, separated by commas:

- ``kill:sample=13`` kills the process that is about to make sample 13, as the out-of-memory killer would;
- ``raise:sample=13`` makes sample 13 fail;
- ``sleep:seconds=0.2`` slows every shard down.

Without the variable this module does nothing. A fault never changes what a sample holds.
"""

from __future__ import annotations

import os
import signal
import time

__all__ = ["VARIABLE", "InjectedError", "trip_sample", "trip_shard"]

VARIABLE = "POSEGEN_FAULT"


class InjectedError(Exception):
    """What the fault ``raise`` raises."""


def _wanted() -> list[tuple[str, str, str]]:
    faults = []
    for fault in filter(None, os.environ.get(VARIABLE, "").split(",")):
        action, _, condition = fault.partition(":")
        key, _, value = condition.partition("=")
        faults.append((action, key, value))
    return faults


def trip_shard() -> None:
    """Called at the start of each shard."""
    for action, key, value in _wanted():
        if (action, key) == ("sleep", "seconds"):
            time.sleep(float(value))


def trip_sample(start: int, stop: int) -> None:
    """Called before samples `start` to `stop` are made."""
    for action, key, value in _wanted():
        if key == "sample" and start <= int(value) < stop:
            if action == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if action == "raise":
                msg = f"the fault {action}:{key}={value} in {VARIABLE}"
                raise InjectedError(msg)
