"""What every process of a run needs and does: its share of the batches, the learner, and the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from posegen.training.beginning import Beginning
from posegen.training.data.feed import Feed, Loader, Loading
from posegen.training.data.training_data import TrainingData, batches_of, statistics
from posegen.training.hardware.attending import attending_by_products
from posegen.training.hardware.machine import Choices
from posegen.training.runs.checkpoints import State
from posegen.training.settings import Settings
from posegen.training.steps.loop import Follower, Learner, Watch, run_loop
from posegen.training.steps.place import Place, parts_in
from posegen.training.steps.strategy import strategy_at
from posegen.training.task import Task

__all__ = ["Session", "feed_of", "learner_from", "parts_at", "sit"]


@dataclass(frozen=True)
class Session:
    """What a sitting needs.

    Attributes
    ----------
    run : Path
    task : Task
    settings : Settings
    material : TrainingData
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
    material: TrainingData
    choices: Choices
    beginning: Beginning
    first: int
    last: int
    deadline: float | None
    rechoose: Callable[[Choices], None]


def parts_at(session: Session, choices: Choices) -> int:
    """Count the micro-batches that each process has in a step."""
    parts = parts_in(session.settings.batch, choices.devices, choices.micro_batch)
    return 1 if session.task.needs_whole_batch else parts


def feed_of(session: Session, start: int, choices: Choices, place: Place) -> Feed:
    """Make the feed of the batches from a step on."""
    settings, source = session.settings, session.material.source(session.task.recipes, "training")
    data = settings.data
    return Feed(
        batches=batches_of(source, settings.batch, settings.seed, data.variants).at(start),
        source=source,
        seed=settings.seed,
        frames=None if data.frames is None else max(1, data.frames // data.stride),
        parts=parts_at(session, choices),
        shuffled=session.task.labels if data.shuffle_labels else (),
        place=place,
        whole=session.task.needs_whole_batch,
        skeleton=data.skeleton if session.task.vary_skeleton else None,
    )


def learner_from(session: Session, state: State | None) -> Learner:
    """Make the learner as a checkpoint has it, or as it is before the first step."""
    settings, task = session.settings, session.task
    model = session.beginning.make()
    if state is None and session.beginning.weights is None and task.takes_motion:
        source = session.material.source(task.recipes, "training")
        found = statistics(source, settings.data.variants, task.normalised_array)
        model.encoder.normalise_by(*found)  # type: ignore[union-attr, operator]
    return Learner(task, model, settings, state, first=session.first)


def sit(
    session: Session, choices: Choices, learner: Learner, watch: Watch | Follower, place: Place, say: Callable[[str], None]
) -> None:
    """Train from where the learner is to the last step, or to where a hook says to stop."""
    feed = feed_of(session, learner.progress.step, choices, place)
    learner.model.train()
    learner.micro_batch, learner.place, learner.torn = choices.micro_batch, place, False
    if session.task.takes_motion:
        learner.model.encoder.checkpointing = choices.checkpointing  # type: ignore[union-attr]
    on_gpu = choices.device == "cuda"
    if on_gpu:
        # Products of float32 in TF32; below, the fastest convolutions by trial.
        torch.set_float32_matmul_precision("high")
    if choices.compile:
        learner.model.compile()
    with attending_by_products(choices.device):
        run_loop(
            learner,
            Loader(feed, Loading(choices.workers, pinned=on_gpu), say),
            watch,
            feed.parts,
            accelerator="gpu" if on_gpu else "cpu",
            devices=place.of,
            strategy=strategy_at(place, choices.device),
            precision=choices.precision,
            benchmark=on_gpu,
        )
