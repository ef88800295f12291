"""Measures of a constant, the linear baseline and the chosen model on the same test rows, and the page that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score

from posegen.dataset.files import write_durably
from posegen.foundations.arrays import Array
from posegen.foundations.quantities import human_bytes, human_time
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.templates import fill_template
from posegen.tables.candidates import BASELINE, CONSTANT, decode, errors
from posegen.tables.columns import Columns
from posegen.training.measures import balanced_accuracy, macro_f1, mean_error, smape
from posegen.training.report import confusion_chart
from posegen.training.run_folder import flatten_settings, format_measure
from posegen.training.verification import measured_rates

FALSE_ACCEPT_RATES = (0.01, 0.001)
_RESAMPLINGS = 1000
_INTERVAL = (0.025, 0.975)
_POINTS = 500
_TWINS = 0.2
"""Share of the wrong pairs that are hard: the most similar ones."""


def measure(
    scored: Mapping[str, Array],
    chosen: str,
    title: str,
    label: Array,
    columns: Columns,
    held_out: tuple[Array, Array],
    similar: Array | None = None,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the measures of the chosen model, the main one first, and what else the report shows, as plain data.

    Parameters
    ----------
    scored : mapping of str to ndarray
        Scores of the test rows by the name of a candidate: of the constant, the baseline and the chosen one.
    chosen : str
    title : str
        Of the chosen one.
    label : float64 [row]
        As it is trained.
    columns : Columns
    held_out : (float64 [n], float64 [n])
        Of two categories: probabilities of the second one in cross-validation, from which thresholds follow, and the labels.
    similar : float64 [row], optional
        Similarity of the two values of a pair. The most similar wrong pairs are measured apart, as ``hard_auc``.
    """
    hard = np.zeros(len(label), bool)
    if similar is not None and len(columns.categories) == 2:
        wrong = np.flatnonzero(label == 0)
        hard[wrong[np.argsort(-similar[wrong], kind="stable")[: math.ceil(_TWINS * len(wrong))]]] = True
    main = "accuracy" if columns.categories else "smape" if columns.is_ratio else "mae"
    by_row = {name: _by_row(scores, label, columns) for name, scores in scored.items()}
    own = {name: float(value) for name, value in _measures(scored[chosen], label, columns).items()}
    if hard.any():
        kept = np.flatnonzero(hard | (label == 1))
        own["hard_auc"] = _auc(label[kept], scored[chosen][kept])
    others = {f"{main}_{name}": float(by_row[name].mean()) for name in (CONSTANT.name, BASELINE.name)}
    roles = {CONSTANT.name: "constant", BASELINE.name: "linear baseline"} | {chosen: f"chosen: {title}"}
    models = [[roles[name], float(by_row[name].mean()), *_interval(by_row[name])] for name in scored]
    measures = {main: own.pop(main), **others, **own, "rows": float(len(label))}
    return measures, {"measure": main, "models": models} | _shown(scored[chosen], label, columns, held_out, hard)


def _by_row(scores: Array, label: Array, columns: Columns) -> Array:
    """Return the main measure of each row: whether it is right, SMAPE in per cent, or the absolute error."""
    if columns.categories:
        return np.asarray(scores.argmax(axis=1) == label, np.float64)
    return np.asarray(errors(scores, label, columns) * (100 if columns.is_ratio else 1))


def _interval(values: Array) -> list[float]:
    """Return the 95 % interval of a mean, by resampling rows."""
    drawn = (uniform(0, np.arange(_RESAMPLINGS), Stream.AUGMENT, len(values)) * len(values)).astype(np.int64)
    return list(np.quantile(values[drawn].mean(axis=1), _INTERVAL).tolist())


def _measures(scores: Array, label: Array, columns: Columns) -> dict[str, float]:
    if not columns.categories:
        true, predicted = decode(label[:, None], columns), decode(scores, columns)
        relative = {"smape": smape(predicted, true)} if columns.is_ratio else {}
        return relative | mean_error(predicted, true)
    confusion = _confusion(scores, label)
    found = {
        "accuracy": np.trace(confusion) / len(label), "balanced_accuracy": balanced_accuracy(confusion),
        "macro_f1": macro_f1(confusion), "log_loss": errors(scores, label, columns).mean(),
    }  # fmt: skip
    if len(columns.categories) == 2:
        found["auc"] = _auc(label, scores)
    return found


def _auc(label: Array, scores: Array) -> float:
    return float(roc_auc_score(label, scores[:, 1])) if len(np.unique(label)) == 2 else math.nan


def _confusion(scores: Array, label: Array) -> Array:
    return np.asarray(confusion_matrix(label.astype(np.int64), scores.argmax(axis=1), labels=np.arange(scores.shape[1])))


def _shown(scores: Array, label: Array, columns: Columns, held_out: tuple[Array, Array], hard: Array) -> dict[str, Any]:
    """Return the confusion of categories, the thresholds of two, or points of true and predicted numbers."""
    if not columns.categories:
        rows = np.linspace(0, len(label) - 1, min(len(label), _POINTS)).astype(np.int64)
        return {"points": np.stack([label[rows], scores[rows, 0]], axis=1).tolist()}
    shown: dict[str, Any] = {"names": list(columns.categories), "confusion": _confusion(scores, label).tolist()}
    if len(columns.categories) != 2 or len(np.unique(label)) < 2:
        return shown
    known, true = held_out
    positive = scores[:, 1]
    rates = measured_rates(known[true == 0], positive[label == 1], positive[label == 0], positive[hard], FALSE_ACCEPT_RATES)
    return shown | {"rates": [list(rate.values()) for rate in rates], "accepted": columns.categories[1]}


def write_report(run: Path, record: Mapping[str, Any], result: Mapping[str, Any], source: str) -> None:
    """Write the page of a complete run, from its run.json and result.json."""
    table = result["table"]
    page = fill_template(
        Path(__file__).with_name("report.html.j2"), name=run.name, source=source, result=result, table=table,
        columns={name: each for name, each in record["columns"].items() if each}, time=human_time(result["seconds"]),
        memory=human_bytes(result["memory"]["peak"]),
        measures=[(name, format_measure(value)) for name, value in result["measures"].items()],
        settings=[(key, value) for key, value in flatten_settings(record["settings"]) if value is not None],
        confusion=confusion_chart(table["names"], table["confusion"]) if "confusion" in table else None,
    )  # fmt: skip
    write_durably(run / "report.html", page.encode())
