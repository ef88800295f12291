"""``posegen evaluate``: measure plausibility of motion, truth of captions, and the distance to mocap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.errors import UsageError
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.cli.evaluation_models import Seen
    from posegen.evaluation.evaluate import Evaluation


SECONDS_BETWEEN_NOTES = 5.0


@click.command(epilog=example("posegen evaluate data/default-0", "posegen evaluate data/default-0 --samples 200 --json"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--reference", type=click.Path(path_type=Path), help="Mocap to compare with: .npz file, dataset, or folder of .bvh files."
)
@click.option(
    "--encoder", "run", type=click.Path(path_type=Path), metavar="RUN", help="Run of a retrieval model to also measure with."
)
@click.option(
    "--animated",
    "model",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Run of a motion model to evaluate instead of DATASET.",
)
@click.option("--samples", type=WHOLE, metavar="N", help="Evaluate only the first N samples.  [default: all]")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE.png", help="Also draw the main measures.")
@json_option
@quiet_option
def evaluate(
    dataset: Path,
    reference: Path | None,
    run: Path | None,
    model: Path | None,
    samples: int | None,
    figure: Path | None,
    as_json: bool,
    quiet: bool,
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
    if model is not None:
        _animated(model, dataset, run, samples, others=reference or figure, as_json=as_json, quiet=quiet)
        return
    from posegen.cli.evaluation_models import reference_at
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.chart import check_chart, draw_chart
    from posegen.evaluation.evaluate import evaluate as measured

    if figure is not None:
        check_chart(figure)
    fps = float(open_dataset(dataset).header.fps)
    mocap = reference_at(reference, fps, lambda text: note(text, quiet=quiet)) if reference else None
    evaluation = measured(dataset, mocap, samples, _progress(quiet=quiet))
    seen = _by_encoder(run, dataset, reference, samples, quiet=quiet) if run else None
    if figure is not None:
        draw_chart(evaluation, figure)
    if as_json:
        paths = {"path": str(dataset), "reference_path": str(reference) if reference else None}
        print_json(_document(evaluation) | paths | {"encoder": seen and _plain(seen.document())})
    else:
        click.echo(printable("\n".join([*_lines(dataset, evaluation), *(seen.lines() if seen else [])])))


def _animated(
    model: Path, dataset: Path, run: Path | None, samples: int | None, *, others: Path | None, as_json: bool, quiet: bool
) -> None:
    from posegen.cli.evaluation_models import judge_motion

    if run is None or others is not None:
        msg = "--animated requires --encoder RUN, a retrieval model, and excludes --reference and --figure"
        raise UsageError(msg)
    judged = judge_motion(model, dataset, run, samples, lambda text: note(text, quiet=quiet))
    if as_json:
        print_json({"path": str(dataset), "run": str(model), "encoder": str(run)} | _plain(judged.document()))
    else:
        click.echo(printable("\n".join(judged.lines(model)[1:])))


def _by_encoder(run: Path, dataset: Path, reference: Path | None, samples: int | None, *, quiet: bool) -> Seen:
    from posegen.cli.evaluation_models import seen_by_encoder

    return seen_by_encoder(run, dataset, reference, samples, lambda text: note(text, quiet=quiet))


def _progress(*, quiet: bool) -> Callable[[int, int], None]:
    last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_NOTES:
            last = time.monotonic()
            note(f"{done:,} of about {total:,} clips measured", quiet=quiet)

    return report


def _document(evaluation: Evaluation) -> dict[str, Any]:
    from dataclasses import asdict

    from posegen.evaluation.captions import HUMANML3D
    from posegen.evaluation.plausibility import MEASURES

    walks = [asdict(w) | {"ratio_error": w.ratio_error, "stance_error": w.stance_error} for w in evaluation.walks]
    document: dict[str, Any] = _plain(
        asdict(evaluation) | {"walks": walks, "meanings": MEASURES, "published": asdict(HUMANML3D)}
    )
    return document


def _plain(value: Any) -> Any:
    """Replace NaN and infinity by None, because JSON has neither."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(path: Path, evaluation: Evaluation) -> list[str]:
    from posegen.cli.evaluation_text import claim_lines, figure_lines, gait_lines, people_lines, realism_lines, variety_lines

    head = f"{path}: {evaluation.samples:,} samples, {evaluation.clips:,} clips"
    realism = realism_lines(evaluation.realism) if evaluation.realism else []
    claims, variety = claim_lines(evaluation.statements), variety_lines(evaluation.samples, evaluation.variety)
    return [
        head,
        "",
        *figure_lines(evaluation),
        "",
        *gait_lines(evaluation),
        "",
        *claims,
        *people_lines(evaluation.people),
        "",
        *variety,
        *realism,
    ]
