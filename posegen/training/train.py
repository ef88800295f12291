"""Train a model: the third stage of the pipeline. The same command resumes a run that was stopped.

This module opens the run's folder, decides what is left to do, and writes the result. The steps are trained in
:mod:`posegen.training.loop`, which is imported only when there is something to train.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from posegen.config.identity import differences
from posegen.config.schema import CONTENT_VERSION
from posegen.dataset.lock import locked
from posegen.dataset.splits import split_groups
from posegen.dataset.storage.address import storage_of, to_path
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import PeakMemory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.training.cautions import category_warning, chance_warning, validation_warning
from posegen.training.cluster import member
from posegen.training.data.captions import Captions
from posegen.training.data.feature_cache import features_folder
from posegen.training.estimate import Estimate, check_budget
from posegen.training.hardware import Choices, Reason, check_machine, choose_for_run, given_choices, release_memory
from posegen.training.report import write_report
from posegen.training.run_folder import RESULT, RUN, RunProgress, read_checkpoint, read_document, write_document
from posegen.training.settings import NOT_CONTENT, Settings
from posegen.training.setup import Request, Setup, open_setup
from posegen.training.task import Tally
from posegen.training.trained_models import evaluate_model, save_model

_MOST_TESTED = 10_000
"""Largest number of clips of the test split that a finished model is evaluated on."""
_CONDITIONS = ("device", "devices", "precision", "threads", "micro_batch", "compile")
"""Choices on which each bit of the weights depends."""


@dataclass(frozen=True)
class Result:
    """Result of a request.

    Attributes
    ----------
    run : Path
    task : str
    steps : int
        Completed steps.
    stopped : str or None
        Why the run is not complete.
    nothing_to_do : bool
        Whether the run was complete before.
    measures : dict of str to float
        Measures on the test split, if the run is complete; NaN where they are undefined.
    seconds : float
        Training time of all sessions.
    estimate : Estimate or None
        If only that was requested, or if this request started the run.
    reasons : list of Reason
        The hardware and the choices made for it.
    warnings : list of str
        Why the measures may be worth little.
    """

    run: Path
    task: str
    steps: int
    stopped: str | None = None
    nothing_to_do: bool = False
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    estimate: Estimate | None = None
    reasons: list[Reason] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _TrainingData(BaseModel):
    """Training data of a run, as ``run.json`` describes it."""

    name: str
    identity: str
    content_version: int


class _Round(BaseModel):
    """A round of training: the samples of the dataset, and the number of steps before it."""

    samples: int
    first: int


class _Record(BaseModel):
    """Content of ``run.json``. A dataset that grows adds a round."""

    model_config = ConfigDict(extra="forbid")

    task: str
    form: str
    source: str
    init: str | None
    data: _TrainingData
    settings: Settings
    choices: Choices
    reasons: list[Reason]
    estimate: Estimate
    rounds: list[_Round]
    started: float

    def write(self, run: Path) -> None:
        """Write the record durably into the folder of its run."""
        write_document(run, RUN, self.model_dump(mode="json"))


def default_run(request: Request) -> Path:
    """Return the folder of a run for which none is given."""
    source = to_path(request.source)
    local = storage_of(source).local
    is_dataset = local is None or local.is_dir()
    name = source.resolve().name if is_dataset else Path(request.source).stem
    return Path("runs") / f"{request.task}-{name}-{Path(request.preset).stem}"


def train(request: Request, progress: Progress | None = None) -> Result:
    """Train a model, or resume its training.

    Parameters
    ----------
    request : Request
    progress : Progress, optional
        Display of progress; silent by default.

    Returns
    -------
    Result

    Raises
    ------
    UsageError
        If the request is invalid, or the folder holds another run.
    PosegenError
        If a file is damaged.
    """
    require_extra("train")
    progress = progress or Progress()
    check_machine(request.settings)
    setup = open_setup(request)
    for note in setup.data.notes:
        progress.log(note)
    if setup.data.dataset is not None and setup.data.dataset.note:
        progress.log(setup.data.dataset.note)
    if isinstance(setup.data.captions, Captions) and setup.data.captions.unfit is not None:
        progress.log(f"hard negatives are not verified: {setup.data.captions.unfit}")
    run = default_run(request) if request.out is None else request.out
    if setup.data.dataset is not None and storage_of(setup.data.dataset.path).local is None:
        progress.log(f"stored on this machine: the run in {run}, features in {features_folder(setup.data.dataset)}")

    def work() -> Result:
        if request.only_estimate:
            _prepare(setup, progress)
            _, reasons, estimate = _choose(request, run, setup, memory, progress)
            return Result(run, setup.task.name, 0, estimate=estimate, reasons=reasons)
        with _run_folder(run), locked(run):
            return _train_run(request, run, setup, memory, progress)

    try:
        with restored_torch_settings(), PeakMemory() as memory:
            return work() if member() is None else _together(setup, work)
    finally:
        progress.stop()


def _together(setup: Setup, work: Callable[[], Result]) -> Result:
    """Do the work as the first of the processes that torchrun started, or follow it; return its result in all of them."""
    from posegen.training.loop.processes import connected, finish_together, follow

    with connected() as rank:
        if rank:
            followed: Result = follow(setup)
            return followed
        result = work()
        finish_together(result)
        return result


@contextmanager
def restored_torch_settings() -> Iterator[None]:
    """Restore the number of threads and the precision of float32 products at the end of the context.

    Sums over one and two threads differ in the last bits. Without this, later predictions of the same process would depend on
    whether it trained before.
    """
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)


@contextmanager
def _run_folder(run: Path) -> Iterator[None]:
    """Create the folder of a run; remove it again if the request is refused."""
    is_new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except UsageError:
        if is_new and not any(run.iterdir()):
            run.rmdir()
        raise


def _train_run(request: Request, run: Path, setup: Setup, memory: PeakMemory, progress: Progress) -> Result:
    begun = time.monotonic()
    record, estimate = _read_record(run), None
    if record is not None:
        _check_same_run(run, record, request, setup)
        _add_round(run, record, setup, progress)
        result = read_document(run, RESULT)
        if result is not None and result["rounds"] == len(record.rounds):
            steps, seconds = result["steps"], result["seconds"]
            measures = {name: math.nan if value is None else value for name, value in result["measures"].items()}
            return Result(run, setup.task.name, steps, None, True, measures, seconds, reasons=record.reasons)
    _prepare(setup, progress)
    if record is None:
        record, estimate = _start_run(request, run, setup, memory, progress)
    else:
        _log_table(record.reasons, progress)
    deadline = None if request.budget is None else begun + request.budget
    return replace(_train_round(request, run, record, setup, memory, progress, deadline), estimate=estimate)


def _train_round(
    request: Request,
    run: Path,
    record: _Record,
    setup: Setup,
    memory: PeakMemory,
    progress: Progress,
    deadline: float | None,
) -> Result:
    """Train the latest round of a run, from its last checkpoint."""
    from posegen.training.loop.learner import TrainingSession
    from posegen.training.loop.session import early_stop_reason, train_session

    latest, settings = record.rounds[-1], request.settings
    # A dataset that grew since the round began is trained on in the next round.
    setup = replace(setup, data=replace(setup.data, samples=latest.samples))
    record.choices = replace(record.choices, **given_choices(settings))
    session = TrainingSession(run, request, setup, latest.first, latest.first + settings.steps, record.choices)

    def store_choices(choices: Choices) -> None:
        record.choices = choices
        record.write(run)

    learner, stopped, times = train_session(session, progress, memory, deadline, store_choices)
    progress.stop()
    done = learner.progress
    if stopped:
        return Result(run, setup.task.name, done.step, stopped, seconds=done.seconds, reasons=record.reasons)
    if done.step < session.last:
        progress.log(f"stopped early: {early_stop_reason(done, settings)}")
    # What follows reads its checkpoint; weights, gradients and moments need not be in memory twice.
    del learner
    release_memory()
    measures, warnings = _finish(run, record, setup, done, memory, None if times is None else asdict(times))
    for warning in warnings:
        progress.log(warning)
    return Result(
        run, setup.task.name, done.step, None, False, measures, done.seconds, reasons=record.reasons, warnings=warnings
    )


def _start_run(request: Request, run: Path, setup: Setup, memory: PeakMemory, progress: Progress) -> tuple[_Record, Estimate]:
    """Choose for the machine, check the budget, and write the record of a new run."""
    settings, data = request.settings, setup.data
    choices, reasons, estimate = _choose(request, run, setup, memory, progress)
    check_budget(estimate, request.budget)
    record = _Record(
        task=setup.task.name,
        form=setup.task.forms.form,
        source=request.source,
        init=None if request.init is None else str(request.init),
        data=_TrainingData(name=data.name, identity=data.identity, content_version=CONTENT_VERSION),
        settings=settings,
        choices=choices,
        reasons=reasons,
        estimate=estimate,
        rounds=[_Round(samples=data.samples, first=0)],
        started=time.time(),
    )
    record.write(run)
    return record, estimate


def _finish(
    run: Path, record: _Record, setup: Setup, progress: RunProgress, memory: PeakMemory, times: dict[str, Any] | None
) -> tuple[dict[str, float], list[str]]:
    """Evaluate the averaged weights of the best check on the test split; write model, report and result."""
    task, data, settings = setup.task, setup.data, record.settings
    best = progress.step if progress.best_step is None else progress.best_step
    weights = read_checkpoint(run, best).tensors["average"]
    model = setup.make_trained_model(weights, run)
    model = model.to(record.choices.device)

    def tally_of(split: str) -> Tally:
        return evaluate_model(task, model, data.source(task.recipes, split), settings.data.variants, most=_MOST_TESTED)

    tally = tally_of("test")
    measures = tally.measures()
    calibrated = {} if task.abilities.calibrate is None else task.abilities.calibrate(tally_of("validation"), tally)
    if data.people is not None:
        calibrated["known_persons"] = data.people.tests_known_persons
    save_model(run, task, data.view, settings.model, model.state_dict())
    if task.abilities.save_extras is not None:
        task.abilities.save_extras(model, run)
    tested = min(data.source(task.recipes, "test").samples, _MOST_TESTED)
    chance = chance_warning(task, measures, _answered(tested, measures))
    warnings = [*_split_warnings(setup, progress.checks[-1] if progress.checks else {}), *([] if chance is None else [chance])]
    result = {
        "task": task.name,
        "steps": progress.step,
        "best_step": best,
        "rounds": len(record.rounds),
        "seconds": progress.seconds,
        "measures": {name: None if math.isnan(value) else value for name, value in measures.items()},
        "times": times,
        "memory": {
            "peak": max(progress.memory or 0, memory.peak),
            "gpu_peak": progress.gpu_memory,
            "gpu_utilisation": progress.utilisation,
        },
        "losses": progress.losses,
        "checks": progress.checks,
        "warnings": warnings,
        "table": (tally.table() or {}) | calibrated,
        "conditions": {name: getattr(record.choices, name) for name in _CONDITIONS} | {"torch": torch.__version__},
    }
    write_report(run, record.model_dump(mode="json"), result, task.monitor)
    write_document(run, RESULT, result)
    return measures, warnings


def _answered(samples: int, measures: Mapping[str, float]) -> int:
    """Return how many of some samples have an answer, from measures that count clips."""
    return int(min(samples, measures.get("clips", samples)))


def _split_warnings(setup: Setup, measures: Mapping[str, float]) -> list[str]:
    """Return warnings about splits: categories that one lacks, and a small validation split of a dataset.

    Parameters
    ----------
    setup : Setup
    measures : dict of str to float
        Of the validation split; empty before it is evaluated.
    """
    data = setup.data
    if data.groups is None:
        samples = data.source(setup.task.recipes, "validation").samples
        checked = _answered(min(samples, setup.settings.checks.clips), measures)
        warning = validation_warning(checked, "clips" if setup.task.reading.by_identity else "samples")
    elif data.categories is not None:
        warning = category_warning(data.categories, split_groups(data.groups, data.seed, data.categories))
    else:
        warning = None
    return [] if warning is None else [warning]


def _prepare(setup: Setup, progress: Progress) -> None:
    """Compute the features of the dataset that are not in its cache."""
    setup.data.prepare(setup.task.recipes, lambda done, total: progress.log(f"features: {done:,} of {total:,} shards"))


def _log_table(reasons: list[Reason], progress: Progress) -> None:
    """Log the hardware and the choices, a line each."""
    name, value = (max(len(getattr(reason, part)) for reason in reasons) for part in ("name", "value"))
    for reason in reasons:
        progress.log(f"{reason.name:{name}}  {reason.value:{value}}  {reason.why}".rstrip())


def _choose(
    request: Request, run: Path, setup: Setup, memory: PeakMemory, progress: Progress
) -> tuple[Choices, list[Reason], Estimate]:
    """Choose for the machine, estimate the run, and log both."""
    from posegen.training.loop.learner import TrainingSession
    from posegen.training.pilot import estimate_run

    begin = time.perf_counter()
    for warning in _split_warnings(setup, {}):
        progress.log(warning)
    with progress.working("measure trial steps"):
        choices, reasons = choose_for_run(setup)
        session = TrainingSession(run, request, setup, 0, setup.settings.steps, choices)
        choices, estimate = estimate_run(session, memory, time.perf_counter() - begin, _MOST_TESTED, progress)
    reasons.append(Reason("measured in", f"{estimate.choosing_seconds:.1f} s", "before the first step"))
    _log_table(reasons, progress)
    if setup.settings.adapter.rank is not None:
        progress.log(setup.adapter_summary())
    for line in estimate.summary():
        progress.log(line)
    return choices, reasons, estimate


def _read_record(run: Path) -> _Record | None:
    """Return the record of a run; None if it is new, UsageError if another version wrote it."""
    document = read_document(run, RUN)
    if document is None:
        return None
    try:
        return _Record(**document)
    except ValidationError as error:
        keys = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors())
        hint = "Resume with that version, or train into another folder with --out"
        raise UsageError(f"{run / RUN}: written by another version of posegen; missing or unknown: {keys}. {hint}") from error


def _check_same_run(run: Path, record: _Record, request: Request, setup: Setup) -> None:
    """Raise UsageError if the folder holds a run with other data or settings."""
    init = None if request.init is None else str(request.init)
    before = {"task": record.task, "form": record.form, "init": record.init, "data": record.data.identity}
    now = {"task": request.task, "form": setup.task.forms.form, "init": init, "data": setup.data.identity}
    of_settings = (settings.model_dump(mode="json", exclude=NOT_CONTENT) for settings in (record.settings, request.settings))
    changed = [*differences(before, now), *differences(*of_settings)]
    if changed:
        listed = ", ".join(f"{key} was {old!r} and is {new!r}" for key, old, new in changed[:5])
        raise UsageError(f"{run}: holds another run: {listed}. Use the same settings, or train into another folder with --out")


def _add_round(run: Path, record: _Record, setup: Setup, progress: Progress) -> None:
    """Begin another round if the last one is complete and the dataset has grown since."""
    result, before, now = read_document(run, RESULT), record.rounds[-1].samples, setup.data.samples
    if result is None or result["rounds"] < len(record.rounds) or now <= before:
        return
    progress.log(f"{setup.data.name} had {before:,} samples and has {now:,}: training continues on all of them")
    record.rounds.append(_Round(samples=now, first=result["steps"]))
    record.write(run)
