"""Chart of the results of each method by number of real clips."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.usefulness.definitions import (
    COUNTS,
    GENERATED_ONLY,
    NEW_CLASSIFIER,
    PRETRAINED,
    PRETRAINED_LONGER,
    REAL_LONGER,
    REAL_ONLY,
)
from benchmarks.usefulness.measured import MEASURES
from benchmarks.usefulness.results import Result, summed_up, values_of

__all__ = ["draw"]

COLOURS = {
    REAL_ONLY: "#d64030",
    PRETRAINED: "#1f6cc8",
    REAL_LONGER: "#eda79e",
    PRETRAINED_LONGER: "#8db6e6",
    NEW_CLASSIFIER: "#a06cc8",
}


def draw(results: Sequence[Result], path: Path) -> None:
    """Write the chart as PNG: mean over repetitions, bars of one standard deviation."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, measure in zip(figure.subplots(1, 2), MEASURES[:2], strict=True):
        if not any(result.task == measure.task for result in results):
            axes.set_title(f"{measure.name}: not measured yet", fontsize=10)
            continue
        for way, colour in COLOURS.items():
            found = [values_of(results, measure.task, way, count, measure.key) for count in COUNTS]
            places = [place for place, values in enumerate(found) if values]
            if not places:
                continue
            middles, spreads = zip(*(summed_up(list(found[place].values())) for place in places), strict=True)
            tall, thick = ([measure.times * value for value in values] for values in (middles, spreads))
            axes.errorbar(places, tall, thick, color=colour, marker="o", capsize=3, label=way)
        alone = values_of(results, measure.task, GENERATED_ONLY, 0, measure.key)
        axes.axhline(measure.times * summed_up(list(alone.values()))[0], color="#404048", linestyle="--", label=GENERATED_ONLY)
        axes.set_xticks(range(len(COUNTS)), ["all" if count is None else str(count) for count in COUNTS])
        axes.set_xlabel("real clips of a class")
        axes.set_title(f"{measure.name} ({measure.unit})", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#dddddd")
        axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Software": None})
