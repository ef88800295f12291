"""The time, memory and disk space of a training run, estimated by a pilot run: a few steps of it; nothing is kept.

The steps are those of the run itself, with its optimiser, its loading processes and its checkpoint, because the memory and the
time of a model's forward and backward pass alone are less than half of what a run of a small model takes.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posegen.foundations.errors import UsageError
from posegen.foundations.machine import PeakMemory
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes, human_time
from posegen.training import encoder, hardware, loop, run_folder, trained_models
from posegen.training.data.feed import batches_of
from posegen.training.session import Logs, most_loss_clips
from posegen.training.setup import Setup

STEPS = 7
"""Steps of a pilot run. The first ones are slow; the others give a median."""
_STORED = 5
"""Checkpoints that a run's folder has room for: the last two, the best one, the one that is written, and the model."""


@dataclass(frozen=True)
class Estimate:
    """Estimated size, time and memory of a run.

    Attributes
    ----------
    choosing_seconds : float
        Time in which the settings for the machine were chosen and the pilot run was measured.
    start_seconds : float
        From there to the first usual step: initialisation, loading processes, slow first steps.
    step_seconds : float
        Duration of a step.
    clip_seconds : float
        Duration of the evaluation of a clip.
    steps, checks : int
    checked_clips : int
        Clips of the validation split that a check evaluates, with those of its validation loss.
    tested_clips : int
        Clips that are evaluated after the last step.
    epoch_steps : int
        Steps in which each training sequence is shown once.
    sequences : int
        Training sequences.
    parameters : int
        Trained parameters.
    memory_bytes : int
        Most memory of all processes of the run together.
    gpu_bytes : int or None
        Most memory that tensors take on a GPU; None without a GPU.
    disk_bytes : int
        Most that the folder of the run takes, without the logs.
    """

    choosing_seconds: float
    start_seconds: float
    step_seconds: float
    clip_seconds: float
    steps: int
    checks: int
    checked_clips: int
    tested_clips: int
    epoch_steps: int
    sequences: int
    parameters: int
    memory_bytes: int
    gpu_bytes: int | None = None
    disk_bytes: int = 0

    @property
    def evaluation_seconds(self) -> float:
        """Duration of all checks and of the test."""
        return self.clip_seconds * (self.checked_clips * self.checks + self.tested_clips)

    @property
    def once_seconds(self) -> float:
        """Duration of everything but the steps. Features are computed before, once for a dataset."""
        return self.choosing_seconds + self.start_seconds + self.evaluation_seconds

    @property
    def seconds(self) -> float:
        """Duration of the whole run, without computing the features."""
        return self.once_seconds + self.step_seconds * self.steps

    def summary(self) -> tuple[str, str, str]:
        """Return a line about the time of the run, one about its memory, and one about its disk space."""
        epochs, epoch = self.steps / self.epoch_steps, human_time(self.epoch_steps * self.step_seconds)
        checks = human_time(self.evaluation_seconds)
        setup = human_time(self.choosing_seconds + self.start_seconds)
        return (
            f"{self.steps:,} steps of {1000 * self.step_seconds:.0f} ms, {self.sequences:,} sequences ({epochs:.1f} epochs of "
            f"{epoch}), {self.parameters:,} weights: about {human_time(self.seconds)}, of these {setup} for the setup and "
            f"{checks} for checks and the test",
            f"memory at most {self.memory()}",
            f"disk space at most {human_bytes(self.disk_bytes)}",
        )

    def memory(self) -> str:
        """Return the most memory as text."""
        on_gpu = "" if self.gpu_bytes is None else f", and {human_bytes(self.gpu_bytes)} on the GPU"
        return f"{human_bytes(self.memory_bytes)}{on_gpu}"


def check_budget(estimate: Estimate, budget: float | None) -> None:
    """Raise UsageError if a run is estimated to exceed its budget in seconds; the message says how many steps fit."""
    if budget is None or estimate.seconds <= budget:
        return
    steps = math.floor((budget - estimate.once_seconds) / estimate.step_seconds)
    hint = f"--set steps={steps} would fit" if steps > 0 else "Raise the budget"
    msg = (
        f"{estimate.steps:,} steps take an estimated {human_time(estimate.seconds)} "
        f"({1000 * estimate.step_seconds:.0f} ms each), and the budget is {human_time(budget)}. {hint}"
    )
    raise UsageError(msg)


