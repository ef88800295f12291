"""The loop, run by Lightning: from one step to the last, with an average of the weights, checks and checkpoints on the way.

All that a step depends on follows from its number: its clips, its rate, its draws. So a run goes on from any checkpoint as if
it had never stopped.
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import lightning.pytorch as lightning
import torch
from torch import Tensor, nn

from posegen.training.runs.checkpoints import Progress, State
from posegen.training.settings import Settings, warm_up
from posegen.training.steps.parts import apply_in_parts
from posegen.training.steps.place import ALONE, Place
from posegen.training.steps.strategy import gathered
from posegen.training.steps.timing import Timer
from posegen.training.task import Task

__all__ = ["Follower", "Hooks", "Learner", "Watch", "rate_at", "run_loop"]

_LEAST_RATE = 0.01
_LARGEST_SEED = 2**63


def rate_at(step: int, settings: Settings) -> float:
    """Compute the rate of a step of a round: it rises in a line, then falls as a cosine does."""
    warm = warm_up(settings)
    share = min(1.0, max(0, step - warm) / max(1, settings.steps - warm))
    falling = _LEAST_RATE + (1 - _LEAST_RATE) * 0.5 * (1 + math.cos(math.pi * share))
    return settings.optimiser.rate * min(1.0, (step + 1) / warm) * falling


class Learner(lightning.LightningModule):
    """A model that learns a task.

    Parameters
    ----------
    task : Task
    model : Module
    settings : Settings
    state : State or None
        From which it goes on.
    first : int
        Step with which the present round began.

    Attributes
    ----------
    micro_batch : int
        Clips that go through the model at once.
    place : Place
        Of this process among those that train together.
    torn : bool
        Whether the optimiser has begun a step that is not over: after an error, the weights are those of no step.
    """

    def __init__(self, task: Task, model: nn.Module, settings: Settings, state: State | None, first: int = 0) -> None:
        super().__init__()
        self.task, self.model, self.settings, self.first = task, model, settings, first
        self.progress = Progress() if state is None else state.progress
        self.micro_batch = settings.batch
        self.place = ALONE
        self.torn = False
        self.average = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._optimiser: dict[str, Tensor] = {}
        if state is not None:
            model.load_state_dict(dict(state.tensors["weights"]))
            self.average = {name: value.clone() for name, value in state.tensors["average"].items()}
            self._optimiser = dict(state.tensors.get("optimiser", {}))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimiser, in the state of the checkpoint."""
        wanted = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(wanted, lr=self.settings.optimiser.rate, weight_decay=self.settings.optimiser.decay)
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in self._optimiser.items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value.clone()
        if state:
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        return optimiser

    def training_step(self, batch: dict[str, Any], index: int) -> Tensor:
        """Compute the loss of a micro-batch."""
        del index
        # Each micro-batch draws what its place says, whatever was drawn before.
        torch.manual_seed((self.settings.seed * 1_000_003 + batch["number"] * 1009 + batch["part"]) % _LARGEST_SEED)
        own = _share(batch, self.place) if self.task.needs_whole_batch else batch
        said = apply_in_parts(self.task, self.model, own, self.micro_batch)
        return self.task.loss(gathered(said, self.place) if self.task.needs_whole_batch else said, batch)

    def out_of_patience(self) -> str | None:
        """Tell why training is over before its last step; None if it is not."""
        patience, progress = self.settings.checks.patience, self.progress
        if patience is None or progress.best_step is None:
            return None
        since = sum(check["step"] > progress.best_step for check in progress.checks)
        return f"{since} checks without a better one than at step {progress.best_step:,}" if since >= patience else None

    def keep_optimiser(self) -> None:
        """Have the optimiser go on as it is when training is begun again."""
        self._optimiser = self._moments() or self._optimiser
        self.zero_grad(set_to_none=True)

    def state(self) -> State:
        """Take the state after the last step."""
        tensors = {"weights": self.model.state_dict(), "average": self.average, "optimiser": self._moments()}
        return State(tensors, self.progress)

    def _moments(self) -> dict[str, Tensor]:
        optimiser: Any = self.optimizers(use_pl_optimizer=False)
        moments = optimiser.state_dict()["state"] if optimiser else {}
        return {f"{index}.{key}": value for index, values in moments.items() for key, value in values.items()}


@dataclass(frozen=True)
class Hooks:
    """What happens beside the steps.

    Attributes
    ----------
    check : callable
        Holds averaged weights against clips that the model is not trained on; gives measures.
    save : callable
        Keeps a state.
    tell : callable
        Is given the learner, the loss and the timer after each step.
    stop : callable
        Tells after each step why to end before the last one; None: go on.
    """

    check: Callable[[Learner], dict[str, float]]
    save: Callable[[State], None]
    tell: Callable[[Learner, float, Timer], None]
    stop: Callable[[Learner, Timer], str | None]


