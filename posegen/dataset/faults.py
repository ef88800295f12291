"""Fault injection for tests: points at which the process dies, hangs or runs out of memory, or the disk fails.

Set ``POSEGEN_CRASH_AT`` to the name of a step, and the process kills itself there, as in a power failure. Set
``POSEGEN_FAIL_AT`` to the name of an error, a colon and a step, such as ``EIO:syncing``, and the step fails with that error. A
step is

- ``file_placed``: each time it is reached;
- ``file_placed@3``: when it is reached for shard 3, or another subject;
- ``file_placed@3#2``: only the second time that this process reaches it.

Steps of a commit, whose subject is the shard: `file_written` (a temporary file exists), once per file by a thread that writes
while other files are encoded, and meanwhile `encoded`; then `receipt_removed`, `file_placed` (it has its final name), once per
file, `files_durable`, `receipt_written`, `receipt_placed`. Steps of creating and publishing a dataset, whose subject is the
number of visible samples: `description_written` and `description_placed`, once per metadata file that changes,
`descriptions_written`, `header_written`. Steps of the disk, whose subject is the name of a file or folder: `writing`,
`syncing`, `placing` (renaming to the final name), `syncing_folder`, `removing`.

The environment variable ``POSEGEN_FAULT`` holds faults of generation, separated by commas:

- ``kill:sample=13`` kills the process before it makes sample 13, as the out-of-memory killer would;
- ``hang:sample=13`` makes it hang;
- ``memory:sample=13`` raises MemoryError;
- ``raise:sample=13`` raises :class:`InjectedError`;
- ``sleep:seconds=0.2`` delays every shard.

With the suffix ``:once=FILE``, a fault of a sample occurs once: FILE must not exist before, and is created.

Without these variables this module does nothing. A fault never changes the content of a sample.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CRASH_VARIABLE = "POSEGEN_CRASH_AT"
FAIL_VARIABLE = "POSEGEN_FAIL_AT"
VARIABLE = "POSEGEN_FAULT"

_counts: Counter[str] = Counter()


def fault_point(step: str, subject: int | str | None = None) -> None:
    """Kill this process, or raise an error, if the environment requests it for this step.

    Parameters
    ----------
    step : str
        What has just been done; for the steps of the disk, what is about to be done.
    subject : int or str, optional
        The shard, number of samples or file that the step applies to.

    Raises
    ------
    OSError
        If the environment requests it.
    """
    crash, fail = os.environ.get(CRASH_VARIABLE), os.environ.get(FAIL_VARIABLE)
    if crash and _is_here(crash, step, subject):
        os.kill(os.getpid(), signal.SIGKILL)
    if fail:
        name, _, requested = fail.partition(":")
        if _is_here(requested, step, subject):
            number = getattr(errno, name)
            raise OSError(number, os.strerror(number), str(subject))


def _is_here(requested: str, step: str, subject: int | str | None) -> bool:
    """Return whether this is the requested step, counting how often it was reached."""
    name, _, time = requested.partition("#")
    if name not in (step, f"{step}@{subject}"):
        return False
    _counts[name] += 1
    return not time or _counts[name] == int(time)


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
