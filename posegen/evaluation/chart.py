"""Draw the measures of an evaluation as a chart: a panel for each group of measures that the evaluation has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from posegen.evaluation.evaluate import Evaluation
from posegen.evaluation.gait import PHASES, SPREAD, published_curve, stance_share

SHARES = {
    "skate, GMD": "fast low toes (GMD)",
    "skate, strict": "fast low toes (strict)",
    "skate of contacts": "contacts that slide",
    "limits": "joint range exceeded",
    "overlap": "limbs overlap",
    "balance": "off balance",
}
"""Measures that are shares of frames, with their labels; 0 is best."""
WALKING_SPEEDS = (0.6, 2.0)
"""Speeds in m/s between which the published stance is drawn."""
COLUMNS, WIDTH, HEIGHT = 3, 5.2, 4.3
"""Panels beside each other, and inches of a panel."""
_SHOWN = 0.1

Panel = Callable[[Any, Evaluation], None]


def draw_chart(evaluation: Evaluation, path: Path) -> None:
    """Draw plausibility, gait beside published values, and the comparison with the reference."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [*_panels(evaluation)]
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{evaluation.samples:,} samples, {evaluation.clips:,} clips", fontsize=13)
    for number, draw in enumerate(panels):
        axes = figure.add_subplot(rows, columns, number + 1)
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes, evaluation)
    figure.savefig(path, dpi=110)


def _panels(evaluation: Evaluation) -> Iterator[Panel]:
    """Yield the panels for which there is anything to draw."""
    yield _draw_faults
    if any(walk.labelled_stance is not None for walk in evaluation.walks):
        yield _draw_stance
    if evaluation.walks:
        yield _draw_ratio
    if any(curve.speed == "free" and curve.farthest is not None for curve in evaluation.curves):
        yield _draw_curves
    if evaluation.runs:
        yield _draw_running
    if evaluation.realism is not None:
        yield _draw_bands


def _draw_faults(axes: Any, evaluation: Evaluation) -> None:
    rows = list(reversed(SHARES))
    sets = [("dataset", evaluation.measures), ("reference", evaluation.reference)]
    given = [(name, spreads) for name, spreads in sets if spreads]
    thick, largest = 0.8 / len(given), 0.0
    for number, (name, spreads) in enumerate(given):
        worst = [0.0 if math.isnan(spreads[row].worst) else 100 * spreads[row].worst for row in rows]
        at = [y + thick * ((len(given) - 1) / 2 - number) for y in range(len(rows))]
        bars = axes.barh(at, worst, thick, label=name, color=f"C{number}")
        axes.bar_label(bars, [f"{share:.1f} %" for share in worst], padding=3, fontsize=9)
        largest = max(largest, *worst)
    axes.set_yticks(range(len(rows)), [SHARES[row] for row in rows])
    axes.set_title("Faults in the worst 1 % of clips (0 is best)")
    axes.set(xlabel="share of frames, %", xlim=(0, 1.2 * max(largest, 100 * _SHOWN)))
    if len(given) > 1:
        axes.legend(frameon=False)


def _draw_stance(axes: Any, evaluation: Evaluation) -> None:
    walks = [walk for walk in evaluation.walks if walk.labelled_stance is not None]
    axes.plot([walk.speed for walk in walks], [walk.labelled_stance for walk in walks], ".", alpha=0.4, label="walks")
    axes.plot(WALKING_SPEEDS, [stance_share(v) for v in WALKING_SPEEDS], "k-", label="published, 64.2 - 3.5 v")
    axes.set_title("Stance in walking")
    axes.set(xlabel="speed, m/s", ylabel="stance by contact labels, % of the cycle")
    axes.legend(frameon=False)


def _draw_ratio(axes: Any, evaluation: Evaluation) -> None:
    speeds, errors = [walk.speed for walk in evaluation.walks], [100 * walk.ratio_error for walk in evaluation.walks]
    axes.axhspan(-5, 5, alpha=0.15, color="k", label="within 5 %")
    axes.plot(speeds, errors, ".", alpha=0.4, label="walks")
    axes.set_title("Walk ratio: step length by cadence")
    axes.set(xlabel="speed, m/s", ylabel="deviation from .0065 m/(step/min), %")
    axes.legend(frameon=False)


def _draw_curves(axes: Any, evaluation: Evaluation) -> None:
    phases = 100 * PHASES
    for number, curve in enumerate(curve for curve in evaluation.curves if curve.speed == "free"):
        published = published_curve(curve.angle, curve.speed, PHASES)
        colour = f"C{number}"
        axes.plot(phases, curve.mean, color=colour, label=curve.angle.replace("_", " "))
        if published is not None:
            spread = SPREAD[curve.angle]
            axes.fill_between(phases, published - spread, published + spread, color=colour, alpha=0.2)
    axes.set_title("Leg angles in walking (bands: published, 1 SD)")
    axes.set(xlabel="phase, % of the cycle", ylabel="angle, degrees")
    axes.legend(frameon=False)


def _draw_running(axes: Any, evaluation: Evaluation) -> None:
    speeds = [run.speed for run in evaluation.runs]
    for number, (name, published) in enumerate((("contact", (280, 209, 168)), ("flight", (98, 143, 139)))):
        shown = [1000 * getattr(run, name) for run in evaluation.runs]
        axes.plot(speeds, shown, ".", color=f"C{number}", alpha=0.4, label=f"{name}, runs")
        axes.plot((3.0, 4.5, 6.0), published, "o-", color=f"C{number}", label=f"{name}, published")
    axes.set_title("Contact and flight in running")
    axes.set(xlabel="speed, m/s", ylabel="time per step, ms")
    axes.legend(frameon=False)


def _draw_bands(axes: Any, evaluation: Evaluation) -> None:
    assert evaluation.realism is not None
    inside = evaluation.realism.dataset.inside
    axes.barh(list(inside), [0.0 if math.isnan(share) else 100 * share for share in inside.values()])
    axes.axvline(90, color="k", linewidth=1, label="the reference itself")
    axes.set_title("Windows inside the reference's 5 to 95 % band")
    axes.set(xlim=(0, 100), xlabel="share of windows, %")
    axes.legend(frameon=False, loc="lower right")
