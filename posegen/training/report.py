"""The page of a complete run: measures, curves, times, memory and settings, in one file without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posegen.dataset.files import write_durably
from posegen.foundations.quantities import human_bytes, human_time
from posegen.foundations.templates import fill_template
from posegen.training.run_folder import flatten_settings, format_measure
from posegen.training.settings import Settings, learning_rate

_MOST_CONFUSED = 12
_WIDTH, _HEIGHT, _MARGIN = 640, 240, 52
_LINES = 5
_COLOURS = ("#27c", "#c33")
_RATE_POINTS = 200

Curve = Sequence[tuple[float, float]]
"""Points of a curve: step and value."""


def write_report(run: Path, record: dict[str, Any], result: dict[str, Any], monitor: str) -> Path:
    """Write the page of a complete run.

    Parameters
    ----------
    run : Path
    record, result : dict
        Content of ``run.json`` and ``result.json``.
    monitor : str
        Name of the measure that selected the weights.

    Returns
    -------
    Path
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
        shares=_time_shares(result["times"]),
        classes=_classes(table),
        confusion=confusion_chart(table["names"], table["confusion"]) if "confusion" in table else None,
        reasons=record["reasons"],
        settings=[(key, value) for key, value in flatten_settings(record["settings"]) if value is not None],
    )
    path = run / "report.html"
    write_durably(path, page.encode())
    return path


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


def _time_shares(times: Mapping[str, Any] | None) -> list[tuple[str, float]]:
    """Return the phases of a step and their shares of its time in per cent."""
    return [] if times is None else [(phase, 100 * share) for phase, share in times["shares"].items()]


def _classes(table: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return the name of each class with its numbers of true and of predicted cases in the test split, the commonest first."""
    if "confusion" in table:
        true = [sum(row) for row in table["confusion"]]
        predicted = [sum(column) for column in zip(*table["confusion"], strict=True)]
    elif "said" in table:
        _, predicted, true = table["said"]
    else:
        return []
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
