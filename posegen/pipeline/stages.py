"""The stages of ``posegen run``: from a config to trained models and an evaluation, in one folder, by one command that resumes.

::

    OUT/
      dataset/            output of `posegen generate`, with the vectors of `posegen embed`
      TASK/               output of `posegen train` for each task
      evaluation.json     measures of the motion, with a checksum
      animation.gif       motion of the task motion's model for some texts; animation.json states its inputs

The state of the pipeline is not stored. Each stage finds out whether its result is complete, so that a kill at any time costs
no more than the running stage would lose alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import to_jsonable_python

from posegen.config.schema import Config
from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.read import open_dataset
from posegen.embedding.models import DEFAULT, find_encoder
from posegen.embedding.stage import embed
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import Progress
from posegen.foundations.wording import counted
from posegen.generation.run import generate

if TYPE_CHECKING:
    from posegen.training.animate import Animation
    from posegen.training.settings import Settings

MOST_SAMPLES = 1000
"""Samples that are evaluated: enough for stable measures, within about a minute."""


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
    encoder : str or None
        Text encoder of the captions; None for the default.
    """

    config: Config
    out: Path
    tasks: tuple[str, ...]
    preset: str = "quick"
    workers: int | None = None
    texts: tuple[str, ...] = ()
    encoder: str | None = None

    @property
    def dataset(self) -> Path:
        """Dataset folder."""
        return self.out / "dataset"

    def settings_of(self, task: str) -> Settings:
        """Return the settings of a task, which reads the embeddings of the encoder: a dataset may have several."""
        from posegen.training.settings import load_settings
        from posegen.training.task import find_task

        if self.encoder is None or not find_task(task).reading.takes_captions:
            return load_settings(self.preset, [], task)
        return load_settings(self.preset, [f"contrast.encoder={json.dumps(find_encoder(self.encoder).name)}"], task)


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
    from posegen.foundations.plugins import require_extra

    require_extra("train")
    from posegen.training.settings import load_settings
    from posegen.training.task import find_task

    if len(set(request.tasks)) < len(request.tasks):
        raise UsageError(f"--task repeats a name: {', '.join(request.tasks)}")
    tasks = [find_task(name) for name in request.tasks]
    for name in request.tasks:
        load_settings(request.preset, [], name)
    stages: dict[str, Stage] = {"generate": partial(_generate, request)}
    if any(task.reading.takes_captions for task in tasks):
        require_extra("embed")  # before the samples are generated
        stages["embed"] = partial(_embed, request)
    stages |= {f"train {name}": partial(_train, request, name) for name in request.tasks}
    stages["evaluate"] = partial(_evaluate, request)
    if request.texts and "motion" in request.tasks:
        require_extra("view")
        stages["animate"] = partial(_animate, request)
    return stages


def run_pipeline(request: Request, progress: Progress) -> Iterator[CompletedStage]:
    """Run the stages of a request, and yield each one when it is complete.

    Raises
    ------
    UsageError, PosegenError
        If a stage fails. Complete results are kept.
    """
    stages = list_stages(request)
    if request.encoder is not None:
        find_encoder(request.encoder, notify=progress.log)
    for number, (name, run) in enumerate(stages.items(), 1):
        progress.log(f"[{number}/{len(stages)}] {name}")
        started = time.monotonic()
        try:
            was_complete, summary = run(progress)
        finally:
            progress.stop()
        yield CompletedStage(name, was_complete, summary, time.monotonic() - started)


def _generate(request: Request, progress: Progress) -> StageResult:
    result = generate(request.config, out=request.dataset, workers=request.workers, progress=progress)
    return (
        result.nothing_to_do,
        f"{counted(result.samples, 'sample')}, {counted(result.sequences, 'sequence')} in {result.path}",
    )


def _embed(request: Request, progress: Progress) -> StageResult:
    result = embed(request.dataset, request.encoder or DEFAULT, progress=progress)
    return result.nothing_to_do, f"{result.distinct:,} distinct texts by {result.encoder} in {result.path}"


def _train(request: Request, task: str, progress: Progress) -> StageResult:
    from posegen.training.setup import Request as TrainingRequest
    from posegen.training.task import find_task
    from posegen.training.train import train

    settings = request.settings_of(task)
    result = train(TrainingRequest(str(request.dataset), task, request.preset, settings, request.out / task), progress)
    if result.stopped is not None:
        raise PosegenError(f"train {task}: stopped after {counted(result.steps, 'step')}: {result.stopped}")
    monitor = find_task(task).configured(settings).monitor
    return result.nothing_to_do, f"{monitor} {result.measures[monitor]:.3f} on samples not used in training, in {result.run}"


def _evaluate(request: Request, progress: Progress) -> StageResult:
    """Evaluate the dataset, unless the evaluation is complete: its document is undamaged, and its inputs are unchanged."""
    from posegen.evaluation.evaluate import evaluate

    dataset, out = open_dataset(request.dataset), request.out / "evaluation.json"
    inputs = {"identity": dataset.header.identity, "samples": min(MOST_SAMPLES, len(dataset))}
    found = _read(out, inputs, progress)
    evaluation = found and found["evaluation"]
    if not evaluation:
        result = evaluate(request.dataset, None, MOST_SAMPLES, progress)
        evaluation = to_jsonable_python({"clips": result.clips, "figures": result.measures}, inf_nan_mode="null")
        write_durably(out, seal({"inputs": inputs, "evaluation": evaluation}, indent=2))
    return found is not None, f"{counted(evaluation['clips'], 'clip')} evaluated, in {out}"


def _animate(request: Request, progress: Progress) -> StageResult:
    """Animate the texts with the trained model, unless the animation is complete."""
    from posegen.training.animate import animate, load_text_encoder
    from posegen.training.run_folder import MODEL, read_document
    from posegen.training.trained_models import load_model

    model, out, file = request.out / "motion", request.out / "animation.gif", request.out / "animation.json"
    trained_model = read_document(model, MODEL)
    inputs = {"model": trained_model and str(trained_model["xxh3"]), "texts": list(request.texts)}
    was_complete = out.is_file() and _read(file, inputs, progress) is not None
    if not was_complete:
        trained = load_model(model, "generates_motion")
        draw_animation(animate(trained, load_text_encoder(trained), request.texts), out)
        write_durably(file, seal({"inputs": inputs}))
    return was_complete, f"{'; '.join(request.texts)}: {out}"


def draw_animation(animation: Animation, out: Path) -> None:
    """Draw an animation as a .gif or .mp4, or its poses over time as a .png, with its texts below."""
    from posegen.foundations.skeleton import CONTACTS
    from posegen.viewing.clip import make_clip
    from posegen.viewing.render import render

    joints, contact = (np.stack([getattr(clip, name) for clip in animation.clips]) for name in ("joints", "contact"))
    contact = np.pad(contact.astype(np.uint8), ((0, 0), (0, 0), (0, len(CONTACTS) - contact.shape[2])))
    drawn = make_clip(joints, "\n".join(animation.texts), animation.fps, contact=contact, title="animated")
    render(drawn, out)


def _read(file: Path, inputs: dict[str, Any], progress: Progress) -> dict[str, Any] | None:
    """Read the document of a result; None if it is missing or damaged, or belongs to other inputs."""
    if not file.is_file():
        return None
    try:
        document = unseal(file.read_bytes(), Origin(str(file), "It is made again"))
    except PosegenError as error:
        progress.log(str(error))
        return None
    return document if document.get("inputs") == inputs else None
