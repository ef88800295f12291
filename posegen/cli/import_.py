"""``posegen import``: turn clips of mocap into actions of a library."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from posegen.cli.options import PATH, Number, Output, clip_options, command


@command(
    "posegen import clips/*.bvh --out my_library --licence CC-BY-4.0 --source 'our lab, 2026'",
    "posegen import HumanML3D/new_joints --out my_library",
    name="import",
)
@click.argument("paths", type=PATH, nargs=-1, required=True)
@click.option("-o", "--out", type=PATH, metavar="DIR", required=True, help="Library folder to write.")
@click.option("--labels", type=PATH, metavar="CSV", help="Table with file, label and text.  [default: texts, then file names]")
@clip_options
@click.option(
    "--trial",
    type=click.Choice(["report", "refuse", "off"]),
    default="report",
    help="Clips that other bodies cannot perform: report the flaw, refuse them, or skip the trial.",
)
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second.  [default: those of the file; .npy 20]")
@click.option("--licence", default="unknown", metavar="TEXT", help="Licence of the clips, such as CC-BY-4.0.")
@click.option("--source", default="unknown", metavar="TEXT", help="Origin of the clips.")
def import_(paths: tuple[Path, ...], out: Path, output: Output, **options: Any) -> None:
    """Import clips of mocap at PATHS as actions of a library.

    Reads BVH, AMASS and SMPL npz, joints in npz and npy, and C3D. `posegen docs own-clips` leads from clips to a dataset.
    """
    from posegen.mocap.library import import_clips

    result = import_clips(paths, out, progress=output.progress(), **options)
    for clip in result.sources:
        repeated = f", {clip['repetitions']} repetitions" if clip["repetitions"] > 1 else ""
        sided = f", {clip['side']} side" if clip["side"] else ""
        output.note(
            f"{clip['clip']}: {clip['label']}, {clip['seconds']} s{repeated}{sided} "
            f"({clip['format']}; {clip['unit']}, {clip['up']} up, {clip['fps']:g} fps)"
            + (f"; {clip['note']}" if clip["note"] else "")
        )
    for note in result.notes:
        output.note(note)
    for reason in result.refused:
        output.note(f"refused: {reason}")
    if "unknown" in (options["licence"], options["source"]):
        output.note("the licence or the source is unknown, and datasets will state that: give --licence and --source")
    lines = [
        f'{name}: {len(clips)} clips, "{result.verbs[name][0].split("|")[0]}..."' for name, clips in result.actions.items()
    ]
    text = f"Imported {len(result.sources)} clips as {len(result.actions)} actions into {out}"
    if result.refused:
        text += f"; {len(result.refused)} are refused"
    lines += [
        f"{text}.",
        f"Generate with: posegen generate --config {shlex.quote(str(out))}",
    ]
    output.summary(
        {
            "path": str(out),
            "actions": dict(result.actions),
            "refused": result.refused,
            "clips": result.sources,
            "signs": dict(result.signs),
            "notes": result.notes,
        },
        "\n".join(lines),
    )
