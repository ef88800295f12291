"""Describe an evaluation as text: the verdict, and tables of all measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any

from posegen.evaluation.captions import HUMANML3D, StatementCounts, Variety
from posegen.evaluation.evaluate import Evaluation
from posegen.evaluation.gait import Curve, Run, Walk, mass_excursion
from posegen.evaluation.people import People
from posegen.evaluation.plausibility import MEASURES
from posegen.evaluation.realism import Realism
from posegen.evaluation.variety import Variety as MotionVariety
from posegen.evaluation.verdict import LAWFUL_SPEEDS, judge
from posegen.foundations.wording import table

_WORST_SHOWN = 3
_PUBLISHED = ("", "mean", "published")
_VARIETY = {
    "apart": ("Distance of performances, cm", ("people", "pairs", "between", "within")),
    "coverage": ("Windows of 1 s near others", ("windows", "precision", "recall", "density", "coverage")),
    "": ("Poses, cm; jerk, m/s^3", ("asymmetry", "components", "jerk")),
}
_LARGE = 10
_POSES = {
    "neutral": "frames near one standing pose",
    "commonest": "frames near one of the set's five commonest poses",
    "transitions": "transitions",
    "through_neutral": "transitions near the standing pose",
}
_MORE = "--all prints all measures and worst clips; `posegen docs measures` defines them."
_NOT_CHECKED = "Captions: not checked, because the dataset has no joints or another library than the one posegen finds now"
_OUTCOMES = {True: "pass", False: "fail", None: "none"}


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
    rows = [(one.name, one.value, one.target, _OUTCOMES[one.passes]) for one in findings]
    failed = sum(one.passes is False for one in findings)
    title = f"Verdict: {failed} of {len(findings)} targets missed" if failed else f"Verdict: all {len(findings)} targets met"
    return table(("", "measured", "target", "result"), rows, title)


def _describe_measures(found: Evaluation, scenes: bool) -> Iterator[str]:
    yield from _measures(found)
    if scenes:
        yield from _walks(found.walks)
        yield from _curves(found.curves)
        yield _runs(found.runs)
        yield _statements(found.statements)
        yield from _people(found.people)
        yield _variety(found.samples, found.variety)
    if found.uncaptioned:
        u = found.uncaptioned
        yield f"Clips with an action of .4 s or longer that no segment covers: {u.any_part:.1%} (of the legs: {u.legs:.1%})"
    if found.realism:
        yield from _realism(found.realism)


def _measures(found: Evaluation) -> Iterator[str]:
    """Yield the plausibility measures, their definitions, and the worst clips."""
    rows = []
    for name, spread in found.measures.items():
        rows.append([name, f"{spread.clips:,}", f"{spread.median:.4g}", f"{spread.high:.4g}", f"{spread.worst:.4g}"])
        if found.reference:
            rows[-1] += [f"{found.reference[name].median:.4g}", f"{found.reference[name].high:.4g}"]
    columns = ["", "clips", "median", "95 %", "worst 1 %", *(["reference", "95 %"] if found.reference else [])]
    yield table(columns, rows)
    yield "\n".join(f"  {name:<18} {meaning}" for name, meaning in MEASURES.items())
    lines = ["Worst clips:"]
    for name, spread in found.measures.items():
        worst = ", ".join(f"{clip} ({value:.3g})" for clip, value in spread.worst_clips[:_WORST_SHOWN])
        lines.append(f"  {name:<18} {worst or 'none'}")
    yield "\n".join(lines)


def _walks(walks: Sequence[Walk]) -> Iterator[str]:
    low, high = LAWFUL_SPEEDS
    lawful = [walk for walk in walks if low <= walk.speed <= high]
    head = f"Steady straight walking: {len(walks):,} intervals, {len(lawful):,} at {low} to {high} m/s"
    yield table(_PUBLISHED, _walk_rows(lawful), head) if lawful else head


def _walk_rows(walks: Sequence[Walk]) -> Iterator[tuple[str, str, str]]:
    speed = mean(walk.speed for walk in walks)
    yield "speed, m/s", f"{speed:.2f}", ""
    yield "cadence, steps/min", f"{mean(walk.cadence for walk in walks):.0f}", ""
    yield "step, m", f"{mean(walk.step for walk in walks):.3f}", ""
    yield "stance by positions (biased by +4), % of the cycle", f"{mean(walk.stance for walk in walks):.1f}", ""
    within = mean(abs(walk.ratio_error) <= 0.05 for walk in walks)
    ratio = f"{100 * mean(walk.ratio_error for walk in walks):+.1f} % ({within:.0%} within 5 %)"
    yield "walk ratio, error at a leg length of .9 m", ratio, ".0065 m/(step/min)"
    errors = [walk.stance_error for walk in walks if walk.stance_error is not None]
    if errors:
        close = mean(abs(error) <= 2 for error in errors)
        yield "stance by labels, error in points", f"{mean(errors):+.1f} ({close:.0%} within 2)", "64.2 - 3.5 v"
        both = mean(walk.double_support for walk in walks if walk.double_support is not None)
        yield "double support, % of the cycle", f"{both:.1f}", ""
    whole = [walk for walk in walks if walk.rise == walk.rise]  # NaN without a whole stride
    for kind in ("rise", "sway") if whole else ():
        middle, spread = mass_excursion(kind, mean(walk.speed for walk in whole))
        band = f"{100 * (middle - spread):.1f} to {100 * (middle + spread):.1f}"
        found = mean(getattr(walk, kind) for walk in whole)
        yield f"the centre of mass {kind}s per stride, cm", f"{100 * found:.1f}", band


def _curves(curves: Sequence[Curve]) -> Iterator[str]:
    rows = [
        (
            curve.angle.replace("_", " "),
            curve.speed,
            f"{curve.farthest:.2f}",
            f"{100 * (curve.at or 0):.0f} %",
            f"{curve.cycles:,}",
        )
        for curve in curves
        if curve.farthest is not None
    ]
    if rows:
        columns = "angle", "speed", "standard deviations", "at", "cycles"
        yield table(columns, rows, "Largest deviation of mean leg curves from the published ones")


def _runs(runs: Sequence[Run]) -> str:
    if not runs:
        return "Steady straight running: none"
    rows = [
        ("speed, m/s", f"{mean(run.speed for run in runs):.2f}", ""),
        ("cadence, steps/min", f"{mean(run.cadence for run in runs):.0f}", ""),
        ("contact, ms", f"{1000 * mean(run.contact for run in runs):.0f}", "280 at 3.0 m/s, 209 at 4.5, 168 at 6.0"),
        ("flight, ms", f"{1000 * mean(run.flight for run in runs):.0f}", "98 at 3.0 m/s, 143 at 4.5, 139 at 6.0"),
        ("the centre of mass rises, cm", f"{100 * mean(run.rise for run in runs):.1f}", "6.5 to 13.1"),
    ]
    return table(_PUBLISHED, rows, f"Steady straight running: {len(runs):,} intervals")


def _statements(kinds: dict[str, StatementCounts] | None) -> str:
    if kinds is None:
        return _NOT_CHECKED
    rows = [(kind, f"{found.true:,}", f"{found.false:,}", f"{found.open:,}") for kind, found in kinds.items()]
    wrong = [f"{kind}, false: {'; '.join(found.wrong[:_WORST_SHOWN])}" for kind, found in kinds.items() if found.wrong]
    return "\n".join([table(("", "true", "false", "open"), rows, "Caption statements by the joints"), *wrong])


def _people(people: People) -> Iterator[str]:
    if people.depths:
        rows = [
            (f"{number} people", f"{d.clips:,}", f"{d.frames:,}", f"{d.high:.3f}", f"{d.deepest:.3f}", f"{d.beyond:,}", d.where)
            for number, d in people.depths.items()
        ]
        yield table(("", "clips", "frames", "99 %", "deepest", "over 2 cm", ""), rows, "Interpenetration, metres")
    if people.hands:
        contacts = [
            (action, f"{h.stated:,}", f"{h.met:,}", f"{h.middle:.3f}", f"{h.farthest:.3f}", f"{h.fewest}")
            for action, h in people.hands.items()
        ]
        yield table(("", "stated", "met", "median", "largest", "fewest frames"), contacts, "Hand contacts, by the wrists")


def _variety(samples: int, variety: Variety | None) -> str:
    if variety is None:
        return "Captions: none"
    v, published = variety, HUMANML3D
    about = "" if v.exact else "about "
    rows = [
        ("motions, without variants", f"{samples:,}", f"{published['motions']:,}"),
        ("captions", f"{v.captions:,}", f"{published['captions']:,}"),
        ("different captions", f"{about}{v.unique:,}", "-"),
        ("different words", f"{about}{v.vocabulary:,}", f"{published['vocabulary']:,}"),
        ("words per caption, mean", f"{v.mean_length:.1f}", f"{published['mean_length']:.0f}"),
        ("words per caption, 5 to 95 %", f"{v.shortest:.0f} to {v.longest:.0f}", "-"),
        ("distinct 1-, 2-, 3-grams", ", ".join(f"{share:.2g}" for share in v.distinct), "-"),
        ("actions, and their entropy", f"{v.actions}, {v.action_entropy:.2f} bits", "-"),
        ("transitions, and their entropy", f"{v.transitions:,}, {v.transition_entropy:.2f} bits", "-"),
    ]
    found = table(("", "here", published["name"]), rows, "Diversity of captions and scenes")
    return f"{found}\n{published['name']}: {published['source']}"


def _realism(realism: Realism) -> Iterator[str]:
    """Yield the distance to the reference, with the controls."""
    columns = [realism.dataset, realism.split, realism.spoiled]
    rows = [
        [name, *(f"{getattr(column, key):.4g}" if column else "-" for column in columns), same]
        for name, key, same in (
            ("FID_k", "fid_kinetic", "0"),
            ("FID_g", "fid_geometric", "0"),
            ("NPSS", "npss", "0"),
            ("windows, reference", "windows", ""),
            ("windows", "others", ""),
        )
    ]
    for name in realism.dataset.inside:
        shares = (f"{column.inside[name]:.2f}" if column else "-" for column in columns)
        rows.append([f"{name}, inside the 5 to 95 % band", *shares, ".9"])
    yield table(("", "dataset", "by subject", "5 mm off", "same"), rows, "Realism, windows of 1.6 s")
    yield from _motion_variety(realism.variety)


def _motion_variety(found: MotionVariety) -> Iterator[str]:
    """Yield the variety of motion, each figure as generated | reference."""
    sides = [asdict(side) for side in (found.generated, found.reference)]

    def both(name: str, figures: Sequence[dict[str, Any]]) -> str:
        values = (side.get(name) for side in figures)
        return " | ".join("-" if v is None or v != v else _shown(v) for v in values)

    families = {family: [side["families"][family] for side in sides] for family in found.generated.families}
    for part, (title, names) in _VARIETY.items() if families else ():
        rows = []
        for family, of_it in (families | {"pooled": sides}).items():
            figures = [both(name, [side.get(part) or {} if part else side for side in of_it]) for name in names]
            rows += [(family, *figures)] if set(figures) != {"- | -"} else []
        if rows:
            yield f"{title} (generated | reference)\n\n{table(('family', *names), rows)}"
    poses = [(name, both(key, sides)) for key, name in _POSES.items()]
    yield table(("", "generated | reference"), poses, "Poses of all clips, near: within 6 cm")


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.{1 if value >= _LARGE else 2}f}"
