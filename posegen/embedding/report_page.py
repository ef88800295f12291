"""The page of the report on embeddings: HTML with a drawing in it, and nothing that is loaded or runs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posegen.embedding.report import Report

__all__ = ["page"]

COLOURS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#393b79"),
    *("#637939", "#8c6d31", "#843c39", "#7b4173", "#3182bd", "#31a354", "#756bb1", "#e6550d", "#c51b8a", "#02818a"),
)
REST, REST_COLOUR = "others", "#c4c4c4"
WIDTH, HEIGHT, EDGE = 1000, 760, 12

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 1060px; margin: 2em auto; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
svg { border: 1px solid #ddd; width: 100%; height: auto; }
ul.key { list-style: none; padding: 0; columns: 5; font-size: .9em; } ul.key span { padding: 0 .5em; margin-right: .4em; }
table { border-collapse: collapse; font-size: .9em; }
td, th { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } tr.text td { padding-top: .8em; font-weight: 600; }
"""


def page(report: Report) -> str:
    """Write the page.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        HTML.
    """
    facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in report.facts)
    colours = _colours(report.actions)
    counts = "".join(f'<tr><td>{escape(name)}</td><td class="number">{count:,}</td></tr>' for name, count in report.counts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(report.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(report.title)}</h1>
<table>{facts}</table>
<h2>Map</h2>
<p>Each point is a text, laid out by {escape(report.how)}: alike ones are near each other, and what lies far apart says little.
Its colour is the rarest of the actions that the text tells of. Point at one to read it.</p>
{_map(report, colours)}
{_key(report.actions, colours)}
<h2>Nearest</h2>
<table>{_examples(report)}</table>
<h2>Texts that tell of each action</h2>
<table>{counts}</table>
</body>
</html>
"""


def _colours(actions: list[str]) -> dict[str, str]:
    """Give colours to the most frequent actions of the map; to equally frequent ones by their names."""
    frequent = sorted(set(actions), key=lambda action: (-actions.count(action), action))
    return dict(zip(frequent, COLOURS, strict=False))


def _map(report: Report, colours: dict[str, str]) -> str:
    points = []
    # Grey ones first, so that they hide no other.
    order = sorted(range(len(report.texts)), key=lambda point: report.actions[point] in colours)
    for point in order:
        action, (x, y) = report.actions[point], report.places[point].tolist()
        place = f'cx="{EDGE + x * (WIDTH - 2 * EDGE):.1f}" cy="{EDGE + (1 - y) * (HEIGHT - 2 * EDGE):.1f}"'
        title = f"<title>{escape(action)}: {escape(report.texts[point])}</title>"
        points.append(f'<circle {place} r="3" fill="{colours.get(action, REST_COLOUR)}">{title}</circle>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="map of texts">{"".join(points)}</svg>'


def _key(actions: list[str], colours: dict[str, str]) -> str:
    counts = {action: actions.count(action) for action in colours}
    rest = len(actions) - sum(counts.values())
    entries = [*((action, colours[action], counts[action]) for action in colours), (REST, REST_COLOUR, rest)]
    items = "".join(
        f'<li><span style="background:{colour}"></span>{escape(name)} ({count:,})</li>'
        for name, colour, count in entries
        if count
    )
    return f'<ul class="key">{items}</ul>'


def _examples(report: Report) -> str:
    rows = []
    for text, near in report.examples:
        rows.append(f'<tr class="text"><td></td><td>{escape(text)}</td></tr>')
        rows += [f'<tr><td class="number">{cosine:.3f}</td><td>{escape(other)}</td></tr>' for other, cosine in near]
    return "".join(rows)
