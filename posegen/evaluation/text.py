"""Describe an evaluation: the verdict and tables of all measures as text, and a chart of its main measures.

The verdict has the measured value, the target and whether it passes, for each promise about motion and captions. The targets
are those that posegen's own datasets are held to; `docs/measures.md` defines the measures. With a reference, mocap itself is
the target where no number is better than another in general.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from posegen.evaluation import captions, plausibility, variety
from posegen.evaluation.evaluate import Evaluation
from posegen.evaluation.gait import Curve, Run, Walk
from posegen.evaluation.realism import Realism
from posegen.foundations.wording import counted, table

LAWFUL_SPEEDS = (1.03, 1.8)
"""Speeds in m/s between which the walk ratio is constant."""
WALK_RATIO = 0.05
"""Greatest mean error of the walk ratio."""
SHARES = [name for name, meaning in plausibility.MEASURES.items() if meaning.startswith("share")]
"""Measures that are shares of frames or steps; 0 is best."""
WIDTH, HEIGHT = 5.2, 4.3
"""Inches of a panel."""
_WORST_SHOWN = 3
_MORE = "--all prints all measures and worst clips; `posegen docs measures` defines them."
_NOT_CHECKED = "Captions: not checked, because the dataset has no joints or another library than the one posegen finds now"
OUTCOMES = {True: "pass", False: "fail", None: "none"}


@dataclass(frozen=True)
class Finding:
    """A line of the verdict.

    Attributes
    ----------
    name, value, target : str
        The measure, the measured value and its target, with units.
    passes : bool or None
        None if nothing was there to measure, or labels are missing.
    """

    name: str
    value: str
    target: str
    passes: bool | None


def judge(found: Evaluation) -> list[Finding]:
    """Return the verdict on an evaluation, the most important finding first.

    Parameters
    ----------
    found : Evaluation

    Returns
    -------
    list of Finding
    """
    return [*_captions(found), *_bodies(found), *_gait(found), *_reference(found)]


def _captions(found: Evaluation) -> Iterator[Finding]:
    if found.statements is not None:
        true, false = (sum(getattr(kind, name) for kind in found.statements.values()) for name in ("true", "false"))
        passes = not false if true + false else None
        yield Finding("false statements in captions", f"{false:,} of {true + false:,}", "0", passes)
    if found.uncaptioned is not None:
        share = found.uncaptioned.any_part
        yield Finding("clips with an action that no caption states", _percent(share), _percent(0), share == 0)


def _bodies(found: Evaluation) -> Iterator[Finding]:
    """Yield the findings of measures of clips, by their 95th percentile: a few clips do not decide.

    Without labels, joint ranges and flights are not judged: an action may widen a range, and only contacts distinguish flights
    from other movement that no foot carries.
    """
    labelled = found.measures["skate of contacts"].clips > 0
    for name, spread in found.measures.items():
        target = plausibility.TABLES["clips"][name].get("target")
        if target and spread.clips:
            judged, unit, most = labelled or not target.get("by_labels"), target["unit"], target["most"]
            value, limit = (f"{(100 if unit == '%' else 1) * each:.1f} {unit}" for each in (spread.high, most))
            limit = f"<= {limit}" if judged else f"<= {limit}, with labels"
            passes = spread.high <= most + 1e-9 if judged else None
            yield Finding(f"{target['name']}, 95 % of clips", value, limit, passes)


def _gait(found: Evaluation) -> Iterator[Finding]:
    errors = [walk.ratio_error for walk in _lawful(found.walks)]
    if errors:
        error = abs(mean(errors))
        yield Finding("walk ratio, mean error", _percent(error), f"<= {_percent(WALK_RATIO)}", error <= WALK_RATIO)


def _reference(found: Evaluation) -> Iterator[Finding]:
    """Yield the distance to the reference. Its target is the distance between the subjects of the reference."""
    if found.realism is None or found.realism.split is None:
        return
    own, theirs = found.realism.dataset.fid_kinetic, found.realism.split.fid_kinetic
    if not math.isnan(own) and not math.isnan(theirs):
        yield Finding("distance to the reference, FID_k", f"{own:.3g}", f"{theirs:.3g} between its subjects", own <= theirs)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def describe_evaluation(found: Evaluation, head: str, by_encoder: str = "", *, everything: bool, scenes: bool = True) -> str:
    """Return an evaluation as text: a head, the verdict, and all measures if asked for.

    Parameters
    ----------
    found : Evaluation
    head : str
        First line.
    by_encoder : str, optional
        Measures by a trained encoder, shown after the verdict.
    everything : bool
        Whether to show all measures.
    scenes : bool
        Whether it is of a dataset. Clips have the measures of joints alone.
    """
    sections = [head, _describe_verdict(found), *([by_encoder] if by_encoder else [])]
    if everything:
        return "\n\n".join([*sections, *_describe_measures(found, scenes)])
    unchecked = [_NOT_CHECKED] if scenes and found.statements is None else []
    return "\n\n".join([*sections, *unchecked, _MORE])


def _describe_verdict(found: Evaluation) -> str:
    findings = judge(found)
    rows = [(one.name, one.value, one.target, OUTCOMES[one.passes]) for one in findings]
    failed = sum(one.passes is False for one in findings)
    title = f"Verdict: {failed} of {len(findings)} targets missed" if failed else f"Verdict: all {len(findings)} targets met"
    return table(("", "measured", "target", "result"), rows, title)


def _describe_measures(found: Evaluation, scenes: bool) -> Iterator[str]:
    yield from _measure_tables(found)
    if scenes:
        yield _walks(found.walks)
        yield from _curves(found.curves)
        yield _gait_table(f"running: {counted(len(found.runs), 'interval')}", found.runs, plausibility.TABLES["runs"])
        yield _statements(found.statements)
    if found.uncaptioned:
        u = found.uncaptioned
        yield f"Clips with an action of .4 s or longer that no segment covers: {u.any_part:.1%} (of the legs: {u.legs:.1%})"
    if found.realism:
        yield from _realism(found.realism)


def _measure_tables(found: Evaluation) -> Iterator[str]:
    """Yield the plausibility measures, their definitions, and the worst clips."""
    rows = []
    for name, spread in found.measures.items():
        rows.append([name, f"{spread.clips:,}", f"{spread.median:.4g}", f"{spread.high:.4g}", f"{spread.worst:.4g}"])
        if found.reference:
            rows[-1] += [f"{found.reference[name].median:.4g}", f"{found.reference[name].high:.4g}"]
    columns = ["", "clips", "median", "95 %", "worst 1 %", *(["reference", "95 %"] if found.reference else [])]
    yield table(columns, rows)
    yield "\n".join(f"  {name:<18} {meaning}" for name, meaning in plausibility.MEASURES.items())
    lines = ["Worst clips:"]
    for name, spread in found.measures.items():
        worst = ", ".join(f"{clip} ({value:.3g})" for clip, value in spread.worst_clips[:_WORST_SHOWN])
        lines.append(f"  {name:<18} {worst or 'none'}")
    yield "\n".join(lines)


def _walks(walks: Sequence[Walk]) -> str:
    lawful, (low, high) = _lawful(walks), LAWFUL_SPEEDS
    title = f"walking: {counted(len(walks), 'interval')}, {len(lawful):,} at {low} to {high} m/s"
    return _gait_table(title, lawful, plausibility.TABLES["walks"])


def _lawful(walks: Sequence[Walk]) -> list[Walk]:
    return [walk for walk in walks if LAWFUL_SPEEDS[0] <= walk.speed <= LAWFUL_SPEEDS[1]]


def _gait_table(title: str, stretches: Sequence[Walk | Run], measures: Sequence[tuple[str, str, str, int, str]]) -> str:
    """Return a table of means. Stretches without a measure, NaN or None, are left out of its mean."""
    rows = []
    for name, attribute, form, factor, published in measures:
        values = [value for each in stretches if (value := getattr(each, attribute)) is not None and value == value]
        rows += [(name, format(factor * mean(values), form), published)] if values else []
    return table(("", "mean", "published"), rows, f"Steady straight {title}") if rows else f"Steady straight {title}"


def _curves(curves: Sequence[Curve]) -> Iterator[str]:
    rows = [
        (each.angle.replace("_", " "), each.speed, f"{each.farthest:.2f}", f"{100 * (each.at or 0):.0f} %", f"{each.cycles:,}")
        for each in curves
        if each.farthest is not None
    ]
    if rows:
        columns = "angle", "speed", "standard deviations", "at", "cycles"
        yield table(columns, rows, "Largest deviation of mean leg curves from the published ones")


def _statements(kinds: dict[str, captions.StatementCounts] | None) -> str:
    if kinds is None:
        return _NOT_CHECKED
    rows = [(kind, f"{found.true:,}", f"{found.false:,}", f"{found.open:,}") for kind, found in kinds.items()]
    wrong = [f"{kind}, false: {'; '.join(found.wrong[:_WORST_SHOWN])}" for kind, found in kinds.items() if found.wrong]
    return "\n".join([table(("", "true", "false", "open"), rows, "Caption statements by the joints"), *wrong])


def _realism(realism: Realism) -> Iterator[str]:
    """Yield the distance to the reference, with the controls."""
    columns = [realism.dataset, realism.split]
    rows = [
        [name, *(f"{getattr(column, key):.4g}" if column else "-" for column in columns), same]
        for name, key, same in plausibility.TABLES["distances"]
    ]
    for name in realism.dataset.inside:
        shares = (f"{column.inside[name]:.2f}" if column else "-" for column in columns)
        rows.append([f"{name}, inside the 5 to 95 % band", *shares, ".9"])
    yield table(("", "dataset", "by subject", "same"), rows, "Realism, windows of 1.6 s")
    yield from _motion_variety(realism.variety)


def _motion_variety(found: variety.Variety) -> Iterator[str]:
    """Yield the variety of motion, each figure as generated | reference."""
    sides = [asdict(side) for side in (found.generated, found.reference)]

    def both(name: str, figures: Sequence[dict[str, Any]]) -> str:
        values = (side.get(name) for side in figures)
        return " | ".join("-" if v is None or v != v else _shown(v) for v in values)

    families = {family: [side["families"][family] for side in sides] for family in found.generated.families}
    for part, title, names in plausibility.TABLES["variety"] if families else ():
        rows = []
        for family, of_it in (families | {"pooled": sides}).items():
            figures = [both(name, [side.get(part) or {} if part else side for side in of_it]) for name in names]
            rows += [(family, *figures)] if set(figures) != {"- | -"} else []
        if rows:
            yield f"{title} (generated | reference)\n\n{table(('family', *names), rows)}"
    poses = [(name, both(key, sides)) for key, name in plausibility.TABLES["poses"].items()]
    yield table(("", "generated | reference"), poses, "Poses of all clips, near: within 6 cm")


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.{1 if value >= 10 else 2}f}"


def draw_chart(evaluation: Evaluation, path: Path) -> None:
    """Draw the shares of faults of the dataset and the reference, and the comparison with the bands of the reference."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    realism = evaluation.realism
    figure = Figure(figsize=(WIDTH * (1 if realism is None else 2), HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{counted(evaluation.samples, 'sample')}, {counted(evaluation.clips, 'clip')}", fontsize=13)
    sets = {"dataset": evaluation.measures} | ({"reference": evaluation.reference} if evaluation.reference else {})
    faults = {name: [spreads[row].high for row in SHARES] for name, spreads in sets.items()}
    axes = figure.add_subplot(1, 1 if realism is None else 2, 1)
    _draw_bars(axes, "Faults: 95 % of clips have at most (0 is best)", "share of frames, %", SHARES, faults)
    if realism is not None:
        axes, inside = figure.add_subplot(1, 2, 2), realism.dataset.inside
        axes.axvline(90, color="k", linewidth=1, label="the reference itself")
        shares = {"dataset": list(inside.values())}
        _draw_bars(axes, "Windows inside the reference's 5 to 95 % band", "share of windows, %", list(inside), shares)
    figure.savefig(path, dpi=110)


def _draw_bars(axes: Any, title: str, label: str, rows: Sequence[str], sets: dict[str, list[float]]) -> None:
    """Draw a bar for each row and set, with its value in %; shares that are not known have none."""
    thick, largest = 0.8 / len(sets), 10.0
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
