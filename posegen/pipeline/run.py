"""From a config to trained models and what they say of the motion, in one folder, by one command that resumes.

::

    OUT/
      dataset/            what `posegen generate` makes, with the vectors of `posegen embed`
      TASK/               a run of `posegen train` for each task
      evaluation.json     how plausible the motion is, and how it looks to the trained retrieval model; sealed
      animation.gif       what the model of the task motion makes of some texts, where there is one

Nothing is kept of how far the road was walked: each stage knows by itself whether its result stands, so that a kill at any
instant costs what the stage at work would lose alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.pipeline.telling import Telling

__all__ = ["Done", "Request", "Stage", "run_pipeline", "stages_of"]


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes
    ----------
    config : Config
    out : Path
        Folder of it all.
    tasks : tuple of str
        Models that are trained, in this order.
    preset : str
        How much is spent on each.
    workers : int or None
    texts : tuple of str
        That a model of the task motion is to make motion of; they follow one another.
    """

    config: Config
    out: Path
    tasks: tuple[str, ...]
    preset: str = "quick"
    workers: int | None = None
    texts: tuple[str, ...] = ()

    @property
    def dataset(self) -> Path:
        """Where the dataset lies."""
        return self.out / "dataset"


@dataclass(frozen=True)
class Outcome:
    """What came of a stage: whether its result stood already, and what it is in a line."""

    stood: bool
    told: str


@dataclass(frozen=True)
class Stage:
    """One stage of the road: its name, and the work."""

    name: str
    go: Callable[[Telling], Outcome]


@dataclass(frozen=True)
class Done:
    """A stage that is over, and the seconds that this sitting spent on it."""

    name: str
    stood: bool
    told: str
    seconds: float


def stages_of(request: Request) -> list[Stage]:
    """List the stages of a road in order.

    Raises
    ------
    UsageError
        If a task or the preset is unknown, or a task is named twice: before anything is made.
    """
    from posegen.extras import require_extra
    from posegen.training.settings import load_settings

    require_extra("train")
    from posegen.training.task import find_task

    if len(set(request.tasks)) < len(request.tasks):
        msg = f"--task names one twice: {', '.join(request.tasks)}"
        raise UsageError(msg)
    tasks = [find_task(name) for name in request.tasks]
    for name in request.tasks:
        load_settings(request.preset, task=name)
    stages = [Stage("generate", partial(_generate, request))]
    if any(task.takes_captions for task in tasks):
        stages.append(Stage("embed", partial(_embed, request)))
    stages += [Stage(f"train {name}", partial(_train, request, name)) for name in request.tasks]
    stages.append(Stage("evaluate", partial(_evaluate, request)))
    if request.texts and "motion" in request.tasks:
        stages.append(Stage("animate", partial(_animate, request)))
    return stages


def run_pipeline(request: Request, telling: Telling) -> Iterator[Done]:
    """Walk the road; gives each stage when it is over.

    Raises
    ------
    UsageError, PosegenError
        As the stage says that cannot go on. What is complete stays.
    """
    stages = stages_of(request)
    for number, stage in enumerate(stages, 1):
        telling.stage(number, len(stages), stage.name)
        begun = time.monotonic()
        outcome = stage.go(telling)
        yield Done(stage.name, outcome.stood, outcome.told, time.monotonic() - begun)


def _generate(request: Request, telling: Telling) -> Outcome:
    from posegen.generation.run import generate

    made = generate(request.config, out=request.dataset, workers=request.workers, progress=telling.generation())
    return Outcome(made.nothing_to_do, f"{made.samples:,} samples, {made.sequences:,} sequences in {made.path}")


def _embed(request: Request, telling: Telling) -> Outcome:
    from posegen.embedding.stage import embed

    progress = telling.embedding()
    try:
        made = embed(request.dataset, progress=progress)
    finally:
        progress.stop()
    return Outcome(made.nothing_to_do, f"{made.distinct:,} distinct texts by {made.encoder} in {made.path}")


def _train(request: Request, task: str, telling: Telling) -> Outcome:
    from posegen.training.settings import load_settings
    from posegen.training.setup import Request as Asked
    from posegen.training.task import find_task
    from posegen.training.train import train

    asked = Asked(str(request.dataset), task, request.preset, load_settings(request.preset, task=task), request.out / task)
    made = train(asked, telling.training())
    watched = find_task(task).monitor
    told = f"{watched} {made.measures[watched]:.3f} on clips of samples that it has never seen, in {made.run}"
    return Outcome(made.nothing_to_do, told)


def _evaluate(request: Request, telling: Telling) -> Outcome:
    from posegen.pipeline.evaluation import evaluated

    encoder = request.out / "retrieval" if "retrieval" in request.tasks else None
    stood, told = evaluated(request.dataset, encoder, request.out / "evaluation.json", telling.say)
    return Outcome(stood, told)


def _animate(request: Request, telling: Telling) -> Outcome:
    from posegen.pipeline.animation import animated

    stood, told = animated(request.out / "motion", request.texts, request.out / "animation.gif", telling.say)
    return Outcome(stood, told)
