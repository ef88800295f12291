"""A pilot run: a few steps of a training run, from which its time and memory are estimated. Nothing of it is kept.

The steps are those of the run itself, with its optimiser, its loading processes and its checkpoint, because the memory and the
time of a model's forward and backward pass alone are less than half of what a run of a small model takes.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from posegen.foundations.machine import PeakMemory
from posegen.foundations.progress import Progress
from posegen.training.cluster import local_processes
from posegen.training.data.feed import batches_of
from posegen.training.estimate import Estimate
from posegen.training.hardware import Choices, evaluation_batch, gpu_peak, is_out_of_memory, release_memory
from posegen.training.loop.learner import Learner, TrainingSession, make_learner, run_steps
from posegen.training.loop.session import Logs, most_loss_clips, validation_loss
from posegen.training.loop.timing import StepTimer
from posegen.training.models.encoder import trainable_weights
from posegen.training.run_folder import read_checkpoint, write_checkpoint
from posegen.training.setup import Setup
from posegen.training.trained_models import model_outputs

STEPS = 7
"""Steps of a pilot run. The first ones are slow; the others give a median."""


@dataclass(frozen=True)
class _Measures:
    """Seconds of a usual step, of what is before it, of a tested clip, and of a clip's validation loss; bytes on a GPU."""

    step: float
    start: float
    clip: float
    loss: float
    gpu_bytes: int | None


def estimate_run(
    session: TrainingSession, memory: PeakMemory, choosing: float, most_tested: int, progress: Progress
) -> tuple[Choices, Estimate]:
    """Estimate a run by a pilot run on one device.

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
    begin, setup, devices = time.perf_counter(), session.setup, session.choices.devices
    settings = setup.settings.model_copy(update={"batch": setup.settings.batch // devices, "log": ("tensorboard",)})
    choices = replace(session.choices, devices=1)
    while True:
        few = replace(session, setup=replace(setup, settings=settings), last=min(STEPS, session.last), choices=choices)
        try:
            measured = _measure(few, progress)
            break
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            choices = choices.halve_micro_batch(error)
            release_memory()
    release_memory()
    choices, estimate = replace(choices, devices=devices), setup.settings
    sources = {split: setup.data.source(setup.task.recipes, split) for split in ("training", "validation", "test")}
    variants = len(estimate.data.variants or sources["training"].variants)
    evaluated = 1 if setup.task.reading.first_variant_only else variants
    checked, tested = (
        min(most, sources[split].samples * evaluated)
        for split, most in (("validation", estimate.checks.clips), ("test", most_tested))
    )
    calibrated = 0 if setup.task.abilities.calibrate is None else min(most_tested, sources["validation"].samples * evaluated)
    return choices, Estimate(
        choosing_seconds=choosing + time.perf_counter() - begin,
        start_seconds=measured.start,
        step_seconds=measured.step,
        clip_seconds=measured.clip,
        loss_seconds=measured.loss,
        steps=estimate.steps,
        checks=min(estimate.checks.times, estimate.steps),
        checked_clips=checked,
        loss_clips=min(most_loss_clips(setup.task, estimate), sources["validation"].samples * evaluated),
        tested_clips=tested + calibrated,
        epoch_steps=batches_of(sources["training"], estimate.batch, estimate.seed, estimate.data.variants).per_epoch,
        sequences=sources["training"].samples * variants,
        parameters=sum(weights.numel() for weights in trainable_weights(setup.make_model()).values()),
        memory_bytes=(memory.peak + _mapped_bytes(setup, few, tested / (sources["test"].samples * evaluated)))
        * local_processes(devices),
        gpu_bytes=measured.gpu_bytes,
    )


def _mapped_bytes(setup: Setup, pilot: TrainingSession, tested: float) -> int:
    """Return the bytes of the cached features that a run reads, and the pilot run did not.

    `tested` is the share of the test split that it reads. Features are mapped, and count as memory of the process as soon as
    their shard has been read.
    """
    dataset, settings = setup.data.dataset, setup.settings
    if dataset is None:
        return 0
    header, shards = dataset.header, dataset.header.shards()
    each = sum(np.dtype(recipe.dtype).itemsize * math.prod(recipe.shape(setup.data.view)) for recipe in setup.task.recipes)
    variants = len(settings.data.variants or header.variants)

    def drawn(steps: int, batch: int) -> float:
        # Chunks are drawn from all shards at random.
        return 1 - math.exp(-steps * batch / variants / header.chunk / shards)

    read = max(drawn(settings.steps, settings.batch), tested)
    rest = max(0.0, read - drawn(pilot.last, pilot.setup.settings.batch))
    return int(len(dataset) * len(header.variants) * each * rest)


def _measure(session: TrainingSession, progress: Progress) -> _Measures:
    """Train some steps, write and read a checkpoint, and evaluate a batch."""
    begin = time.perf_counter()
    learner, timer = make_learner(session, None), StepTimer()
    gpu_peak(session.choices.device, reset=True)
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        with Logs(Path(folder), session.setup.settings, 0):
            run_steps(session, learner, timer, progress.log)
            write_checkpoint(Path(folder), learner.state())
        total = time.perf_counter() - begin
        read_checkpoint(Path(folder), learner.progress.step)
    times, done = timer.times(), max(1, learner.progress.step)
    step = total / done if times is None else times.seconds
    clip, loss = _evaluation_seconds(session, learner)
    return _Measures(step, max(0.0, total - done * step), clip, loss, gpu_peak(session.choices.device))


def _evaluation_seconds(session: TrainingSession, learner: Learner) -> tuple[float, float]:
    """Return the seconds of a clip that is evaluated, and those of its part of a validation loss."""
    setup, choices = session.setup, session.choices
    validation = setup.data.source(setup.task.recipes, "validation")
    size = evaluation_batch(choices.device, choices.micro_batch)
    best, variants = float("inf"), setup.settings.data.variants
    # The first pass is slower.
    for _ in range(2):
        begin = time.perf_counter()
        for outputs, _ in model_outputs(setup.task, learner.model, validation, variants, most=size, size=size):
            best = min(best, (time.perf_counter() - begin) / len(outputs))
            begin = time.perf_counter()
    begin = time.perf_counter()
    validation_loss(session, learner.model)
    if choices.device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    shown = validation.samples * (1 if setup.task.reading.first_variant_only else len(variants or validation.variants))
    return best, seconds / max(1, min(most_loss_clips(setup.task, setup.settings), shown))