def estimate_run(
    session: loop.TrainingSession, memory: PeakMemory, choosing: float, most_tested: int, progress: Progress
) -> tuple[hardware.Choices, Estimate]:
    """Estimate a run by a pilot run.

    Parameters
    ----------
    session : TrainingSession
        The run, from its first step.
    memory : PeakMemory
        Measures the memory of this process since the run was opened.
    choosing : float
        Seconds in which the settings for the machine were chosen.
    most_tested : int
        Largest number of clips of the test split on which the trained model is evaluated.
    progress : Progress

    Returns
    -------
    choices : Choices
        Those of the session, with a smaller micro-batch if the memory is too small for theirs.
    estimate : Estimate
    """
    begin, setup = time.perf_counter(), session.setup
    settings = setup.settings.model_copy(update={"log": ("tensorboard",)})
    choices = session.choices
    while True:
        few = replace(session, setup=replace(setup, settings=settings), last=min(STEPS, session.last), choices=choices)
        try:
            measured = _measure(few, progress)
            break
        except (MemoryError, RuntimeError) as error:
            if not hardware.is_out_of_memory(error):
                raise
            choices = choices.halve_micro_batch(error)
            hardware.release_memory()
    hardware.release_memory()
    settings, one_variant = setup.settings, setup.task.reading.first_variant_only
    sources = {split: setup.data.source(setup.task.recipes, split) for split in ("training", "validation", "test")}
    variants = len(settings.data.variants or sources["training"].variants)
    validation, test = (sources[split].samples * (1 if one_variant else variants) for split in ("validation", "test"))
    tested = min(most_tested, test)
    calibrated = 0 if setup.task.abilities.calibrate is None else min(most_tested, validation)
    mapped = _mapped_bytes(setup, few, tested / test)
    return choices, Estimate(
        choosing_seconds=choosing + time.perf_counter() - begin,
        steps=settings.steps,
        checks=min(settings.checks.times, settings.steps),
        checked_clips=min(settings.checks.clips, validation) + min(most_loss_clips(setup.task, settings), validation),
        tested_clips=tested + calibrated,
        epoch_steps=batches_of(sources["training"], settings.batch, settings.seed, settings.data.variants).per_epoch,
        sequences=sources["training"].samples * variants,
        parameters=sum(weights.numel() for weights in encoder.trainable_weights(setup.make_model()).values()),
        memory_bytes=memory.peak + mapped,
        **measured,
    )


def _mapped_bytes(setup: Setup, pilot: loop.TrainingSession, tested: float) -> int:
    """Return the bytes of the cached features that a run reads, and the pilot run did not.

    `tested` is the share of the test split that it reads. Features are mapped, and count as memory of the process as soon as
    their shard has been read.
    """
    dataset, settings = setup.data.dataset, setup.settings
    if dataset is None:
        return 0
    header, shards = dataset.header, dataset.header.shards()
    each = sum(recipe.bytes(setup.data.view) for recipe in setup.task.recipes)
    variants = len(settings.data.variants or header.variants)

    def drawn(steps: int, batch: int) -> float:
        # Chunks are drawn from all shards at random.
        return 1 - math.exp(-steps * batch / variants / header.chunk / shards)

    read = max(drawn(settings.steps, settings.batch), tested)
    rest = max(0.0, read - drawn(pilot.last, pilot.setup.settings.batch))
    return int(len(dataset) * len(header.variants) * each * rest)


def _measure(session: loop.TrainingSession, progress: Progress) -> dict[str, Any]:
    """Train some steps, write and read a checkpoint, and evaluate a batch; return attributes of an estimate."""
    begin = time.perf_counter()
    learner, timer = loop.make_learner(session, None), loop.StepTimer()
    hardware.gpu_peak(session.choices.device, reset=True)
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        with Logs(Path(folder), session.setup.settings, 0):
            loop.run_steps(session, learner, timer, progress.log)
            run_folder.write_checkpoint(Path(folder), learner.state())
        total = time.perf_counter() - begin
        run_folder.read_checkpoint(Path(folder), learner.progress.step)
        stored = run_folder.checkpoint_bytes(Path(folder))
    times, done = timer.times(), max(1, learner.progress.step)
    step = total / done if times is None else times.seconds
    return {
        "step_seconds": step,
        "start_seconds": max(0.0, total - done * step),
        "clip_seconds": _clip_seconds(session, learner),
        "gpu_bytes": hardware.gpu_peak(session.choices.device),
        "disk_bytes": _STORED * stored,
    }


def _clip_seconds(session: loop.TrainingSession, learner: loop.Learner) -> float:
    """Return the seconds in which a clip is evaluated."""
    setup, choices = session.setup, session.choices
    validation = setup.data.source(setup.task.recipes, "validation")
    size, best = hardware.evaluation_batch(choices.device, choices.micro_batch), math.inf
    # The first pass is slower.
    for _ in range(2):
        begin = time.perf_counter()
        for outputs, _ in trained_models.model_outputs(
            setup.task, learner.model, validation, setup.settings.data.variants, most=size, size=size
        ):
            best = min(best, (time.perf_counter() - begin) / len(outputs))
            begin = time.perf_counter()
    return best
