"""The stages of ``posegen run``: from a config to trained models and an evaluation, in one folder, by one command that resumes.

::

    OUT/
      dataset/            output of `posegen generate`, with the vectors of `posegen embed`
      TASK/               output of `posegen train` for each task
      evaluation.json     measures of the motion, and of the trained retrieval model, with a checksum
      animation.gif       motion of the task motion's model for some texts; animation.json states its inputs

The state of the pipeline is not stored. Each stage finds out whether its result is complete, so that a kill at any time costs
no more than the running stage would lose alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
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
from posegen.generation.run import generate

if TYPE_CHECKING:
    from posegen.training.animation.animate import Animation
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
    presets : mapping of str to str
        Presets of tasks that have another one.
    overrides : mapping of str to tuple of str
        Changed settings of tasks, each ``KEY=VALUE``.
    deadline : float or None
        Time of ``time.monotonic`` after which no stage begins and training stops.
    """

    config: Config
    out: Path
    tasks: tuple[str, ...]
    preset: str = "quick"
    workers: int | None = None
    texts: tuple[str, ...] = ()
    encoder: str | None = None
    presets: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deadline: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    @property
    def dataset(self) -> Path:
        """Dataset folder."""
        return self.out / "dataset"

    def preset_of(self, task: str) -> str:
        """Return the preset of a task."""
        return self.presets.get(task, self.preset)

    def settings_of(self, task: str, *more: str) -> Settings:
        """Return the settings of a task, with more changed ones."""
        from posegen.training.settings import load_settings

        return load_settings(self.preset_of(task), [*self.overrides.get(task, ()), *more], task)

    def select_embeddings(self, task: str) -> tuple[str, ...]:
        """Return the setting by which a task reads the embeddings of the encoder, of which a dataset may have several."""
        from posegen.training.task import find_task

        if self.encoder is None or not find_task(task).reading.takes_captions:
            return ()
        return (f"contrast.encoder={json.dumps(find_encoder(self.encoder).name)}",)


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
    from posegen.training.task import find_task

    if len(set(request.tasks)) < len(request.tasks):
        raise UsageError(f"--task repeats a name: {', '.join(request.tasks)}")
    tasks = [find_task(name) for name in request.tasks]
    for kind, named in (("--preset", request.presets), ("--set", request.overrides)):
        for name in named:
            if name not in request.tasks:
                raise UsageError(f"{kind} {name}: is for a task that is not trained. Add --task {name}, or remove it")
    for name in request.tasks:
        request.settings_of(name)
    stages: dict[str, Stage] = {"generate": partial(_generate, request)}
    if any(task.reading.takes_captions for task in tasks):
        require_extra("embed")  # before the samples are generated
        stages["embed"] = partial(_embed, request)
    stages |= {f"train {name}": partial(_train, request, name) for name in request.tasks}
    stages["evaluate"] = partial(evaluate_once, request)
    if request.texts and "motion" in request.tasks:
        require_extra("view")
        stages["animate"] = partial(animate_once, request)
    return stages


def run_pipeline(request: Request, progress: Progress) -> Iterator[CompletedStage]:
    """Run the stages of a request, and yield each one when it is complete.

    Raises
    ------
    UsageError, PosegenError
        If a stage fails, or the deadline has passed. Complete results are kept.
    """
    stages = list_stages(request)
    if request.encoder is not None:
        find_encoder(request.encoder, notify=progress.log)
    for number, (name, run) in enumerate(stages.items(), 1):
        progress.log(f"[{number}/{len(stages)}] {name}")
        started = time.monotonic()
        if request.seconds_left is not None and request.seconds_left <= 0:
            raise PosegenError(f"{name}: the budget is used up. The same command resumes there")
        try:
            was_complete, summary = run(progress)
        finally:
            progress.stop()
        yield CompletedStage(name, was_complete, summary, time.monotonic() - started)


def _generate(request: Request, progress: Progress) -> StageResult:
    result = generate(request.config, out=request.dataset, workers=request.workers, progress=progress)
    return result.nothing_to_do, f"{result.samples:,} samples, {result.sequences:,} sequences in {result.path}"


def _embed(request: Request, progress: Progress) -> StageResult:
    result = embed(request.dataset, request.encoder or DEFAULT, progress=progress)
    return result.nothing_to_do, f"{result.distinct:,} distinct texts by {result.encoder} in {result.path}"


