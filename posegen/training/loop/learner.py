"""Define one training step and run the steps of a session with Lightning, on one device or in a process for each device.

Everything that a step depends on follows from its number: clips, learning rate and random numbers. So a resumed run continues
exactly as if it had never stopped. Checks, checkpoints and logs are the matter of :mod:`posegen.training.loop.session`.

Lightning's data-parallel strategy (DDP) connects the processes, which :mod:`posegen.training.loop.processes` starts, and
averages their gradients.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import torch
from torch import Tensor, distributed, nn
from torch.utils.checkpoint import checkpoint

from posegen.foundations.machine import private_folder, user_cache
from posegen.training.cluster import local_processes, member
from posegen.training.data.feed import Feed, Loader, batches_of, statistics
from posegen.training.hardware import Choices, matrix_attention, split_batch, use_tf32
from posegen.training.models.encoder import set_checkpointing
from posegen.training.run_folder import RunProgress, State
from posegen.training.settings import learning_rate
from posegen.training.setup import Request, Setup
from posegen.training.task import Clips, Task

_LARGEST_SEED = 2**63
_DTYPES = {int: torch.int64, float: torch.float64}


@dataclass(frozen=True)
class Session:
    """Work of one process that trains: the steps of a round, or what is left of them.

    Attributes
    ----------
    run : Path
    request : Request
    setup : Setup
    first, last : int
        Number of steps before and after the round.
    choices : Choices
    """

    run: Path
    request: Request
    setup: Setup
    first: int
    last: int
    choices: Choices


class Learner(lightning.LightningModule):
    """A model that learns a task, with its optimiser and the average of its weights.

    Parameters
    ----------
    session : Session
    model : Module
    state : State or None
        Checkpoint to resume from.

    Attributes
    ----------
    progress : RunProgress
    micro_batch : int
        Clips per forward pass.
    scaler : dict of str to int or float
        State of the gradient scaler of 16-mixed in the checkpoint.
    inside_step : bool
        Whether the optimiser is changing the weights. If an error occurs then, the weights belong to no step.
    """

    def __init__(self, session: Session, model: nn.Module, state: State | None) -> None:
        super().__init__()
        self.task, self.settings, self.first = session.setup.task, session.setup.settings, session.first
        self.model = model
        self.progress = RunProgress() if state is None else state.progress
        self.micro_batch = self.settings.batch
        self.inside_step = False
        self.average = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._optimiser: dict[str, Tensor] = {}
        self.scaler: dict[str, int | float] = {}
        if state is not None:
            model.load_state_dict(dict(state.tensors["weights"]))
            self.average = {name: value.clone() for name, value in state.tensors["average"].items()}
            self._optimiser = dict(state.tensors.get("optimiser", {}))
            self.scaler = {name: value.item() for name, value in state.tensors.get("scaler", {}).items()}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimiser, in the state of the checkpoint."""
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=self.settings.optimiser.rate, weight_decay=self.settings.optimiser.decay)
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in self._optimiser.items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value.clone()
        if state:
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        return optimiser

    def training_step(self, batch: dict[str, Any], index: int) -> dict[str, Tensor]:
        """Return the loss of a micro-batch, and its accuracy if the task has one."""
        del index
        # Random numbers depend on the number of the micro-batch only.
        torch.manual_seed((self.settings.seed * 1_000_003 + batch["number"] * 1009 + batch["part"]) % _LARGEST_SEED)
        if not self.task.needs_whole_batch:
            return self._scored(apply_in_micro_batches(self.task, self.model, batch, self.micro_batch), batch)
        processes = self.trainer.world_size
        share = _share(batch, self.global_rank, processes)
        outputs = apply_in_micro_batches(self.task, self.model, share, self.micro_batch)
        if processes > 1:
            # The backward pass adds up the gradients of all processes for each share. Lightning then takes the mean over the
            # processes, which compute the same loss, so the result is the gradient of a single process.
            gathered: Any = self.all_gather(outputs, sync_grads=True)
            outputs = gathered.flatten(0, 1)
        return self._scored(outputs, batch)

    def _scored(self, outputs: Tensor, batch: Clips) -> dict[str, Tensor]:
        scored = {"loss": self.task.loss(outputs, batch)}
        if self.task.accuracy is not None:
            scored["accuracy"] = self.task.accuracy(outputs.detach(), batch)
        return scored

    def early_stop_reason(self) -> str | None:
        """Return why training ends before its last step; None if it does not."""
        patience, progress = self.settings.checks.patience, self.progress
        if patience is None or progress.best_step is None:
            return None
        since = sum(check["step"] > progress.best_step for check in progress.checks)
        return f"no improvement in {since} checks since step {progress.best_step:,}" if since >= patience else None

    def state(self) -> State:
        """Return the state after the last step, for a checkpoint."""
        optimiser: Any = self.optimizers(use_pl_optimizer=False)
        moments = optimiser.state_dict()["state"] if optimiser else {}
        flat = {f"{index}.{key}": value for index, values in moments.items() for key, value in values.items()}
        scaler: Any = getattr(self.trainer.precision_plugin, "scaler", None) if self._trainer else None
        scale = self.scaler if scaler is None else scaler.state_dict()
        tensors = {
            "weights": self.model.state_dict(),
            "average": self.average,
            "optimiser": flat or self._optimiser,
            # A scaler refuses counts that are not whole numbers.
            "scaler": {name: torch.tensor(value, dtype=_DTYPES[type(value)]) for name, value in scale.items()},
        }
        return State(tensors, self.progress)


