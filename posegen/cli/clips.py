"""``posegen convert`` and ``import``: clips of mocap in another format, or as actions of a library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, PATH, Number, Output, clip_options, command, file_option, quoted, workers_option
from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import EXPORTS
from posegen.foundations.wording import counted

if TYPE_CHECKING:
    from posegen.dataset.storage.address import AnyPath
    from posegen.mocap.fidelity import Played

_BESIDE = 1.2
"""Metres between a clip and its action on the page."""
_NEED_SCENES = ("coco", "pyskl")


@command(
    "posegen convert clips --to humanml3d -o data/humanml3d",
    "posegen convert walk.bvh --to glb -o walk.glb",
    "posegen convert HumanML3D/new_joint_vecs --to bvh -o data/bvh --fps 30",
)
@click.argument("paths", type=PATH, nargs=-1, required=True)
@click.option(
    "--to",
    "form",
    required=True,
    metavar="FORMAT",
    help=f"Format: {', '.join(name for name in EXPORTS.built_in if name not in _NEED_SCENES)}.",
)
@file_option("Folder to write, or the file for one clip.", metavar="PATH")
@click.option(
    "--fps", type=Number(1, 1000), metavar="N", help="Resample to N frames per second.  [default: those of the files]"
)
@click.option(
    "--source-fps", type=Number(1, 1000), metavar="N", help="Frames per second of the files.  [default: as they state]"
)
@clip_options
@click.option("--skeleton", type=PATH, metavar="NPY", help="Joints with the bone lengths of humanml3d.  [default: kept]")
@workers_option
def convert(paths: tuple[Path, ...], form: str, out: Path, output: Output, **options: Any) -> None:
    """Convert clips of mocap at PATHS to FORMAT.

    Reads the formats of `posegen import`. A file that states no frame rate gets that of --fps.

    Files that cannot be read are reported, the others converted, and the exit code is 1. `posegen docs own-clips` has details.
    """
    from posegen.foundations.errors import PosegenError
    from posegen.mocap.convert import convert_clips

    found = convert_clips(paths, form, out, note=output.note, progress=output.progress(), **options)
    document = {"path": str(out), "format": form, "clips": len(found.clips), "failures": found.failures}
    output.summary(document, f"Converted {counted(len(found.clips), 'clip')} into {out}.")
    if found.failures:
        first = "\n".join(found.failures[:20])
        raise PosegenError(f"{counted(len(found.failures), 'failure')}:\n{first}")


@command(
    "posegen import clips/*.bvh --out my_library --licence CC-BY-4.0 --source 'our lab, 2026'",
    "posegen import HumanML3D/new_joints --out my_library",
    name="import",
)
@click.argument("paths", type=PATH, nargs=-1, required=True)
@file_option("Folder of the library or dataset to write.", metavar="DIR")
@click.option("--labels", type=PATH, metavar="CSV", help="Table with file, label and text.  [default: texts, then file names]")
@clip_options
@click.option(
    "--trial",
    type=click.Choice(["report", "refuse", "off"]),
    default="report",
    help="Clips that other bodies cannot perform: report the flaw, refuse them, or skip the trial.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice(["actions", "scene"]),
    default="actions",
    help="Actions that any body performs, or a dataset of the clips as they are.",
)
@click.option("--like", type=DATASET, metavar="DATASET", help="Dataset that a scene is to be mixed with.  [default: none]")
@click.option("--report", type=PATH, metavar="FILE.html", help="Page that shows each clip beside its action.")
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second.  [default: those of the file; .npy 20]")
@click.option("--licence", default="unknown", metavar="TEXT", help="Licence of the clips, such as CC-BY-4.0.")
@click.option("--source", default="unknown", metavar="TEXT", help="Origin of the clips.")
def import_(paths: tuple[Path, ...], out: Path, form: str, report: Path | None, output: Output, **options: Any) -> None:
    """Import clips of mocap at PATHS as actions of a library, or as a dataset.

    With --as scene, recordings stay as they are, in windows of the clip length of a dataset, captioned by their texts.

    Reads BVH, C3D, TRC, AMASS and SMPL npz, and joints of many skeletons. `posegen docs own-clips` leads from clips to a
    dataset.
    """
    from posegen.mocap.library import import_clips
    from posegen.viewing.render import PAGES, check_path

    trial, like = options.pop("trial"), options.pop("like")
    if form == "scene":
        if report is not None or trial != "report":
            raise UsageError("--report and --trial belong to actions, which --as scene does not make; leave them out")
        _import_scenes(paths, out, like, output, options)
        return
    if like is not None:
        raise UsageError("--like belongs to --as scene; leave it out")
    if report is not None:
        check_path(report, PAGES)
    result = import_clips(paths, out, trial=trial, compare=report is not None, progress=output.progress(), **options)
    for clip in result.sources:
        repeated = f", {clip['repetitions']} repetitions" if clip["repetitions"] > 1 else ""
        sided = f", {clip['side']} side" if clip["side"] else ""
        how = f"({clip['format']}; {clip['unit']}, {clip['up']} up, {clip['fps']:g} fps)"
        note = f"; {clip['note']}" if clip["note"] else ""
        output.note(f"{clip['clip']}: {clip['label']}, {clip['seconds']} s{repeated}{sided} {how}{note}")
    for reason in result.refused:
        output.refuse(reason)
    if "unknown" in (options["licence"], options["source"]):
        output.note("the licence or the source is unknown, and datasets will state that: give --licence and --source")
    lines = [
        f'{name}: {counted(len(clips), "clip")}, "{result.verbs[name][0].split("|")[0]}..."'
        for name, clips in result.actions.items()
    ]
    apart = {}
    if report is not None:
        apart = _write_comparison(result.played, report, output)
        lines += ["angle between clip and action, degrees      median  90th percentile"]
        lines += [f"{bone:<40} {each['median']:>9}  {each['high']:>15}" for bone, each in apart.items()]
        lines += [f"Wrote {report}."]
    refused = f"; refused: {len(result.refused)}" if result.refused else ""
    lines += [
        f"Imported {counted(len(result.sources), 'clip')} as {counted(len(result.actions), 'action')} into {out}{refused}.",
        f"Generate with: posegen generate --config {quoted(out)}",
    ]
    document = {"path": out, "actions": result.actions, "refused": result.refused, "clips": result.sources}
    output.summary(document | {"degrees_apart": apart}, "\n".join(lines))


def _import_scenes(
    paths: tuple[Path, ...], out: Path, like: AnyPath | None, output: Output, options: Mapping[str, Any]
) -> None:
    from posegen.mocap.scenes import import_scenes

    found = import_scenes(paths, out, like=like, progress=output.progress(), **options)
    for text in found.notes:
        output.note(text)
    for reason in found.refused:
        output.refuse(reason)
    document = {"path": out, "samples": found.samples, "hours": round(found.hours, 4), "refused": found.refused}
    output.summary(document, f"Wrote {counted(found.samples, 'sample')} ({60 * found.hours:.1f} minutes) to {out}.")


def _write_comparison(played: Mapping[str, Played], out: Path, output: Output) -> dict[str, dict[str, float]]:
    """Write the page with each clip beside its action, and return the angles between them by bone."""
    import numpy as np

    from posegen.evaluation.recording import Recording
    from posegen.evaluation.text import OUTCOMES
    from posegen.mocap.clip_entry import FPS
    from posegen.mocap.fidelity import MOST_APART, bone_table
    from posegen.viewing.collection import collection_of_clips
    from posegen.viewing.page import write_report

    shown = []
    for name, clip in played.items():
        angles = clip.angles()
        worst = max(angles, key=angles.__getitem__)
        text = f"clip and action are {sum(angles.values()) / len(angles):.1f} degrees apart; {worst} {angles[worst]:.1f}"
        beside = np.array(clip.played)
        beside[..., 0] -= _BESIDE
        shown.append(Recording(name, "", clip.source, FPS, captions=(text,), others=[beside]))
    apart = bone_table(played.values())
    verdict = [
        (f"angle of clip and action, {bone}", f"{median} degrees", f"<= {MOST_APART:g}", OUTCOMES[median <= MOST_APART])
        for bone, (median, _) in apart.items()
    ]
    about = {"clips": f"{len(shown):,}", "first figure": "clip", "second figure": "action of a neutral body"}
    found = {"clips": len(shown), "verdict": verdict, "measures": [], "statements": []}
    write_report(collection_of_clips(out.stem, shown, about), len(shown), out, found, output.progress())
    return {bone: {"median": median, "high": high} for bone, (median, high) in apart.items()}
