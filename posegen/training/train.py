"""The stage: a dataset or a config in, a trained model out; run again, it goes on where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from posegen.config.identity import differences
from posegen.config.schema import CONTENT_VERSION
from posegen.dataset.files import remove_temporary_files
from posegen.dataset.lock import locked
from posegen.dataset.runs import current_run
from posegen.errors import UsageError
from posegen.training.beginning import Beginning
from posegen.training.data.captions import Captions
from posegen.training.data.training_data import TrainingData
from posegen.training.hardware.choosing import chosen
from posegen.training.hardware.estimate import refuse_budget
from posegen.training.hardware.machine import Choices, Reason, given_choices
from posegen.training.hardware.restoring import torch_put_back
from posegen.training.measures.judging import judged
from posegen.training.opening import opened
from posegen.training.request import Reporter, Request, Result, default_run
from posegen.training.runs import checkpoints
from posegen.training.runs.report import write_report
from posegen.training.runs.runs import RESULT, RUN, read_document, write_document
from posegen.training.settings import Settings
from posegen.training.steps.leading import train_to_the_end
from posegen.training.steps.session import Session
from posegen.training.steps.timing import StepTimes
from posegen.training.task import Task
from posegen.training.trained.models import save_model

__all__ = ["Reporter", "Request", "Result", "default_run", "train"]

_MOST_WAITING = 0.05
_NEEDED = ("task", "init", "material", "settings", "choices", "reasons", "rounds")
"""What a run's document must hold for the run to go on."""
_MOST_TESTED = 10_000
"""Clips of the test split that a finished model is held against."""


def train(request: Request, reporter: Reporter) -> Result:
    """Train a model, or go on with it.

    Raises
    ------
    UsageError
        If what is asked for cannot be, or the folder holds another run.
    PosegenError
        If something is damaged.
    """
    settings = request.settings
    found = opened(request.source, request.task, settings, request.init)
    task, material, beginning = found.task, found.material, found.beginning
    if isinstance(material.captions, Captions) and material.captions.unfit is not None:
        reporter.say(f"pairs that are hard are not verified apart: {material.captions.unfit}")
    run = default_run(request) if request.out is None else request.out
    try:
        with torch_put_back():
            if request.only_estimate:
                _prepare(task, material, reporter)
                _, reasons, estimate = chosen(task, settings, material, beginning)
                reporter.table(reasons)
                reporter.expect(estimate)
                return Result(run, task.name, 0, estimate=estimate, reasons=reasons)
            with _folder(run), locked(run, current_run()):
                remove_temporary_files(run)
                return _trained(request, run, task, material, beginning, reporter)
    finally:
        reporter.stop()


@contextmanager
def _folder(run: Path) -> Iterator[None]:
    """Make the folder of a run; if it was made for what is then refused, it goes again."""
    made = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except UsageError:
        if made and not any(run.iterdir()):
            run.rmdir()
        raise


def _trained(
    request: Request, run: Path, task: Task, material: TrainingData, beginning: Beginning, reporter: Reporter
) -> Result:
    begun = time.monotonic()
    started = _plain(read_document(run, RUN))
    if started is not None:
        _check_same(run, started, request, task, material)
        started = _next_round(run, started, material, reporter)
        done = read_document(run, RESULT)
        if done is not None and done["rounds"] == len(started["rounds"]):
            return Result(
                run, task.name, done["steps"], None, True, done["measures"], done["seconds"], reasons=_reasons(started)
            )
    _prepare(task, material, reporter)
    if started is None:
        started = _start(request, run, task, material, beginning, reporter)
    else:
        reporter.table(_reasons(started))
    session = _session(request, run, task, material, beginning, started, begun)
    learner, stopped, times = train_to_the_end(session, reporter)
    _warn(times, session, reporter)
    progress, reasons = learner.progress, _reasons(started)
    if stopped:
        return Result(run, task.name, progress.step, stopped, seconds=progress.seconds, reasons=reasons)
    if progress.step < session.last:
        reporter.say(f"over early: {learner.out_of_patience()}")
    measures = _finish(session, started, progress, times)
    return Result(run, task.name, progress.step, None, False, measures, progress.seconds, reasons=reasons)


def _start(
    request: Request, run: Path, task: Task, material: TrainingData, beginning: Beginning, reporter: Reporter
) -> dict[str, Any]:
    settings = request.settings
    choices, reasons, found = chosen(task, settings, material, beginning)
    reporter.table(reasons)
    if settings.adapter.rank is not None:
        reporter.say(beginning.trained_share())
    reporter.expect(found)
    refuse_budget(found, request.budget, settings)
    started = {
        "task": task.name,
        "form": task.form,
        "source": request.source,
        "init": None if request.init is None else str(request.init),
        "material": {"name": material.name, "identity": material.identity, "content_version": CONTENT_VERSION},
        "settings": settings.as_data(),
        "choices": asdict(choices),
        "reasons": [asdict(reason) for reason in reasons],
        "rounds": [{"samples": material.samples, "first": 0}],
        "started": time.time(),
    }
    write_document(run, RUN, started)
    return started


