"""What the process that holds a run's folder does: it trains to the end, checks, saves, logs and tells on the way, and goes on
with smaller micro-batches when memory is short.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Protocol

import torch

from posegen.machine import process_memory
from posegen.quantities import parse_bytes
from posegen.training.hardware.gpu import gpu_use
from posegen.training.hardware.machine import Choices, checked_at_once
from posegen.training.hardware.shortage import is_short_of_memory, made_room, smaller
from posegen.training.hardware.swapping import SwapWatch
from posegen.training.measures.judging import judged
from posegen.training.runs import checkpoints
from posegen.training.runs.logs import Logs
from posegen.training.steps.loop import Hooks, Learner, Watch
from posegen.training.steps.members import members_of
from posegen.training.steps.session import Session, learner_from, parts_at, sit
from posegen.training.steps.timing import StepTimes, Timer

__all__ = ["Telling", "train_to_the_end"]

_LOOK_EVERY = 10
"""Steps between looks at memory and time."""
_SHARE_OF_LIMIT = 0.95


class Telling(Protocol):
    """What a session tells."""

    def say(self, text: str) -> None:
        """Tell something in words."""

    def step(self, step: int, steps: int, loss: float, times: StepTimes | None, left: float | None) -> None:
        """A step is done."""


def train_to_the_end(session: Session, telling: Telling) -> tuple[Learner, str | None, StepTimes | None]:
    """Train, and when memory is short go on with smaller micro-batches.

    Returns
    -------
    learner : Learner
    stopped : str or None
        Why it ended before its last step.
    times : StepTimes or None
        Where the time of the steps of this sitting went.
    """
    times = None
    choices = session.choices
    torch.set_num_threads(choices.threads)
    learner = _latest(session, telling)
    with Logs(session.run, session.settings, learner.progress.step) as logs:
        while learner.progress.step < session.last and learner.out_of_patience() is None:
            watch = Watch(_hooks(session, choices, telling, logs), parts_at(session, choices))
            try:
                with members_of(session, choices, learner.progress.step) as place:
                    sit(session, choices, learner, watch, place, telling.say)
            except (MemoryError, RuntimeError) as error:
                if not is_short_of_memory(error):
                    raise
                choices = smaller(choices, error)
                learner = _going_on(session, choices, error, learner, telling)
                continue
            times = watch.timer.times()
            if watch.stopped:
                return learner, watch.stopped, times
    return learner, None, times


def _latest(session: Session, telling: Telling) -> Learner:
    """Make the learner as the last checkpoint that is whole has it."""
    state = checkpoints.latest(session.run, telling.say)
    if state is not None:
        telling.say(f"going on from step {state.progress.step:,}")
        if state.progress.step == session.first and session.first:
            # Another round, with more to be judged by: what was best in the last one says nothing.
            state = replace(state, progress=replace(state.progress, best=None, best_step=None))
    return learner_from(session, state)


def _going_on(session: Session, choices: Choices, error: Exception, learner: Learner, telling: Telling) -> Learner:
    """Go on from the last step; from the last checkpoint where a step was half done, or where other processes train along."""
    telling.say(
        f"memory is short ({error!s:.120}): micro-batches of {choices.micro_batch} clips from now on, twice as many of them"
    )
    session.rechoose(choices)
    if learner.torn or choices.devices > 1:
        learner = _latest(session, telling)
    else:
        telling.say(f"going on from step {learner.progress.step:,}")
        learner.keep_optimiser()
    made_room()
    return learner


def _hooks(session: Session, choices: Choices, telling: Telling, logs: Logs) -> Hooks:
    validation = session.material.source(session.task.recipes, "validation")
    settings, swaps = session.settings, SwapWatch()

    def check(learner: Learner) -> dict[str, float]:
        # Before the check, as it is about training.
        use = gpu_use(choices.device)
        averaged = copy.deepcopy(learner.model)
        averaged.load_state_dict(learner.average)
        variants, most, device = settings.data.variants, settings.checks.clips, choices.device
        size = checked_at_once(device, choices.micro_batch)
        tally = judged(session.task, averaged, validation, session.material.view, variants, device, most, size)
        found = tally.measures()
        logs.check(learner.progress.step, found)
        told = f"{session.task.monitor} {found[session.task.monitor]:.3f}"
        telling.say(f"step {learner.progress.step:,}: {told} on clips that it is not trained on")
        if use is not None:
            logs.values(learner.progress.step, use.values())
            telling.say(use.warning() or use.told())
        return found

    def save(state: checkpoints.State) -> None:
        checkpoints.write(session.run, state)
        checkpoints.keep(session.run)

    def tell(learner: Learner, loss: float, timer: Timer) -> None:
        times = timer.times()
        left = None if times is None else times.seconds * (session.last - learner.progress.step)
        telling.step(learner.progress.step, session.last, loss, times, left)
        logs.step(learner.progress.step, loss, times)

    def stop(learner: Learner, timer: Timer) -> str | None:
        del timer
        limit = settings.memory.limit
        if learner.progress.step % _LOOK_EVERY == 0 and learner.progress.step < session.last:
            warning = swaps.warning(limit=limit, micro_batch=choices.micro_batch)
            if warning is not None:
                telling.say(warning)
            if limit is not None and process_memory() > _SHARE_OF_LIMIT * parse_bytes(limit):
                msg = f"the run takes {process_memory() / 10**9:.2f} GB, and memory.limit is {limit}"
                raise MemoryError(msg)
        if session.deadline is not None and time.monotonic() > session.deadline:
            return "the budget is used up; the same command goes on from here"
        return None

    return Hooks(check, save, tell, stop)
