"""The processes of a session, one for each device: started here, or by torchrun on several machines.

``machine.devices=2`` starts the others by ``torch.multiprocessing``; this process holds the lock of the run and reports its
progress. With torchrun, all processes run the command: the first one does what a single process would do, and hands each round
of steps to the others, which read only the data and write nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from multiprocessing.synchronize import Semaphore
from typing import Any

import torch
from torch import distributed
from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.multiprocessing.spawn import ProcessContext, ProcessException, start_processes

from posegen.foundations.errors import PosegenError
from posegen.training.cluster import member
from posegen.training.hardware import is_out_of_memory
from posegen.training.loop.learner import TrainingSession, make_learner, run_steps
from posegen.training.loop.timing import StepTimer
from posegen.training.run_folder import read_checkpoint
from posegen.training.setup import Request, Setup, open_setup

_POLL_SECONDS = 0.1
_FAILURE_SECONDS = 2.0
"""Time in which a process that has failed is expected to end."""
_PATIENCE = timedelta(days=1)
"""Time for which processes wait for the first one, which checks and evaluates alone. If one fails, torchrun ends all."""
_HERE = "127.0.0.1"
_LOCAL_PATIENCE = timedelta(minutes=30)
"""The same for processes that this module starts."""


@contextmanager
def connected() -> Iterator[int]:
    """Connect the processes that torchrun started inside the context; yield the number of this one.

    Raises
    ------
    PosegenError
        If another process ends early.
    """
    _use_gpu(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group(_backend(), timeout=_PATIENCE)
    rank = distributed.get_rank()
    try:
        yield rank
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        msg = f"training process {rank} lost the others ({str(error).splitlines()[0]:.120}). See the first error above"
        raise PosegenError(f"{msg}; the same command resumes from the last checkpoint") from error
    finally:
        distributed.destroy_process_group()


def _backend() -> str:
    """Return the libraries that connect processes, by the device of the tensors."""
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"


def _use_gpu(number: int) -> None:
    """Compute on a GPU of this machine, if it has any."""
    if torch.cuda.is_available():
        torch.cuda.set_device(number)


def finish_together(result: Any) -> None:
    """Tell the other processes the result, and that nothing is left to do."""
    _shared(result)


def follow(setup: Setup) -> Any:
    """Train with the first process, whatever it hands out, until it has finished; return its result."""
    while True:
        message = _shared(None)
        if not isinstance(message, tuple):
            return message
        handed, samples, state = message
        session: TrainingSession = replace(handed, setup=replace(setup, data=replace(setup.data, samples=samples)))
        torch.set_num_threads(session.choices.threads)
        # The features are there if the machines share a disk.
        session.setup.data.prepare(setup.task.recipes, lambda done, total: None)
        run_steps(session, make_learner(session, state), StepTimer(), partial(print, file=sys.stderr, flush=True))


def _shared(message: Any) -> Any:
    """Send a message from the first process to all others, or receive it."""
    box = [message]
    distributed.broadcast_object_list(box, 0)
    return box[0]


@contextmanager
def other_processes(session: TrainingSession, step: int) -> Iterator[None]:
    """Run the other processes of a session inside the context; do nothing for a single device.

    The processes end with the context, and with this process even if it is killed. Those of torchrun wait for the next round.

    Parameters
    ----------
    session : TrainingSession
    step : int
        Step of the checkpoint that all processes resume from; 0 for none.

    Raises
    ------
    MemoryError
        If a process runs out of memory.
    PosegenError
        If a process fails for another reason.
    """
    if session.choices.devices == 1:
        yield
        return
    with nullcontext() if member() else _started(session.request, session.choices.devices):
        state = read_checkpoint(session.run, step) if step else None
        # Each process has opened the setup itself.
        _shared((replace(session, setup=None), session.setup.data.samples, state))  # type: ignore[arg-type]
        yield


@contextmanager
def _started(request: Request, processes: int) -> Iterator[None]:
    """Start the other processes on this machine and connect them inside the context."""
    store = TCPStore(_HERE, 0, is_master=True, wait_for_workers=False)
    ready = multiprocessing.get_context("spawn").Semaphore(0)
    context: ProcessContext = start_processes(  # type: ignore[no-untyped-call]
        _follow_here, (request, processes, store.port, ready), processes - 1, join=False, start_method="spawn"
    )
    try:
        for _ in context.processes:
            while not ready.acquire(timeout=_POLL_SECONDS):
                _raise_failure(context, 0.0)
        _connect(store, 0, processes)
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


def _follow_here(index: int, request: Request, processes: int, port: int, ready: Semaphore) -> None:
    """Follow the first process, which has started this one; the first of these processes has index 0 and rank 1."""
    _use_gpu(index + 1)
    setup = open_setup(request)
    ready.release()
    _connect(TCPStore(_HERE, port, is_master=False), index + 1, processes)
    follow(setup)


def _connect(store: TCPStore, rank: int, processes: int) -> None:
    """Connect a process with the others that this module started."""
    distributed.init_process_group(_backend(), store=store, rank=rank, world_size=processes, timeout=_LOCAL_PATIENCE)


def _raise_failure(context: ProcessContext, seconds: float) -> None:
    """Raise the error of a process that has failed, waiting for a failure for at most `seconds`."""
    try:
        context.join(seconds)
    except ProcessException as failure:
        number = failure.error_index + 1
        if is_out_of_memory(failure):
            raise MemoryError(f"training process {number} is out of memory") from failure
        reason = str(failure).strip().splitlines()[-1]
        msg = f"training process {number} failed ({reason}). The same command resumes from the last checkpoint"
        raise PosegenError(msg) from failure
