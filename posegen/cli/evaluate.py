"""``posegen evaluate``: measure plausibility of motion, truth of captions, and the distance to mocap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import click

from posegen.cli.options import PATH, WHOLE, Output, example, output_options, table
from posegen.errors import UsageError

if TYPE_CHECKING:
    from posegen.evaluation.captions import StatementCounts, Variety
    from posegen.evaluation.evaluate import Evaluation
    from posegen.evaluation.gait import Curve, Run, Walk
    from posegen.evaluation.people import People
    from posegen.evaluation.realism import Realism
    from posegen.evaluation.variety import Variety as MotionVariety


_WORST_SHOWN = 3
_LAWFUL_SPEEDS = (1.03, 1.8)
_PUBLISHED = ("", "mean", "published")
_VARIETY = (
    (
        "Distance of performances",
        "apart",
        {
            "people": ("people", ","),
            "pairs": ("pairs", ","),
            "of two people, cm": ("between", ".1f"),
            "of one, cm": ("within", ".1f"),
        },
    ),
    (
        "Windows of 1 s near those of other people",
        "coverage",
        {"windows": ("windows", ","), **{name: (name, ".2f") for name in ("precision", "recall", "density", "coverage")}},
    ),
    (
        "Poses and jerk",
        "",
        {"leg asymmetry, cm": ("asymmetry", ".1f"), "components": ("components", ""), "wrist jerk, m/s^3": ("jerk", ".0f")},
    ),
)
_POSES = {
    "frames near one standing pose": ("neutral", ".2f"),
    "frames near one of the set's five commonest poses": ("commonest", ".2f"),
    "transitions": ("transitions", ","),
    "transitions near the standing pose": ("through_neutral", ".2f"),
}


@click.command(epilog=example("posegen evaluate data/default-0", "posegen evaluate data/default-0 --samples 200 --json"))
@click.argument("dataset", type=PATH)
@click.option(
    "--reference", type=PATH, metavar="PATH", help="Mocap to compare with: .npz file, dataset, or folder of .bvh files."
)
@click.option("--encoder", "run", type=PATH, metavar="RUN", help="Run of a retrieval model to also measure with.")
@click.option("--animated", "model", type=PATH, metavar="RUN", help="Run of a motion model to evaluate instead of DATASET.")
@click.option("--samples", type=WHOLE, metavar="N", help="Evaluate only the first N samples.  [default: all]")
@click.option("--figure", type=PATH, metavar="FILE.png", help="Also draw the main measures.")
@output_options
def evaluate(
    dataset: Path,
    reference: Path | None,
    run: Path | None,
    model: Path | None,
    samples: int | None,
    figure: Path | None,
    output: Output,
) -> None:
    """Measure the motion in DATASET by its joints: feet, joint ranges, flight, balance, gait.

    The statements of captions (sides, counts, directions, speeds, order) are checked against the joints. The diversity of
    captions and scenes is reported with the published values of HumanML3D.

    --reference also measures the distance to mocap, with the same measures of the reference split by subject, and of the
    reference with joints shifted by 5 mm. An .npz file has the arrays joints [frames, 22, 3] in metres with y up, offsets
    [clips + 1], subjects [clips], fps and, if known, classes [clips]. The detected joint names and unit of each .bvh file are
    printed.

    --encoder also measures with a model of `posegen train --task retrieval`: R-precision in pools of 32, diversity, and with
    --reference the Fréchet distance (FID).

    --animated with --encoder evaluates a model of `posegen train --task motion` instead: motion generated for captions of the
    test split, with the real motion as reference.
    """
    from posegen.cli.evaluation_models import measure_animation, measure_by_encoder, reference_at

    if model is not None:
        if run is None or reference or figure:
            msg = "--animated requires --encoder RUN, a retrieval model, and excludes --reference and --figure"
            raise UsageError(msg)
        measures = measure_animation(model, dataset, run, samples, output.note)
        output.result({"path": dataset, "run": model, "encoder": run} | asdict(measures), measures.text(model))
        return
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.captions import HUMANML3D
    from posegen.evaluation.chart import draw_chart
    from posegen.evaluation.evaluate import evaluate as measured
    from posegen.evaluation.plausibility import MEASURES

    if figure is not None:
        from posegen.plugins import require_extra
        from posegen.viewing.render import check_path

        require_extra("view")
        check_path(figure, (".png",))
    mocap = reference_at(reference, float(open_dataset(dataset).header.fps), output.note) if reference else None
    found = measured(dataset, mocap, samples, output.progress())
    by_encoder = measure_by_encoder(run, dataset, reference, samples, output.progress()) if run else None
    if figure is not None:
        draw_chart(found, figure)
    document = asdict(found) | {
        "walks": [asdict(w) | {"ratio_error": w.ratio_error, "stance_error": w.stance_error} for w in found.walks],
        "meanings": MEASURES,
        "published": HUMANML3D,
        "path": dataset,
        "reference_path": reference,
        "encoder": by_encoder and by_encoder.document(),
    }
    sections = [*_sections(dataset, found), *([by_encoder.text()] if by_encoder else [])]
    output.result(document, "\n\n".join(sections))


def _sections(path: Path, found: Evaluation) -> Iterator[str]:
    yield f"{path}: {found.samples:,} samples, {found.clips:,} clips"
    yield from _measures(found)
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
    from posegen.evaluation.plausibility import MEASURES

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
    low, high = _LAWFUL_SPEEDS
    lawful = [walk for walk in walks if low <= walk.speed <= high]
    head = f"Steady straight walking: {len(walks):,} intervals, {len(lawful):,} at {low} to {high} m/s"
    yield table(_PUBLISHED, _walk_rows(lawful), head) if lawful else head


def _walk_rows(walks: Sequence[Walk]) -> Iterator[tuple[str, str, str]]:
    from posegen.evaluation.published_gait import mass_excursion

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
        return "Captions: not checked, because the dataset has no joints or another library than the one posegen finds now"
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
    from posegen.evaluation.captions import HUMANML3D

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
    sets = found.generated, found.reference
    families = [(family, one, found.reference.families[family]) for family, one in found.generated.families.items()]

    def both(key: str, form: str, *sides: object) -> str:
        values = (getattr(side, key, None) for side in sides)
        return " | ".join("-" if value is None or value != value else f"{value:{form}}" for value in values)

    for title, part, columns in _VARIETY if families else ():
        rows = []
        for family, *sides in (*families, ("pooled", *sets)):
            parts = [getattr(side, part, None) if part else side for side in sides]
            figures = [both(key, form, *parts) for key, form in columns.values()]
            rows += [[family, *figures]] if set(figures) != {"- | -"} else []
        yield table(("family", *columns), rows, f"{title} (generated | reference)")
    poses = [(name, both(key, form, *sets)) for name, (key, form) in _POSES.items()]
    yield table(("", "generated | reference"), poses, "Poses of all clips, near: within 6 cm")
