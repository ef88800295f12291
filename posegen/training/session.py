"""Train to the last step in the process that holds the lock of the run: check, save, log and report between the steps.

A session that runs out of memory continues with smaller micro-batches. The steps themselves are defined in
:mod:`posegen.training.loop`. Curves are logged to TensorBoard and Weights & Biases.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from posegen.foundations.errors import PosegenError
from posegen.foundations.machine import PeakMemory, process_memory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes, parse_bytes
from posegen.training import hardware, loop, run_folder, trained_models
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.settings import Settings
from posegen.training.task import Task

_MOST_POINTS = 1000
"""Points of a curve."""

_MOST_WAITING = 0.05
_CHECK_MEMORY_EVERY = 10
"""Steps between two checks of memory use."""
_LIMIT_SHARE = 0.95
_LOSS_POINTS = 200
"""Points of the curve of the training loss in the report."""
_LOSS_BATCHES = 4
"""Batches of the validation loss: a check of 600 steps with ten checks takes some two per cent longer."""
_RECENT_SHARE = 0.05
"""Weight of the last step in the accuracy that the progress line shows."""


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

    def step(self, step: int, loss: float, times: loop.StepTimes | None, **values: float) -> None:
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
    session: loop.TrainingSession,
    progress: Progress,
    memory: PeakMemory,
    deadline: float | None,
    store_choices: Callable[[hardware.Choices], None],
) -> tuple[loop.Learner, str | None, loop.StepTimes | None]:
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
        while learner.progress.step < session.last and early_stop_reason(learner.progress, session.setup.settings) is None:
            monitor = _Monitor(session, learner, progress, memory, logs, deadline)
            try:
                loop.run_steps(session, learner, monitor.timer, progress.log, monitor.after_step)
            except (MemoryError, RuntimeError) as error:
                if not hardware.is_out_of_memory(error):
                    raise
                choices = session.choices.halve_micro_batch(error)
                session = replace(session, choices=choices)
                progress.log(f"out of memory ({error!s:.120}): continuing with micro-batches of {choices.micro_batch} clips")
                store_choices(choices)
                del monitor  # it keeps the learner
                learner = _resume(session, progress)
                hardware.release_memory()
                continue
            times = monitor.timer.times()
            if times is not None and times.shares["data"] > _MOST_WAITING:
                hint = (
                    f"Use more loading processes than {session.choices.workers}, --set machine.workers=N, or end other programs"
                )
                if session.setup.data.dataset is None and session.setup.data.groups is None:
                    hint = "Samples are generated during training; `posegen generate` generates them once for all runs"
                waited = f"{100 * times.shares['data']:.0f} % of the time was spent waiting for data"
                progress.log(f"warning: {waited}. {hint}")
            if monitor.stopped:
                return learner, monitor.stopped, times
    return learner, None, times


def _resume(session: loop.TrainingSession, progress: Progress) -> loop.Learner:
    """Return the learner in the state of the last intact checkpoint."""
    state = run_folder.latest_checkpoint(session.run, progress.log)
    if state is not None:
        progress.log(f"resuming from step {state.progress.step:,}")
        if state.progress.step == session.first and session.first:
            # A new round is checked on more clips, so its measures are not comparable with the best one of the last round.
            state = replace(state, progress=replace(state.progress, best=None, best_step=None))
    return loop.make_learner(session, state)


def early_stop_reason(progress: run_folder.RunProgress, settings: Settings) -> str | None:
    """Return why training ends before its last step; None if it does not."""
    patience = settings.checks.patience
    if patience is None or progress.best_step is None:
        return None
    since = sum(check["step"] > progress.best_step for check in progress.checks)
    return f"no improvement in {since} checks since step {progress.best_step:,}" if since >= patience else None


@dataclass
class _Monitor:
    """Check, save, log and report between the steps; `stopped` is why training ends early."""

    session: loop.TrainingSession
    learner: loop.Learner
    progress: Progress
    memory: PeakMemory
    logs: Logs
    deadline: float | None
    stopped: str | None = None

    def __post_init__(self) -> None:
        self.timer = loop.StepTimer()
        self._saved = self._begun = time.monotonic()
        self._seconds_before = self.learner.progress.seconds
        self._accuracy: float | None = None
        self._losses: list[float] = []
        self._utilisations: list[float] = []

    def after_step(self, loss: float, rate: float, accuracy: float | None) -> bool:
        """Show, log, check and save; return whether training ends."""
        learner, settings = self.learner, self.session.setup.settings
        step, times = learner.progress.step, self.timer.times()
        in_round = step - self.session.first
        if not math.isfinite(loss):
            what = f"the loss is {loss} at step {step:,} with a learning rate of {rate:.3g}: training diverged"
            fix = f"a lower rate (--set optimiser.rate={rate / 10:.1g}), or with --set machine.precision=32-true"
            raise PosegenError(f"{what}. Train into another folder with --out and {fix}")
        self._record(loss, in_round)
        if accuracy is not None:
            before = accuracy if self._accuracy is None else self._accuracy
            self._accuracy = before + _RECENT_SHARE * (accuracy - before)
        self.progress.update(step, _details(loss, self._accuracy, times, learner.progress))
        shown = {} if self._accuracy is None else {"accuracy": self._accuracy}
        self.logs.step(step, loss, times, rate=rate, **shown)
        last = in_round == settings.steps
        if last or in_round % max(1, settings.steps // settings.checks.times) == 0:
            self._check()
        self._check_memory(step)
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.stopped = "the budget is used up; the same command resumes from here"
        over = last or early_stop_reason(learner.progress, settings) is not None
        every, waited = settings.saving.steps, time.monotonic() - self._saved
        is_due = waited >= settings.saving.seconds if every is None else step % every == 0
        if over or self.stopped or is_due or learner.progress.best_step == step:
            run_folder.write_checkpoint(self.session.run, learner.state())
            run_folder.remove_old_checkpoints(self.session.run)
            self._saved = time.monotonic()
        return over or bool(self.stopped)

    def _record(self, loss: float, in_round: int) -> None:
        """Add time, loss and memory to the progress of the run."""
        done, settings = self.learner.progress, self.session.setup.settings
        self._losses.append(loss)
        if in_round % -(-settings.steps // _LOSS_POINTS) == 0 or in_round == settings.steps:
            done = replace(done, losses=[*done.losses, (done.step, fmean(self._losses))])
            self._losses = []
        self.learner.progress = replace(
            done,
            seconds=self._seconds_before + time.monotonic() - self._begun,
            memory=max(done.memory or 0, self.memory.peak),
            gpu_memory=hardware.gpu_peak(self.session.choices.device),
            utilisation=fmean(self._utilisations) if self._utilisations else done.utilisation,
        )

    def _check(self) -> None:
        """Evaluate the averaged weights on the validation split, and record the measures."""
        learner, setup, choices = self.learner, self.session.setup, self.session.choices
        settings, step = setup.settings, learner.progress.step
        averaged = copy.deepcopy(learner.model)
        averaged.load_state_dict(learner.average)
        loss = validation_loss(self.session, averaged)
        validation = setup.data.source(setup.task.recipes, "validation")
        limits = {"most": settings.checks.clips, "size": hardware.evaluation_batch(choices.device, choices.micro_batch)}
        measures = trained_models.evaluate_model(setup.task, averaged, validation, settings.data.variants, **limits).measures()
        measures |= {} if loss is None else {"loss": loss}
        # Undefined measures are left out.
        measures = {name: value for name, value in measures.items() if math.isfinite(value)}
        watched = measures.get(setup.task.monitor)
        self.logs.values(step, {f"validation/{name}": value for name, value in measures.items()})
        self.progress.log(f"step {step:,}: {setup.task.monitor} {run_folder.format_measure(watched)} on the validation split")
        if choices.device == "cuda":
            memory = torch.cuda.get_device_properties(0).total_memory
            values, line = hardware.describe_gpu_use(
                learner.progress.utilisation, learner.progress.gpu_memory or 0, memory, settings.batch
            )
            self.logs.values(step, values)
            self.progress.log(line)
        check, before = {"step": float(step), **measures}, learner.progress
        done = replace(before, checks=[*before.checks, check])
        best = next((each for each in before.checks if each["step"] == before.best_step), None)
        is_better = is_better_check(check, best, setup.task.monitor, by_loss=setup.data.groups is not None)
        learner.progress = replace(done, best=watched, best_step=step) if is_better else done

    def _check_memory(self, step: int) -> None:
        """Measure the use of a GPU; raise MemoryError if the run uses more memory than its limit."""
        if step % _CHECK_MEMORY_EVERY or step >= self.session.last:
            return
        if self.session.choices.device == "cuda" and (utilisation := hardware.gpu_utilisation()) is not None:
            self._utilisations.append(utilisation)
        limit = self.session.setup.settings.memory.limit
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
    return 0 if task.reading.by_identity else _LOSS_BATCHES * settings.batch


def validation_loss(session: loop.TrainingSession, model: torch.nn.Module) -> float | None:
    """Return the loss of a model on some batches of the validation split, the same ones in each check.

    They have captions and noise as in training, but no dropout and no variation of skeletons. None for a task that compares
    identities: its loss needs several clips of each, which only batches of the training split are sure to hold.
    """
    setup, choices = session.setup, session.choices
    task, settings = setup.task, setup.settings
    if task.reading.by_identity:
        return None
    source = setup.data.source(task.recipes, "validation")
    variants = (settings.data.variants or source.variants)[: 1 if task.reading.first_variant_only else None]
    batches = batches_of(source, settings.batch, settings.seed, variants, epochs=1)
    device, size = next(model.parameters()).device, hardware.evaluation_batch(choices.device, choices.micro_batch)
    total, count, training = 0.0, 0, model.training
    model.eval()
    with torch.inference_mode():
        for batch in batches.at(0, min(_LOSS_BATCHES, len(batches))):
            clips = to_clips(batch, source, settings.seed)
            tensors = {name: torch.from_numpy(values).to(device) for name, values in clips.items()}
            loss = task.loss(loop.apply_in_micro_batches(task, model, tensors, size), tensors)
            total, count = total + float(loss) * len(clips["length"]), count + len(clips["length"])
    model.train(training)
    return total / count


def _details(loss: float, accuracy: float | None, times: loop.StepTimes | None, done: run_folder.RunProgress) -> str:
    """Return loss, accuracy, memory, step time and the share of each phase as text."""
    shown = [f"loss {loss:.3f}"]
    shown += [] if accuracy is None else [f"accuracy {accuracy:.2f}"]
    shown += [] if not done.memory else [human_bytes(done.memory)]
    shown += [] if done.gpu_memory is None else [f"GPU {human_bytes(done.gpu_memory)}"]
    if times is not None:
        shares = ", ".join(f"{phase} {100 * share:.0f}%" for phase, share in times.shares.items())
        shown.append(f"{1000 * times.mean:.0f} ms/step ({shares})")
    return ", ".join(shown)
