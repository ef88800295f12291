"""100,000 fuzzed configs, libraries and dataset files: each is accepted or clearly refused, in bounded time and memory."""

from __future__ import annotations

import base64
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from benchmarks.figures import Figure
from benchmarks.keep.inputs import Kind, kinds
from benchmarks.keep.mutations import changed_bytes, changed_documents, written_json, written_yaml
from benchmarks.measure import SCALE
from posegen.foundations.errors import PosegenError, UsageError

INPUTS = 100_000
SEED = 3
MORE_BYTES = 400_000_000
"""Largest growth of this process over all inputs, in bytes."""
SECONDS = 10.0
"""Time limit for reading an input, in seconds."""

LONGEST_MESSAGE = 20_000
NOTE = 10_000


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


def measure(folder: Path) -> Iterator[Figure]:
    tallies = []
    (folder / "files").mkdir()
    all_kinds = kinds(folder / "files")
    before = memory()
    for number, kind in enumerate(all_kinds):
        tallies.append(fuzz(kind, round(INPUTS * SCALE) * kind.share // 100, SEED + number))
        yield figure_of(f"fuzzed {kind.name}", tallies[-1])
    more = memory() - before
    slowest = max(tally.slowest for tally in tallies)
    yield Figure("longest time to read one input", f"{slowest:.2f} s", f"below {SECONDS:.0f} s", slowest < SECONDS)
    value, target = f"{more / 1e6:.0f} MB", f"below {MORE_BYTES / 1e6:.0f} MB"
    yield Figure("memory growth while reading them", value, target, more < MORE_BYTES)


def fuzz(kind: Kind, inputs: int, chance: int) -> Tally:
    """Read fuzzed files of a kind: half of them changed as documents, half as bytes.

    Parameters
    ----------
    kind : Kind
    inputs : int
        How many.
    chance : int
        Seed of the changes.
    """
    tally = Tally()
    draw = random.Random(chance)
    good = [written(kind, document, draw) for document in kind.documents]
    with time_limit():
        changed_documents(kind.documents, inputs // 2, chance, lambda changed: read(kind, written(kind, changed, draw), tally))
        while tally.inputs < inputs:
            read(kind, changed_bytes(good, draw), tally)
    return tally


def figure_of(name: str, tally: Tally) -> Figure:
    """Return the figure of the files of a kind."""
    value = f"{tally.taken:,} accepted, {tally.refused:,} refused, {len(tally.crashes)} crashes"
    return Figure(f"{tally.inputs:,} {name}", value, "0 crashes", not tally.crashes, tally.crashes[:20])


def memory() -> int:
    """Return the largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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
