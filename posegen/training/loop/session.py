"""Train to the last step in the process that holds the lock of the run: check, save, log and report between the steps.

A session that runs out of memory continues with smaller micro-batches. The steps themselves are defined in
:mod:`posegen.training.loop.learner`. Curves are logged to TensorBoard and Weights & Biases.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import lightning.pytorch as lightning
import torch
from torch import Tensor

from posegen.foundations.errors import PosegenError
from posegen.foundations.machine import PeakMemory, available_cores, process_memory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes, parse_bytes
from posegen.training.cluster import local_processes, member
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.hardware import (
    Choices,
    SwapMonitor,
    evaluation_batch,
    gpu_peak,
    gpu_use,
    gpu_utilisation,
    is_out_of_memory,
    release_memory,
    waiting_hint,
)
from posegen.training.loop.learner import (
    Learner,
    Session,
    StepCallback,
    apply_in_micro_batches,
    make_learner,
    run_steps,
)
from posegen.training.loop.processes import other_processes
from posegen.training.run_folder import RunProgress, format_measure, latest_checkpoint, remove_old_checkpoints, write_checkpoint
from posegen.training.settings import Settings, learning_rate
from posegen.training.task import Task
from posegen.training.trained_models import evaluate_model

_MOST_POINTS = 1000
"""Points of a curve."""

PHASES = ("data", "forward", "backward", "optimiser")
_RECENT = 200
_WARMUP = 3
_MOST_WAITING = 0.05
_CHECK_MEMORY_EVERY = 10
"""Steps between two checks of memory use and swapping."""
_LIMIT_SHARE = 0.95
_LOSS_POINTS = 200
"""Points of the curve of the training loss in the report."""
_LOSS_BATCHES = 4
"""Batches of the validation loss: a check of 600 steps with ten checks takes some two per cent longer."""
_SPLIT_EVERY = 20
"""Of so many steps on a GPU, one is split into phases."""
_RECENT_SHARE = 0.05
"""Weight of the last step in the accuracy that the progress line shows."""


@dataclass(frozen=True)
class StepTimes:
    """Median seconds of recent steps, mean seconds of all, and the share of each phase in all steps."""

    seconds: float
    mean: float
    shares: dict[str, float]


class StepTimer:
    """Add up the time of each phase; to be called at the end of each phase.

    Attributes
    ----------
    wait : callable, optional
        Returns when the device has computed what it was given. A GPU computes beside the program, so the ends of phases
        wait for it, in one of some steps: in all, it would be idle while the program prepares the next phase.
    """

    def __init__(self) -> None:
        self.wait: Callable[[], object] | None = None
        self._last = time.perf_counter()
        self._now = dict.fromkeys(PHASES, 0.0)
        self._steps: deque[float] = deque(maxlen=_RECENT)
        self._total = 0.0
        self._split = dict.fromkeys(PHASES, 0.0)
        self._count = self._count_split = 0

    def end_phase(self, phase: str | None) -> None:
        """Add the time since the last call to a phase; None for time outside steps."""
        if self.wait is not None and self._is_split():
            self.wait()
        now = time.perf_counter()
        if phase is not None:
            self._now[phase] += now - self._last
        self._last = now

    def _is_split(self) -> bool:
        return self.wait is None or self._count % _SPLIT_EVERY == _WARMUP

    def end_step(self) -> None:
        """Complete a step. The first ones are not counted, since caches and lazy initialisation slow them down."""
        split = self._is_split()
        self._count += 1
        if self._count > _WARMUP:
            seconds = sum(self._now.values())
            self._steps.append(seconds)
            self._total += seconds
            if split:
                self._split = {phase: seconds + self._now[phase] for phase, seconds in self._split.items()}
                self._count_split += 1
        self._now = dict.fromkeys(PHASES, 0.0)

    def times(self) -> StepTimes | None:
        """Return the times of the steps so far; None before the first counted step.

        Data comes in bursts, a window at a time, so a few split steps do not show how long all of them wait: what a mean step
        takes beyond the computing of the split ones is waiting.
        """
        if not any(self._split.values()):
            return None
        mean = self._total / (self._count - _WARMUP)
        used = {phase: seconds / self._count_split for phase, seconds in self._split.items()}
        computing = sum(used.values()) - used["data"]
        used["data"] = max(mean - computing, 0.0)
        total = sum(used.values())
        return StepTimes(median(self._steps), mean, {phase: seconds / total for phase, seconds in used.items()})


class Logs(ExitStack):
    """The loggers that the settings name; a context that closes them.

    Parameters
    ----------
    run : Path
    settings : Settings
    step : int
        Step that the run resumes from. TensorBoard hides what was logged after it.
    """

    def __init__(self, run: Path, settings: Settings, step: int) -> None:
        super().__init__()
        self._every = -(-settings.steps // _MOST_POINTS)
        self._board: Any = None
        self._wandb: Any = None
        if "tensorboard" in settings.log:
            from torch.utils.tensorboard import SummaryWriter

            self._board = self.enter_context(SummaryWriter(str(run / "tensorboard"), purge_step=step + 1))
        if "wandb" in settings.log:
            self._wandb = self.enter_context(_start_wandb(run, settings))

    def step(self, step: int, loss: float, times: StepTimes | None, **values: float) -> None:
        """Log a step, with further values, if it is at the interval of logging."""
        if step % self._every == 0:
            shares = {f"time/{phase}": share for phase, share in times.shares.items()} if times else {}
            self.values(step, {"loss": loss, **shares, **values})

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Log values by name."""
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)
        if self._wandb is not None:
            self._wandb.log(dict(values), step=step)


