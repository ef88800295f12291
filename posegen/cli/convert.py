"""``posegen convert``: convert clips of mocap to the format of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posegen.cli.options import PATH, Number, Output, clip_options, command, workers_option
from posegen.foundations.plugins import EXPORTS

_NEED_SCENES = ("coco", "ctrgcn", "pyskl")


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
@click.option("-o", "--out", type=PATH, metavar="PATH", required=True, help="Folder to write, or the file for one clip.")
@click.option(
    "--fps", type=Number(1, 1000), metavar="N", help="Resample to N frames per second.  [default: those of the files]"
)
@click.option(
    "--source-fps", type=Number(1, 1000), metavar="N", help="Frames per second of the files.  [default: as they state]"
)
@clip_options
@click.option(
    "--skeleton", type=PATH, metavar="NPY", help="Joints with the bone lengths of humanml3d and tmr.  [default: kept]"
)
@workers_option
def convert(
    paths: tuple[Path, ...],
    form: str,
    out: Path,
    skeleton: Path | None,
    workers: int | None,
    output: Output,
    **options: Any,
) -> None:
    """Convert clips of mocap at PATHS to FORMAT.

    Reads the formats of `posegen import` and `posegen export`. Files that state no frame rate are taken to have that of --fps.

    A file that cannot be read costs no other: it is reported, and the exit code is 1. `posegen docs own-clips` has details.
    """
    from posegen.foundations.errors import PosegenError
    from posegen.mocap.convert import Given, convert_clips

    found = convert_clips(
        paths,
        form,
        out,
        Given(**options),
        skeleton=skeleton,
        workers=workers,
        note=output.note,
        progress=output.progress(),
    )
    document = {"path": str(out), "format": form, "clips": len(found.clips), "failures": found.failures}
    output.summary(document, f"Converted {len(found.clips):,} clips into {out}.")
    if found.failures:
        first = "\n".join(found.failures[:20])
        raise PosegenError(f"{len(found.failures):,} files or clips are not converted:\n{first}")
