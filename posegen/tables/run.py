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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from posegen.config.identity import differences, digest
from posegen.dataset.lock import locked
from posegen.dataset.splits import split_groups
from posegen.dataset.table_files import read_table
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import FoundEncoder, find_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import PeakMemory, available_memory, free_disk, process_memory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes, human_time, parse_bytes
from posegen.foundations.randomness import Stream, uniform
from posegen.tables.candidates import (
    BASELINE,
    CANDIDATES,
    CONSTANT,
    FOLDS,
    STRENGTHS,
    Candidate,
    Found,
    candidates_for,
    cross_validate,
    encode,
    errors,
    fit,
    folds_of,
    trial_seconds,
)
from posegen.tables.columns import Columns, Rows, choose_columns, read_rows
from posegen.tables.features import pair_similarity, text_groups
from posegen.tables.model import TableModel, load_description, save_model, with_tuned, with_vectors
from posegen.tables.report import measure, write_report
from posegen.tables.settings import TableSettings, Tuning
from posegen.training.run_folder import RESULT, RUN, TABLE_TASK, read_document, write_document

if TYPE_CHECKING:
    from posegen.tables.tuning import Tuned

TUNED = "tuned"
"""Name of the average with fine-tuned encoders."""
_PILOT_ROWS = 300
_MOST_ENCODED = 5000
"""Most different texts that are encoded without a budget: about half a minute."""
_SECONDS_PER_TEXT, _ENCODER_SECONDS, _ENCODER_BYTES = 0.008, 6.0, 700 * 2**20
_LEAST_FREE = 100 * 2**20
_FEWEST_ROWS = 5


@dataclass(frozen=True)
class TableRequest:
    """A request to train a model of a table.

    Attributes
    ----------
    source : Path
    settings : TableSettings
    out : Path or None
        Folder of the run; None for ``runs/table-NAME-PRESET``.
    budget : float or None
        Seconds that the run may take.
    only_estimate : bool
    init : Path or None
        Run whose candidate and settings are used, without comparing others.
    preset : str
        For the name of the folder.
    """

    source: Path
    settings: TableSettings
    out: Path | None = None
    budget: float | None = None
    only_estimate: bool = False
    init: Path | None = None
    preset: str = "quick"

    @property
    def run(self) -> Path:
        """Folder of the run."""
        return Path("runs") / f"{TABLE_TASK}-{self.source.stem}-{Path(self.preset).stem}" if self.out is None else self.out


@dataclass(frozen=True)
class TableEstimate:
    """Estimated time and memory of a run, in all and by the name of a candidate."""

    seconds: float
    memory_bytes: int
    candidates: dict[str, float]

    def summary(self) -> str:
        """Return both as text."""
        return f"about {human_time(self.seconds)} and {human_bytes(self.memory_bytes)} of memory"


@dataclass(frozen=True)
class TableResult:
    """Result of a request.

    Attributes
    ----------
    run : Path
    chosen : str
        What the model that predicts is; empty if only an estimate was requested.
    measures : dict of str to float
        On the test rows; NaN where they are undefined.
    seconds : float
    nothing_to_do : bool
        Whether the run was complete before.
    estimate : TableEstimate or None
    warnings : list of str
    """

    run: Path
    chosen: str = ""
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    nothing_to_do: bool = False
    estimate: TableEstimate | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TableData:
    """A table with its label.

    Attributes
    ----------
    columns : Columns
    rows : Rows
        Those with a label.
    label : float64 [row]
        As it is trained.
    groups : int64 [row]
    test : bool [row]
        Rows that only measure the model.
    """

    columns: Columns
    rows: Rows
    label: Array
    groups: Array
    test: Array

    @cached_property
    def identity(self) -> str:
        """Hash of everything that the model is trained on."""
        arrays = (self.rows.hashes(), self.label, self.groups)
        return digest(
            {"columns": asdict(self.columns), "arrays": [xxhash.xxh3_128_hexdigest(each.tobytes()) for each in arrays]}
        )

    @property
    def training(self) -> Array:
        """Numbers of the rows that the model is fitted on."""
        return np.flatnonzero(~self.test)

    def texts(self) -> int:
        """Return the number of different texts."""
        return len({text for texts in self.rows.texts.values() for text in texts})