class Watch(lightning.Callback):
    """Does between the steps what :class:`Hooks` say, and times the steps."""

    def __init__(self, hooks: Hooks, parts: int) -> None:
        self.timer = Timer()
        self.stopped: str | None = None
        self._hooks, self._parts = hooks, parts
        self._saved = self._begun = time.monotonic()
        self._loss = 0.0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Begin to time."""
        pl_module.average = {name: value.to(pl_module.device) for name, value in pl_module.average.items()}
        self.timer.leave(None)
        self._before = pl_module.progress.seconds

    def on_train_batch_start(self, trainer: lightning.Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """The micro-batch is here."""
        self.timer.leave("data")
        _set_rate(trainer, pl_module)

    def on_before_backward(self, trainer: lightning.Trainer, pl_module: Any, loss: Tensor) -> None:
        """The loss is computed."""
        self.timer.leave("forward")

    def on_after_backward(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """The gradient is computed."""
        self.timer.leave("backward")

    def on_before_optimizer_step(self, trainer: lightning.Trainer, pl_module: Any, optimizer: Any) -> None:
        """From here on weights change, one after another."""
        pl_module.torn = True

    def on_train_batch_end(self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A micro-batch, and with the last one a step, is done."""
        self._loss += float(outputs["loss"])  # Lightning has divided it by the parts
        if (batch_idx + 1) % self._parts:
            self.timer.leave("optimiser")
            return
        _average(pl_module)
        self.timer.leave("optimiser")
        self.timer.end_step()
        seconds = self._before + time.monotonic() - self._begun
        pl_module.progress = replace(pl_module.progress, step=pl_module.progress.step + 1, seconds=seconds)
        pl_module.torn = False
        self._after_step(trainer, pl_module)
        self.timer.leave(None)

    def _after_step(self, trainer: lightning.Trainer, learner: Learner) -> None:
        settings, step = learner.settings, learner.progress.step
        own = step - learner.first
        self._hooks.tell(learner, self._loss, self.timer)
        self._loss = 0.0
        last = own == settings.steps
        if last or own % max(1, settings.steps // settings.checks.times) == 0:
            learner.progress = _checked(learner, self._hooks.check(learner))
        self.stopped = self._hooks.stop(learner, self.timer)
        over = last or learner.out_of_patience() is not None
        if over or self.stopped or self._is_time(step, settings) or learner.progress.best_step == step:
            self._hooks.save(learner.state())
            self._saved = time.monotonic()
        trainer.should_stop = over or bool(self.stopped)

    def _is_time(self, step: int, settings: Settings) -> bool:
        if settings.saving.steps is not None:
            return step % settings.saving.steps == 0
        return time.monotonic() - self._saved >= settings.saving.seconds


class Follower(lightning.Callback):
    """What a process does that trains along with the first one: the steps, and nothing beside them."""

    def __init__(self, parts: int) -> None:
        self._parts = parts

    def on_train_batch_start(self, trainer: lightning.Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """The micro-batch is here."""
        _set_rate(trainer, pl_module)

    def on_train_batch_end(self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A micro-batch, and with the last one a step, is done."""
        if (batch_idx + 1) % self._parts == 0:
            pl_module.progress = replace(pl_module.progress, step=pl_module.progress.step + 1)


def run_loop(learner: Learner, batches: Iterable[Any], watch: Watch | Follower, parts: int, **options: Any) -> None:
    """Train from where the learner is to the last step, or to where a hook says to stop.

    Parameters
    ----------
    learner : Learner
    batches : iterable of dict
        Micro-batches from the next step on.
    watch : Watch or Follower
    parts : int
        Micro-batches in a step.
    **options
        Of :class:`lightning.pytorch.Trainer`: ``accelerator``, ``devices``, ``strategy``, ``precision``, ``benchmark``.
    """
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    with warnings.catch_warnings():
        # What it advises about workers and about how often to log is chosen by posegen, and told.
        warnings.filterwarnings("ignore", module="lightning")
        trainer = lightning.Trainer(
            max_epochs=-1, max_steps=learner.first + learner.settings.steps - learner.progress.step, callbacks=[watch],
            accumulate_grad_batches=parts, gradient_clip_val=learner.settings.optimiser.clip or None,
            logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            limit_val_batches=0, num_sanity_val_steps=0, use_distributed_sampler=False, **options,
        )  # fmt: skip
        try:
            trainer.fit(learner, batches)
        except SystemExit:
            # Lightning's answer to Ctrl-C.
            if trainer.interrupted:
                raise KeyboardInterrupt from None
            raise


def _set_rate(trainer: lightning.Trainer, learner: Learner) -> None:
    for group in trainer.optimizers[0].param_groups:
        group["lr"] = rate_at(learner.progress.step - learner.first, learner.settings)


def _share(batch: dict[str, Any], place: Place) -> dict[str, Any]:
    """Take the clips of a batch that this process shows its model."""
    size = len(batch["length"])
    own = slice(size * place.rank // place.of, size * (place.rank + 1) // place.of)
    return {name: values[own] if isinstance(values, Tensor) else values for name, values in batch.items()}


def _average(learner: Learner) -> None:
    """Move the average of the weights towards them; at first faster, so that the beginning is forgotten."""
    step = learner.progress.step + 1
    share = 1 - min(learner.settings.optimiser.average, step / (step + 10))
    current = learner.model.state_dict()
    with torch.no_grad():
        for name, average in learner.average.items():
            if average.is_floating_point():
                average.lerp_(current[name], share)
            else:
                average.copy_(current[name])


def _checked(learner: Learner, measures: dict[str, float]) -> Progress:
    progress, found = learner.progress, measures[learner.task.monitor]
    checks = [*progress.checks, {"step": float(progress.step), **measures}]
    if progress.best is None or found > progress.best:
        return replace(progress, checks=checks, best=found, best_step=progress.step)
    return replace(progress, checks=checks)
