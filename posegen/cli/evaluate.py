"""``posegen evaluate``: measure plausibility of motion, truth of captions, distance to mocap, and motion of trained models."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path

import click

from posegen.cli.options import DATASET, PATH, WHOLE, Number, Output, command
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import UsageError

_REFUSED_SHOWN = 20


@command(
    "posegen evaluate data/default-0",
    "posegen evaluate data/default-0 --samples 200 --json",
    "posegen evaluate HumanML3D/new_joints --reference mocap.npz",
)
@click.argument("dataset", type=DATASET, metavar="PATH")
@click.option("--reference", type=DATASET, metavar="PATH", help="Mocap to compare with: a dataset, or files of clips.")
@click.option("--encoder", "run", type=PATH, metavar="RUN", help="Run of a retrieval model to also measure with.")
@click.option("--animated", "model", type=PATH, metavar="RUN", help="Run of a motion model to evaluate instead of the dataset.")
@click.option("--samples", type=WHOLE, metavar="N", help="Evaluate only the first N samples or clips.  [default: all]")
@click.option("--workers", type=WHOLE, metavar="W", help="Worker processes.  [default: one per core, fewer for few samples]")
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second of clips.  [default: those of the file]")
@click.option("--names", type=PATH, metavar="YAML", help="Names of the joints of clips.  [default: worked out]")
@click.option("--figure", type=PATH, metavar="FILE.png", help="Also draw the main measures.")
@click.option("--all", "everything", is_flag=True, help="Print all measures, not only the verdict.")
def evaluate(
    dataset: AnyPath,
    reference: AnyPath | None,
    run: Path | None,
    model: Path | None,
    samples: int | None,
    workers: int | None,
    fps: float | None,
    names: Path | None,
    figure: Path | None,
    everything: bool,
    output: Output,
) -> None:
    """Measure the motion at PATH by its joints: feet, joint ranges, flight, balance, gait.

    The verdict is printed first: each main measure with its target. --all and --json print all measures.

    PATH is a dataset, or a file or folder of clips in a format that `posegen import` reads, or that `posegen export` writes,
    except pyskl, ctrgcn and coco. Clips are measured by their joints alone; those that cannot be read are listed.

    In a dataset, the statements of captions (sides, counts, directions, speeds, order) are checked against the joints. The
    diversity of captions and scenes is reported with the published values of HumanML3D.

    --reference also measures the distance to mocap, with the same measures of the reference split by subject, and of the
    reference with joints shifted by 5 mm. An .npz file has the arrays joints [frames, 22, 3] in metres with y up, offsets
    [clips + 1], subjects [clips], fps and, if known, classes [clips]. What is detected in each other file is printed.

    --encoder also measures with a model of `posegen train --task retrieval`: R-precision in pools of 32, diversity, and with
    --reference the Fréchet distance (FID).

    --animated with --encoder evaluates a model of `posegen train --task motion` instead: motion generated for captions of the
    test split, with the real motion as reference.
    """
    if model is not None:
        if run is None or reference or figure:
            raise UsageError("--animated requires --encoder RUN, a retrieval model, and excludes --reference and --figure")
        from posegen.training.animation.measures import measure_animation

        measures = measure_animation(model, dataset, run, samples, output.note)
        output.result({"path": dataset, "run": model, "encoder": run} | asdict(measures), measures.text(model))
        return
    from posegen.mocap.sources import holds_clips, require_existing

    local = storage_of(dataset).local
    if local:
        require_existing(local)
    if local and holds_clips(local):
        if run is not None or figure is not None:
            raise UsageError(f"--encoder and --figure need a dataset, and {dataset} holds clips; leave them out")
        _evaluate_clips(local, reference, samples, fps, names, output, everything=everything)
        return
    if fps is not None or names is not None:
        raise UsageError("--fps and --names belong to clips, not to a dataset; leave them out")
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.captions import HUMANML3D
    from posegen.evaluation.chart import draw_chart
    from posegen.evaluation.evaluate import evaluate as measured
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.text import describe_evaluation
    from posegen.evaluation.verdict import judge
    from posegen.mocap.recordings import open_reference

    if figure is not None:
        from posegen.viewing.render import check_path

        check_path(figure, (".png",))
    mocap = open_reference(reference, float(open_dataset(dataset).header.fps), output.note) if reference else None
    found = measured(dataset, mocap, samples, output.progress(), workers)
    by_encoder = None
    if run is not None:
        from posegen.training.encoder_measures import measure_by_encoder

        by_encoder = measure_by_encoder(run, dataset, reference, samples, output.progress())
    if figure is not None:
        draw_chart(found, figure)
    document = asdict(found) | {
        "walks": [asdict(w) | {"ratio_error": w.ratio_error, "stance_error": w.stance_error} for w in found.walks],
        "meanings": MEASURES,
        "published": HUMANML3D,
        "path": dataset,
        "reference_path": reference,
        "encoder": by_encoder and by_encoder.document(),
        "verdict": judge(found),
    }
    head = f"{dataset}: {found.samples:,} samples, {found.clips:,} clips"
    text = describe_evaluation(found, head, by_encoder.text() if by_encoder else "", everything=everything)
    output.result(document, text)


def _evaluate_clips(
    path: Path,
    reference: AnyPath | None,
    most: int | None,
    fps: float | None,
    names: Path | None,
    output: Output,
    *,
    everything: bool,
) -> None:
    """Measure a file or folder of clips, and print the result.

    Raises
    ------
    UsageError
        If no clip can be read.
    """
    from posegen.evaluation.evaluate import evaluate_clips
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.text import describe_evaluation
    from posegen.evaluation.verdict import judge
    from posegen.mocap.recordings import open_reference, read_recordings

    if most is not None and most < 1:
        raise UsageError(f"--samples must be at least 1 (got {most})")
    refused: list[str] = []
    clips = read_recordings(path, fps=fps, names=names, log=output.note, refuse=refused.append)
    mocap = open_reference(reference, None, output.note) if reference else None
    found = evaluate_clips(islice(clips, most), str(path), mocap)
    shown = [f"refused: {reason}" for reason in refused[:_REFUSED_SHOWN]]
    if found.clips == 0:
        raise UsageError("\n".join([f"{path}: none of the clips can be read", *shown]))
    if len(refused) > len(shown):
        shown.append(f"and {len(refused) - len(shown):,} more are refused")
    document = {"path": path, "reference_path": reference, "clips": found.clips, "refused": refused}
    measures = {"measures": found.measures, "meanings": MEASURES, "reference": found.reference, "realism": found.realism}
    measures |= {"verdict": judge(found)}
    text = describe_evaluation(found, f"{path}: {found.clips:,} clips", everything=everything, scenes=False)
    output.result(document | measures, "\n\n".join([text, *(["\n".join(shown)] if shown else [])]))