def open_table(path: Path, settings: TableSettings, progress: Progress) -> TableData:
    """Read a table with a label, and divide its rows.

    Raises
    ------
    UsageError
        If it cannot be read, or has too few rows.
    """
    table = read_table(path, progress.log)
    table = table if settings.data.samples is None else table.slice(0, settings.data.samples)
    columns, label = choose_columns(path, table, settings.table, progress.log)
    known = np.isfinite(label)
    if not known.all():
        progress.log(f"{(~known).sum():,} of {len(known):,} rows have no {columns.label} and are left out")
    table, label = table.filter(known), label[known]
    rows = read_rows(table, columns, str(path), progress.log)
    groups = rows.hashes()
    if settings.table.group is not None:
        names = [str(value) for value in table[settings.table.group].to_pylist()]
        groups = np.array([xxhash.xxh3_64_intdigest(name.encode()) >> 1 for name in names], np.int64)
    if len(np.unique(groups)) < _FEWEST_ROWS:
        raise UsageError(f"{path}: has {len(np.unique(groups))} groups of rows; {_FEWEST_ROWS} are the least. Add rows")
    if settings.data.shuffle_labels:
        label = label[np.argsort(uniform(settings.seed, np.arange(len(label)), Stream.AUGMENT, 1)[:, 0])]
    test = np.zeros(len(label), bool)
    test[split_groups(groups, 0, label if columns.categories else None)["test"]] = True
    # What is nowhere else cannot be tested.
    test &= ~np.isin(label, np.setdiff1d(label, label[~test])) if columns.categories else True
    return TableData(columns, rows, encode(label, columns), groups, test)


def train_table(request: TableRequest, progress: Progress | None = None) -> TableResult:
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
    progress, begun, run, settings = progress or Progress(), time.monotonic(), request.run, request.settings
    try:
        with progress.working("read the table"):
            data = open_table(request.source, settings, progress)
        threads = settings.machine.threads or 1
        with threadpool_limits(threads), PeakMemory() as memory:
            planned, strengths = _planned(request, data, progress)
            tunable = _tunable(data, settings, progress)
            with progress.working("measure trial fits"):
                estimate = _estimate(data, planned, strengths, tunable, settings.tuning)
            progress.log(f"{len(data.label):,} rows, {int(data.test.sum()):,} of these test the model: {estimate.summary()}")
            _check_memory(estimate, settings)
            if request.only_estimate:
                return TableResult(run, estimate=estimate)
            with _folder(run), locked(run):
                planned = _within(planned, estimate, request.budget, progress)
                if tunable is not None and request.budget is not None and estimate.seconds > request.budget:
                    progress.log("left out, over the budget: fine-tuned encoders")
                    tunable = None
                deadline = None if request.budget is None else begun + request.budget
                return _train(request, data, planned, strengths, tunable, estimate, deadline, memory, progress)
    finally:
        progress.stop()


@contextmanager
def _folder(run: Path) -> Iterator[None]:
    """Create the folder of a run on a disk that has space; remove it again if the request is refused."""
    is_new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        if free_disk(run) < _LEAST_FREE:
            raise UsageError(f"{run}: only {human_bytes(free_disk(run))} are free. Free {human_bytes(_LEAST_FREE)}")
        yield
    except UsageError:
        if is_new and not any(run.iterdir()):
            run.rmdir()
        raise