class StepCallback(lightning.Callback):
    """Set the learning rate before each step and count the steps."""

    def on_train_batch_start(self, trainer: lightning.Trainer, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Set the learning rate."""
        for group in trainer.optimizers[0].param_groups:
            group["lr"] = learning_rate(pl_module.progress.step - pl_module.first, pl_module.settings)

    def on_train_batch_end(self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Count a step after its last micro-batch."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches == 0:
            pl_module.progress = replace(pl_module.progress, step=pl_module.progress.step + 1)
            self.after_step(trainer, pl_module)
            if trainer.world_size > 1 and member():  # the first process decides when all of them end
                stop = torch.tensor(int(trainer.should_stop))
                distributed.broadcast(stop, 0)
                trainer.should_stop = bool(stop)

    def after_step(self, trainer: lightning.Trainer, learner: Learner) -> None:
        """Hook called after each optimiser step."""


def make_learner(session: Session, state: State | None) -> Learner:
    """Return the learner in the state of a checkpoint, or initialised if there is none."""
    setup = session.setup
    model = setup.make_model()
    if state is None and setup.weights is None and setup.task.takes_motion:
        source = setup.data.source(setup.task.recipes, "training")
        mean_and_spread = statistics(source, setup.settings.data.variants, setup.task.normalised_array)
        model.encoder.normalise_by(*mean_and_spread)
    return Learner(session, model, state)


def run_steps(session: Session, learner: Learner, callback: StepCallback, rank: int, log: Callable[[str], None]) -> None:
    """Train from the state of the learner to the last step, or until the callback stops the trainer.

    Parameters
    ----------
    session : Session
    learner : Learner
    callback : StepCallback
    rank : int
        Number of this process among those of the session.
    log : callable
        Called with a message if processes that load data fail.
    """
    setup, choices = session.setup, session.choices
    feed = _feed(session, learner.progress.step, rank)
    learner.model.train()
    learner.micro_batch, learner.inside_step = choices.micro_batch, False
    set_checkpointing(learner.model, on=choices.checkpointing)
    on_gpu = choices.device == "cuda"
    use_tf32(choices.device)
    if choices.compile:
        # torch loads code from this folder; its own choice is a folder in /tmp whose name others can guess.
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(private_folder(user_cache() / "inductor", own=2)))
        learner.model.compile()
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    with matrix_attention(choices.device), warnings.catch_warnings():
        # Lightning advises on loading processes and the logging interval, which posegen chooses and reports.
        warnings.filterwarnings("ignore", module="lightning")
        trainer = lightning.Trainer(
            accelerator="gpu" if on_gpu else choices.device,
            devices=local_processes(choices.devices), num_nodes=choices.devices // local_processes(choices.devices),
            strategy="ddp" if choices.devices > 1 else "auto",
            precision=choices.precision,  # type: ignore[arg-type]
            max_epochs=-1, max_steps=session.last - learner.progress.step, callbacks=[callback],
            accumulate_grad_batches=feed.parts, gradient_clip_val=setup.settings.optimiser.clip or None,
            logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            limit_val_batches=0, num_sanity_val_steps=0, use_distributed_sampler=False,
        )  # fmt: skip
        scaler: Any = getattr(trainer.precision_plugin, "scaler", None)
        if scaler is not None and learner.scaler:
            scaler.load_state_dict(learner.scaler)
        try:
            trainer.fit(learner, Loader(feed, choices.workers, pinned=on_gpu, log=log))
        except SystemExit:
            # Lightning exits after Ctrl-C.
            if trainer.interrupted:
                raise KeyboardInterrupt from None
            raise


def _feed(session: Session, start: int, rank: int) -> Feed:
    """Return the batches from a step on, as a process sees them."""
    settings, task, choices = session.setup.settings, session.setup.task, session.choices
    data, source = settings.data, session.setup.data.source(task.recipes, "training")
    return Feed(
        batches=batches_of(source, settings.batch, settings.seed, data.variants, lanes=data.lanes).at(start),
        source=source,
        seed=settings.seed,
        frames=None if data.frames is None else max(1, data.frames // data.stride),
        parts=1 if task.needs_whole_batch else split_batch(settings.batch, choices.devices, choices.micro_batch),
        shuffled=task.labels if data.shuffle_labels else (),
        rank=rank,
        processes=choices.devices,
        whole=task.needs_whole_batch,
        skeleton=data.skeleton if task.vary_skeleton else None,
        draw=task.draw if choices.workers else None,
    )


def _share(batch: dict[str, Any], rank: int, processes: int) -> dict[str, Any]:
    """Return the clips of a batch that a process applies its model to."""
    size = len(batch["length"])
    share = slice(size * rank // processes, size * (rank + 1) // processes)
    return {name: values[share] if isinstance(values, Tensor) else values for name, values in batch.items()}


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

    def apply(part: dict[str, Any]) -> Tensor:
        return task.apply(model, part)

    parts = ({name: values[start : start + size] for name, values in arrays.items()} for start in range(0, count, size))
    # The second forward pass draws the same random numbers as the first.
    return torch.cat([checkpoint(apply, part, use_reentrant=False, preserve_rng_state=True) for part in parts])
