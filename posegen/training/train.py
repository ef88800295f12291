"""Train a model: the third stage of the pipeline. The same command resumes a run that was stopped.

This module opens the run's folder, decides what is left to do, and writes the result. The steps are trained in
:mod:`posegen.training.loop`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from posegen.config.identity import differences
from posegen.config.schema import CONTENT_VERSION
from posegen.dataset.storage.address import storage_of
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import PeakMemory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.training import hardware, loop, report, run_folder
from posegen.training.data.feature_cache import features_folder, require_space
from posegen.training.estimate import Estimate, check_budget, estimate_run
from posegen.training.session import early_stop_reason, train_session
from posegen.training.settings import NOT_CONTENT, Settings
from posegen.training.setup import Request, Setup, open_setup
from posegen.training.task import Tally
from posegen.training.trained_models import evaluate_model, save_model

_MOST_TESTED = 10_000
"""Largest number of clips of the test split that a finished model is evaluated on."""
_CONDITIONS = ("device", "precision", "threads", "micro_batch")
"""Choices on which each bit of the weights depends."""


class _Record(BaseModel):
    """Content of ``run.json``: `data` has name, identity and content version of the training data.

    `rounds` has the samples of the dataset in each round of training, and the steps before it. A dataset that grows adds one.
    """

    model_config = ConfigDict(extra="forbid")

    task: str
    form: str
    source: str
    init: str | None
    data: dict[str, Any]
    settings: Settings
    choices: hardware.Choices
    reasons: list[hardware.Reason]
    estimate: Estimate
    rounds: list[dict[str, int]]
    started: float

    def write(self, run: Path) -> None:
        """Write the record durably into the folder of its run."""
        run_folder.write_document(run, run_folder.RUN, self.model_dump(mode="json"))


def train(request: Request, progress: Progress | None = None) -> run_folder.Result:
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
    hardware.check_machine(request.settings.machine, torch.cuda.device_count())
    setup = open_setup(request)
    for note in setup.data.notes:
        progress.log(note)
    if (dataset := setup.data.dataset) is not None and storage_of(dataset.path).local is None:
        progress.log(f"stored on this machine: the run in {request.run}, features in {features_folder(dataset)}")
    try:
        with restored_torch_settings(), PeakMemory() as memory:
            return _Work(request, setup, memory, progress).do()
    finally:
        progress.stop()


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


@dataclass(frozen=True)
class _Work:
    """The work of a request: what is trained, and how it is measured and shown."""

    request: Request
    setup: Setup
    memory: PeakMemory
    progress: Progress

    def do(self) -> run_folder.Result:
        """Estimate the run, or train what is left of it."""
        if self.request.only_estimate:
            self._prepare()
            _, reasons, estimate = self._choose()
            return run_folder.Result(self.request.run, self.setup.task.name, 0, estimate=estimate, reasons=reasons)
        with run_folder.run_folder(self.request.run):
            return self._train()

    def _train(self) -> run_folder.Result:
        begun, run = time.monotonic(), self.request.run
        record, estimate = _read_record(run), None
        if record is not None:
            self._check_same_run(record)
            self._add_round(record)
            result = run_folder.read_result(run)
            if result is not None and result["rounds"] == len(record.rounds):
                done = (result["steps"], None, True, result["measures"], result["seconds"])
                return run_folder.Result(run, record.task, *done, reasons=record.reasons)
        self._prepare()
        if record is None:
            record = self._start()
            estimate = record.estimate
        else:
            _log_table(record.reasons, self.progress)
        deadline = None if self.request.budget is None else begun + self.request.budget
        return replace(self._train_round(record, deadline), estimate=estimate)

    def _prepare(self) -> None:
        """Compute the features of the dataset that are not in its cache."""
        log = self.progress.log
        self.setup.data.prepare(self.setup.task.recipes, lambda done, total: log(f"features: {done:,} of {total:,} shards"))

    def _start(self) -> _Record:
        """Choose for the machine, check budget and disk, and write the record of a new run."""
        request, setup = self.request, self.setup
        choices, reasons, estimate = self._choose()
        check_budget(estimate, request.budget)
        require_space(self.request.run, estimate.disk_bytes)
        record = _Record(
            task=setup.task.name,
            form=setup.task.form,
            source=request.source,
            init=None if request.init is None else str(request.init),
            data={"name": setup.data.name, "identity": setup.data.identity, "content_version": CONTENT_VERSION},
            settings=request.settings,
            choices=choices,
            reasons=reasons,
            estimate=estimate,
            rounds=[{"samples": setup.data.samples, "first": 0}],
            started=time.time(),
        )
        record.write(self.request.run)
        return record

    def _choose(self) -> tuple[hardware.Choices, list[hardware.Reason], Estimate]:
        """Choose for the machine, estimate the run, and log both."""
        begin, setup, progress = time.perf_counter(), self.setup, self.progress
        for warning in report.split_warnings(setup, {}):
            progress.log(warning)
        with progress.working("measure trial steps"):
            choices, reasons = hardware.choose_for_run(setup)
            session = loop.TrainingSession(self.request.run, setup, 0, setup.settings.steps, choices)
            choices, estimate = estimate_run(session, self.memory, time.perf_counter() - begin, _MOST_TESTED, progress)
        reasons.append(hardware.Reason("measured in", f"{estimate.choosing_seconds:.1f} s", "before the first step"))
        _log_table(reasons, progress)
        for line in estimate.summary():
            progress.log(line)
        return choices, reasons, estimate

    def _train_round(self, record: _Record, deadline: float | None) -> run_folder.Result:
        """Train the latest round of a run, from its last checkpoint."""
        latest, settings, run, progress = record.rounds[-1], self.request.settings, self.request.run, self.progress
        # A dataset that grew since the round began is trained on in the next round.
        setup = replace(self.setup, data=replace(self.setup.data, samples=latest["samples"]))
        record.choices = replace(record.choices, **hardware.given_choices(settings))
        session = loop.TrainingSession(run, setup, latest["first"], latest["first"] + settings.steps, record.choices)

        def store_choices(choices: hardware.Choices) -> None:
            record.choices = choices
            record.write(run)

        learner, stopped, times = train_session(session, progress, self.memory, deadline, store_choices)
        progress.stop()
        done = learner.progress
        result = run_folder.Result(run, record.task, done.step, stopped, seconds=done.seconds, reasons=record.reasons)
        if stopped:
            return result
        if done.step < session.last:
            progress.log(f"stopped early: {early_stop_reason(done, settings)}")
        # What follows reads its checkpoint; weights, gradients and moments need not be in memory twice.
        del learner
        hardware.release_memory()
        measures, warnings = self._finish(record, setup, done, times)
        for warning in warnings:
            progress.log(warning)
        return replace(result, measures=measures, warnings=warnings)

    def _finish(
        self, record: _Record, setup: Setup, progress: run_folder.RunProgress, times: loop.StepTimes | None
    ) -> tuple[dict[str, float], list[str]]:
        """Evaluate the averaged weights of the best check on the test split; write model, report and result."""
        task, data, settings, run = setup.task, setup.data, record.settings, self.request.run
        best = progress.step if progress.best_step is None else progress.best_step
        model = setup.make_trained_model(run_folder.read_checkpoint(run, best).tensors["average"], run).to(
            record.choices.device
        )

        def tally_of(split: str) -> Tally:
            return evaluate_model(task, model, data.source(task.recipes, split), settings.data.variants, most=_MOST_TESTED)

        tally = tally_of("test")
        measures = tally.measures()
        calibrated = {} if task.abilities.calibrate is None else task.abilities.calibrate(tally_of("validation"), tally)
        if data.people is not None:
            calibrated["known_persons"] = data.people.tests_known_persons
        save_model(run, task, data.view, settings.model, model.state_dict())
        tested = min(data.source(task.recipes, "test").samples, _MOST_TESTED)
        chance = report.chance_warning(task, measures, int(min(tested, measures.get("clips", tested))))
        warnings = report.split_warnings(setup, progress.checks[-1] if progress.checks else {})
        warnings += [] if chance is None else [chance]
        result = {
            "task": task.name,
            "steps": progress.step,
            "best_step": best,
            "rounds": len(record.rounds),
            "seconds": progress.seconds,
            "measures": measures,
            "times": None if times is None else asdict(times),
            "memory": {
                "peak": max(progress.memory or 0, self.memory.peak),
                "gpu_peak": progress.gpu_memory,
                "gpu_utilisation": progress.utilisation,
            },
            "losses": progress.losses,
            "checks": progress.checks,
            "warnings": warnings,
            "table": (tally.table() or {}) | calibrated,
            "conditions": {name: getattr(record.choices, name) for name in _CONDITIONS} | {"torch": torch.__version__},
        }
        report.write_report(run, record.model_dump(mode="json"), result, task.monitor)
        return measures, warnings

    def _check_same_run(self, record: _Record) -> None:
        """Raise UsageError if the folder holds a run with other data or settings."""
        request, setup = self.request, self.setup
        init = None if request.init is None else str(request.init)
        before = {"task": record.task, "form": record.form, "init": record.init, "data": record.data["identity"]}
        now = {"task": request.task, "form": setup.task.form, "init": init, "data": setup.data.identity}
        contents = (settings.model_dump(mode="json", exclude=NOT_CONTENT) for settings in (record.settings, request.settings))
        run_folder.refuse_other_run(self.request.run, [*differences(before, now), *differences(*contents)])

    def _add_round(self, record: _Record) -> None:
        """Begin another round if the last one is complete and the dataset has grown since."""
        result, before, data = run_folder.read_result(self.request.run), record.rounds[-1]["samples"], self.setup.data
        if result is None or result["rounds"] < len(record.rounds) or data.samples <= before:
            return
        self.progress.log(f"{data.name} had {before:,} samples and has {data.samples:,}: training continues on all of them")
        record.rounds.append({"samples": data.samples, "first": result["steps"]})
        record.write(self.request.run)


def _log_table(reasons: list[hardware.Reason], progress: Progress) -> None:
    """Log the hardware and the choices, a line each."""
    name, value = (max(len(getattr(reason, part)) for reason in reasons) for part in ("name", "value"))
    for reason in reasons:
        progress.log(f"{reason.name:{name}}  {reason.value:{value}}  {reason.why}".rstrip())


def _read_record(run: Path) -> _Record | None:
    """Return the record of a run; None if it is new, UsageError if another version wrote it."""
    document = run_folder.read_document(run, run_folder.RUN)
    if document is None:
        return None
    try:
        return _Record(**document)
    except ValidationError as error:
        keys = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors())
        hint = "Resume with that version, or train into another folder with --out"
        problem = f"written by another version of posegen; missing or unknown: {keys}"
        raise UsageError(f"{run / run_folder.RUN}: {problem}. {hint}") from error
