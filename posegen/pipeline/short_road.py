"""Walking a short road to see what a long one takes: the real stages, on a few samples, with a few steps of training each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from posegen.pipeline.run import Request
from posegen.pipeline.scaling import Cost, EmbeddingMeasured, TrainingMeasured

if TYPE_CHECKING:
    from posegen.training.task import Task

__all__ = ["animating", "embedding", "evaluating", "generating", "shortened", "training"]

STEPS = 20
"""Of training: the first ones are slow, and the others are enough for a median."""


def generating(request: Request, say: Callable[[str], None]) -> None:
    """Make the few samples."""
    from posegen.generation.run import generate

    say(f"measuring the road by {request.config.samples:,} samples")
    generate(request.config, out=request.dataset, workers=request.workers)


def embedding(request: Request, say: Callable[[str], None]) -> EmbeddingMeasured:
    """Embed their captions; vectors that other datasets left in the user's cache are not counted on."""
    from posegen.dataset.read import open_dataset
    from posegen.embedding.stage import embed

    say("measuring embed")
    begun = time.monotonic()
    made = embed(request.dataset, cached=False)
    seconds = time.monotonic() - begun
    dataset = open_dataset(request.dataset)
    samples = len(dataset)
    half = {caption["text"] for sample in range(samples // 2) for row in dataset.rows(sample) for caption in row["captions"]}
    return EmbeddingMeasured(samples, len(half), made.distinct, seconds, made.texts_per_second, bytes_of(made.path))


def training(request: Request, name: str, say: Callable[[str], None]) -> TrainingMeasured:
    """Compute the features of a task, and train a few steps."""
    from posegen.training.runs.folder import RESULT, read_document
    from posegen.training.settings import load_settings
    from posegen.training.setup import Request as Asked
    from posegen.training.setup import open_setup
    from posegen.training.train import train

    say(f"measuring train {name}")
    settings = load_settings(request.preset, task=name)
    before = bytes_of(request.dataset / "training")
    begun = time.monotonic()
    found = open_setup(Asked(str(request.dataset), name, request.preset, settings))
    found.data.prepare(found.task.recipes, lambda done, total: None)
    prepared = time.monotonic()
    features = bytes_of(request.dataset / "training") - before
    few = load_settings(request.preset, [f"steps={min(STEPS, settings.steps)}", "checks.times=1", "log=[]"], task=name)
    estimate = train(Asked(str(request.dataset), name, request.preset, few, request.out / name)).estimate
    assert estimate is not None
    seconds = time.monotonic() - prepared
    times = (read_document(request.out / name, RESULT) or {}).get("times")
    whole, one = bytes_of(request.out / name), _largest(request.out / name / "checkpoints")
    kept = sum(file.name.endswith(".safetensors") for file in (request.out / name / "checkpoints").iterdir())
    return TrainingMeasured(
        task=name,
        settings=settings,
        samples=found.data.samples,
        variants=_judged_variants(request, found.task, settings.data.variants),
        steps=few.steps,
        checks=1,
        feature_seconds=prepared - begun,
        seconds=seconds,
        step_seconds=estimate.step_seconds if times is None else times["seconds"],
        estimate=estimate,
        feature_bytes=features,
        checkpoint_bytes=one,
        other_bytes=whole - kept * one,
    )


def _judged_variants(request: Request, task: Task, chosen: tuple[str, ...] | None) -> int:
    return 1 if task.first_variant_only else len(chosen or request.config.variants.names)


def evaluating(request: Request, say: Callable[[str], None]) -> Callable[[int], Cost]:
    """Evaluate; gives what tells the cost of that from the number of samples."""
    from posegen.pipeline.evaluation import MOST, evaluated

    say("measuring evaluate")
    encoder = request.out / "retrieval" if "retrieval" in request.tasks else None
    out, begun = request.out / "evaluation.json", time.monotonic()
    evaluated(request.dataset, encoder, out, lambda told: None)
    seconds, measured, stored = time.monotonic() - begun, min(MOST, request.config.samples), out.stat().st_size
    return lambda samples: Cost.about("evaluate", seconds * min(MOST, samples) / measured, stored)


def animating(request: Request, say: Callable[[str], None]) -> Cost:
    """Animate, which takes the same whatever the dataset."""
    from posegen.pipeline.animation import animated

    say("measuring animate")
    out, begun = request.out / "animation.gif", time.monotonic()
    animated(request.out / "motion", request.texts, out, say)
    return Cost.about("animate", time.monotonic() - begun, out.stat().st_size)


def bytes_of(folder: Path) -> int:
    """Add up the sizes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _largest(folder: Path) -> int:
    return max((file.stat().st_size for file in folder.iterdir()), default=0)


def shortened(request: Request, out: Path, samples: int) -> Request:
    """Make the request of a short road in another place."""
    return replace(request, config=request.config.model_copy(update={"samples": samples}), out=out)
