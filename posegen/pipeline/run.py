"""The stages of ``posegen run``: from a config to trained models and an evaluation, in one folder, by one command that resumes.

::

    OUT/
      dataset/            output of `posegen generate`, with the vectors of `posegen embed`
      TASK/               output of `posegen train` for each task
      evaluation.json     measures of the motion, and of the trained retrieval model, with a checksum
      animation.gif       motion of the task motion's model for some texts

The state of the pipeline is not stored. Each stage finds out whether its result is complete, so that a kill at any time costs
no more than the running stage would lose alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.pipeline.results import animate_once, evaluate_once
from posegen.progress import Progress


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes
    ----------
    config : Config
    out : Path
        Folder of all results.
    tasks : tuple of str
        Models to train, in this order.
    preset : str
        Preset of the training.
    workers : int or None
    texts : tuple of str
        Consecutive texts that the model of the task motion animates.
    """

    config: Config
    out: Path
    tasks: tuple[str, ...]
    preset: str = "quick"
    workers: int | None = None
    texts: tuple[str, ...] = ()

    @property
    def dataset(self) -> Path:
        """Dataset folder."""
        return self.out / "dataset"

    @property
    def encoder(self) -> Path | None:
        """Run of the retrieval model, if one is trained."""
        return self.out / "retrieval" if "retrieval" in self.tasks else None


StageResult = tuple[bool, str]
"""Whether a stage was complete before, and a summary of one line."""


Stage = Callable[[Progress], StageResult]
"""Runs a stage, or finds out that it is complete."""


@dataclass(frozen=True)
class CompletedStage:
    """A completed stage, with the seconds that this session spent on it."""

    name: str
    was_complete: bool
    summary: str
    seconds: float


def list_stages(request: Request) -> dict[str, Stage]:
    """Return the stages of a request by name, in order.

    Raises
    ------
    UsageError
        If a task or the preset is unknown, or a task is repeated.
    """
    from posegen.extras import require_extra

    require_extra("train")
    from posegen.training.settings import load_settings
    from posegen.training.task import find_task

    if len(set(request.tasks)) < len(request.tasks):
        msg = f"--task repeats a name: {', '.join(request.tasks)}"
        raise UsageError(msg)
    tasks = [find_task(name) for name in request.tasks]
    for name in request.tasks:
        load_settings(request.preset, task=name)
    stages: dict[str, Stage] = {"generate": partial(_generate, request)}
    if any(task.takes_captions for task in tasks):
        stages["embed"] = partial(_embed, request)
    stages |= {f"train {name}": partial(_train, request, name) for name in request.tasks}
    stages["evaluate"] = partial(evaluate_once, request.dataset, request.encoder, request.out / "evaluation.json")
    if request.texts and "motion" in request.tasks:
        stages["animate"] = partial(animate_once, request.out / "motion", request.texts, request.out / "animation.gif")
    return stages


def run_pipeline(request: Request, progress: Progress) -> Iterator[CompletedStage]:
    """Run the stages of a request, and yield each one when it is complete.

    Raises
    ------
    UsageError, PosegenError
        If a stage fails. Complete results are kept.
    """
    stages = list_stages(request)
    for number, (name, run) in enumerate(stages.items(), 1):
        progress.log(f"[{number}/{len(stages)}] {name}")
        started = time.monotonic()
        try:
            was_complete, summary = run(progress)
        finally:
            progress.stop()
        yield CompletedStage(name, was_complete, summary, time.monotonic() - started)


def _generate(request: Request, progress: Progress) -> StageResult:
    from posegen.generation.run import generate

    result = generate(request.config, out=request.dataset, workers=request.workers, progress=progress)
    return result.nothing_to_do, f"{result.samples:,} samples, {result.sequences:,} sequences in {result.path}"


def _embed(request: Request, progress: Progress) -> StageResult:
    from posegen.embedding.stage import embed

    result = embed(request.dataset, progress=progress)
    return result.nothing_to_do, f"{result.distinct:,} distinct texts by {result.encoder} in {result.path}"


def _train(request: Request, task: str, progress: Progress) -> StageResult:
    from posegen.training.settings import load_settings
    from posegen.training.setup import Request as TrainingRequest
    from posegen.training.task import find_task
    from posegen.training.train import train

    settings = load_settings(request.preset, task=task)
    result = train(TrainingRequest(str(request.dataset), task, request.preset, settings, request.out / task), progress)
    monitor = find_task(task).monitor
    return result.nothing_to_do, f"{monitor} {result.measures[monitor]:.3f} on samples not used in training, in {result.run}"
