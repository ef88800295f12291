"""Start the processes of a run on several devices, one for each device but the first, and end them.

Lightning's data-parallel strategy (DDP) connects the processes and averages their gradients. They are started here, by
``torch.multiprocessing``, because Lightning's own launchers either run the caller's whole command again in each process, or
move the first process, which holds the lock of the run and reports its progress, into a child.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing.synchronize import Semaphore

import torch
from lightning.fabric.plugins.environments.lightning import find_free_network_port
from torch import distributed
from torch.multiprocessing.spawn import ProcessContext, ProcessException, start_processes

from posegen.errors import PosegenError
from posegen.training.hardware import Choices
from posegen.training.loop.learner import Session, StepCallback, make_learner, run_steps
from posegen.training.resources import is_out_of_memory
from posegen.training.runs import checkpoints
from posegen.training.setup import open_setup

_POLL_SECONDS = 0.1
_FAILURE_SECONDS = 2.0
"""Time in which a process that has failed is expected to end."""


@contextmanager
def other_processes(session: Session, step: int) -> Iterator[None]:
    """Run the other processes of a session inside the context; do nothing for a single device.

    The processes end with the context, and with this process even if it is killed.

    Parameters
    ----------
    session : Session
    step : int
        Step of the checkpoint that all processes resume from; 0 for none.

    Raises
    ------
    MemoryError
        If a process runs out of memory.
    PosegenError
        If a process fails for another reason.
    """
    choices = session.choices
    if choices.devices == 1:
        yield
        return
    port = find_free_network_port()
    environment = _environment(0, port, choices)
    before = {name: os.environ.get(name) for name in environment}
    ready = multiprocessing.get_context("spawn").Semaphore(0)
    context: ProcessContext = start_processes(  # type: ignore[no-untyped-call]
        _train,
        # Each process opens the setup itself.
        (replace(session, setup=None), session.setup.data.samples, step, port, ready),  # type: ignore[arg-type]
        choices.devices - 1,
        join=False,
        start_method="spawn",
    )
    try:
        for _ in context.processes:
            while not ready.acquire(timeout=_POLL_SECONDS):
                _raise_failure(context, 0.0)
        os.environ.update(environment)
        yield
    except RuntimeError as error:
        # When another process ends, the collective operations of this one fail.
        if not is_out_of_memory(error):
            _raise_failure(context, _FAILURE_SECONDS)
        raise
    finally:
        for process in context.processes:
            process.kill()
            process.join()
        if distributed.is_initialized():
            distributed.destroy_process_group()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _environment(rank: int, port: int, choices: Choices) -> dict[str, str]:
    """Return the variables by which Lightning recognises a process that it need not start."""
    threads = str(choices.threads)
    return {"LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": threads}


def _raise_failure(context: ProcessContext, seconds: float) -> None:
    """Raise the error of a process that has failed, waiting for a failure for at most `seconds`."""
    try:
        context.join(seconds)
    except ProcessException as failure:
        number = failure.error_index + 1
        if is_out_of_memory(failure):
            msg = f"training process {number} is out of memory"
            raise MemoryError(msg) from failure
        reason = str(failure).strip().splitlines()[-1]
        msg = f"training process {number} failed ({reason}). The same command resumes from the last checkpoint"
        raise PosegenError(msg) from failure


def _train(index: int, session: Session, samples: int, step: int, port: int, ready: Semaphore) -> None:
    """Train in a process of its own; the first of these processes has index 0 and rank 1."""
    rank = index + 1
    os.environ.update(_environment(rank, port, session.choices))
    torch.set_num_threads(session.choices.threads)
    setup = open_setup(session.request)
    session = replace(session, setup=replace(setup, data=replace(setup.data, samples=samples)))
    learner = make_learner(session, checkpoints.read(session.run, step) if step else None)
    ready.release()
    run_steps(session, learner, StepCallback(), rank, partial(print, file=sys.stderr, flush=True))
