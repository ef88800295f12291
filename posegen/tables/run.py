"""Train a model of a user's table. The same command resumes a run that was stopped, or trains again on a table that has grown.

::

    RUN/
      run.json            settings, columns and size of the table; written before the first candidate
      candidates/         the result of each candidate in cross-validation
      model.skops         the model that predicts
      model.json          what it reads
      result.json         measures; written last: the run is complete
      report.html
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from posegen.config.identity import differences
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import FoundEncoder, find_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import PeakMemory, available_memory, process_memory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes, human_time, parse_bytes
from posegen.tables import candidates, model, report
from posegen.tables.columns import Columns, Rows
from posegen.tables.data import TableData, open_table
from posegen.tables.settings import TableRequest
from posegen.training import run_folder
from posegen.training.data.feature_cache import require_space
from posegen.training.report import category_warning

if TYPE_CHECKING:
    from posegen.tables.tuning import Tuned

TUNED = "tuned"
"""Name of the average with fine-tuned encoders."""
_PILOT_ROWS = 300
_MOST_ENCODED = 5000
"""Most different texts that are encoded without a budget: about half a minute."""
_SECONDS_PER_TEXT, _ENCODER_SECONDS, _ENCODER_BYTES = 0.008, 6.0, 700 * 2**20
_LEAST_FREE = 100 * 2**20
_FEW_TESTED = 50
_Results = dict[str, dict[str, Any]]
"""Result of the cross-validation of candidates, by name."""


@dataclass(frozen=True)
class TableEstimate:
    """Estimated time and memory of a run, in all and by the name of a candidate."""

    seconds: float
    memory_bytes: int
    candidates: dict[str, float]

    def memory(self) -> str:
        """Return the memory as text."""
        return human_bytes(self.memory_bytes)


class _Plan:
    """A run that is about to begin, with the candidates that suit the table, or those of the run that `request.init` names.

    Attributes
    ----------
    request : TableRequest
    data : TableData
    candidates : tuple of Candidate
        The cheapest first.
    strengths : tuple of float
        Regularisations that are tried.
    tunable : FoundEncoder or None
        Encoder that is fine-tuned.
    deadline : float or None
        When the budget is used up, by ``time.monotonic``: no further encoder is fine-tuned.
    progress : Progress
    """

    def __init__(self, request: TableRequest, data: TableData, deadline: float | None, progress: Progress) -> None:
        self.request, self.data, self.deadline, self.progress = request, data, deadline, progress
        self.candidates, self.strengths = candidates.suited(data.columns, len(data.training)), candidates.STRENGTHS
        if request.init is not None:
            chosen, strength = _initial(request.init, data, progress)
            if chosen not in self.candidates:
                raise UsageError(f"{request.init}: {chosen.title} does not suit the columns of {request.source}. Remove --init")
            self.candidates = tuple(dict.fromkeys((candidates.CONSTANT, candidates.BASELINE, chosen)))
            self.strengths = (strength,)
        elif self.is_encoded and data.texts() > _MOST_ENCODED and request.budget is None:
            progress.log(f"{data.texts():,} different texts are not encoded, which would take long; --budget 30m includes it")
            self.candidates = tuple(each for each in self.candidates if not each.encoded)
        self.tunable: FoundEncoder | None = None
        if request.settings.tuning.members and (data.columns.pair or not data.columns.texts):
            progress.log("no encoder is fine-tuned: the columns are a pair, or none has texts")
        elif request.settings.tuning.members:
            if data.columns.encoder is None:
                raise UsageError("table.encoder is null, and --preset balanced and best fine-tune one. Use --preset quick")
            self.tunable = find_encoder(data.columns.encoder, notify=progress.log)

    @property
    def is_encoded(self) -> bool:
        """Whether a candidate reads vectors of the encoder."""
        return any(candidate.encoded for candidate in self.candidates)

    def training(self) -> tuple[Rows, Array]:
        """Return the rows that the model is fitted on, and their label."""
        chosen = self.data.training
        return self.data.rows.take(chosen), self.data.label[chosen]


def train_table(request: TableRequest, progress: Progress | None = None) -> run_folder.Result:
    """Train a model of a table, or resume its training.

    Parameters
    ----------
    request : TableRequest
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the table or the settings are invalid, the budget is too small, or the folder holds another run.
    PosegenError
        If a file is damaged.
    """
    require_extra("train")
    display, run = progress or Progress(), request.run
    deadline = None if request.budget is None else time.monotonic() + request.budget
    try:
        with display.working("read the table"):
            data = open_table(request.source, request.settings, display)
        with threadpool_limits(request.settings.machine.threads or 1), PeakMemory() as memory, warnings.catch_warnings():
            # A solver may reach its limit of iterations: cross-validation compares what it has by then.
            warnings.simplefilter("ignore", ConvergenceWarning)
            plan = _Plan(request, data, deadline, display)
            with display.working("measure trial fits"):
                estimate = _estimate(plan)
            needed = f"about {human_time(estimate.seconds)} and {estimate.memory()} of memory"
            display.log(f"{len(data.label):,} rows, {int(data.test.sum()):,} of these test the model: {needed}")
            _check_limits(estimate, request)
            if request.only_estimate:
                return run_folder.Result(run, run_folder.TABLE_TASK, estimate=estimate)
            require_space(run, _LEAST_FREE)
            with run_folder.run_folder(run):
                return _train(plan, estimate, memory)
    finally:
        display.stop()


def _initial(init: Path, data: TableData, progress: Progress) -> tuple[candidates.Candidate, float]:
    """Return the candidate of a trained run, and its regularisation."""
    document, result = model.load_description(init), run_folder.read_result(init) or {}
    label, categories = (document["columns"][name] for name in ("label", "categories"))
    if (label, bool(categories)) != (data.columns.label, bool(data.columns.categories)):
        raise UsageError(f"{init}: predicts {label}, not {data.columns.label} as here. Remove --init")
    chosen, strength = candidates.ALL[document["candidate"]], document["found"]["strength"]
    progress.log(f"from {init}: {chosen.title}, regularisation {strength:g}; other candidates are not compared")
    _log_changes(result.get("table"), document["columns"], data, progress)
    return chosen, strength


def _log_changes(before: Mapping[str, Any] | None, columns: Mapping[str, Any], data: TableData, progress: Progress) -> None:
    """Log what differs from the table of an earlier training: rows, categories and columns."""
    if before is not None:
        had = f"the table had {before['rows']:,} rows and has {len(data.label):,}"
        progress.log(f"{had}; the model is fitted again on all of them")
    earlier = TypeAdapter(Columns).validate_python(columns)
    for name in ("categories", "inputs"):
        one, other = (set(getattr(each, name)) for each in (earlier, data.columns))
        for verb, changed in (("new", other - one), ("gone", one - other)):
            if changed:
                progress.log(f"{verb} {name}: {', '.join(sorted(changed))}")


def _estimate(plan: _Plan) -> TableEstimate:
    """Estimate time and memory from fits on a few rows, and a few steps of an encoder that is fine-tuned."""
    data, (rows, label) = plan.data, plan.training()
    step = max(1, len(label) // _PILOT_ROWS)
    sample, known = rows.take(np.arange(0, len(label), step)), label[::step]
    # The first fit of a process loads and compiles more than the others.
    candidates.trial_seconds(candidates.BASELINE, sample.take(np.arange(min(len(sample), 10))), known[:10], data.columns)
    seconds, held, share = {}, process_memory(), len(label) / len(sample)
    encoding = _ENCODER_SECONDS + _SECONDS_PER_TEXT * data.texts()
    for candidate in plan.candidates:
        of_features, of_head = candidates.trial_seconds(candidate, sample, known, data.columns)
        fits = 1 + candidates.FOLDS * (len(plan.strengths) if candidate.head == "linear" else 1)
        seconds[candidate.name] = share * (of_features + of_head * fits) * (2 if candidate.encoded else 1)
        if candidate.encoded:
            seconds[candidate.name] += encoding
            encoding = 0.0  # once for all candidates
    grown = max(0, process_memory() - held) * share
    memory = int(process_memory() + grown + plan.is_encoded * _ENCODER_BYTES)
    if plan.tunable is not None:
        from posegen.tables.tuning import estimate_tuning

        seconds[TUNED], peak = estimate_tuning(plan.tunable, plan.request.settings.tuning, data.columns, rows, label)
        memory = max(memory, peak)
    return TableEstimate(sum(seconds.values()), memory, seconds)


def _check_limits(estimate: TableEstimate, request: TableRequest) -> None:
    """Raise UsageError if a run takes more memory than there is, or more time than the budget."""
    limit, budget = request.settings.memory.limit, request.budget
    allowed = available_memory().free + process_memory() if limit is None else parse_bytes(limit)
    hint = "Use fewer rows, --preset quick, --set data.samples=N, or --set table.encoder=null"
    if estimate.memory_bytes > allowed:
        raise UsageError(
            f"{human_bytes(estimate.memory_bytes)} of memory are needed, {human_bytes(allowed)} are allowed. {hint}"
        )
    if budget is not None and estimate.seconds > budget and not request.only_estimate:
        problem = f"an estimated {human_time(estimate.seconds)} are needed, and the budget is {human_time(budget)}"
        raise UsageError(f"{problem}. --budget {estimate.seconds:.0f}s would fit. {hint}")


def _train(plan: _Plan, estimate: TableEstimate, memory: PeakMemory) -> run_folder.Result:
    """Cross-validate the candidates that are left, fit the best one, and write the result."""
    run, progress, begun = plan.request.run, plan.progress, time.monotonic()
    record, before = _record(plan, estimate), run_folder.read_result(run)
    number = len(record["rounds"])
    if before is not None and before["rounds"] == number:
        kept = {name: before[name] for name in ("measures", "seconds", "warnings", "chosen")}
        return run_folder.Result(run, run_folder.TABLE_TASK, nothing_to_do=True, **kept)
    encoder = None
    if plan.is_encoded:
        with progress.working("load the encoder"):
            encoder = find_encoder(str(plan.data.columns.encoder), notify=progress.log).load(1)
        plan.data = replace(plan.data, rows=model.with_vectors(plan.data.rows, encoder, progress))
    results = _results(plan, number)
    chosen = _chosen(results)
    tuned, known, tried = _tuned(plan, number, chosen, results)
    title = candidates.ALL[chosen].title
    title += "" if tuned is None else f", averaged with fine-tuned encoders: {len(tuned.files)}"
    with progress.working("fit the model"):
        measures, table = _fit(plan, chosen, title, results, encoder, tuned, known, tried)
    warnings = _warnings(plan.data, measures, results)
    for warning in warnings:
        progress.log(warning)
    if before is not None:
        name = next(iter(measures))
        changed = f"{name} {before['measures'].get(name)!s:.5} before, {measures[name]:.3f} now"
        progress.log(f"{before['chosen']} before, {title} now; {changed} (other test rows)")
    result: dict[str, Any] = {
        "task": run_folder.TABLE_TASK, "rounds": number, "chosen": title, "monitor": next(iter(measures)),
        "seconds": time.monotonic() - begun, "memory": {"peak": memory.peak}, "warnings": warnings,
        "measures": measures,
        "candidates": {candidates.ALL[name].title: {**each["found"], "seconds": each["seconds"]}
                       for name, each in results.items()},
        "table": table,
    }  # fmt: skip
    report.write_report(run, record, result, str(plan.request.source))
    run_folder.write_result(run, result)
    shown = {name: result[name] for name in ("measures", "seconds", "warnings", "chosen")}
    return run_folder.Result(run, run_folder.TABLE_TASK, estimate=estimate, **shown)


def _fit(
    plan: _Plan, chosen: str, title: str, results: _Results, encoder: Encoder | None, tuned: Tuned | None,
    known: tuple[Array, Array], tried: Array,
) -> tuple[dict[str, float], dict[str, Any]]:  # fmt: skip
    """Measure the constant, the baseline and the chosen model on the test rows, then store the model, fitted on all rows.

    Of fine-tuned encoders, the one that was tried is measured: the others were trained on the test rows.
    """
    data, test = plan.data, np.flatnonzero(plan.data.test)

    def fitted(name: str, rows: Array) -> model.TableModel:
        found = candidates.Found(**results[name]["found"])
        own = candidates.fit(candidates.ALL[name], found.strength, data.rows.take(rows), data.label[rows], data.columns)
        fingerprint = encoder.fingerprint if encoder is not None and own.candidate.encoded else None
        return model.TableModel(data.columns, found, fingerprint, own, tuned if name == chosen else None)

    tested = data.rows.take(test)
    compared = dict.fromkeys((candidates.CONSTANT.name, candidates.BASELINE.name, chosen))
    scored, shown = {name: fitted(name, data.training).scores(tested) for name in compared}, chosen
    if tuned is not None:
        from posegen.tables.tuning import mixed

        scored[shown := TUNED] = mixed(scored[chosen], tried, data.columns)
        if chosen not in (candidates.CONSTANT.name, candidates.BASELINE.name):
            del scored[chosen]
    similar = candidates.pair_similarity(tested, data.columns) if data.columns.pair else None
    measures, table = report.measure(scored, shown, title, data.label[test], data.columns, known, similar)
    model.save_model(plan.request.run, fitted(chosen, np.arange(len(data.label))))
    return measures, {"rows": len(data.label), "training": len(data.training), "test": len(test), **table}


def _record(plan: _Plan, estimate: TableEstimate) -> dict[str, Any]:
    """Return the record of the run; a table that has changed adds a round.

    Raises
    ------
    UsageError
        If the folder holds a run with another table or other settings.
    """
    request, data, run = plan.request, plan.data, plan.request.run
    record, settings = run_folder.read_document(run, run_folder.RUN), request.settings.model_dump(mode="json")
    init = None if request.init is None else str(request.init)
    same = {"task": run_folder.TABLE_TASK, "init": init, "source": request.source.name}
    same |= {key: value for key, value in settings.items() if key not in ("machine", "memory")}
    latest = {"rows": len(data.label), "identity": data.identity, "first": 0}
    if record is None:
        record = {
            "task": run_folder.TABLE_TASK, "form": "", "source": str(request.source), "same": same,
            "columns": asdict(data.columns), "settings": settings, "estimate": asdict(estimate), "rounds": [latest],
            "started": time.time(),
        }  # fmt: skip
    else:
        run_folder.refuse_other_run(run, differences(record.get("same", {"task": record["task"]}), same))
        if record["rounds"][-1]["identity"] == latest["identity"]:
            return record
        _log_changes(record["rounds"][-1], record["columns"], data, plan.progress)
        record |= {"columns": asdict(data.columns), "rounds": [*record["rounds"], latest]}
    run_folder.write_document(run, run_folder.RUN, record)
    return record


def _results(plan: _Plan, number: int) -> _Results:
    """Return the result of each candidate by name; those of an earlier session are read."""
    results: _Results = {}
    run, columns, progress = plan.request.run, plan.data.columns, plan.progress
    (rows, label), folds = plan.training(), _folds(plan)
    for candidate in plan.candidates:
        name = f"candidates/{number}-{candidate.name}.json"
        known = run_folder.read_document(run, name)
        if known is None:
            begin = time.perf_counter()
            with progress.working(f"cross-validate: {candidate.title}"):
                found, scores = candidates.cross_validate(candidate, rows, label, folds, columns, plan.strengths)
            positive = scores[:, 1].tolist() if len(columns.categories) == 2 else []
            own = np.round(candidates.errors(scores, label, columns), 4).tolist()
            known = {"found": asdict(found), "seconds": time.perf_counter() - begin, "positive": positive, "errors": own}
            run_folder.write_document(run, name, known)
            progress.log(f"{candidate.title}: error {found.error:.4f} in cross-validation, {human_time(known['seconds'])}")
        results[candidate.name] = known
    return results


def _folds(plan: _Plan) -> Array:
    """Return the fold of each training row, int64 [row]."""
    (rows, label), columns, settings = plan.training(), plan.data.columns, plan.request.settings
    groups = plan.data.groups[plan.data.training]
    # New texts have new words: what is chosen on folds that share texts knows these, but not others like them.
    if columns.categories and columns.texts and not columns.pair and settings.table.group is None:
        groups = candidates.text_groups(rows, groups)
    return candidates.folds_of(groups, label, columns, settings.seed)


def _tuned(plan: _Plan, number: int, chosen: str, results: _Results) -> tuple[Tuned | None, tuple[Array, Array], Array]:
    """Return fine-tuned encoders if they are better beside the chosen candidate.

    Also return, of two categories, the probabilities of the second one for rows that the model was not trained on, with the
    labels of these rows, and the scores of an encoder for the test rows.
    """
    (rows, label), data, result = plan.training(), plan.data, results[chosen]
    unchanged = None, (np.array(result["positive"]), label), np.zeros(0)
    if plan.tunable is None:
        return unchanged
    from posegen.tables.tuning import FOLDER, Tuner, mixed

    candidate, folds, own_errors = candidates.ALL[chosen], _folds(plan), np.array(result["errors"])
    with plan.progress.working(f"cross-validate: {candidate.title}"):
        _, scores = candidates.cross_validate(candidate, rows, label, folds, data.columns, (result["found"]["strength"],))
    # Of categories, the fold with the largest error has most words that other rows lack: there an encoder is better or worse.
    hardest = max(np.unique(folds), key=lambda fold: own_errors[folds == fold].mean())
    held = folds == (hardest if data.columns.categories else 0)
    # Chance on a few rows decides neither against an encoder whose vectors help clearly, nor for one where nothing helps.
    gain = np.subtract(results[candidates.CONSTANT.name]["errors"], own_errors)
    helps = gain.mean() > gain.std() / np.sqrt(len(gain))
    tolerance = float(candidate.encoded) if helps else -1.0
    tuner = Tuner(
        plan.tunable, plan.request.settings.tuning, data.columns, data.rows, data.label, plan.request.run / FOLDER,
        str(number), plan.progress, plan.deadline,
    )  # fmt: skip
    known, others, count = data.training[~held], data.training[held], held.sum()
    tuned, tried = tuner.tune(known, others, np.flatnonzero(data.test), scores[held], tolerance)
    if tuned is None:
        return unchanged
    average = mixed(scores[held], tried[:count], data.columns)
    positive = average[:, 1] if len(data.columns.categories) == 2 else np.zeros(0)
    return tuned, (positive, label[held]), tried[count:]


def _chosen(results: _Results) -> str:
    """Return the name of the candidate with the least error in cross-validation.

    One with vectors of an encoder, which knows words that these rows lack, is chosen as well if its error is not larger by
    more than a standard error.
    """

    def error(name: str) -> float:
        return float(results[name]["found"]["error"])

    best = min(results, key=error)
    encoded = [name for name in results if candidates.ALL[name].encoded]
    if not encoded:
        return best
    other = min(encoded, key=error)
    more = np.subtract(results[other]["errors"], results[best]["errors"])
    return other if more.mean() <= more.std() / np.sqrt(len(more)) else best


def _warnings(data: TableData, measures: Mapping[str, float], results: _Results) -> list[str]:
    warnings, tested, categories = [], int(data.test.sum()), data.columns.categories
    if tested < _FEW_TESTED:
        one = f"one is {100 / max(1, tested):.1f} %, small differences are chance"
        warnings.append(f"warning: only {tested} rows test the model: {one}")
    if categories:
        names = np.array(categories)[data.label.astype(np.int64)]
        lacking = category_warning(names, {"test": np.flatnonzero(data.test)})
        warnings += [] if lacking is None else [lacking]
    if _chosen(results) == candidates.CONSTANT.name:
        warnings.append("warning: no model is better than a constant, so predict uses the constant. Add rows or columns")
    return warnings
