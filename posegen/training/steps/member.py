"""``python -m posegen.training.steps.member``: a process that trains along; see :mod:`posegen.training.steps.members`."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import torch

from posegen.training.hardware.machine import Choices
from posegen.training.hardware.shortage import is_short_of_memory
from posegen.training.opening import opened
from posegen.training.runs import checkpoints
from posegen.training.settings import Settings
from posegen.training.steps.loop import Follower
from posegen.training.steps.members import READY, SHORT_OF_MEMORY, Invitation
from posegen.training.steps.place import Place
from posegen.training.steps.session import Session, learner_from, parts_at, sit

__all__ = ["main"]


def main() -> int:
    """Train along with the process that started this one; what is logged goes to standard error."""
    told = Invitation(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_leave_with_the_first, daemon=True).start()
    session = _session(told)
    torch.set_num_threads(session.choices.threads)
    state = checkpoints.read(session.run, told.step) if told.step else None
    learner = learner_from(session, state)
    print(READY, flush=True)
    try:
        follower = Follower(parts_at(session, session.choices))
        sit(session, session.choices, learner, follower, Place(told.rank, told.of, told.port), _say)
    except (MemoryError, RuntimeError) as error:
        if not is_short_of_memory(error):
            raise
        _say(str(error))
        return SHORT_OF_MEMORY
    return 0


def _session(told: Invitation) -> Session:
    settings, init = Settings(**told.settings), None if told.init is None else Path(told.init)
    found = opened(told.source, told.task, settings, init)
    return Session(
        run=Path(told.run),
        task=found.task,
        settings=settings,
        material=found.material.with_samples(told.samples),
        choices=Choices(**told.choices),
        beginning=found.beginning,
        first=told.first,
        last=told.last,
        deadline=None,
        rechoose=lambda choices: None,
    )


def _leave_with_the_first() -> None:
    """Wait for the end of the input, which comes when the first process ends it or itself, then end at once."""
    while sys.stdin.readline():
        continue
    os._exit(0)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    # At once: whoever waits for others that are no more has nothing to clean up.
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
