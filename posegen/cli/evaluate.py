"""``posegen evaluate``: how plausible a dataset's motion is, and how close to captured motion."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.evaluation.evaluate import Evaluation, Realism, Spread

__all__ = ["evaluate"]

SECONDS_BETWEEN_NOTES = 5.0
WORST_SHOWN = 3
LAWFUL_SPEEDS = (1.03, 1.8)


@click.command(epilog=example("posegen evaluate data/default-0", "posegen evaluate data/default-0 --samples 200 --json"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--reference", type=click.Path(path_type=Path), help="Motion to compare with: an .npz file or a dataset (no .bvh)."
)
@click.option("--samples", type=WHOLE, metavar="N", help="How many samples, from the first.  [default: all]")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE.png", help="Draw a picture of it, too.")
@json_option
@quiet_option
def evaluate(
    dataset: Path, reference: Path | None, samples: int | None, figure: Path | None, as_json: bool, quiet: bool
) -> None:
    """Measure how plausible the motion in DATASET is, from its joints alone: feet, joint ranges, flight, balance, gait.

    With --reference also how close it is to captured motion, next to the same figures of the reference itself, parted
    by its persons, and of the reference with joints 5 mm off. An .npz file has the arrays joints [frames, 22, 3] in metres
    with y up, offsets [clips + 1], subjects [clips] and fps.
    """
    from posegen.evaluation.chart import check_chart, draw_chart
    from posegen.evaluation.evaluate import evaluate as measured

    if figure is not None:
        check_chart(figure)
    evaluation = measured(dataset, reference, samples, _progress(quiet=quiet))
    if figure is not None:
        draw_chart(evaluation, figure)
    if as_json:
        print_json(_document(evaluation) | {"path": str(dataset), "reference_path": str(reference) if reference else None})
    else:
        click.echo(printable("\n".join(_lines(dataset, evaluation))))


def _progress(*, quiet: bool) -> Callable[[int, int], None]:
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_NOTES:
            told = time.monotonic()
            note(f"{done:,} of some {total:,} clips measured", quiet=quiet)

    return tell


def _document(evaluation: Evaluation) -> dict[str, Any]:
    from dataclasses import asdict

    from posegen.evaluation.plausible import FIGURES

    walks = [asdict(w) | {"ratio_error": w.ratio_error, "stance_error": w.stance_error} for w in evaluation.walks]
    document: dict[str, Any] = _plain(asdict(evaluation) | {"walks": walks, "meaning": FIGURES})
    return document


def _plain(value: Any) -> Any:
    """JSON knows no NaN: what is not known is null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(path: Path, evaluation: Evaluation) -> list[str]:
    from posegen.evaluation.plausible import FIGURES

    e = evaluation
    head = f"  {'':<18}{'clips':>7}{'median':>10}{'95 %':>10}{'worst 1 %':>11}"
    lines = [
        f"{path}: {e.samples:,} samples, {e.clips:,} clips",
        "",
        head + (f"{'reference':>13}{'95 %':>10}" if e.reference else ""),
    ]
    for name, spread in e.figures.items():
        captured = e.reference[name] if e.reference else None
        lines.append(f"  {name:<18}{_spread(spread)}" + (f"{captured.median:13.4g}{captured.high:10.4g}" if captured else ""))
    lines += ["", *(f"  {name:<18} {meaning}" for name, meaning in FIGURES.items()), "", "The worst clips:"]
    for name, spread in e.figures.items():
        worst = ", ".join(f"{clip} ({value:.3g})" for clip, value in spread.worst_clips[:WORST_SHOWN])
        lines.append(f"  {name:<18} {worst or 'none has it'}")
    return [*lines, "", *_gait_lines(e), *(_realism_lines(e.realism) if e.realism else [])]


def _spread(spread: Spread) -> str:
    return f"{spread.clips:>7,}{spread.median:10.4g}{spread.high:10.4g}{spread.worst:11.4g}"


def _gait_lines(evaluation: Evaluation) -> list[str]:
    from statistics import mean

    low, high = LAWFUL_SPEEDS
    lawful = [walk for walk in evaluation.walks if low <= walk.speed <= high]
    lines = [f"Steady straight walking: {len(evaluation.walks):,} stretches, {len(lawful):,} of them at {low} to {high} m/s"]
    if not lawful:
        return lines
    within = mean(abs(walk.ratio_error) <= 0.05 for walk in lawful)
    ratio_error = 100 * mean(w.ratio_error for w in lawful)
    errors = [walk.stance_error for walk in lawful if walk.stance_error is not None]
    stance = ["  no contact labels to hold stance against 64.2 - 3.5 v"]
    if errors:
        close = mean(abs(error) <= 2 for error in errors)
        stance = [f"  stance by labels {mean(errors):+.1f} points off 64.2 - 3.5 v; {close:.0%} of {len(errors):,} within 2"]
    return [
        *lines,
        f"  speed {mean(w.speed for w in lawful):.2f} m/s, cadence {mean(w.cadence for w in lawful):.0f} steps a minute, "
        f"step {mean(w.step for w in lawful):.3f} m, stance by positions {mean(w.stance for w in lawful):.1f} % (4 too long)",
        f"  walk ratio {ratio_error:+.1f} % off .0065 m/(step/min) for a leg of .9 m; {within:.0%} of them within 5 %",
        *stance,
    ]


def _realism_lines(realism: Realism) -> list[str]:
    columns = [realism.dataset, realism.split, realism.spoiled]
    lines = ["", "Realism, windows of 1.6 s:", f"  {'':<22}{'dataset':>10}{'by person':>11}{'5 mm off':>10}{'same':>7}"]
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
    return lines