def _start_wandb(run: Path, settings: Settings) -> Any:
    require_extra("wandb")
    import wandb

    # Without credentials the run is stored locally; `wandb sync` uploads it later.
    configured = any(os.environ.get(name) for name in ("WANDB_API_KEY", "WANDB_MODE"))
    mode: Any = None if configured else "offline"
    # Silent, since standard output is reserved for the document of --json.
    options = wandb.Settings(silent=True)
    return wandb.init(
        project="posegen", dir=str(run), name=run.name, config=settings.model_dump(mode="json"), mode=mode, settings=options
    )


def train_session(
    session: Session,
    progress: Progress,
    memory: PeakMemory,
    deadline: float | None,
    store_choices: Callable[[Choices], None],
) -> tuple[Learner, str | None, StepTimes | None]:
    """Train from the last checkpoint to the last step.

    Parameters
    ----------
    session : Session
    progress : Progress
    memory : PeakMemory
        Measures the memory of this process.
    deadline : float or None
        Time of ``time.monotonic`` at which training stops.
    store_choices : callable
        Called with the new choices when the micro-batch is halved.

    Returns
    -------
    learner : Learner
    stopped : str or None
        Why training stopped before its last step.
    times : StepTimes or None
        Times of the steps of this session.
    """
    times = None
    torch.set_num_threads(session.choices.threads)
    learner = _resume(session, progress)
    progress.start("train", session.last, unit="steps", done=learner.progress.step)
    with Logs(session.run, session.setup.settings, learner.progress.step) as logs:
        while learner.progress.step < session.last and learner.early_stop_reason() is None:
            callback = _SessionCallback(session, progress, memory, logs, deadline)
            try:
                with other_processes(session, learner.progress.step):
                    run_steps(session, learner, callback, 0, progress.log)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if member():
                    hint = f"Run the same command with --set machine.micro_batch={max(1, session.choices.micro_batch // 2)}"
                    raise PosegenError(
                        f"out of memory on one of {session.choices.devices} devices ({error!s:.120}). {hint}"
                    ) from error
                choices = session.choices.halve_micro_batch(error)
                session = replace(session, choices=choices)
                progress.log(f"out of memory ({error!s:.120}): continuing with micro-batches of {choices.micro_batch} clips")
                store_choices(choices)
                if not learner.inside_step and choices.devices == 1:
                    write_checkpoint(session.run, learner.state())
                learner = _resume(session, progress)
                release_memory()
                continue
            times = callback.timer.times()
            if times is not None and times.shares["data"] > _MOST_WAITING:
                _warn_of_waiting(times, session, progress)
            if callback.stopped:
                return learner, callback.stopped, times
    return learner, None, times


