"""Steps of the task text: memory and loss with gradient checkpointing, and the share of tokenising that stored tokens save."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from posegen.foundations.machine import lifetime_peak
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.data.tokens import numbers_of
from posegen.training.hardware import Choices
from posegen.training.loop.learner import Step, TrainingSession, make_learner, run_steps
from posegen.training.loop.timing import StepTimer
from posegen.training.models.encoder import trainable_weights
from posegen.training.settings import load_settings
from posegen.training.setup import Request, Setup, open_setup

SAMPLES, STEPS, ROUNDS = 600, 3, 15
BATCHES = (24, 64)
"""Scenes of a step in ``quick``, and in ``balanced`` and ``gpu-16gb``, of which the last uses checkpointing."""
LEAST_SAVED = 0.3


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", str(SAMPLES))
    yield from _checkpointing(dataset)
    yield _tokenising(_opened(dataset, BATCHES[0])[1])


def _opened(dataset: Path, batch: int) -> tuple[Request, Setup]:
    settings = load_settings("quick", [f"batch={batch}", f"steps={STEPS}", "log=[]"], "text")
    request = Request(str(dataset), "text", "quick", settings)
    setup = open_setup(request)
    setup.data.prepare(setup.task.recipes, lambda done, total: None)
    return request, setup


def _checkpointing(dataset: Path) -> Iterator[Figure]:
    """Yield the memory of what is trained and of activations, beyond the memory of the program.

    The latter is that of a process that trains on two scenes, without weights, average, gradients and moments.
    """
    small = steps_in_process(dataset, 2, True)
    program = small.peak - small.trained
    for batch in BATCHES:
        stored, recomputed = (steps_in_process(dataset, batch, on) for on in (False, True))
        saved = 1 - (recomputed.peak - program) / (stored.peak - program)
        apart = max(abs(a - b) for a, b in zip(stored.losses, recomputed.losses, strict=True))
        value = (
            f"{(recomputed.peak - program) / 1e6:.0f} instead of {(stored.peak - program) / 1e6:.0f} MB, {100 * saved:.0f} % "
            f"less; with the program {recomputed.peak / 1e9:.2f} instead of {stored.peak / 1e9:.2f} GB; losses of {STEPS} "
            f"steps differ by {apart:.1e}"
        )
        name = f"task text, batches of {batch}: weights, optimiser and activations with checkpointing"
        good = saved >= LEAST_SAVED and apart == 0
        yield Figure(name, value, f"{100 * LEAST_SAVED:.0f} % less, equal losses", good)


@dataclass(frozen=True)
class Steps:
    """Some steps: highest memory of their process, bytes of weights, average, gradients and moments, and losses."""

    peak: int
    trained: int
    losses: list[float]


def steps_in_process(dataset: Path, batch: int, checkpointing: bool) -> Steps:
    """Train in a process of its own, whose highest memory is that of its steps."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_steps, dataset, batch, checkpointing).result()


def _steps(dataset: Path, batch: int, checkpointing: bool) -> Steps:
    (request, setup), losses = _opened(dataset, batch), list[float]()

    def after_step(step: Step) -> bool:
        losses.append(step.loss)
        return False

    choices = Choices("cpu", "32-true", 1, batch, 0, compile=False, checkpointing=checkpointing)
    torch.set_num_threads(1)
    session = TrainingSession(dataset, request, setup, 0, STEPS, choices)
    learner = make_learner(session, None)
    run_steps(session, learner, StepTimer(), print, after_step)
    every = sum(value.nbytes for values in (learner.model.state_dict(), learner.average) for value in values.values())
    moments = sum(value.nbytes for value in learner.state().tensors["optimiser"].values())
    gradients = sum(weights.nbytes for weights in trainable_weights(learner.model).values())
    return Steps(lifetime_peak(), every + gradients + moments, losses)


def _tokenising(setup: Setup) -> Figure:
    """Compare the processor time of a step that tokenises its texts with that of one that reads their tokens."""
    settings, source = setup.settings, setup.data.source(setup.task.recipes, "training")
    batches = batches_of(source, settings.batch, settings.seed, settings.data.variants)
    model: Any = setup.make_model().train()
    tokens = {name: torch.from_numpy(values) for name, values in to_clips(batches.batch(0), source, settings.seed).items()}
    flat = torch.stack([tokens["tokens"], tokens["other"]]).flatten(0, -2).numpy()
    texts = [model.encoder.tokenizer.decode(own, skip_special_tokens=True) for own in numbers_of(flat[flat.any(axis=1)])]

    def step() -> None:
        setup.task.loss(setup.task.apply(model, tokens), tokens).backward()  # type: ignore[no-untyped-call]
        model.zero_grad(set_to_none=True)

    torch.set_num_threads(1)
    reading = _seconds(lambda: numbers_of(flat[flat.any(axis=1)]))
    tokenising, trained = _seconds(lambda: model.encoder.tokenizer(texts)), _seconds(step, 3)
    value = (
        f"{len(texts)} texts: reading {1000 * reading:.1f} ms instead of tokenising {1000 * tokenising:.1f} ms, of a step of "
        f"{1000 * trained:.0f} ms on one core: {(trained + tokenising) / (trained + reading):.3f} times as fast"
    )
    return Figure("task text, a step: tokens that are stored", value, "faster than tokenising", reading < tokenising)


def _seconds(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median processor time of a call, which other programs hardly change."""
    times = []
    for _ in range(rounds + 1):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return median(times[1:])
