"""The figures of an evaluation as a picture."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path

from posegen.errors import UsageError
from posegen.evaluation.evaluate import Evaluation

__all__ = ["check_chart", "draw_chart"]


def check_chart(path: Path) -> None:
    """Refuse a path at which no chart can be written, before the work is done.

    Raises
    ------
    UsageError
        If the name does not end in .png, its folder does not exist, or Matplotlib is not installed.
    """
    if path.suffix.lower() != ".png":
        msg = f"cannot draw '{path}': the name must end in .png"
        raise UsageError(msg)
    if not path.parent.is_dir():
        msg = f"cannot write '{path}': there is no folder '{path.parent}'; make it first"
        raise UsageError(msg)
    if find_spec("matplotlib") is None:
        msg = "a figure needs Matplotlib, which is not installed; install it with: pip install 'posegen[view]'"
        raise UsageError(msg)


def draw_chart(evaluation: Evaluation, path: Path) -> None:
    """Draw walking against the laws of gait, and the shares inside the reference's bands where there is one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    stance, cadence, bands = figure.subplots(1, 3)
    speeds = [walk.speed for walk in evaluation.walks]
    stances = [math.nan if walk.labelled_stance is None else walk.labelled_stance for walk in evaluation.walks]
    stance.plot(speeds, stances, ".", alpha=0.4)
    stance.plot([0.6, 2.0], [64.2 - 3.5 * v for v in (0.6, 2.0)], "k-", label="64.2 - 3.5 v")
    stance.set(xlabel="speed, m/s", ylabel="stance by contact labels, % of cycle")
    stance.legend()
    cadence.plot(speeds, [100 * walk.ratio_error for walk in evaluation.walks], ".", alpha=0.4)
    cadence.axhspan(-5, 5, alpha=0.2)
    cadence.set(xlabel="speed, m/s", ylabel="walk ratio, % off .0065 m/(step/min)")
    if evaluation.realism:
        inside = evaluation.realism.dataset.inside
        bands.barh(list(inside), list(inside.values()))
        bands.axvline(0.9, color="k")
        bands.set(xlim=(0, 1), xlabel="windows inside the reference's 5 to 95 % band")
    else:
        bands.set_axis_off()
    figure.savefig(path, dpi=110)
