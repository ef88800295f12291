"""``posegen evaluate``: measure plausibility of motion, truth of captions, distance to mocap, and motion of trained models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, PATH, WHOLE, Number, Output, command, refuse_useless
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import UsageError, require_positive
from posegen.foundations.wording import counted

if TYPE_CHECKING:
    from posegen.evaluation.evaluate import Evaluation
    from posegen.evaluation.recording import Recording

_REFUSED_SHOWN = 20


@command(
    "posegen evaluate data/default-0",
    "posegen evaluate data/default-0 --samples 200 --json",
    "posegen evaluate HumanML3D/new_joints --reference mocap.npz",
    "posegen evaluate HumanML3D/new_joints --captions",
)
@click.argument("dataset", type=DATASET, metavar="PATH")
@click.option("--reference", type=DATASET, metavar="PATH", help="Mocap to compare with: a dataset, or files of clips.")
@click.option("--encoder", "run", type=PATH, metavar="RUN", help="Run of a retrieval model to also measure with.")
@click.option("--animated", "model", type=PATH, metavar="RUN", help="Run of a motion model to evaluate instead of the dataset.")
@click.option("--samples", type=WHOLE, metavar="N", help="Evaluate only the first N samples or clips.  [default: all]")
@click.option("--workers", type=WHOLE, metavar="W", help="Worker processes.  [default: one per core, fewer for few samples]")
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second of clips.  [default: those of the file]")
@click.option("--names", type=PATH, metavar="YAML", help="Names of the joints of clips.  [default: detected]")
@click.option("--figure", type=PATH, metavar="FILE.png", help="Also draw the main measures.")
@click.option("--captions", "audit", is_flag=True, help="Compare the captions beside clips with their joints instead.")
@click.option("--all", "everything", is_flag=True, help="Print all measures, not only the verdict.")
def evaluate(dataset: AnyPath, output: Output, **options: Any) -> None:
    """Measure the motion at PATH by its joints: feet, joint ranges, flight, balance, gait.

    The verdict is printed first: each main measure with its target. --all and --json print all measures.

    PATH is a dataset, or a file or folder of clips in a format that `posegen import` reads. Clips are measured by their joints
    alone; those that cannot be read are listed.

    In a dataset, the statements of captions (sides, counts, directions, speeds, order) are checked against the joints.

    --reference also measures the distance to mocap, with the same measures of the reference split by subject. An .npz file
    has the arrays joints [frames, 22, 3] in metres with y up, offsets [clips + 1], subjects [clips], fps and, if known, classes
    [clips]. For each other file, the detected format is printed.

    --encoder also measures with a model of `posegen train --task retrieval`: R-precision in pools of 32, diversity, and with
    --reference the Fréchet distance (FID).

    --captions reads the sentences of texts/NAME.txt beside each clip, as in HumanML3D, and checks claims about joints: the
    side of an arm or leg, turns, directions, numbers of steps and jumps, and the order of two events. A claim is true, false,
    or open where the joints decide nothing. Captions of one clip that name different sides are counted.

    --animated with --encoder evaluates a model of `posegen train --task motion` instead: motion generated for captions of the
    test split, with the real motion as reference.
    """
    from posegen.mocap.sources import holds_clips, require_existing

    given, local = SimpleNamespace(**options), storage_of(dataset).local
    if given.model is not None:
        _evaluate_model(dataset, given.model, given, output)
        return
    if local:
        require_existing(local)
    if local and holds_clips(local):
        _evaluate_clips(local, given, output)
    else:
        _evaluate_dataset(dataset, given, output)


def _evaluate_model(dataset: AnyPath, model: Path, given: SimpleNamespace, output: Output) -> None:
    """Measure the motion that a model generates for captions of a dataset, and print the result."""
    from posegen.training.encoder_measures import measure_animation

    if given.run is None:
        raise UsageError("--animated requires --encoder RUN, a retrieval model")
    refuse_useless("with --animated", {"--reference": given.reference, "--figure": given.figure})
    measures = measure_animation(model, dataset, given.run, given.samples, output.note)
    output.result({"path": dataset, "run": model, "encoder": given.run} | asdict(measures), measures.text(model))


def _evaluate_dataset(path: AnyPath, given: SimpleNamespace, output: Output) -> None:
    """Measure a dataset, and print the result."""
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.evaluate import evaluate as measured
    from posegen.evaluation.text import describe_evaluation, draw_chart
    from posegen.mocap.recordings import open_reference

    useless = {"--captions": given.audit or None, "--fps": given.fps, "--names": given.names}
    refuse_useless("on a dataset, whose captions are always compared with its joints", useless)
    if given.figure is not None:
        from posegen.viewing.render import check_path

        check_path(given.figure, (".png",))
    rate = float(open_dataset(path).header.fps)
    mocap = open_reference(given.reference, rate, output.note) if given.reference else None
    found, by_encoder = measured(path, mocap, given.samples, output.progress(), given.workers), None
    if given.run is not None:
        from posegen.training.encoder_measures import measure_by_encoder

        by_encoder = measure_by_encoder(given.run, path, given.reference, given.samples, output.progress())
    if given.figure is not None:
        draw_chart(found, given.figure)
    head = f"{path}: {counted(found.samples, 'sample')}, {counted(found.clips, 'clip')}"
    text = describe_evaluation(found, head, by_encoder.text() if by_encoder else "", everything=given.everything)
    output.result(_document(found, path, given) | {"encoder": by_encoder and by_encoder.document()}, text)


def _evaluate_clips(path: Path, given: SimpleNamespace, output: Output) -> None:
    """Measure the clips of a file or folder, or audit their captions, and print the result; UsageError if none can be read."""
    from posegen.evaluation.evaluate import evaluate_clips
    from posegen.evaluation.text import describe_evaluation
    from posegen.mocap.recordings import open_reference, read_recordings

    refuse_useless("on clips", {"--encoder": given.run, "--figure": given.figure})
    require_positive("--samples", given.samples)
    refused: list[str] = []
    read: dict[str, Any] = {"fps": given.fps, "names": given.names, "captions": given.audit}
    read |= {"refuse": refused.append, "note": output.note, "log": None if given.audit else output.note}
    clips = islice(read_recordings(path, **read), given.samples)
    if given.audit:
        _audit_captions(path, clips, refused, output)
        return
    reference = open_reference(given.reference, None, output.note) if given.reference else None
    found = evaluate_clips(clips, str(path), reference)
    shown = [f"refused: {reason}" for reason in refused[:_REFUSED_SHOWN]]
    if found.clips == 0:
        raise UsageError("\n".join([f"{path}: none of the clips can be read", *shown]))
    if len(refused) > len(shown):
        shown.append(f"refused: {len(refused) - len(shown):,} more")
    text = describe_evaluation(found, f"{path}: {counted(found.clips, 'clip')}", everything=given.everything, scenes=False)
    output.result(_document(found, path, given) | {"refused": refused}, "\n".join([text, *([""] if shown else []), *shown]))


def _document(found: Evaluation, path: AnyPath, given: SimpleNamespace) -> dict[str, Any]:
    """Return all measures of an evaluation, their meanings, and the verdict."""
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.text import judge

    walks = [asdict(walk) | {"ratio_error": walk.ratio_error, "stance_error": walk.stance_error} for walk in found.walks]
    about = {"path": path, "reference_path": given.reference, "meanings": MEASURES, "verdict": judge(found)}
    return asdict(found) | {"walks": walks} | about


def _audit_captions(path: Path, clips: Iterator[Recording], refused: list[str], output: Output) -> None:
    """Compare the captions beside clips with their joints, and print the result; UsageError if no clip has a caption."""
    from posegen.evaluation.claims import audit_captions, describe_audit

    found = audit_captions(clips)
    if found.clips == 0:
        raise UsageError(f"{path}: no clip has captions; they are read from texts/NAME.txt beside the folder of NAME.npy")
    left_out = f"\n\n{counted(len(refused), 'file')} refused, the first: {refused[0]}" if refused else ""
    output.result({"path": path, "refused": refused} | asdict(found), describe_audit(found, str(path)) + left_out)
