"""The page of a complete run: measures, curves, times, memory and settings, in one file without scripts; and warnings.

The warnings are about results within chance, and splits with too few samples or categories. What the data themselves call for,
such as small batches, is the matter of :mod:`posegen.training.setup`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posegen.dataset.files import write_durably
from posegen.dataset.splits import split_groups
from posegen.foundations.arrays import Array
from posegen.foundations.quantities import human_bytes, human_time
from posegen.foundations.templates import fill_template
from posegen.training.run_folder import flatten_settings, format_measure, write_result
from posegen.training.settings import Settings, learning_rate

if TYPE_CHECKING:
    from posegen.training.setup import Setup
    from posegen.training.task import Task

_MOST_CONFUSED = 12
_WIDTH, _HEIGHT, _MARGIN = 640, 240, 52
_LINES = 5
_COLOURS = ("#27c", "#c33")
_RATE_POINTS = 200
_ENOUGH_SAMPLES = 100
"""Fewer samples measure a share with a standard error of more than 5 %."""
_ERRORS = 2
"""Standard errors within which a share equals that of chance."""
_LEAST_SKILL = 0.05
"""Least share of the error of chance that a model removes. Only shares of right answers have a standard error."""
_MOST_NAMED = 5
_NUMBER = re.compile(r"[-+]?(\d{1,3}([ ,.'\u00a0\u202f]\d{3})+|\d+)([.,]\d+)?")
_DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})([T ].*)?")
_NEARLY_ALL = 0.9

Curve = Sequence[tuple[float, float]]
"""Points of a curve: step and value."""


def write_report(run: Path, record: dict[str, Any], result: dict[str, Any], monitor: str) -> None:
    """Write the page of a complete run, then the document that states that it is complete.

    Parameters
    ----------
    run : Path
    record, result : dict
        Content of ``run.json`` and ``result.json``.
    monitor : str
        Name of the measure that selected the weights.
    """
    table, checks = result["table"], result["checks"]
    losses = {
        "training": result["losses"],
        "validation": [(check["step"], check["loss"]) for check in checks if "loss" in check],
    }
    watched = [(check["step"], check[monitor]) for check in checks if monitor in check]
    page = fill_template(
        Path(__file__).with_name("report.html.j2"),
        name=run.name,
        data=record["data"]["name"],
        result=result,
        time=human_time(result["seconds"]),
        monitor=monitor,
        measures=[(name, format_measure(value)) for name, value in result["measures"].items()],
        checked=draw_curves({monitor: watched} if watched else {}, highest=1.0),
        losses=draw_curves({name: curve for name, curve in losses.items() if curve}),
        rates=draw_curves({"learning rate": _rates(record["settings"], result["steps"], record["rounds"])}),
        facts=list(_facts(record, result)),
        classes=_classes(table),
        confusion=confusion_chart(table["names"], table["confusion"]) if "confusion" in table else None,
        thresholds=table.get("rates", []),
        reasons=record["reasons"],
        settings=[(key, value) for key, value in flatten_settings(record["settings"]) if value is not None],
    )
    write_durably(run / "report.html", page.encode())
    write_result(run, result)


def draw_curves(curves: Mapping[str, Curve], highest: float | None = None) -> dict[str, Any]:
    """Return the lines of a chart by steps, in pixels.

    Parameters
    ----------
    curves : mapping of str to sequence of (step, value)
        By name.
    highest : float, optional
        Upper end of the axis, if no value is higher.
    """
    values = [value for curve in curves.values() for _, value in curve]
    last = max((step for curve in curves.values() for step, _ in curve), default=1)
    low, high = min([0.0, *values]), max([*values, highest or 0.0]) or 1.0

    def x(step: float) -> float:
        return _MARGIN + (_WIDTH - 2 * _MARGIN) * step / last

    def y(value: float) -> float:
        return _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (value - low) / (high - low)

    drawn = [
        {"name": name, "colour": colour, "points": [(f"{x(step):.1f}", f"{y(value):.1f}", value) for step, value in curve]}
        for (name, curve), colour in zip(curves.items(), _COLOURS, strict=False)
    ]
    marks = [low + (high - low) * number / _LINES for number in range(_LINES + 1)]
    lines = [(f"{y(mark):.1f}", f"{mark:.3g}") for mark in marks]
    return {"width": _WIDTH, "height": _HEIGHT, "margin": _MARGIN, "last": last, "curves": drawn, "lines": lines}


def _rates(settings: Mapping[str, Any], steps: int, rounds: Sequence[Mapping[str, Any]]) -> Curve:
    """Return the learning rate by step. Each round begins anew."""
    checked = Settings.model_validate(settings)
    firsts = [each["first"] for each in rounds]
    points = range(0, steps, -(-steps // _RATE_POINTS))
    return [(step + 1, learning_rate(step - max(first for first in firsts if first <= step), checked)) for step in points]


def _facts(record: Mapping[str, Any], result: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return what else is known about the training, as names and values."""
    estimate, memory, times = record["estimate"], result["memory"], result["times"]
    epochs = result["steps"] / estimate["epoch_steps"]
    facts = [
        ("epochs", f"{epochs:.1f} of {estimate['sequences']:,} training sequences"),
        ("trained weights", f"{estimate['parameters']:,}"),
        ("time", f"{human_time(result['seconds'])}, after {human_time(estimate['choosing_seconds'])} to choose the settings"),
        ("memory at most", f"{human_bytes(memory['peak'])}, estimated {human_bytes(estimate['memory_bytes'])}"),
    ]
    if times is not None:
        facts.insert(2, ("step", f"{1000 * times['seconds']:.0f} ms, estimated {1000 * estimate['step_seconds']:.0f} ms"))
    if memory["gpu_peak"] is not None:
        facts.append(("GPU memory at most", human_bytes(memory["gpu_peak"])))
    if memory["gpu_utilisation"] is not None:
        facts.append(("GPU utilised", f"{100 * memory['gpu_utilisation']:.0f} %"))
    return facts


