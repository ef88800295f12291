"""``posegen evaluate``: how plausible a dataset's motion is, and how close to captured motion."""

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
    from posegen.cli.evaluation_encoder import Seen
    from posegen.evaluation.evaluate import Evaluation

__all__ = ["evaluate"]

SECONDS_BETWEEN_NOTES = 5.0


@click.command(epilog=example("posegen evaluate data/default-0", "posegen evaluate data/default-0 --samples 200 --json"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--reference", type=click.Path(path_type=Path), help="Motion to compare with: an .npz file, a dataset, a folder of .bvh."
)
@click.option(
    "--encoder", "run", type=click.Path(path_type=Path), metavar="RUN", help="A trained retrieval model, to measure by, too."
)
@click.option(
    "--animated",
    "model",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="A motion model, whose motion is judged instead.",
)
@click.option("--samples", type=WHOLE, metavar="N", help="How many samples, from the first.  [default: all]")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE.png", help="Draw a picture of it, too.")
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
    """Measure how plausible the motion in DATASET is, from its joints alone: feet, joint ranges, flight, balance, gait.

    What its captions say is held against the joints, too: sides, counts, directions, speeds, order. And how varied captions and
    stories are is told beside what is published of HumanML3D.

    With --reference also how close it is to captured motion, next to the same figures of the reference itself, parted
    by its persons, and of the reference with joints 5 mm off. An .npz file has the arrays joints [frames, 22, 3] in metres
    with y up, offsets [clips + 1], subjects [clips], fps and, where it is known what each clip shows, classes [clips]. Of
    .bvh files, how their joints and their unit were taken is told.

    With --encoder also how the motion looks to a model that `posegen train --task retrieval` made: how well it goes with its
    captions (R-precision in pools of 32), how varied it is, and with --reference its Fréchet distance (FID) from that.

    With --animated and --encoder, what a model that `posegen train --task motion` made makes of captions of the test split is
    measured instead, beside the real motion.
    """
    if model is not None:
        _animated(model, dataset, run, samples, others=reference or figure, as_json=as_json, quiet=quiet)
        return
    from posegen.cli.references import reference_at
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.chart import check_chart, draw_chart
    from posegen.evaluation.evaluate import evaluate as measured

    if figure is not None:
        check_chart(figure)
    fps = float(open_dataset(dataset).header.fps)
    captured = reference_at(reference, fps, lambda told: note(told, quiet=quiet)) if reference else None
    evaluation = measured(dataset, captured, samples, _progress(quiet=quiet))
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
    from posegen.cli.evaluation_motion import judge_motion

    if run is None or others is not None:
        msg = "--animated goes with --encoder RUN, a retrieval model to judge by, and not with --reference or --figure"
        raise UsageError(msg)
    judged = judge_motion(model, dataset, run, samples, lambda told: note(told, quiet=quiet))
    if as_json:
        print_json({"path": str(dataset), "run": str(model), "encoder": str(run)} | _plain(judged.document()))
    else:
        click.echo(printable("\n".join(judged.lines(model)[1:])))


def _by_encoder(run: Path, dataset: Path, reference: Path | None, samples: int | None, *, quiet: bool) -> Seen:
    from posegen.cli.evaluation_encoder import seen_by_encoder

    return seen_by_encoder(run, dataset, reference, samples, lambda told: note(told, quiet=quiet))


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

    from posegen.evaluation.captions import HUMANML3D
    from posegen.evaluation.clip_measures import MEASURES

    walks = [asdict(w) | {"ratio_error": w.ratio_error, "stance_error": w.stance_error} for w in evaluation.walks]
    document: dict[str, Any] = _plain(
        asdict(evaluation) | {"walks": walks, "meanings": MEASURES, "published": asdict(HUMANML3D)}
    )
    return document


def _plain(value: Any) -> Any:
    """JSON knows no NaN: what is not known is null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(path: Path, evaluation: Evaluation) -> list[str]:
    from posegen.cli.evaluation_text import claim_lines, figure_lines, gait_lines, people_lines, realism_lines
    from posegen.cli.variety_text import variety_lines

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