def _train(request: Request, task: str, progress: Progress) -> StageResult:
    from posegen.training.setup import Request as TrainingRequest
    from posegen.training.task import find_task
    from posegen.training.train import train

    settings, preset = request.settings_of(task, *request.select_embeddings(task)), request.preset_of(task)
    own = TrainingRequest(str(request.dataset), task, preset, settings, request.out / task, request.seconds_left)
    try:
        result = train(own, progress)
    except UsageError as error:
        # Here, --set without a task changes the config.
        raise UsageError(f"train {task}: {error}".replace("--set ", f"--set {task}:")) from error
    if result.stopped is not None:
        raise PosegenError(f"train {task}: stopped after {result.steps:,} steps: {result.stopped}")
    monitor = find_task(task).configured(settings).monitor
    return result.nothing_to_do, f"{monitor} {result.measures[monitor]:.3f} on samples not used in training, in {result.run}"


def evaluate_once(request: Request, progress: Progress) -> StageResult:
    """Evaluate the dataset, unless the evaluation is complete: its document is undamaged, and its inputs are unchanged."""
    from posegen.evaluation.evaluate import evaluate

    dataset, out = open_dataset(request.dataset), request.out / "evaluation.json"
    encoder = request.out / "retrieval" if "retrieval" in request.tasks else None
    model = None if encoder is None else _model_hash(encoder)
    inputs = {"identity": dataset.header.identity, "samples": min(MOST_SAMPLES, len(dataset)), "model": model}
    document = _read(out, progress)
    was_complete = document is not None and document.get("inputs") == inputs
    if document is None or not was_complete:
        # In one process, so that the pilot run of an estimate takes as long for a sample as a whole run does.
        result = evaluate(request.dataset, None, MOST_SAMPLES, progress, workers=1)
        document = {
            "inputs": inputs,
            "evaluation": to_jsonable_python({"clips": result.clips, "figures": result.measures}, inf_nan_mode="null"),
            "encoder": None if encoder is None else _evaluate_encoder(request.dataset, encoder, progress),
        }
        write_durably(out, seal(document, indent=2))
    summary = f"{document['evaluation']['clips']:,} clips evaluated"
    if document["encoder"] is not None:
        ranking = document["encoder"]["precision"]["text_to_motion"]
        summary += f"; R@3 {100 * ranking['recall']['3']:.1f} % in pools of {ranking['pool']}"
    return was_complete, f"{summary}, in {out}"


def _evaluate_encoder(dataset: Path, encoder: Path, progress: Progress) -> dict[str, Any]:
    from posegen.evaluation.distances import encoded_spread
    from posegen.training.trained_models import encode_dataset

    encoded = encode_dataset(encoder, dataset, MOST_SAMPLES, progress)
    measures = {**asdict(encoded_spread(encoded.motion)), "precision": encoded.precision(), "distance": encoded.distance()}
    document: dict[str, Any] = to_jsonable_python(measures, inf_nan_mode="null")
    return document


def animate_once(request: Request, progress: Progress) -> StageResult:
    """Animate the texts with the trained model, unless the animation is complete."""
    from posegen.training.animation.animate import animate, load_text_encoder
    from posegen.training.trained_models import load_model

    model, out, file = request.out / "motion", request.out / "animation.gif", request.out / "animation.json"
    inputs = {"model": _model_hash(model), "texts": list(request.texts)}
    was_complete = out.is_file() and (_read(file, progress) or {}).get("inputs") == inputs
    if not was_complete:
        trained = load_model(model, "generates_motion")
        draw_animation(animate(trained, load_text_encoder(trained), request.texts), out)
        write_durably(file, seal({"inputs": inputs}))
    return was_complete, f"{'; '.join(request.texts)}: {out}"


def draw_animation(animation: Animation, out: Path) -> None:
    """Draw an animation as a .gif or .mp4, or its poses over time as a .png, with its texts below."""
    from posegen.foundations.skeleton import CONTACTS
    from posegen.viewing.clip import make_clip
    from posegen.viewing.render import render_all

    joints, contact = (np.stack([getattr(clip, name) for clip in animation.clips]) for name in ("joints", "contact"))
    contact = np.pad(contact.astype(np.uint8), ((0, 0), (0, 0), (0, len(CONTACTS) - contact.shape[2])))
    drawn = make_clip(joints, "\n".join(animation.texts), animation.fps, contact=contact, title="animated")
    render_all([drawn], out)


def _model_hash(run: Path) -> str | None:
    """Return the hash of a trained model; None if there is no model."""
    from posegen.training.run_folder import MODEL, read_document

    document = read_document(run, MODEL)
    return None if document is None else str(document["xxh3"])


def _read(file: Path, progress: Progress) -> dict[str, Any] | None:
    """Read a document; None if it is missing or damaged."""
    if not file.is_file():
        return None
    try:
        return unseal(file.read_bytes(), Origin(str(file), "It is made again"))
    except PosegenError as error:
        progress.log(str(error))
        return None