def _warn_of_waiting(times: StepTimes, session: Session, progress: Progress) -> None:
    """Warn that steps wait for data, with a hint."""
    cores = available_cores() // local_processes(session.choices.devices)
    hint = waiting_hint(session.choices.workers, session.setup.settings.data.lanes, cores)
    if session.setup.data.dataset is None and session.setup.data.groups is None:
        hint = "Samples are generated during training; `posegen generate` generates them once for all runs"
    progress.log(f"warning: {100 * times.shares['data']:.0f} % of the time was spent waiting for data. {hint}")


def _resume(session: Session, progress: Progress) -> Learner:
    """Return the learner in the state of the last intact checkpoint."""
    state = latest_checkpoint(session.run, progress.log)
    if state is not None:
        progress.log(f"resuming from step {state.progress.step:,}")
        if state.progress.step == session.first and session.first:
            # A new round is checked on more clips, so its measures are not comparable with the best one of the last round.
            state = replace(state, progress=replace(state.progress, best=None, best_step=None))
    return make_learner(session, state)


class TimedCallback(StepCallback):
    """Average the weights after each step, and measure the time of its phases."""

    def __init__(self) -> None:
        self.timer = StepTimer()

    def on_train_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Begin to measure time."""
        pl_module.average = {name: value.to(pl_module.device) for name, value in pl_module.average.items()}
        self.timer.wait = torch.cuda.synchronize if pl_module.device.type == "cuda" else None
        self.timer.end_phase(None)

    def on_train_batch_start(self, trainer: lightning.Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """End the phase of loading."""
        self.timer.end_phase("data")
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)

    def on_before_backward(self, trainer: lightning.Trainer, pl_module: Any, loss: Tensor) -> None:
        """End the forward pass."""
        self.timer.end_phase("forward")

    def on_after_backward(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """End the backward pass."""
        self.timer.end_phase("backward")

    def on_train_batch_end(self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Complete a micro-batch, and a step after its last micro-batch."""
        self.after_micro_batch(outputs)
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            self.timer.end_phase("optimiser")
            return
        _update_average(pl_module)
        self.timer.end_phase("optimiser")
        self.timer.end_step()
        pl_module.inside_step = False
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        self.timer.end_phase(None)

    def after_micro_batch(self, outputs: Any) -> None:
        """Hook called with the loss of each micro-batch."""


