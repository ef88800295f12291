"""``posegen export``: write sequences of a dataset in the format of another program."""

from __future__ import annotations

from typing import Any

import click

from posegen.cli.options import DATASET, Output, choose_part, command, part_option, selection_options, workers_option
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.plugins import EXPORTS


@command(
    "posegen export data/default-0 --to humanml3d -o data/humanml3d",
    "posegen export data/default-0 --to humanml3d -o data/gym --filter \"theme = 'gym'\"",
)
@click.argument("dataset", type=DATASET)
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"Format: {', '.join(EXPORTS.built_in)}.")
@click.option("-o", "--out", type=DATASET, metavar="DIR", required=True, help="Folder to write, or s3://BUCKET/PATH.")
@selection_options("export")
@click.option(
    "--fps",
    type=click.Choice(["20", "25", "30", "60", "120"]),
    help="Frames per second.  [default: those of the format or DATASET]",
)
@workers_option
@part_option("Export")
def export(
    dataset: AnyPath,
    form: str,
    out: AnyPath,
    fps: str | None,
    part: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Export sequences of DATASET in the format of another program.

    The same command resumes an interrupted export. `posegen docs exchange` describes the formats.
    """
    from posegen.exchange.export import export as write
    from posegen.foundations.quantities import human_time

    with output.resumable(out):
        result = write(
            dataset,
            form,
            out,
            fps=None if fps is None else int(fps),
            part=choose_part(part, output),
            progress=output.progress(),
            **options,
        )
    for reason, count in result.left_out.items():
        output.note(f"{count:,} sequences are left out: {reason}")
    part_text = f" of part {result.part}" if result.part else ""
    if result.nothing_to_do:
        text = f"Nothing to do: {result.path} holds all {result.clips:,} clips{part_text}."
    else:
        text = f"Exported {result.clips:,} clips{part_text} to {result.path} in {human_time(result.seconds)}."
    if result.part:
        text += "\nNext, once all parts are exported: the same command with --part all, which writes the files about all clips."
    output.summary(result, text)
