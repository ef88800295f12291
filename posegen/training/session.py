"""One sitting of a run: from its last checkpoint to its end, or to where it is stopped."""

from __future__ import annotations

import copy
import ctypes
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch

from posegen.errors import PosegenError
from posegen.training import checkpoints
from posegen.training.beginning import Beginning
from posegen.training.feed import Feed, Loader, Loading
from posegen.training.judging import judged
from posegen.training.logs import Logs
from posegen.training.loop import Hooks, Learner, Watch, run_loop
from posegen.training.machine import Choices, memory_used, parts_of
from posegen.training.material import Material, batches_of, statistics
from posegen.training.settings import Settings, memory_bytes
from posegen.training.task import Task
from posegen.training.timing import StepTimes, Timer

__all__ = ["Session", "Telling", "feed_of", "train_to_the_end"]

_LOOK_EVERY = 10
"""Steps between looks at memory and time."""
_SHARE_OF_LIMIT = 0.95


class Telling(Protocol):
    """What a session tells."""

    def say(self, text: str) -> None:
        """Tell something in words."""

    def step(self, step: int, steps: int, loss: float, times: StepTimes | None, left: float | None) -> None:
        """A step is done."""


@dataclass(frozen=True)
class Session:
    """What a sitting needs.

    Attributes
    ----------
    run : Path
    task : Task
    settings : Settings
    material : Material
    choices : Choices
    beginning : Beginning
        How the model is made.
    first, last : int
        Steps that the present round goes from and to.
    deadline : float or None
        On the clock of ``time.monotonic``.
    rechoose : callable
        Records other choices.
    """

    run: Path
    task: Task
    settings: Settings
    material: Material
    choices: Choices
    beginning: Beginning
    first: int
    last: int
    deadline: float | None
    rechoose: Callable[[Choices], None]


def feed_of(session: Session, start: int, choices: Choices) -> Feed:
    """Make the feed of the batches from a step on."""
    settings, source = session.settings, session.material.source(session.task.recipes, "training")
    data = settings.data
    return Feed(
        batches=batches_of(source, settings.batch, settings.seed, data.variants).at(start),
        source=source,
        seed=settings.seed,
        frames=None if data.frames is None else max(1, data.frames // data.stride),
        parts=1 if session.task.whole else parts_of(settings.batch, choices.micro_batch),
        shuffled=session.task.labels if data.shuffle_labels else (),
    )


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
    learner = _learner(session, telling)
    with Logs(session.run, session.settings, learner.progress.step) as logs:
        while learner.progress.step < session.last and learner.out_of_patience() is None:
            try:
                watch = Watch(_hooks(session, choices, telling, logs), feed_of(session, 0, choices).parts)
                stopped = _sit(session, choices, learner, watch)
                times = watch.timer.times()
            except (MemoryError, RuntimeError) as error:
                choices = _smaller(session, choices, error, learner, telling)
                continue
            if stopped:
                return learner, stopped, times
    return learner, None, times


def _sit(session: Session, choices: Choices, learner: Learner, watch: Watch) -> str | None:
    feed = feed_of(session, learner.progress.step, choices)
    learner.model.train()
    learner.micro_batch = choices.micro_batch
    learner.model.encoder.checkpointing = choices.checkpointing  # type: ignore[union-attr]
    if choices.device == "cuda":
        # Products of float32 in TF32, and the fastest convolutions by trial.
        torch.set_float32_matmul_precision("high")
    if choices.compile:
        learner.model.compile()
    loading = Loading(choices.workers, pinned=choices.device == "cuda")
    on_gpu = choices.device == "cuda"
    run_loop(
        learner,
        Loader(feed, loading),
        watch,
        feed.parts,
        accelerator="gpu" if on_gpu else "cpu",
        devices=1,
        precision=choices.precision,
        benchmark=on_gpu,
    )
    return watch.stopped


def _learner(session: Session, telling: Telling) -> Learner:
    settings, task = session.settings, session.task
    model = session.beginning.make()
    state = checkpoints.latest(session.run, telling.say)
    if state is None and session.beginning.weights is None:
        source = session.material.source(task.recipes, "training")
        model.encoder.normalise_by(*statistics(source, settings.data.variants))  # type: ignore[union-attr, operator]
    elif state is not None:
        telling.say(f"going on from step {state.progress.step:,}")
        if state.progress.step == session.first and session.first:
            # Another round, with more to be judged by: what was best in the last one says nothing.
            state = replace(state, progress=replace(state.progress, best=None, best_step=None))
    return Learner(task, model, settings, state, first=session.first)


def _hooks(session: Session, choices: Choices, telling: Telling, logs: Logs) -> Hooks:
    validation = session.material.source(session.task.recipes, "validation")
    settings = session.settings

    def check(learner: Learner) -> dict[str, float]:
        averaged = copy.deepcopy(learner.model)
        averaged.load_state_dict(learner.average)
        tally = judged(
            session.task,
            averaged,
            validation,
            session.material.view,
            settings.data.variants,
            choices.device,
            settings.checks.clips,
        )
        found = tally.measures()
        logs.check(learner.progress.step, found)
        told = f"{session.task.watched} {found[session.task.watched]:.3f}"
        telling.say(f"step {learner.progress.step:,}: {told} on clips that it is not trained on")
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
        if learner.progress.step % _LOOK_EVERY == 0 and learner.progress.step < session.last:
            limit = settings.memory.limit
            if limit is not None and memory_used() > _SHARE_OF_LIMIT * memory_bytes(limit):
                msg = f"the run takes {memory_used() / 10**9:.2f} GB, and memory.limit is {limit}"
                raise MemoryError(msg)
        if session.deadline is not None and time.monotonic() > session.deadline:
            return "the budget is used up; the same command goes on from here"
        return None

    return Hooks(check, save, tell, stop)


def _smaller(session: Session, choices: Choices, error: Exception, learner: Learner, telling: Telling) -> Choices:
    """Halve the micro-batch if it was memory that was short, and raise the error otherwise."""
    if not _is_short_of_memory(error):
        raise error
    if choices.micro_batch == 1:
        cure = "Take a smaller model, --set model.size=small, or shorter clips, --set data.frames=100"
        msg = f"memory is short even for one clip at a time ({error}). {cure}"
        raise PosegenError(msg) from error
    smaller = replace(choices, micro_batch=max(1, choices.micro_batch // 2))
    telling.say(
        f"memory is short ({error!s:.120}): micro-batches of {smaller.micro_batch} clips from now on, twice as many of them; "
        f"going on from step {learner.progress.step:,}"
    )
    learner.keep_optimiser()
    session.rechoose(smaller)
    gc.collect()
    _give_back_memory()
    return smaller


def _is_short_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "can't allocate memory" in str(error) or "out of memory" in str(error).lower()


def _give_back_memory() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    try:
        # What C's allocator holds back counts as used until it is asked to give it to the system.
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return
