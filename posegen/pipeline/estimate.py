"""The estimated cost of ``posegen run``: time with an interval, and disk, of each stage for any number of samples.

The dataset is estimated by a profile. The other stages are measured once, in a pilot run of a few samples and training steps
that leaves nothing on the disk.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from posegen.dataset.files import total_bytes
from posegen.dataset.read import open_dataset
from posegen.embedding.models import DEFAULT, find_encoder, relative_cost
from posegen.embedding.stage import embed
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import free_disk
from posegen.foundations.progress import Progress
from posegen.generation.profile.profile import Profile
from posegen.generation.run import generate
from posegen.generation.session import disk_folder, explain_disk_errors, interruptible, temporary_folder
from posegen.pipeline.stages import MOST_SAMPLES, Request, animate_once, evaluate_once, list_stages

if TYPE_CHECKING:
    from posegen.config.schema import Store
    from posegen.training.estimate import Estimate
    from posegen.training.settings import Settings

UNCERTAINTY = 0.2
"""Relative uncertainty of a stage that is measured once. An assumption."""

STEPS = 20
"""Training steps of the pilot run: the first ones are slow, the others are enough for a median."""

_PILOT_SAMPLES = 320
_PILOT_SHARDS = 8
"""Shards of the pilot run, so that several threads that compute features have equal shares, as in a large dataset."""
_SAMPLES_PER_IDENTITY = 2
"""With fewer samples for each person, a task about identities has no pairs."""

_HELD_OUT = 0.1
"""Share of the samples in the validation split, and in the test split."""

_MOST_TESTED = 10_000
_FIRST_EVALUATED = 20
_CHECKPOINTS = 3
"""Checkpoints that a run keeps: the last two and the best."""


@dataclass(frozen=True)
class Cost:
    """Cost of a stage: seconds with their interval, and bytes that it adds to the disk."""

    name: str
    seconds: float
    low: float
    high: float
    bytes: float
    note: str = ""

    @classmethod
    def measured_once(cls, name: str, seconds: float, stored: float) -> Cost:
        """Return the cost of a stage that was measured once."""
        return cls(name, seconds, seconds / (1 + UNCERTAINTY), seconds * (1 + UNCERTAINTY), stored)


@dataclass(frozen=True)
class PipelineEstimate:
    """Estimated costs of a pipeline.

    Attributes
    ----------
    samples : int
    stages : tuple of Cost
        In order.
    pilot_samples : int
        Samples of the pilot run.
    disk_free : int
        Bytes.
    """

    samples: int
    stages: tuple[Cost, ...]
    pilot_samples: int
    disk_free: int

    def through(self, stages: int) -> PipelineEstimate:
        """Return the estimate of the first stages."""
        return replace(self, stages=self.stages[:stages])

    @property
    def total(self) -> Cost:
        """All stages together; their errors are independent."""
        seconds = sum(cost.seconds for cost in self.stages)
        low = seconds - math.hypot(*(cost.seconds - cost.low for cost in self.stages))
        high = seconds + math.hypot(*(cost.high - cost.seconds for cost in self.stages))
        return Cost("all", seconds, low, high, sum(cost.bytes for cost in self.stages))

    def fits(self, budget: float | None) -> bool:
        """Return whether the disk suffices and the upper end of the interval is within `budget` seconds."""
        return self.total.bytes <= self.disk_free and (budget is None or self.total.high <= budget)


def select_stages(request: Request, last: str) -> list[str]:
    """Return the names of the stages of a pipeline up to a stage.

    Raises
    ------
    UsageError
        If the pipeline has no such stage, or the request is invalid.
    """
    names = list(list_stages(request))
    positions = [position for position, name in enumerate(names) if name.partition(" ")[0] == last]
    if not positions:
        reasons = {
            "embed": "none of its tasks uses captions. Add one that does: --task retrieval",
            "animate": "none of its tasks generates motion. Add it: --task motion",
        }
        raise UsageError(f"--through {last}: the pipeline has no such stage: {reasons.get(last, 'add a --task')}")
    return names[: positions[-1] + 1]


def measure_pipeline(
    request: Request, names: Sequence[str], profile: Profile, progress: Progress
) -> Callable[[int], PipelineEstimate]:
    """Return a function that estimates a pipeline by its samples: the dataset by a profile, other stages by a pilot run.

    Parameters
    ----------
    request : Request
    names : sequence of str
        Stages; see :func:`select_stages`.
    profile : Profile
        Of the dataset.
    progress : Progress

    Raises
    ------
    UsageError, PosegenError
        If a stage fails.
    """
    from posegen.training.task import find_task

    by_identity = any(find_task(name).reading.by_identity for name in request.tasks)
    fewest = max(_PILOT_SAMPLES, _SAMPLES_PER_IDENTITY * request.config.population.persons if by_identity else 0)
    with interruptible(), explain_disk_errors(disk_folder(request.out)), temporary_folder(request.out) as folder:
        disk_free = free_disk(folder)
        samples = min(max(target.samples for target in profile.targets), fewest)
        config = request.config.model_copy(update={"samples": samples, "store": _small_shards(request.config.store, samples)})
        costs = _run_pilot(replace(request, config=config, out=folder / "pipeline"), names, progress)

    def estimate(target: int) -> PipelineEstimate:
        made = profile.estimate(target)
        generation = Cost("generate", made.seconds, made.seconds_low, made.seconds_high, made.bytes)
        return PipelineEstimate(target, (generation, *(cost(target) for cost in costs)), samples, disk_free)

    return estimate


def _small_shards(store: Store, samples: int) -> Store:
    """Return the layout with at least :data:`_PILOT_SHARDS` shards, as far as chunks allow."""
    shard = max(1, samples // (_PILOT_SHARDS * store.chunk)) * store.chunk
    return store.model_copy(update={"shard": min(store.shard, shard)})


def _run_pilot(request: Request, names: Sequence[str], progress: Progress) -> list[Callable[[int], Cost]]:
    """Run the stages behind the first; return for each a function from the number of samples to its cost."""
    costs: list[Callable[[int], Cost]] = []
    available = replace(request, encoder=None) if missing_encoder(request) is not None else request
    if len(names) > 1:
        progress.log(f"measuring the pipeline with {request.config.samples:,} samples")
        generate(request.config, out=request.dataset, workers=request.workers)
    for name in names[1:]:
        progress.log(f"measuring {name}")
        stage, _, task = name.partition(" ")
        measure = {"embed": _measure_embedding, "evaluate": _measure_evaluation, "animate": _measure_animation}
        costs.append(_measure_training(available, task) if stage == "train" else measure[stage](request))
    return costs


def missing_encoder(request: Request) -> tuple[float, float] | None:
    """Return the relative costs of an encoder that is not on this machine; None for one that is.

    Raises
    ------
    UsageError
        If it is not on this machine, and its size is not known.
    """
    if request.encoder is None:
        return None
    try:
        find_encoder(request.encoder, download=False)
    except UsageError:
        if (relative := relative_cost(request.encoder)) is None:
            raise
        return relative
    return None


def distinct_texts(of_half: int, of_all: int, samples: int, target: int) -> float:
    """Return the expected number of distinct texts in `target` samples.

    It grows as a power of the number of samples (Heaps' law), whose exponent follows from half of the measured samples and all.

    Examples
    --------
    >>> distinct_texts(100, 200, 50, 500)
    2000.0
    """
    power = min(1.0, max(0.0, math.log2(of_all / of_half))) if of_half else 1.0
    return float(of_all * (target / samples) ** power)


def _measure_embedding(request: Request) -> Callable[[int], Cost]:
    """Embed the captions without the user's cache of vectors.

    An encoder that is not on this machine is not downloaded. If its size is known, it is estimated from the default encoder.
    """
    encoder, operations, numbers, note = request.encoder or DEFAULT, 1.0, 1.0, ""
    if (relative := missing_encoder(request)) is not None:
        operations, numbers = relative
        note = (
            f"{encoder} is not on this machine: estimated from {DEFAULT}, {operations:.3g} times the operations for a token "
            f"and {numbers:.3g} times the numbers of a vector, without its download"
        )
        encoder = DEFAULT
    started = time.monotonic()
    result = embed(request.dataset, encoder, cached=False)
    seconds, dataset = time.monotonic() - started, open_dataset(request.dataset)
    samples = len(dataset)
    half = {caption["text"] for sample in range(samples // 2) for row in dataset.rows(sample) for caption in row["captions"]}
    stored, fixed = total_bytes(result.path), max(0.0, seconds - result.distinct / result.texts_per_second)

    def cost(target: int) -> Cost:
        texts = distinct_texts(len(half), result.distinct, samples, target)
        seconds = fixed + operations * texts / result.texts_per_second
        return replace(Cost.measured_once("embed", seconds, numbers * stored * texts / result.distinct), note=note)

    return cost


def feature_seconds(ends: Sequence[float], samples: Sequence[int]) -> tuple[float, float]:
    """Return the time of the features: once, in which libraries are loaded, and for each sample.

    The second half of the shards gives the time of a sample: what happens once is over by then.

    Parameters
    ----------
    ends : sequence of float
        Seconds after which each shard was complete.
    samples : sequence of int
        Samples of each shard.

    Examples
    --------
    >>> feature_seconds([7.0, 9.0, 11.0, 12.0], [4, 4, 4, 2])
    (5.0, 0.5)
    """
    if not ends:
        return 0.0, 0.0  # features that another task has computed
    half = len(ends) // 2
    begin = ends[half - 1] if half else 0.0
    sample = (ends[-1] - begin) / sum(samples[half:])
    return max(0.0, ends[-1] - sample * sum(samples)), sample


@dataclass(frozen=True)
class TrainingMeasures:
    """Measures of a few training steps on a few samples.

    Attributes
    ----------
    task : str
    settings : Settings
        Of the estimated run. The measured one has at most :data:`STEPS` steps and one check.
    estimate : Estimate
        Of the measured run, with the duration of a step, and of a clip that is evaluated.
    samples, variants : int
        Samples of the measured run, and variants of a sample that it is tested on.
    loss_clips, tests : int
        Most clips of a validation loss, and splits that are evaluated behind the last step.
    features : (float, float)
        See :func:`feature_seconds`.
    seconds : float
        Duration of the measured run, without the features.
    feature_bytes, run_bytes : int
        Of the features, and of a complete run.
    """

    task: str
    settings: Settings
    estimate: Estimate
    samples: int
    variants: int
    loss_clips: int
    tests: int
    features: tuple[float, float]
    seconds: float
    feature_bytes: int
    run_bytes: int

    def cost(self, samples: int) -> Cost:
        """Return the cost for a number of samples."""
        checks, held_out = self.settings.checks, math.ceil(_HELD_OUT * samples) * self.variants
        run = replace(
            self.estimate,
            steps=self.settings.steps,
            checks=min(checks.times, self.settings.steps),
            checked_clips=min(checks.clips, held_out),
            loss_clips=min(self.loss_clips, held_out),
            tested_clips=self.tests * min(_MOST_TESTED, held_out),
        )
        # What the estimate of a run leaves out: opening, writing, and the report.
        rest = max(0.0, self.seconds - self.estimate.seconds)
        once, each = self.features
        seconds = once + each * samples + run.seconds + rest
        stored = self.feature_bytes * samples / self.samples + self.run_bytes
        return Cost.measured_once(f"train {self.task}", seconds, stored)


def _measure_training(request: Request, name: str) -> Callable[[int], Cost]:
    """Compute the features of a task, and train a few steps."""
    started = time.monotonic()  # what is imported takes its time in a run, too
    from posegen.training.loop.session import most_loss_clips
    from posegen.training.run_folder import RESULT, read_document
    from posegen.training.setup import Request as TrainingRequest
    from posegen.training.setup import open_setup
    from posegen.training.train import train

    chosen, out, preset = request.select_embeddings(name), request.out / name, request.preset_of(name)
    settings = request.settings_of(name, *chosen)
    bytes_before, ends = total_bytes(request.dataset / "training"), list[float]()
    setup = open_setup(TrainingRequest(str(request.dataset), name, preset, settings))
    setup.data.prepare(setup.task.recipes, lambda done, total: ends.append(time.monotonic() - started))
    prepared, header = time.monotonic(), open_dataset(request.dataset).header
    features = total_bytes(request.dataset / "training") - bytes_before
    few = request.settings_of(name, *chosen, f"steps={min(STEPS, settings.steps)}", "checks.times=1", "log=[]")
    estimate = train(TrainingRequest(str(request.dataset), name, preset, few, out)).estimate
    assert estimate is not None
    seconds = time.monotonic() - prepared
    times = (read_document(out, RESULT) or {}).get("times")
    checkpoints = list((out / "checkpoints").iterdir())
    largest = max((file.stat().st_size for file in checkpoints), default=0)
    kept = sum(file.name.endswith(".safetensors") for file in checkpoints)
    measures = TrainingMeasures(
        task=name,
        settings=settings,
        estimate=estimate if times is None else replace(estimate, step_seconds=times["seconds"]),
        samples=setup.data.samples,
        variants=1 if setup.task.reading.first_variant_only else len(settings.data.variants or request.config.variants.names),
        loss_clips=most_loss_clips(setup.task, settings),
        tests=1 if setup.task.abilities.calibrate is None else 2,
        features=feature_seconds(ends, [header.count(shard) for shard in range(header.shards())]),
        seconds=seconds,
        feature_bytes=features,
        run_bytes=total_bytes(out) + (_CHECKPOINTS - kept) * largest,
    )
    return measures.cost


def _measure_evaluation(request: Request) -> Callable[[int], Cost]:
    """Evaluate a few samples, in which libraries are loaded, then those of the pilot run."""
    from posegen.evaluation.evaluate import evaluate

    started = time.monotonic()
    evaluate(request.dataset, None, min(_FIRST_EVALUATED, request.config.samples), Progress())
    warm = time.monotonic()
    evaluate_once(request, Progress())
    each = (time.monotonic() - warm) / min(MOST_SAMPLES, request.config.samples)
    once = max(0.0, warm - started - each * min(_FIRST_EVALUATED, request.config.samples))
    stored = (request.out / "evaluation.json").stat().st_size
    return lambda samples: Cost.measured_once("evaluate", once + each * min(MOST_SAMPLES, samples), stored)


def _measure_animation(request: Request) -> Callable[[int], Cost]:
    started = time.monotonic()
    animate_once(request, Progress())
    cost = Cost.measured_once("animate", time.monotonic() - started, (request.out / "animation.gif").stat().st_size)
    return lambda samples: cost
