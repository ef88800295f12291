"""Write ``report.html``, a self-contained page on a complete run: measures, checks, confusion, choices and settings.

The layout is in the template ``report.html.j2``; this module computes what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.quantities import human_time
from posegen.training.runs.folder import flatten_settings

_WIDTH, _HEIGHT, _MARGIN = 640, 240, 44
_MOST_CONFUSED = 12
_CELL, _LABELS = 10, 110


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
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    table = result["table"]
    page = environment.get_template("report.html.j2").render(
        name=run.name,
        data=record["data"]["name"],
        result=result,
        time=human_time(result["seconds"]),
        monitor=monitor,
        measures=[(name, _figure(value)) for name, value in result["measures"].items()],
        curve=_curve(result["checks"], monitor),
        confusion=_confusion(table["names"], table["confusion"]) if "confusion" in table else None,
        reasons=record["reasons"],
        settings=[(key, value) for key, value in flatten_settings(record["settings"]) if value is not None],
    )
    path = run / "report.html"
    write_durably(path, page.encode(), current_run())
    return path


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value > 1 and float(value).is_integer() else f"{value:.3f}"


def _curve(checks: Sequence[dict[str, float]], monitor: str) -> dict[str, Any]:
    """Return the coordinates of a curve of values between 0 and 1 over steps."""
    across, up = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    last = max((check["step"] for check in checks), default=1.0)
    points = [(_MARGIN + across * c["step"] / last, _HEIGHT - _MARGIN - up * c[monitor]) for c in checks]
    grid = [(tenth / 10, _HEIGHT - _MARGIN - up * tenth / 10) for tenth in range(0, 11, 2)]
    return {"width": _WIDTH, "height": _HEIGHT, "margin": _MARGIN, "last": last, "points": points, "grid": grid}


@dataclass(frozen=True)
class _Cell:
    """A cell of the confusion matrix: position, opacity, whether it is on the diagonal, and its description."""

    x: int
    y: int
    opacity: float
    correct: bool
    title: str


def _confusion(names: Sequence[str], counts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the confusion matrix, a row for each class that occurs, and its largest entries off the diagonal."""
    occurring = [i for i, row in enumerate(counts) if sum(row)]
    cells = [
        _Cell(
            x=_LABELS + _CELL * j,
            y=_CELL * y,
            opacity=0.15 + 0.85 * count / sum(counts[i]),
            correct=i == j,
            title=f"{names[i]} predicted as {names[j]}: {count} of {sum(counts[i])}",
        )
        for y, i in enumerate(occurring)
        for j, count in enumerate(counts[i])
        if count
    ]
    errors = [
        (count, 100 * count / sum(row), names[i], names[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    errors.sort(key=lambda error: (-error[0], error[2], error[3]))
    return {
        "cell": _CELL,
        "width": _LABELS + _CELL * len(names),
        "height": _CELL * (len(occurring) + 1),
        "labels": [(_LABELS - 4, _CELL * (y + 1) - 2, names[i]) for y, i in enumerate(occurring)],
        "cells": cells,
        "errors": errors[:_MOST_CONFUSED],
    }
