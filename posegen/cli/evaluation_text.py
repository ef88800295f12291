"""Text output of ``posegen evaluate``."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

from posegen.evaluation.captions import HUMANML3D
from posegen.evaluation.plausibility import MEASURES

if TYPE_CHECKING:
    from posegen.evaluation.captions import StatementCounts, Variety
    from posegen.evaluation.evaluate import Evaluation, Realism
    from posegen.evaluation.gait import Curve, Run, Walk
    from posegen.evaluation.people import People
    from posegen.evaluation.spread import Spread


WORST_SHOWN = 3
LAWFUL_SPEEDS = (1.03, 1.8)


def figure_lines(evaluation: Evaluation) -> list[str]:
    """Return the lines of the plausibility measures, their definitions, and the worst clips."""
    e = evaluation
    head = f"  {'':<18}{'clips':>7}{'median':>10}{'95 %':>10}{'worst 1 %':>11}"
    lines = [head + (f"{'reference':>13}{'95 %':>10}" if e.reference else "")]
    for name, spread in e.measures.items():
        mocap = e.reference[name] if e.reference else None
        lines.append(f"  {name:<18}{_spread(spread)}" + (f"{mocap.median:13.4g}{mocap.high:10.4g}" if mocap else ""))
    lines += ["", *(f"  {name:<18} {meaning}" for name, meaning in MEASURES.items()), "", "Worst clips:"]
    for name, spread in e.measures.items():
        worst = ", ".join(f"{clip} ({value:.3g})" for clip, value in spread.worst_clips[:WORST_SHOWN])
        lines.append(f"  {name:<18} {worst or 'none'}")
    return lines


def _spread(spread: Spread) -> str:
    return f"{spread.clips:>7,}{spread.median:10.4g}{spread.high:10.4g}{spread.worst:11.4g}"


def gait_lines(evaluation: Evaluation) -> list[str]:
    """Return the lines of walking and running, with the published laws of gait."""
    low, high = LAWFUL_SPEEDS
    lawful = [walk for walk in evaluation.walks if low <= walk.speed <= high]
    lines = [f"Steady straight walking: {len(evaluation.walks):,} intervals, {len(lawful):,} at {low} to {high} m/s"]
    if lawful:
        lines += _walk_lines(lawful)
    return [*lines, *_curve_lines(evaluation.curves), *_run_lines(evaluation.runs)]


def _walk_lines(lawful: list[Walk]) -> list[str]:
    within = mean(abs(walk.ratio_error) <= 0.05 for walk in lawful)
    ratio_error = 100 * mean(w.ratio_error for w in lawful)
    errors = [walk.stance_error for walk in lawful if walk.stance_error is not None]
    stance = ["  no contact labels to compare stance with 64.2 - 3.5 v"]
    if errors:
        close = mean(abs(error) <= 2 for error in errors)
        both = mean(walk.double_support for walk in lawful if walk.double_support is not None)
        stance = [
            f"  stance by labels {mean(errors):+.1f} points from 64.2 - 3.5 v; {close:.0%} of {len(errors):,} within 2; "
            f"double support {both:.1f} % of the cycle"
        ]
    moved = [walk for walk in lawful if walk.rise == walk.rise]  # NaN without a whole stride
    return [
        f"  speed {mean(w.speed for w in lawful):.2f} m/s, cadence {mean(w.cadence for w in lawful):.0f} steps/min, "
        f"step {mean(w.step for w in lawful):.3f} m, stance by positions {mean(w.stance for w in lawful):.1f} % (biased by +4)",
        f"  walk ratio {ratio_error:+.1f} % from .0065 m/(step/min) at a leg length of .9 m; {within:.0%} within 5 %",
        *stance,
        *(_mass_lines(moved) if moved else []),
    ]


def _mass_lines(moved: list[Walk]) -> list[str]:
    from posegen.evaluation.published_gait import mass_rise, mass_sway

    lines = []
    speed = mean(walk.speed for walk in moved)
    for verb, law, found in (
        ("rises", mass_rise, mean(walk.rise for walk in moved)),
        ("sways", mass_sway, mean(walk.sway for walk in moved)),
    ):
        middle, spread = law(speed)
        band = f"{100 * (middle - spread):.1f} to {100 * (middle + spread):.1f}"
        lines.append(f"  the centre of mass {verb} {100 * found:.1f} cm per stride (published {band})")
    return lines


def _curve_lines(curves: list[Curve]) -> list[str]:
    known = [curve for curve in curves if curve.farthest is not None]
    lines = ["Largest deviation of mean leg curves from the published ones:"] if known else []
    for curve in known:
        where = f"{curve.farthest:.2f} standard deviations, at {100 * (curve.at or 0):.0f} % of the cycle"
        lines.append(f"  {curve.angle.replace('_', ' '):<20}{curve.speed:<10} {where} ({curve.cycles:,} cycles)")
    return lines


def _run_lines(runs: list[Run]) -> list[str]:
    if not runs:
        return ["Steady straight running: none"]
    return [
        f"Steady straight running: {len(runs):,} intervals",
        f"  speed {mean(r.speed for r in runs):.2f} m/s, cadence {mean(r.cadence for r in runs):.0f} steps/min, contact "
        f"{1000 * mean(r.contact for r in runs):.0f} ms (published 280 at 3.0 m/s, 209 at 4.5, 168 at 6.0), flight "
        f"{1000 * mean(r.flight for r in runs):.0f} ms (98, 143, 139)",
        f"  the centre of mass rises {100 * mean(r.rise for r in runs):.1f} cm (published 6.5 to 13.1)",
    ]


def claim_lines(claims: dict[str, StatementCounts] | None) -> list[str]:
    """Return the lines of how many caption statements are true of the joints."""
    if claims is None:
        return ["Captions: not checked, because the dataset has no joints or another library than the one posegen finds now"]
    lines = [f"Caption statements by the joints:{'true':>9}{'false':>9}{'open':>9}"]
    for kind, found in claims.items():
        lines.append(f"  {kind:<31}{found.true:>9,}{found.false:>9,}{found.open:>9,}")
        if found.wrong:
            lines.append(f"    false: {'; '.join(found.wrong[:WORST_SHOWN])}")
    return lines


def people_lines(people: People) -> list[str]:
    """Return the lines of interpenetration and hand contacts between people; empty for single people."""
    if not people.depths:
        return []
    lines = ["", f"Interpenetration, metres:    {'clips':>9}{'frames':>11}{'99 %':>8}{'deepest':>9}{'over 2 cm':>11}"]
    for number, found in people.depths.items():
        figures = f"{found.clips:>9,}{found.frames:>11,}{found.high:8.3f}{found.deepest:9.3f}{found.beyond:>11,}"
        lines.append(f"  {number} people{'':<19}{figures}   {found.where}")
    if people.hands:
        lines.append(
            f"Hand contacts, by the wrists:    {'stated':>6}{'met':>11}{'median':>8}{'largest':>9}{'fewest frames':>15}"
        )
    for action, hands in people.hands.items():
        lines.append(
            f"  {action:<28}{hands.stated:>8,}{hands.met:>11,}{hands.middle:8.3f}{hands.farthest:9.3f}{hands.fewest:>15}"
        )
    return lines


def realism_lines(realism: Realism) -> list[str]:
    """Return the lines of the distance to the reference, with the controls."""
    columns = [realism.dataset, realism.split, realism.spoiled]
    lines = ["", "Realism, windows of 1.6 s:", f"  {'':<22}{'dataset':>10}{'by subject':>11}{'5 mm off':>10}{'same':>7}"]
    rows = {
        "FID_k": ("fid_kinetic", "0"), "FID_g": ("fid_geometric", "0"), "NPSS": ("npss", "0"),
        "nearest neighbour": ("neighbours", ".5"), "diversity": ("diversity", ""),
        "diversity, other side": ("reference_diversity", ""),
        "windows, reference": ("windows", ""), "windows": ("others", ""),
    }  # fmt: skip
    for name, (key, same) in rows.items():
        values = [f"{getattr(c, key):10.4g}" if c else f"{'-':>10}" for c in columns]
        lines.append(f"  {name:<22}{values[0]} {values[1]}{values[2]}{same:>7}")
    lines.append("  Inside the 5 to 95 % band:")
    for name in realism.dataset.inside:
        values = [f"{c.inside[name]:10.2f}" if c else f"{'-':>10}" for c in columns]
        lines.append(f"    {name:<20}{values[0]} {values[1]}{values[2]}{'.9':>7}")
    return [*lines, *_family_lines(realism)]


def _family_lines(realism: Realism) -> list[str]:
    if not realism.families:
        return []
    lines = ["  By family: windows here and in the reference, and the share inside the reference's band, by statistic:"]
    for name, family in realism.families.items():
        shares = ", ".join(f"{statistic} {share:.2f}" for statistic, share in family.inside.items())
        lines.append(f"    {name:<12}{family.others:>6,}{family.windows:>6,}  {shares}")
    return lines


def variety_lines(samples: int, variety: Variety | None) -> list[str]:
    """Return the lines of the diversity of captions and scenes, with published values."""
    if variety is None:
        return ["Captions: none"]
    v, published = variety, HUMANML3D
    about = "" if v.exact else "about "
    head = f"Diversity of captions and scenes:   {'here':>20}{published.name:>14}"
    rows = [
        ("motions, without variants", f"{samples:,}", f"{published.motions:,}"),
        ("captions", f"{v.captions:,}", f"{published.captions:,}"),
        ("different captions", f"{about}{v.unique:,}", "-"),
        ("different words", f"{about}{v.vocabulary:,}", f"{published.vocabulary:,}"),
        ("words per caption, mean", f"{v.mean_length:.1f}", f"{published.mean_length:.0f}"),
        ("words per caption, 5 to 95 %", f"{v.shortest:.0f} to {v.longest:.0f}", "-"),
        ("distinct 1-, 2-, 3-grams", ", ".join(f"{share:.2g}" for share in v.distinct), "-"),
        ("actions, and their entropy", f"{v.actions}, {v.action_entropy:.2f} bits", "-"),
        ("transitions, and their entropy", f"{v.transitions:,}, {v.transition_entropy:.2f} bits", "-"),
    ]
    lines = [f"  {name:<32}{here:>22}{there:>14}" for name, here, there in rows]
    return [head, *lines, f"  {published.name}: {published.source}"]
