"""Write ``report.html``, a self-contained page on a complete run: measures, checks, confusion, choices and settings.

The layout is in the template ``report.html.j2``; this module computes what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posegen.dataset.files import write_durably
from posegen.quantities import human_time
from posegen.templates import fill_template
from posegen.training.runs.folder import flatten_settings

_MOST_CONFUSED = 12


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
    table = result["table"]
    page = fill_template(
        Path(__file__).with_name("report.html.j2"),
        name=run.name,
        data=record["data"]["name"],
        result=result,
        time=human_time(result["seconds"]),
        monitor=monitor,
        measures=[(name, format_measure(value)) for name, value in result["measures"].items()],
        confusion=_confusion(table["names"], table["confusion"]) if "confusion" in table else None,
        reasons=record["reasons"],
        settings=[(key, value) for key, value in flatten_settings(record["settings"]) if value is not None],
    )
    path = run / "report.html"
    write_durably(path, page.encode())
    return path


def format_measure(value: float) -> str:
    """Return counts as whole numbers, shares and errors with three decimals."""
    return f"{value:,.0f}" if value > 1 and float(value).is_integer() else f"{value:.3f}"


def _confusion(names: Sequence[str], counts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the number of classes, the counts of each class that occurs, and the largest counts of wrong predictions."""
    rows: list[dict[str, Any]] = [
        {"true": names[i], "total": sum(row), "counts": [(j, names[j], count) for j, count in enumerate(row) if count]}
        for i, row in enumerate(counts)
        if sum(row)
    ]
    errors = [
        (count, 100 * count / row["total"], row["true"], shown)
        for row in rows
        for _, shown, count in row["counts"]
        if shown != row["true"]
    ]
    errors.sort(key=lambda error: (-error[0], error[2], error[3]))
    return {"classes": len(names), "rows": rows, "errors": errors[:_MOST_CONFUSED]}
