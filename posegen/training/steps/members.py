"""The processes that train along with the first one, one for each further device: started, watched, ended.

Each is told on its standard input what to do, says on its standard output when it is ready, and ends when its input does: so
when the first one is killed, they end, too. Whoever runs out of memory says so by its exit status.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import distributed

from posegen.errors import PosegenError
from posegen.training.hardware.machine import Choices
from posegen.training.steps.place import ALONE, Place
from posegen.training.steps.session import Session

__all__ = ["READY", "SHORT_OF_MEMORY", "Invitation", "members_of"]

READY = "ready"
SHORT_OF_MEMORY = 75
"""Exit status of a process that had too little memory."""

_PATIENCE = 10.0


@dataclass(frozen=True)
class Invitation:
    """What a process is told: as plain data.

    Attributes
    ----------
    run, source, task : str
    init : str or None
    settings, choices : dict
    samples, first, last : int
        Samples of the present round, and the steps that it goes from and to.
    step : int
        Of the checkpoint to begin from; 0 for none.
    rank, of, port : int
    """

    run: str
    source: str
    task: str
    init: str | None
    settings: dict[str, Any]
    choices: dict[str, Any]
    samples: int
    first: int
    last: int
    step: int
    rank: int
    of: int
    port: int


@contextmanager
def members_of(session: Session, choices: Choices, step: int) -> Iterator[Place]:
    """Have the other processes train along, from the checkpoint of a step; gives the place of this one.

    Raises
    ------
    MemoryError
        If one of them had too little memory.
    PosegenError
        If one of them ended for another reason.
    """
    if choices.devices == 1:
        yield ALONE
        return
    port = _free_port()
    with ExitStack() as stack:
        others = [
            stack.enter_context(_member(session.run, _invitation(session, choices, step, Place(rank, choices.devices, port))))
            for rank in range(1, choices.devices)
        ]
        for other in others:
            _await_ready(other, session.run)
        try:
            yield Place(0, choices.devices, port)
        except RuntimeError as error:
            # Where another one ends, what this one waits for does not come.
            _blame(others, session.run, error)
            raise
        finally:
            if distributed.is_initialized():
                distributed.destroy_process_group()


def log_of(run: Path) -> Path:
    """Tell where the processes that train along write what they have to say."""
    return run / "members.log"


def _invitation(session: Session, choices: Choices, step: int, place: Place) -> Invitation:
    init = session.beginning.init
    return Invitation(
        run=str(session.run),
        source=session.material.source_name,
        task=session.task.name,
        init=None if init is None else str(init),
        settings=session.settings.as_data(),
        choices=asdict(choices),
        samples=session.material.samples,
        first=session.first,
        last=session.last,
        step=step,
        rank=place.rank,
        of=place.of,
        port=place.port,
    )


@contextmanager
def _member(run: Path, told: Invitation) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "posegen.training.steps.member"]
    with log_of(run).open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    with process:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(asdict(told)) + "\n")
            process.stdin.flush()
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Have it end, by itself if it does."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def _await_ready(process: subprocess.Popen[str], run: Path) -> None:
    assert process.stdout is not None
    if process.stdout.readline().strip() != READY:
        _blame([process], run, None)


def _blame(others: list[subprocess.Popen[str]], run: Path, error: Exception | None) -> None:
    """Say which of the others has ended, and why."""
    for rank, process in enumerate(others, 1):
        try:
            status = process.wait(1.0)
        except subprocess.TimeoutExpired:
            continue
        if status == SHORT_OF_MEMORY:
            msg = f"process {rank} of those that train along has too little"
            raise MemoryError(msg) from error
        if status:
            msg = (
                f"process {rank} of those that train along has ended (status {status}); what it said is in {log_of(run)}. The "
                f"same command goes on from the last checkpoint"
            )
            raise PosegenError(msg) from error


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