def _planned(request: TableRequest, data: TableData, progress: Progress) -> tuple[tuple[Candidate, ...], tuple[float, ...]]:
    """Return the candidates, and the strengths that are tried."""
    if request.init is None:
        planned = candidates_for(data.columns, len(data.training))
        if data.texts() > _MOST_ENCODED and request.budget is None and any(each.recipe.encoded for each in planned):
            progress.log(f"{data.texts():,} different texts are not encoded, which would take long; --budget 30m includes it")
            planned = tuple(each for each in planned if not each.recipe.encoded)
        return planned, STRENGTHS
    document, result = load_description(request.init), read_document(request.init, RESULT) or {}
    columns = TypeAdapter(Columns).validate_python(document["columns"])
    if (columns.label, bool(columns.categories)) != (data.columns.label, bool(data.columns.categories)):
        raise UsageError(f"{request.init}: predicts {columns.label}, not {data.columns.label} as here. Remove --init")
    known = {each.name: each for each in CANDIDATES}
    chosen, strength = known[document["candidate"]], document["found"]["strength"]
    if chosen not in candidates_for(data.columns, len(data.training)):
        raise UsageError(f"{request.init}: {chosen.title} does not suit the columns of {request.source}. Remove --init")
    progress.log(f"from {request.init}: {chosen.title}, regularisation {strength:g}; other candidates are not compared")
    _log_changes(result.get("table"), columns, data, progress)
    return tuple(dict.fromkeys((CONSTANT, BASELINE, chosen))), (strength,)


def _log_changes(before: Mapping[str, Any] | None, columns: Columns, data: TableData, progress: Progress) -> None:
    """Log what differs from the table of an earlier training: rows, categories and columns."""
    if before is not None:
        progress.log(
            f"the table had {before['rows']:,} rows and has {len(data.label):,}; the model is fitted again on all of them"
        )
    for name, one, other in (
        ("category", columns.categories, data.columns.categories),
        ("column", columns.inputs, data.columns.inputs),
    ):
        for verb, changed in (("new", set(other) - set(one)), ("gone", set(one) - set(other))):
            if changed:
                progress.log(f"{verb} {name}: {', '.join(sorted(changed))}")


def _tunable(data: TableData, settings: TableSettings, progress: Progress) -> FoundEncoder | None:
    """Return the encoder that is fine-tuned, if any."""
    if not settings.tuning.members:
        return None
    if data.columns.pair or not data.columns.texts:
        progress.log("no encoder is fine-tuned: the columns are a pair, or none has texts")
        return None
    if data.columns.encoder is None:
        raise UsageError("table.encoder is null, and --preset balanced and best fine-tune one. Use --preset quick")
    return find_encoder(data.columns.encoder, notify=progress.log)


