"""Draw the measures of an evaluation as a chart."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from posegen.evaluation.evaluate import Evaluation
from posegen.evaluation.gait import PHASES, SPREAD, published_curve, stance_share

SHARES = ("skate, GMD", "skate, strict", "skate of contacts", "limits", "overlap", "balance")
"""Measures that are shares of frames; 0 is best."""
WALKING_SPEEDS = (0.6, 2.0)
"""Speeds in m/s between which the published stance is drawn."""


def draw_chart(evaluation: Evaluation, path: Path) -> None:
    """Draw plausibility, gait beside published values, and the comparison with the reference."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 8.5), layout="constrained")
    FigureCanvasAgg(figure)
    (faults, stance, ratio), (knee, running, bands) = figure.subplots(2, 3)
    _draw_faults(faults, evaluation)
    _draw_stance(stance, evaluation)
    _draw_ratio(ratio, evaluation)
    _draw_curves(knee, evaluation)
    _draw_running(running, evaluation)
    _draw_bands(bands, evaluation)
    figure.savefig(path, dpi=110)


def _draw_faults(axes: Any, evaluation: Evaluation) -> None:
    rows = list(reversed(SHARES))
    for name, spreads, height in (("dataset", evaluation.measures, 0.2), ("reference", evaluation.reference, -0.2)):
        if spreads:
            worst = [0 if math.isnan(spreads[row].worst) else spreads[row].worst for row in rows]
            axes.barh([y + height for y in range(len(rows))], worst, 0.4, label=name)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel="share, mean of the worst 1 % of clips", xlim=(0, 1))
    axes.legend()


def _draw_stance(axes: Any, evaluation: Evaluation) -> None:
    stances = [math.nan if walk.labelled_stance is None else walk.labelled_stance for walk in evaluation.walks]
    axes.plot([walk.speed for walk in evaluation.walks], stances, ".", alpha=0.4)
    axes.plot(WALKING_SPEEDS, [stance_share(v) for v in WALKING_SPEEDS], "k-", label="64.2 - 3.5 v")
    axes.set(xlabel="walking speed, m/s", ylabel="stance by contact labels, % of cycle")
    axes.legend()


def _draw_ratio(axes: Any, evaluation: Evaluation) -> None:
    axes.plot([walk.speed for walk in evaluation.walks], [100 * walk.ratio_error for walk in evaluation.walks], ".", alpha=0.4)
    axes.axhspan(-5, 5, alpha=0.2)
    axes.set(xlabel="walking speed, m/s", ylabel="walk ratio, % off .0065 m/(step/min)")


def _draw_curves(axes: Any, evaluation: Evaluation) -> None:
    phases = 100 * PHASES
    for number, curve in enumerate(curve for curve in evaluation.curves if curve.speed == "free"):
        published = published_curve(curve.angle, curve.speed, PHASES)
        colour = f"C{number}"
        axes.plot(phases, curve.mean, color=colour, label=curve.angle.replace("_", " "))
        if published is not None:
            spread = SPREAD[curve.angle]
            axes.fill_between(phases, published - spread, published + spread, color=colour, alpha=0.2)
        axes.legend()
    axes.set(xlabel="% of the cycle", ylabel="degrees, walking at free speed; bands: published, 1 SD")


def _draw_running(axes: Any, evaluation: Evaluation) -> None:
    speeds = [run.speed for run in evaluation.runs]
    for number, (name, published) in enumerate((("contact", (280, 209, 168)), ("flight", (98, 143, 139)))):
        axes.plot(speeds, [1000 * getattr(run, name) for run in evaluation.runs], ".", color=f"C{number}", alpha=0.4)
        axes.plot((3.0, 4.5, 6.0), published, "o-", color=f"C{number}", label=f"{name}, published")
    axes.set(xlabel="running speed, m/s", ylabel="ms")
    axes.legend()


def _draw_bands(axes: Any, evaluation: Evaluation) -> None:
    if evaluation.realism is None:
        axes.set_axis_off()
        return
    inside = evaluation.realism.dataset.inside
    axes.barh(list(inside), [0 if math.isnan(share) else share for share in inside.values()])
    axes.axvline(0.9, color="k")
    axes.set(xlim=(0, 1), xlabel="windows inside the reference's 5 to 95 % band")