def _classes(table: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return the name of each class with its numbers of true and of predicted cases in the test split, the commonest first."""
    if "confusion" not in table:
        return []
    true = [sum(row) for row in table["confusion"]]
    predicted = [sum(column) for column in zip(*table["confusion"], strict=True)]
    found = [each for each in zip(table["names"], true, predicted, strict=True) if each[1] or each[2]]
    return sorted(found, key=lambda each: (-each[1], -each[2], each[0]))


def confusion_chart(names: Sequence[str], counts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the classes that occur or are predicted, the counts of each that occurs, and the largest counts of wrong ones."""
    shown = [i for i, row in enumerate(counts) if sum(row) or any(other[i] for other in counts)]
    column = {i: position for position, i in enumerate(shown)}
    rows: list[dict[str, Any]] = [
        {
            "true": names[i],
            "total": sum(counts[i]),
            "counts": [(column[j], names[j], count) for j, count in enumerate(counts[i]) if count],
        }
        for i in shown
        if sum(counts[i])
    ]
    errors = [
        (count, 100 * count / row["total"], row["true"], predicted)
        for row in rows
        for _, predicted, count in row["counts"]
        if predicted != row["true"]
    ]
    errors.sort(key=lambda error: (-error[0], error[2], error[3]))
    return {"classes": [names[i] for i in shown], "rows": rows, "errors": errors[:_MOST_CONFUSED]}


def split_warnings(setup: Setup, measures: Mapping[str, float]) -> list[str]:
    """Return warnings about splits: categories that one lacks, and a small validation split of a dataset.

    Parameters
    ----------
    setup : Setup
    measures : dict of str to float
        Of the validation split; empty before it is evaluated.
    """
    data, warning = setup.data, None
    if data.groups is None:
        checked = min(data.source(setup.task.recipes, "validation").samples, setup.settings.checks.clips)
        unit = "clips" if setup.task.reading.by_identity else "samples"
        warning = validation_warning(int(min(checked, measures.get("clips", checked))), unit)
    elif data.categories is not None:
        warning = category_warning(data.categories, split_groups(data.groups, data.seed, data.categories))
    return [] if warning is None else [warning]


def validation_warning(samples: int, unit: str) -> str | None:
    """Return a warning if a validation split is too small to select the weights by.

    Parameters
    ----------
    samples : int
        Independent samples of the split.
    unit : str
        Plural noun.

    Examples
    --------
    >>> validation_warning(25, "samples")
    'warning: only 25 samples select the weights, so checks that differ by less than 20 % may differ by chance. Generate more'
    """
    if samples >= _ENOUGH_SAMPLES:
        return None
    apart = 100 * _ERRORS * math.sqrt(0.25 / max(1, samples))
    return (
        f"warning: only {samples} {unit} select the weights, so checks that differ by less than {apart:.0f} % may differ by "
        "chance. Generate more"
    )


def chance_warning(task: Task, measures: Mapping[str, float], samples: int) -> str | None:
    """Return a warning if the monitored measure of a model is that of a model that learned nothing.

    Parameters
    ----------
    task : Task
    measures : dict of str to float
        Of the test split.
    samples : int
        Independent samples of it that have an answer.
    """
    if math.isnan(measures[task.monitor]):
        hint = "Add data, or choose another label"
        return f"warning: {task.monitor} is undefined: the answers of all {samples} tested are equal. {hint}"
    chance = measures.get(task.chance) if isinstance(task.chance, str) else task.chance
    if chance is None:
        return None
    is_share = task.accuracy is not None
    margin = _ERRORS * math.sqrt(chance * (1 - chance) / max(1, samples)) if is_share else _LEAST_SKILL * (1 - chance)
    value, hint = measures[task.monitor], "Train longer, --preset balanced, or on more samples"
    if value > chance + margin:
        return None
    if task.abilities.generates_motion:
        return (
            f"warning: generated motion follows its text little: {task.monitor} is {value:.3f} with the own caption of a clip "
            f"and {chance:.3f} with that of another clip. {hint}"
        )
    return f"warning: {task.monitor} is {value:.3f}, and {chance:.3f} by chance: the difference may be chance. {hint}"


def category_warning(categories: Array, splits: Mapping[str, Array]) -> str | None:
    """Return a warning that names the categories that a split lacks.

    Parameters
    ----------
    categories : str [sample]
        Category of each sample.
    splits : dict of str to int64 [n]
        Samples of each split.

    Examples
    --------
    >>> category_warning(np.array(["a", "b", "a"]), {"test": np.array([0]), "training": np.array([1, 2])})
    'warning: the test split lacks b, so the measures do not cover all categories. Add data of these, or merge rare categories'
    """
    lacking = []
    for split, samples in splits.items():
        absent = np.setdiff1d(categories, categories[samples]).tolist()
        if absent:
            more = f" and {len(absent) - _MOST_NAMED:,} more" if len(absent) > _MOST_NAMED else ""
            lacking.append(f"the {split} split lacks {', '.join(absent[:_MOST_NAMED])}{more}")
    if not lacking:
        return None
    hint = "Add data of these, or merge rare categories"
    return f"warning: {'; '.join(lacking)}, so the measures do not cover all categories. {hint}"


def label_notes(name: str, labels: Array, categories: Sequence[str], target: str | None) -> tuple[str, ...]:
    """Return whether a label is a number or a category, and warnings if its categories are probably a mistake.

    Parameters
    ----------
    name : str
    labels : float [n]
        Numbers, or numbers of categories, without NaN.
    categories : sequence of str
    target : str or None
        What the settings require.

    Examples
    --------
    >>> label_notes("mood", np.array([0, 1, 0, 1, 2]), ("calm", "gay", "sad"), None)
    ('mood: 3 categories',)
    """
    if not categories:
        return (f"{name}: numbers",)
    notes = [f"{name}: {len(categories):,} categories"]
    once = int((np.bincount(labels.astype(np.int64), minlength=len(categories)) == 1).sum())
    date, number = (None if target else _usual_example(pattern, categories) for pattern in (_DATE, _NUMBER))
    if date is not None:
        hint = "To estimate a time, store a number, such as that of the days since the first one"
        notes.append(f"warning: the categories of {name} look like dates, such as {date}. {hint}")
    elif number is not None and not all(map(str.isdecimal, categories)):
        hint = "To estimate a number, store numbers such as 1100.5, with a point and no other separator"
        notes.append(f"warning: the categories of {name} look like numbers, such as {number}. {hint}")
    if once * 2 > len(categories):
        problem = f"{once:,} of the {len(categories):,} categories of {name} occur once, so they cannot be learned and tested"
        notes.append(f"warning: {problem}. Merge rare categories, or choose another label")
    return tuple(notes)


def _usual_example(pattern: re.Pattern[str], names: Sequence[str]) -> str | None:
    """Return the first name that matches a pattern if nearly all match."""
    matching = [name for name in names if pattern.fullmatch(name)]
    return matching[0] if len(matching) >= _NEARLY_ALL * len(names) else None
