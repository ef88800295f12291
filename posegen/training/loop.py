"""The training loop, and the state that it changes.

Everything that a step depends on follows from its number: clips, learning rate and random numbers. So a resumed run continues
exactly as if it had never stopped. Checks, checkpoints and logs are the matter of :mod:`posegen.training.session`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from posegen.training.data.feed import Feed, Loader, batches_of, statistics
from posegen.training.hardware import AUTOCAST, Choices, matrix_attention, on_device, split_batch, use_tf32
from posegen.training.run_folder import RunProgress, State
from posegen.training.settings import learning_rate
from posegen.training.setup import Setup
from posegen.training.task import Clips, Task

_LARGEST_SEED = 2**63
_DTYPES = {int: torch.int64, float: torch.float64}
PHASES = ("data", "forward", "backward", "optimiser")
_RECENT = 200
_WARMUP = 3


@dataclass(frozen=True)
class TrainingSession:
    """The steps of a round, or what is left of them.

    Attributes
    ----------
    run : Path
    setup : Setup
    first, last : int
        Number of steps before and after the round.
    choices : Choices
    """

    run: Path
    setup: Setup
    first: int
    last: int
    choices: Choices


@dataclass
class Learner:
    """What training changes.

    Attributes
    ----------
    model : Module
    optimiser : Optimizer
    scaler : GradScaler
        Scales the gradients of 16-mixed; does nothing in other precisions.
    average : dict of str to Tensor
        Moving average of the weights.
    progress : RunProgress
    """

    model: nn.Module
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    average: dict[str, Tensor]
    progress: RunProgress

    def state(self) -> State:
        """Return the state after the last step, for a checkpoint."""
        moments = self.optimiser.state_dict()["state"]
        tensors = {
            "weights": self.model.state_dict(),
            "average": self.average,
            "optimiser": {f"{index}.{key}": value for index, values in moments.items() for key, value in values.items()},
            # A scaler refuses counts that are not whole numbers.
            "scaler": {
                name: torch.tensor(value, dtype=_DTYPES[type(value)]) for name, value in self.scaler.state_dict().items()
            },
        }
        return State(tensors, self.progress)

    def update_average(self, most: float) -> None:
        """Move the average towards the weights; faster in the first steps, so that the initial weights are soon forgotten."""
        step = self.progress.step + 1
        share = 1 - min(most, step / (step + 10))
        current = self.model.state_dict()
        with torch.no_grad():
            for name, average in self.average.items():
                if average.is_floating_point():
                    average.lerp_(current[name], share)
                else:
                    average.copy_(current[name])


def make_learner(session: TrainingSession, state: State | None) -> Learner:
    """Return the learner in the state of a checkpoint, or initialised if there is none."""
    setup, device = session.setup, session.choices.device
    model = setup.make_model()
    if state is not None:
        model.load_state_dict(dict(state.tensors["weights"]))
    elif setup.weights is None:
        source = setup.data.source(setup.task.recipes, "training")
        mean_and_spread = statistics(source, setup.settings.data.variants, setup.task.reading.normalised_array)
        model.encoder.normalise_by(*mean_and_spread)
    model.to(device)
    model.encoder.checkpointing = session.choices.checkpointing
    rates = setup.settings.optimiser
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=rates.rate, weight_decay=rates.decay)
    scaler = torch.amp.GradScaler(device, enabled=session.choices.precision == "16-mixed")
    average = model.state_dict()
    if state is not None:
        average = state.tensors["average"]
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in state.tensors.get("optimiser", {}).items():
            index, _, key = name.partition(".")
            moments.setdefault(int(index), {})[key] = value.clone()
        optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
        if scales := state.tensors.get("scaler"):
            scaler.load_state_dict({name: value.item() for name, value in scales.items()})
    average = {name: value.detach().to(device, copy=True) for name, value in average.items()}
    return Learner(model, optimiser, scaler, average, RunProgress() if state is None else state.progress)


def run_steps(
    session: TrainingSession,
    learner: Learner,
    timer: StepTimer,
    log: Callable[[str], None],
    after_step: Callable[[float, float, float | None], bool] = lambda *reported: False,
) -> None:
    """Train from the state of the learner to the last step.

    Parameters
    ----------
    session : TrainingSession
    learner : Learner
    timer : StepTimer
    log : callable
        Called with a message if processes that load data fail.
    after_step : callable
        Checks, saves and logs, from loss, learning rate, and accuracy if the task has one; returns whether training ends.
    """
    settings, choices = session.setup.settings, session.choices
    model, optimiser, scaler = learner.model, learner.optimiser, learner.scaler
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    feed = _feed(session, learner.progress.step)
    model.train()
    use_tf32(choices.device)
    timer.end_phase(None)
    step_loss, accuracies = 0.0, list[float]()
    with matrix_attention(choices.device):
        for index, clips in enumerate(Loader(feed, choices.workers, pinned=choices.device == "cuda", log=log), start=1):
            clips = on_device(clips, choices.device)
            timer.end_phase("data")
            with torch.autocast(choices.device, AUTOCAST.get(choices.precision), enabled=choices.precision in AUTOCAST):
                loss, accuracy = _score(session, model, clips)
            loss = loss / feed.parts
            timer.end_phase("forward")
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            step_loss += loss.item()
            accuracies += [] if accuracy is None else [accuracy.item()]
            timer.end_phase("backward")
            if index % feed.parts:
                continue  # gradients of micro-batches add up
            scaler.unscale_(optimiser)
            if settings.optimiser.clip:
                nn.utils.clip_grad_norm_(trained, settings.optimiser.clip)
            rate = learning_rate(learner.progress.step - session.first, settings)
            for group in optimiser.param_groups:
                group["lr"] = rate
            scaler.step(optimiser)
            scaler.update()
            optimiser.zero_grad()
            learner.update_average(settings.optimiser.average)
            learner.progress = replace(learner.progress, step=learner.progress.step + 1)
            timer.end_phase("optimiser")
            timer.end_step()
            is_over = after_step(step_loss, rate, fmean(accuracies) if accuracies else None)
            if is_over or learner.progress.step >= session.last:
                break
            step_loss, accuracies = 0.0, []
            timer.end_phase(None)


def _feed(session: TrainingSession, start: int) -> Feed:
    """Return the batches from a step on."""
    settings, task, choices = session.setup.settings, session.setup.task, session.choices
    data, source = settings.data, session.setup.data.source(task.recipes, "training")
    return Feed(
        batches=batches_of(source, settings.batch, settings.seed, data.variants, lanes=data.lanes).at(start),
        source=source,
        seed=settings.seed,
        frames=data.cropped_frames,
        parts=1 if task.needs_whole_batch else split_batch(settings.batch, choices.micro_batch),
        shuffled=task.labels if data.shuffle_labels else (),
        skeleton=data.skeleton if task.reading.vary_skeleton else None,
        draw=task.draw,
    )


def _score(session: TrainingSession, model: nn.Module, clips: dict[str, Any]) -> tuple[Tensor, Tensor | None]:
    """Return the loss of a micro-batch, and its accuracy if the task has one."""
    task, choices = session.setup.task, session.choices
    # Random numbers depend on the number of the micro-batch only.
    torch.manual_seed((session.setup.settings.seed * 1_000_003 + clips["number"] * 1009 + clips["part"]) % _LARGEST_SEED)
    outputs = apply_in_micro_batches(task, model, clips, choices.micro_batch)
    return task.loss(outputs, clips), None if task.accuracy is None else task.accuracy(outputs.detach(), clips)


def apply_in_micro_batches(task: Task, model: nn.Module, clips: Clips, size: int) -> Tensor:
    """Apply a model to clips; a few at a time if the loss of the task needs all clips of a batch at once.

    The activations of one micro-batch are stored at a time; those of the others are recomputed in the backward pass (gradient
    checkpointing over clips rather than layers, with the result of the gradient cache of Gao et al., Scaling deep contrastive
    learning batch size under memory limited setup, 2021). So less memory makes a step slower, but does not change it.

    Parameters
    ----------
    task : Task
    model : Module
    clips : Clips
    size : int
        Clips per micro-batch.

    Returns
    -------
    Tensor
        As ``task.apply`` returns it.
    """
    count = len(clips["length"])
    if not task.needs_whole_batch or size >= count:
        return task.apply(model, clips)
    arrays = {name: values for name, values in clips.items() if isinstance(values, Tensor)}
    parts = ({name: values[start : start + size] for name, values in arrays.items()} for start in range(0, count, size))
    # The second forward pass draws the same random numbers as the first.
    return torch.cat([checkpoint(task.apply, model, part, use_reentrant=False, preserve_rng_state=True) for part in parts])


@dataclass(frozen=True)
class StepTimes:
    """Median seconds of recent steps, mean seconds of all, and the share of each phase in all steps."""

    seconds: float
    mean: float
    shares: dict[str, float]


class StepTimer:
    """Add up the time of each phase; to be called at the end of each phase.

    A GPU computes beside the program, which waits for it when it reads the loss: what a GPU computes counts as backward.
    """

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._now, self._total = dict.fromkeys(PHASES, 0.0), dict.fromkeys(PHASES, 0.0)
        self._steps: deque[float] = deque(maxlen=_RECENT)
        self._count = 0

    def end_phase(self, phase: str | None) -> None:
        """Add the time since the last call to a phase; None for time outside steps."""
        now = time.perf_counter()
        if phase is not None:
            self._now[phase] += now - self._last
        self._last = now

    def end_step(self) -> None:
        """Complete a step. The first ones are not counted, since caches and lazy initialisation slow them down."""
        self._count += 1
        if self._count > _WARMUP:
            self._steps.append(sum(self._now.values()))
            self._total = {phase: seconds + self._now[phase] for phase, seconds in self._total.items()}
        self._now = dict.fromkeys(PHASES, 0.0)

    def times(self) -> StepTimes | None:
        """Return the times of the steps so far; None before the first counted step."""
        if not self._steps:
            return None
        total = sum(self._total.values())
        shares = {phase: seconds / total for phase, seconds in self._total.items()}
        return StepTimes(median(self._steps), total / (self._count - _WARMUP), shares)
