"""Steps of the task text: memory and loss with gradient checkpointing, and the share of tokenising that stored tokens save."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from posegen.machine import lifetime_peak, process_memory
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.data.tokens import numbers_of
from posegen.training.hardware import Choices
from posegen.training.loop.learner import Session, make_learner, run_steps
from posegen.training.loop.session import TimedCallback
from posegen.training.settings import load_settings
from posegen.training.setup import Request, Setup, open_setup

SAMPLES, STEPS, ROUNDS = 600, 3, 15
BATCHES = (24, 64)
"""Scenes of a step in ``quick``, and in ``balanced`` and ``gpu-16gb``."""
LEAST_SAVED = 0.3


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", str(SAMPLES))
    for batch in BATCHES:
        yield _checkpointing(dataset, batch)
    yield _tokenising(_opened(dataset, BATCHES[0])[1])


def _opened(dataset: Path, batch: int) -> tuple[Request, Setup]:
    settings = load_settings("quick", [f"batch={batch}", f"steps={STEPS}", "log=[]"], "text")
    request = Request(str(dataset), "text", "quick", settings)
    setup = open_setup(request)
    setup.data.prepare(setup.task.recipes, lambda done, total: None)
    return request, setup


def _checkpointing(dataset: Path, batch: int) -> Figure:
    # Each in a process of its own, whose highest memory is that of its steps.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        (stored, whole, losses), (recomputed, other_whole, other_losses) = (
            pool.submit(steps_of, dataset, batch, on).result() for on in (False, True)
        )
    saved, apart = 1 - recomputed / stored, max(abs(a - b) for a, b in zip(losses, other_losses, strict=True))
    value = (
        f"{recomputed / 1e6:.0f} instead of {stored / 1e6:.0f} MB, {100 * saved:.0f} % less; whole process "
        f"{other_whole / 1e9:.2f} instead of {whole / 1e9:.2f} GB; losses of {STEPS} steps differ by {apart:.1e}"
    )
    name = f"task text, batches of {batch}: weights, optimiser and activations with checkpointing"
    return Figure(name, value, f"{100 * LEAST_SAVED:.0f} % less, equal losses", saved >= LEAST_SAVED and apart == 0)


def steps_of(dataset: Path, batch: int, checkpointing: bool) -> tuple[int, int, list[float]]:
    """Train some steps; return the bytes of everything that is trained, those of the process, and the losses."""
    (request, setup), losses = _opened(dataset, batch), []

    class Losses(TimedCallback):
        def after_micro_batch(self, outputs: Any) -> None:
            losses.append(float(outputs["loss"]))

    choices = Choices("cpu", "32-true", 1, batch, 0, compile=False, checkpointing=checkpointing)
    torch.set_num_threads(1)
    session = Session(dataset, request, setup, 0, STEPS, choices)
    learner = make_learner(session, None)
    loaded = sum(value.nbytes for values in (learner.model.state_dict(), learner.average) for value in values.values())
    before = process_memory() - loaded
    run_steps(session, learner, Losses(), 0, print)
    return lifetime_peak() - before, lifetime_peak(), losses


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
        f"reading {1000 * reading:.1f} ms instead of tokenising {1000 * tokenising:.1f} ms, of a step of "
        f"{1000 * trained:.0f} ms on one core: {(trained + tokenising) / (trained + reading):.3f} times as fast"
    )
    name = f"task text, {len(texts)} texts: tokens that are stored"
    return Figure(name, value, "faster than tokenising", reading < tokenising)


def _seconds(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median processor time of a call, which other programs hardly change."""
    times = []
    for _ in range(rounds + 1):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return median(times[1:])
