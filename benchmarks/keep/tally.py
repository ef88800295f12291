"""Results of fuzzed inputs: each is read with a time limit, and crashes are recorded with the input."""

from __future__ import annotations

import base64
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from benchmarks.keep.mutations import written_json, written_yaml
from posegen.foundations.errors import PosegenError, UsageError

__all__ = ["SECONDS", "Kind", "Tally", "read", "time_limit", "written"]

SECONDS = 10.0
"""Time limit for reading an input, in seconds."""

LONGEST_MESSAGE = 20_000
NOTE = 10_000


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes
    ----------
    name : str
        Text of a figure.
    share : int
        How many of 100 inputs are of this kind.
    documents : sequence of dict
        Good examples.
    is_yaml : bool
        Whether it is YAML, and not JSON.
    read : callable
        Puts bytes where posegen finds them and has posegen read them.
    """

    name: str
    share: int
    documents: Sequence[dict[str, Any]]
    is_yaml: bool
    read: Callable[[bytes], None]


@dataclass
class Tally:
    """Results of the inputs of one kind."""

    taken: int = 0
    refused: int = 0
    crashes: list[dict[str, str]] = field(default_factory=list)
    slowest: float = 0.0

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.taken + self.refused + len(self.crashes)


def written(kind: Kind, document: dict[str, object], draw: random.Random) -> bytes:
    """Write a document in the format of its kind."""
    return written_yaml(document, draw.random() < 0.5) if kind.is_yaml else written_json(document)


def read(kind: Kind, data: bytes, tally: Tally) -> None:
    """Read one input and record the result."""
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        kind.read(data)
        tally.taken += 1
    except PosegenError as error:
        fault = _message_fault(kind, error)
        if fault:
            tally.crashes.append(_crash(data, fault))
        else:
            tally.refused += 1
    # Any other exception is a defect.
    except (Exception, _TooSlowError):
        tally.crashes.append(_crash(data, traceback.format_exc(limit=-6)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    tally.slowest = max(tally.slowest, time.monotonic() - start)
    if tally.inputs % NOTE == 0:
        print(f"fuzz: {tally.inputs:,} {kind.name}, {len(tally.crashes)} crashes", file=sys.stderr, flush=True)


def _message_fault(kind: Kind, error: PosegenError) -> str | None:
    """Describe why an error message is not clear."""
    message = str(error)
    if kind.is_yaml and not isinstance(error, UsageError):
        return f"exit code 1 for bad input: {message:.500}"
    if not message.strip() or len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message)} characters"
    if "Traceback" in message or "Error:" in message:
        return f"the message shows a fault of the program: {message:.500}"
    return None


def _crash(data: bytes, what: str) -> dict[str, str]:
    """Record the input of a crash."""
    return {"input": base64.b85encode(data).decode(), "what": what}


class _TooSlowError(BaseException):
    """The time limit was exceeded; not an Exception, so that no handler catches it."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise an error when the alarm of :func:`read` fires, within the context."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
