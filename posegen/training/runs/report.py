"""``report.html``: a run on one page, with its curves, its measures and what it confuses; it needs nothing but itself."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.quantities import human_time
from posegen.training.runs.runs import flattened

__all__ = ["write_report"]

_WIDTH, _HEIGHT, _MARGIN = 640, 240, 44
_MOST_CONFUSED = 12
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}"
    "td.number{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%}h2{margin-top:1.6em}"
)


def write_report(run: Path, started: dict[str, Any], result: dict[str, Any], watched: str) -> Path:
    """Write the page of a run that is complete.

    Parameters
    ----------
    run : Path
    started, result : dict
        What its documents hold.
    watched : str
        The measure by which models are chosen.
    """
    checks = result["checks"]
    steps = [check["step"] for check in checks]
    measures = [
        [name, f"{value:,.0f}" if value > 1 and float(value).is_integer() else f"{value:.3f}"]
        for name, value in result["measures"].items()
    ]
    reasons = [[reason["name"], reason["value"], reason["why"]] for reason in started["reasons"]]
    settings = [[key, str(value)] for key, value in flattened(started["settings"]) if value is not None]
    body = [
        f"<h1>{html.escape(run.name)}</h1>",
        f"<p>Task {result['task']}, trained {result['steps']:,} steps on {html.escape(started['material']['name'])} "
        f"in {human_time(result['seconds'])}. The weights are the average at step {result['best_step']:,}, the best check.</p>",
        "<h2>On samples that it has never seen</h2>",
        _table(measures),
        f"<h2>{html.escape(watched)} at the checks, on the validation split</h2>",
        _curve(steps, [check[watched] for check in checks]),
        *_confused(result["table"]),
        "<h2>The machine, and what was chosen for it</h2>",
        _table(reasons),
        "<h2>Settings</h2>",
        _table(settings),
    ]
    page = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(run.name)}</title><style>{_STYLE}</style>"
    path = run / "report.html"
    write_durably(path, (page + "\n".join(body) + "</html>\n").encode(), current_run())
    return path


def _table(rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str) -> str:
        number = text.replace(",", "").replace(".", "").isdigit()
        return f"<td{' class=number' if number else ''}>{html.escape(text)}</td>"

    return "<table>" + "".join(f"<tr>{''.join(cell(text) for text in row)}</tr>" for row in rows) + "</table>"


def _curve(steps: Sequence[float], values: Sequence[float]) -> str:
    """Draw values between 0 and 1 over steps."""
    across, up = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    last = max(steps, default=1.0)
    places = [(_MARGIN + across * s / last, _HEIGHT - _MARGIN - up * v) for s, v in zip(steps, values, strict=True)]
    lines = []
    for tenth in range(0, 11, 2):
        y = _HEIGHT - _MARGIN - up * tenth / 10
        lines.append(f"<line x1='{_MARGIN}' y1='{y:.1f}' x2='{_WIDTH - _MARGIN}' y2='{y:.1f}' stroke='#ddd'/>")
        lines.append(f"<text x='{_MARGIN - 8}' y='{y + 4:.1f}' text-anchor='end'>{tenth / 10:.1f}</text>")
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3'/>" for x, y in places)
    axis = f"<text x='{_WIDTH - _MARGIN}' y='{_HEIGHT - _MARGIN + 20}' text-anchor='end'>step {last:,.0f}</text>"
    return (
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' font-size='12' fill='#345' role='img'>{''.join(lines)}{axis}"
        f"<polyline points='{path}' fill='none' stroke='#27c' stroke-width='2'/><g fill='#27c'>{dots}</g></svg>"
    )


def _confused(table: dict[str, Any]) -> list[str]:
    """List what is most often taken for something else, where a task tells of names and their confusion."""
    if "confusion" not in table:
        return []
    names, confusion = table["names"], table["confusion"]
    pairs = [
        (count, count / sum(row), names[i], names[j])
        for i, row in enumerate(confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[2], pair[3]))
    rows = [[true, "taken for", said, str(count), f"{100 * share:.0f} % of them"] for count, share, true, said in pairs]
    most = _table(rows[:_MOST_CONFUSED]) if rows else "<p>Nothing.</p>"
    return ["<h2>Confusion</h2>", _matrix(names, confusion), "<h2>Most often confused</h2>", most]


def _matrix(names: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """Draw which share of what is true is taken for what: a row for each that occurs, darker for more."""
    occurs = [i for i, row in enumerate(confusion) if sum(row)]
    size, left = 10, 110
    width, height = left + size * len(names), size * (len(occurs) + 1)
    labels = "".join(
        f"<text x='{left - 4}' y='{size * (y + 1) - 2}' text-anchor='end'>{html.escape(names[i])}</text>"
        for y, i in enumerate(occurs)
    )
    cells = "".join(
        f"<rect x='{left + size * j}' y='{size * y}' width='{size}' height='{size}' fill='{'#27c' if i == j else '#c33'}' "
        f"fill-opacity='{0.15 + 0.85 * count / sum(confusion[i]):.2f}'>"
        f"<title>{html.escape(f'{names[i]} taken for {names[j]}: {count} of {sum(confusion[i])}')}</title></rect>"
        for y, i in enumerate(occurs)
        for j, count in enumerate(confusion[i])
        if count
    )
    told = "<p>A row is what was true, a column what was said, in the same order; point at a cell to read it.</p>"
    return f"{told}<svg viewBox='0 0 {width} {height}' width='{width}' font-size='9' role='img'>{labels}{cells}</svg>"
