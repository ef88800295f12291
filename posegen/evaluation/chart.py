"""Draw the measures of an evaluation as a chart: faults, and with a reference the windows inside its bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posegen.evaluation.evaluate import Evaluation
from posegen.evaluation.plausibility import MEASURES
from posegen.foundations.wording import counted

SHARES = [name for name, meaning in MEASURES.items() if meaning.startswith("share")]
"""Measures that are shares of frames or steps; 0 is best."""
WIDTH, HEIGHT = 5.2, 4.3
"""Inches of a panel."""
_LEAST_SHOWN = 10.0


def draw_chart(evaluation: Evaluation, path: Path) -> None:
    """Draw the shares of faults of the dataset and the reference, and the comparison with the bands of the reference."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    realism = evaluation.realism
    figure = Figure(figsize=(WIDTH * (1 if realism is None else 2), HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{counted(evaluation.samples, 'sample')}, {counted(evaluation.clips, 'clip')}", fontsize=13)
    sets = {"dataset": evaluation.measures} | ({"reference": evaluation.reference} if evaluation.reference else {})
    faults = {name: [spreads[row].worst for row in SHARES] for name, spreads in sets.items()}
    axes = figure.add_subplot(1, 1 if realism is None else 2, 1)
    _draw_bars(axes, "Faults in the worst 1 % of clips (0 is best)", "share of frames, %", SHARES, faults)
    if realism is not None:
        axes, inside = figure.add_subplot(1, 2, 2), realism.dataset.inside
        axes.axvline(90, color="k", linewidth=1, label="the reference itself")
        shares = {"dataset": list(inside.values())}
        _draw_bars(axes, "Windows inside the reference's 5 to 95 % band", "share of windows, %", list(inside), shares)
    figure.savefig(path, dpi=110)


def _draw_bars(axes: Any, title: str, label: str, rows: Sequence[str], sets: dict[str, list[float]]) -> None:
    """Draw a bar for each row and set, with its value in %; shares that are not known have none."""
    thick, largest = 0.8 / len(sets), _LEAST_SHOWN
    for number, (name, shares) in enumerate(sets.items()):
        values = [0.0 if math.isnan(share) else 100 * share for share in shares]
        at = [y + thick * (number - (len(sets) - 1) / 2) for y in range(len(rows))]
        bars = axes.barh(at, values, thick, label=name, color=f"C{number}")
        axes.bar_label(bars, [f"{value:.1f} %" for value in values], padding=3, fontsize=9)
        largest = max(largest, *values)
    axes.invert_yaxis()
    axes.set_yticks(range(len(rows)), rows)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title)
    axes.set(xlabel=label, xlim=(0, 1.2 * largest))
    axes.legend(frameon=False)