def _session(
    request: Request,
    run: Path,
    task: Task,
    material: TrainingData,
    beginning: Beginning,
    started: dict[str, Any],
    begun: float,
) -> Session:
    given = given_choices(request.settings)
    now = started["rounds"][-1]

    def rechoose(choices: Choices) -> None:
        started["choices"] = asdict(choices)
        write_document(run, RUN, started)

    return Session(
        run=run,
        task=task,
        settings=request.settings,
        # A dataset that grew in the meantime has its turn when this round is over.
        material=material.with_samples(now["samples"]),
        beginning=beginning,
        choices=Choices(**{**started["choices"], **given}),
        first=now["first"],
        last=now["first"] + request.settings.steps,
        deadline=None if request.budget is None else begun + request.budget,
        rechoose=rechoose,
    )


def _finish(
    session: Session, started: dict[str, Any], progress: checkpoints.Progress, times: StepTimes | None
) -> dict[str, float]:
    """Judge the best averaged weights by the test split, and write the model, what came of it, and a page that tells of it."""
    task, settings, material = session.task, session.settings, session.material
    best = progress.step if progress.best_step is None else progress.best_step
    weights = checkpoints.read(session.run, best).tensors["average"]
    model = session.beginning.finished(dict(weights), session.run)
    source = material.source(task.recipes, "test")
    device = session.choices.device
    tally = judged(task, model.to(device), source, material.view, settings.data.variants, device, _MOST_TESTED)
    measures = tally.measures()
    save_model(session.run, task, material.view, settings.model, model.state_dict())
    if task.save_extras is not None:
        task.save_extras(model, session.run)
    result = {
        "task": task.name,
        "steps": progress.step,
        "best_step": best,
        "rounds": len(started["rounds"]),
        "seconds": progress.seconds,
        "measures": measures,
        "times": None if times is None else asdict(times),
        "checks": progress.checks,
        "table": tally.table(),
        "torch": torch.__version__,
    }
    write_report(session.run, started, result, task.monitor)
    write_document(session.run, RESULT, result)
    return measures


def _warn(times: StepTimes | None, session: Session, reporter: Reporter) -> None:
    """Say what holds training back, and what helps."""
    if times is not None and times.shares["data"] > _MOST_WAITING:
        share = f"{100 * times.shares['data']:.0f} % of the time went into waiting for data"
        cure = (
            f"More processes that load help, --set machine.workers={session.choices.workers + 1}, or fewer programs beside it"
        )
        if session.material.config is not None:
            cure = "Samples made on the way take that time anew in each run: `posegen generate` makes them once"
        reporter.say(f"warning: {share}. {cure}")


def _prepare(task: Task, material: TrainingData, reporter: Reporter) -> None:
    def tell(done: int, total: int) -> None:
        reporter.say(f"features: {done:,} of {total:,} shards")

    material.prepare(task.recipes, tell)


def _check_same(run: Path, started: dict[str, Any], request: Request, task: Task, material: TrainingData) -> None:
    """Refuse to go on with another run's checkpoints; where it logs may change."""
    missing = [name for name in _NEEDED if name not in started]
    if missing:
        cure = "Go on with the version that it was started by, or train into another folder with --out"
        msg = f"{run}: was started by another version of posegen: its {RUN} says nothing of {', '.join(missing)}. {cure}"
        raise UsageError(msg)
    init = None if request.init is None else str(request.init)
    before = {name: started[name] for name in ("task", "init")} | {"data": started["material"]["identity"]}
    now = {"task": request.task, "init": init, "data": material.identity}
    try:
        # What it knew nothing of yet is as it is by default.
        settings = Settings(**started["settings"]).as_data()
    except ValidationError as error:
        msg = f"{run}: was started by another version of posegen, with settings that this one does not know. Take another --out"
        raise UsageError(msg) from error
    before, now = before | _deciding(settings), now | _deciding(request.settings.as_data())
    found = differences(before, now)
    if found:
        told = ", ".join(f"{key} was {old!r} and is {new!r}" for key, old, new in found[:5])
        msg = (
            f"{run}: holds a run that was started otherwise: {told}. Ask for the same, or train into another folder with --out"
        )
        raise UsageError(msg)
    if started.get("form", "") != task.form:
        msg = f"{run}: was started by another version of posegen, with another model for {task.name}. Take another --out"
        raise UsageError(msg)


def _deciding(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what does not decide what comes out: where curves go, and how often checkpoints are written."""
    return {key: value for key, value in settings.items() if key not in ("log", "saving", "machine", "memory")}


def _next_round(run: Path, started: dict[str, Any], material: TrainingData, reporter: Reporter) -> dict[str, Any]:
    """Begin another round, if the last one is complete and there are more samples by now."""
    done = read_document(run, RESULT)
    rounds = started["rounds"]
    if done is None or done["rounds"] < len(rounds) or material.samples <= rounds[-1]["samples"]:
        return started
    reporter.say(
        f"{material.name} had {rounds[-1]['samples']:,} samples and has {material.samples:,}: training goes on with them"
    )
    grown = {**started, "rounds": [*rounds, {"samples": material.samples, "first": done["steps"]}]}
    write_document(run, RUN, grown)
    return grown


def _plain(document: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if document is None else {key: value for key, value in document.items() if key != "hash"}


def _reasons(started: dict[str, Any]) -> list[Reason]:
    return [Reason(**reason) for reason in started["reasons"]]