class _SessionCallback(TimedCallback):
    """Check, save, log and report between the steps."""

    def __init__(self, session: Session, progress: Progress, memory: PeakMemory, logs: Logs, deadline: float | None) -> None:
        super().__init__()
        self.stopped: str | None = None
        self._session, self._progress, self._memory, self._logs = session, progress, memory, logs
        self._deadline, self._swap = deadline, SwapMonitor()
        self._saved = self._begun = time.monotonic()
        self._loss = self._seconds_before = 0.0
        self._accuracy: float | None = None
        self._losses: list[float] = []
        self._utilisations: list[float] = []

    def on_train_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Begin to measure time."""
        super().on_train_start(trainer, pl_module)
        self._seconds_before = pl_module.progress.seconds

    def on_before_optimizer_step(self, trainer: lightning.Trainer, pl_module: Any, optimizer: Any) -> None:
        """Mark that the weights are about to change."""
        pl_module.inside_step = True

    def after_micro_batch(self, outputs: Any) -> None:
        """Add up the loss of a step, and average the accuracy of recent ones."""
        self._loss += float(outputs["loss"])  # Lightning has divided it by the number of micro-batches
        if "accuracy" in outputs:
            latest = float(outputs["accuracy"])
            before = latest if self._accuracy is None else self._accuracy
            self._accuracy = before + _RECENT_SHARE * (latest - before)

    def after_step(self, trainer: lightning.Trainer, learner: Learner) -> None:
        """Show, log, check and save."""
        settings, step = learner.settings, learner.progress.step
        in_round = step - learner.first
        times = self.timer.times()
        _check_loss(self._loss, step, learning_rate(in_round - 1, settings))
        self._record(learner, in_round)
        self._progress.update(step, _details(self._loss, self._accuracy, times, learner.progress))
        shown = {} if self._accuracy is None else {"accuracy": self._accuracy}
        self._logs.step(step, self._loss, times, rate=learning_rate(in_round - 1, settings), **shown)
        self._loss = 0.0
        last = in_round == settings.steps
        if last or in_round % max(1, settings.steps // settings.checks.times) == 0:
            self._check(learner)
        self._check_memory(step)
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.stopped = "the budget is used up; the same command resumes from here"
        over = last or learner.early_stop_reason() is not None
        if over or self.stopped or self._is_time_to_save(step) or learner.progress.best_step == step:
            write_checkpoint(self._session.run, learner.state())
            remove_old_checkpoints(self._session.run)
            self._saved = time.monotonic()
        trainer.should_stop = over or bool(self.stopped)

    def _record(self, learner: Learner, in_round: int) -> None:
        """Add time, loss and memory to the progress of the run."""
        done, settings = learner.progress, learner.settings
        self._losses.append(self._loss)
        if in_round % -(-settings.steps // _LOSS_POINTS) == 0 or in_round == settings.steps:
            done = replace(done, losses=[*done.losses, (done.step, fmean(self._losses))])
            self._losses = []
        learner.progress = replace(
            done,
            seconds=self._seconds_before + time.monotonic() - self._begun,
            memory=max(done.memory or 0, self._memory.peak),
            gpu_memory=gpu_peak(self._session.choices.device),
            utilisation=fmean(self._utilisations) if self._utilisations else done.utilisation,
        )

    def _is_time_to_save(self, step: int) -> bool:
        saving = self._session.setup.settings.saving
        if saving.steps is not None:
            return step % saving.steps == 0
        return time.monotonic() - self._saved >= saving.seconds

    def _check(self, learner: Learner) -> None:
        """Evaluate the averaged weights on the validation split, and record the measures."""
        settings, setup, step = learner.settings, self._session.setup, learner.progress.step
        choices = self._session.choices
        # Before the evaluation, so that only training is measured.
        busy = fmean(self._utilisations) if self._utilisations else None
        use = gpu_use(busy, settings.batch) if choices.device == "cuda" else None
        averaged = copy.deepcopy(learner.model)
        averaged.load_state_dict(learner.average)
        loss = validation_loss(self._session, averaged)
        validation = setup.data.source(setup.task.recipes, "validation")
        limits = {"most": settings.checks.clips, "size": evaluation_batch(choices.device, choices.micro_batch)}
        measures = evaluate_model(setup.task, averaged, validation, settings.data.variants, **limits).measures()
        measures |= {} if loss is None else {"loss": loss}
        # Undefined measures are left out.
        measures = {name: value for name, value in measures.items() if math.isfinite(value)}
        watched = measures.get(setup.task.monitor)
        self._logs.values(step, {f"validation/{name}": value for name, value in measures.items()})
        self._progress.log(f"step {step:,}: {setup.task.monitor} {format_measure(watched)} on the validation split")
        if use is not None:
            self._logs.values(step, use[0])
            self._progress.log(use[1])
        check, before = {"step": float(step), **measures}, learner.progress
        done = replace(before, checks=[*before.checks, check])
        best = next((each for each in before.checks if each["step"] == before.best_step), None)
        is_better = is_better_check(check, best, setup.task.monitor, by_loss=setup.data.groups is not None)
        learner.progress = replace(done, best=watched, best_step=step) if is_better else done

    def _check_memory(self, step: int) -> None:
        """Warn if the machine swaps; raise MemoryError if the run uses more memory than its limit."""
        if step % _CHECK_MEMORY_EVERY or step >= self._session.last:
            return
        if self._session.choices.device == "cuda" and (utilisation := gpu_utilisation()) is not None:
            self._utilisations.append(utilisation)
        limit = self._session.setup.settings.memory.limit
        warning = self._swap.warning(limit=limit, micro_batch=self._session.choices.micro_batch)
        if warning is not None:
            self._progress.log(warning)
        if limit is not None and process_memory() > _LIMIT_SHARE * parse_bytes(limit):
            raise MemoryError(f"the run uses {process_memory() / 10**9:.2f} GB, and memory.limit is {limit}")


def is_better_check(check: Mapping[str, float], best: Mapping[str, float] | None, monitor: str, *, by_loss: bool) -> bool:
    """Return whether a check is better than the best one before, if there is one.

    Parameters
    ----------
    check, best : dict of str to float
        Measures of the checks; those that are undefined are absent.
    monitor : str
        Name of the measure that decides; higher is better.
    by_loss : bool
        Whether the validation loss decides between equal measures, which are frequent on few samples; else the first check is
        the better one.

    Examples
    --------
    >>> [is_better_check({"skill": 1.0, "loss": 0.1}, {"skill": 1.0, "loss": 0.2}, "skill", by_loss=by) for by in (True, False)]
    [True, False]
    """
    if best is None:
        return True
    own, other = (each.get(monitor, -math.inf) for each in (check, best))
    return own > other or (by_loss and own == other and check.get("loss", math.inf) < best.get("loss", math.inf))


def most_loss_clips(task: Task, settings: Settings) -> int:
    """Return the largest number of clips of :func:`validation_loss`; 0 where there is none."""
    return 0 if task.by_identity else _LOSS_BATCHES * settings.batch


def validation_loss(session: Session, model: torch.nn.Module) -> float | None:
    """Return the loss of a model on some batches of the validation split, the same ones in each check.

    They have captions and noise as in training, but no dropout and no variation of skeletons. None for a task that compares
    identities: its loss needs several clips of each, which only batches of the training split are sure to hold.
    """
    setup, choices = session.setup, session.choices
    task, settings = setup.task, setup.settings
    if task.by_identity:
        return None
    source = setup.data.source(task.recipes, "validation")
    variants = (settings.data.variants or source.variants)[: 1 if task.first_variant_only else None]
    batches = batches_of(source, settings.batch, settings.seed, variants, epochs=1)
    device, size = next(model.parameters()).device, evaluation_batch(choices.device, choices.micro_batch)
    total, count, training = 0.0, 0, model.training
    model.eval()
    with torch.inference_mode():
        for batch in batches.at(0, min(_LOSS_BATCHES, len(batches))):
            clips = to_clips(batch, source, settings.seed)
            tensors = {name: torch.from_numpy(values).to(device) for name, values in clips.items()}
            loss = task.loss(apply_in_micro_batches(task, model, tensors, size), tensors)
            total, count = total + float(loss) * len(clips["length"]), count + len(clips["length"])
    model.train(training)
    return total / count


def _check_loss(loss: float, step: int, rate: float) -> None:
    """Raise PosegenError if the loss of a step is no number, from which training does not recover."""
    if not math.isfinite(loss):
        what = f"the loss is {loss} at step {step:,} with a learning rate of {rate:.3g}: training diverged"
        fix = f"a lower rate (--set optimiser.rate={rate / 10:.1g}), or with --set machine.precision=32-true"
        raise PosegenError(f"{what}. Train into another folder with --out and {fix}")


def _details(loss: float, accuracy: float | None, times: StepTimes | None, done: RunProgress) -> str:
    """Return loss, accuracy, memory, step time and the share of each phase as text."""
    shown = [f"loss {loss:.3f}"]
    shown += [] if accuracy is None else [f"accuracy {accuracy:.2f}"]
    shown += [] if not done.memory else [human_bytes(done.memory)]
    shown += [] if done.gpu_memory is None else [f"GPU {human_bytes(done.gpu_memory)}"]
    if times is not None:
        shares = ", ".join(f"{phase} {100 * share:.0f}%" for phase, share in times.shares.items())
        shown.append(f"{1000 * times.mean:.0f} ms/step ({shares})")
    return ", ".join(shown)


def _update_average(learner: Learner) -> None:
    """Move the average towards the weights; faster in the first steps, so that the initial weights are soon forgotten."""
    step = learner.progress.step + 1
    share = 1 - min(learner.settings.optimiser.average, step / (step + 10))
    current = learner.model.state_dict()
    with torch.no_grad():
        for name, average in learner.average.items():
            if average.is_floating_point():
                average.lerp_(current[name], share)
            else:
                average.copy_(current[name])