def _estimate(
    data: TableData, planned: tuple[Candidate, ...], strengths: tuple[float, ...], tunable: FoundEncoder | None, tuning: Tuning
) -> TableEstimate:
    """Estimate time and memory from fits on a few rows, and a few steps of an encoder that is fine-tuned."""
    rows = data.training[:: max(1, len(data.training) // _PILOT_ROWS)]
    share, sample = len(data.training) / len(rows), data.rows.take(rows)
    # The first fit of a process loads and compiles more than the others.
    trial_seconds(BASELINE, sample.take(np.arange(min(len(rows), 10))), data.label[rows][:10], data.columns)
    seconds, held = {}, process_memory()
    for candidate in planned:
        of_features, of_head = trial_seconds(candidate, sample, data.label[rows], data.columns)
        fits = 1 + FOLDS * (len(strengths) if candidate.head == "linear" else 1)
        seconds[candidate.name] = share * (of_features + of_head * fits) * (2 if candidate.recipe.encoded else 1)
    is_encoded = any(candidate.recipe.encoded for candidate in planned)
    encoding = _ENCODER_SECONDS + _SECONDS_PER_TEXT * data.texts() if is_encoded else 0.0
    if is_encoded:
        first = next(candidate.name for candidate in planned if candidate.recipe.encoded)
        seconds[first] += encoding
    grown = max(0, process_memory() - held) * share
    memory = int(process_memory() + grown + is_encoded * _ENCODER_BYTES)
    if tunable is not None:
        from posegen.tables.tuning import estimate_tuning

        training = data.training
        seconds[TUNED], peak = estimate_tuning(tunable, tuning, data.columns, data.rows.take(training), data.label[training])
        memory = max(memory, peak)
    return TableEstimate(sum(seconds.values()), memory, seconds)


def _check_memory(estimate: TableEstimate, settings: TableSettings) -> None:
    limit = available_memory().free + process_memory() if settings.memory.limit is None else parse_bytes(settings.memory.limit)
    if estimate.memory_bytes > limit:
        hint = "Use fewer rows, --set data.samples=N, or --set table.encoder=null"
        raise UsageError(f"{human_bytes(estimate.memory_bytes)} of memory are needed, {human_bytes(limit)} are allowed. {hint}")


def _within(
    planned: tuple[Candidate, ...], estimate: TableEstimate, budget: float | None, progress: Progress
) -> tuple[Candidate, ...]:
    """Return the candidates that fit a budget in seconds, at least the linear baseline."""
    if budget is None:
        return planned
    kept, used = [], 0.0
    for candidate in planned:
        used += estimate.candidates[candidate.name]
        if used <= budget:
            kept.append(candidate)
    if BASELINE not in kept:
        least = estimate.candidates[CONSTANT.name] + estimate.candidates[BASELINE.name]
        hint = f"--budget {least:.0f}s would fit"
        raise UsageError(
            f"a linear model takes an estimated {human_time(least)}, and the budget is {human_time(budget)}. {hint}"
        )
    if len(kept) < len(planned):
        progress.log(f"left out, over the budget: {', '.join(each.title for each in planned if each not in kept)}")
    return tuple(kept)


def _train(
    request: TableRequest,
    data: TableData,
    planned: tuple[Candidate, ...],
    strengths: tuple[float, ...],
    tunable: FoundEncoder | None,
    estimate: TableEstimate,
    deadline: float | None,
    memory: PeakMemory,
    progress: Progress,
) -> TableResult:
    """Cross-validate the candidates that are left, fit the best one, and write the result."""
    run, begun = request.run, time.monotonic()
    record, before = _record(request, data, estimate, progress), read_document(run, RESULT)
    number = len(record["rounds"])
    if before is not None and before["rounds"] == number:
        measures = {name: np.nan if value is None else value for name, value in before["measures"].items()}
        warnings = before["warnings"]
        return TableResult(
            run, str(before["chosen"]), measures, float(before["seconds"]), nothing_to_do=True, warnings=warnings
        )
    encoder = _encoder(data.columns, progress) if any(each.recipe.encoded for each in planned) else None
    if encoder is not None:
        data = replace(data, rows=with_vectors(data.rows, encoder, progress))
    results = _results(run, number, data, planned, strengths, request.settings, deadline, progress)
    chosen = _chosen(results)
    by_name = {each.name: each for each in CANDIDATES}
    title, known = by_name[chosen].title, (np.array(results[chosen]["positive"]), data.label[data.training])
    tuned = None
    if tunable is not None:
        tuned, own, held = _tuned(run, number, tunable, data, by_name[chosen], results, request.settings, deadline, progress)
        if tuned is not None:
            title = f"{title}, averaged with fine-tuned encoders: {len(tuned.files)}"
            known = (own[:, 1] if len(data.columns.categories) == 2 else np.zeros(0)), data.label[data.training][held]
    training, test = data.training, np.flatnonzero(data.test)
    found = {
        name: TypeAdapter(Found).validate_python(results[name]["found"]) for name in (CONSTANT.name, BASELINE.name, chosen)
    }

    def fitted(name: str, rows: Array) -> TableModel:
        own = fit(by_name[name], found[name].strength, data.rows.take(rows), data.label[rows], data.columns)
        fingerprint = encoder.fingerprint if encoder is not None and own.candidate.recipe.encoded else None
        return TableModel(data.columns, found[name], fingerprint, own, tuned if name == chosen else None)

    with progress.working("fit the model"):
        tested = data.rows.take(test)
        scored, name = {each: fitted(each, training).scores(tested) for each in found}, chosen
        similar = pair_similarity(tested, data.columns) if data.columns.pair else None
        if tuned is not None:
            scored[name := TUNED] = with_tuned(scored[chosen], tuned, run, tested, data.columns, progress)
            if chosen not in (CONSTANT.name, BASELINE.name):
                del scored[chosen]
        measures, table = measure(scored, name, title, data.label[test], data.columns, known, similar)
        # Once it is measured, the model that predicts is fitted on the test rows as well.
        save_model(run, fitted(chosen, np.arange(len(data.label))))
    warnings = _warnings(data, measures, results)
    for warning in warnings:
        progress.log(warning)
    if before is not None:
        changed = (f"{key} {before['measures'].get(key)!s:.5} before, {measures[key]:.3f} now" for key in list(measures)[:1])
        progress.log(f"{before['chosen']} before, {title} now; {', '.join(changed)} (other test rows)")
    result: dict[str, Any] = {
        "task": TABLE_TASK, "rounds": number, "chosen": title, "monitor": next(iter(measures)),
        "seconds": time.monotonic() - begun, "memory": {"peak": memory.peak}, "warnings": warnings,
        "measures": {name: None if np.isnan(value) else value for name, value in measures.items()},
        "candidates": {by_name[name].title: each["found"] | {"seconds": each["seconds"]} for name, each in results.items()},
        "table": {"rows": len(data.label), "training": len(training), "test": len(test), **table},
    }  # fmt: skip
    write_report(run, record, result, str(request.source))
    write_document(run, RESULT, result)
    return TableResult(run, result["chosen"], measures, result["seconds"], estimate=estimate, warnings=warnings)


def _record(request: TableRequest, data: TableData, estimate: TableEstimate, progress: Progress) -> dict[str, Any]:
    """Return the record of the run; a table that has changed adds a round.

    Raises
    ------
    UsageError
        If the folder holds a run with another table or other settings.
    """
    run = request.run
    record = read_document(run, RUN)
    content = request.settings.model_dump(mode="json", exclude={"machine", "memory"})
    same = {
        "task": TABLE_TASK,
        "init": None if request.init is None else str(request.init),
        "source": request.source.name,
    } | content
    columns = asdict(data.columns)
    latest = {"rows": len(data.label), "identity": data.identity, "first": 0}
    if record is None:
        record = {
            "task": TABLE_TASK, "form": "", "source": str(request.source), "same": same, "columns": columns,
            "settings": request.settings.model_dump(mode="json"), "estimate": asdict(estimate), "rounds": [latest],
            "started": time.time(),
        }  # fmt: skip
    else:
        changed = differences(record.get("same", {"task": record["task"]}), same)
        if changed:
            listed = ", ".join(f"{key} was {old!r} and is {new!r}" for key, old, new in changed[:5])
            raise UsageError(
                f"{run}: holds another run: {listed}. Use the same settings, or train into another folder with --out"
            )
        if record["rounds"][-1]["identity"] == latest["identity"]:
            return record
        old = TypeAdapter(Columns).validate_python(record["columns"])
        _log_changes(record["rounds"][-1], old, data, progress)
        record |= {"columns": columns, "rounds": [*record["rounds"], latest]}
    write_document(run, RUN, record)
    return record


def _encoder(columns: Columns, progress: Progress) -> Encoder:
    """Load the encoder of the run."""
    with progress.working("load the encoder"):
        found = find_encoder(str(columns.encoder), notify=progress.log)
        precision = "float32" if "float32" in found.precisions else None
        return found.load(precision, 1)


def _results(
    run: Path,
    number: int,
    data: TableData,
    planned: tuple[Candidate, ...],
    strengths: tuple[float, ...],
    settings: TableSettings,
    deadline: float | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """Return the result of each candidate by name; those of an earlier session are read."""
    results = {}
    rows, label, folds = data.rows.take(data.training), data.label[data.training], _folds(data, settings)
    for candidate in planned:
        name = f"candidates/{number}-{candidate.name}.json"
        known = read_document(run, name)
        if known is None:
            if deadline is not None and time.monotonic() > deadline and BASELINE.name in results:
                progress.log(f"left out, the budget is used: {candidate.title}")
                continue
            begin = time.perf_counter()
            with progress.working(f"cross-validate: {candidate.title}"):
                found, scores = cross_validate(candidate, rows, label, folds, data.columns, strengths)
            positive = scores[:, 1].tolist() if len(data.columns.categories) == 2 else []
            own = np.round(errors(scores, label, data.columns), 4).tolist()
            known = {"found": asdict(found), "seconds": time.perf_counter() - begin, "positive": positive, "errors": own}
            write_document(run, name, known)
            progress.log(f"{candidate.title}: error {found.error:.4f} in cross-validation, {human_time(known['seconds'])}")
        results[candidate.name] = known
    return results


def _folds(data: TableData, settings: TableSettings) -> Array:
    """Return the fold of each training row, int64 [row]."""
    training = data.training
    # New texts have new words: what is chosen on folds that share texts knows these, but not others like them.
    is_text = data.columns.categories and data.columns.texts and not data.columns.pair and settings.table.group is None
    groups = text_groups(data.rows.take(training), data.groups[training]) if is_text else data.groups[training]
    return folds_of(groups, data.label[training], data.columns, settings.seed)


def _tuned(
    run: Path,
    number: int,
    found: FoundEncoder,
    data: TableData,
    chosen: Candidate,
    results: Mapping[str, Mapping[str, Any]],
    settings: TableSettings,
    deadline: float | None,
    progress: Progress,
) -> tuple[Tuned | None, Array, Array]:
    """Return fine-tuned encoders if they are better beside the chosen candidate; their scores of one fold, and its rows."""
    from posegen.tables.tuning import FOLDER, tune

    rows, label, folds = data.rows.take(data.training), data.label[data.training], _folds(data, settings)
    with progress.working(f"cross-validate: {chosen.title}"):
        _, scores = cross_validate(chosen, rows, label, folds, data.columns, (results[chosen.name]["found"]["strength"],))
    held = folds == 0
    tuned, own = tune(
        found, settings.tuning, data.columns, rows, label, held, scores, run / FOLDER, str(number), progress, deadline
    )
    return tuned, own, held


def _chosen(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the candidate with the least error in cross-validation.

    One with vectors of an encoder, which knows words that these rows lack, is chosen as well if its error is not larger by
    more than a standard error.
    """

    def error(name: str) -> float:
        return float(results[name]["found"]["error"])

    best = min(results, key=error)
    encoded = [each.name for each in CANDIDATES if each.recipe.encoded and each.name in results]
    if not encoded:
        return best
    other = min(encoded, key=error)
    more = np.subtract(results[other]["errors"], results[best]["errors"])
    return other if more.mean() <= more.std() / np.sqrt(len(more)) else best


def _warnings(data: TableData, measures: Mapping[str, float], results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    warnings = []
    tested = int(data.test.sum())
    if tested < 50:
        warnings.append(
            f"warning: only {tested} rows test the model: one is {100 / max(1, tested):.1f} %, small differences are chance"
        )
    if data.columns.categories:
        lacking = np.setdiff1d(np.arange(len(data.columns.categories)), data.label[data.test].astype(np.int64))
        names = [data.columns.categories[i] for i in lacking[:5]]
        if names:
            more = f" and {len(lacking) - 5:,} more" if len(lacking) > 5 else ""
            warnings.append(f"warning: no test row is {', '.join(names)}{more}, so the measures do not cover all categories")
    if _chosen(results) == CONSTANT.name:
        warnings.append("warning: no model is better than a constant, so predict uses the constant. Add rows or columns")
    return warnings
