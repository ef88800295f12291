"""``posegen export`` and ``push``: write a dataset in the format of another program, and upload it."""

from __future__ import annotations

from typing import Any

import click

from posegen.cli.options import DATASET, Output, command, completed, selection_options, workers_option
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.plugins import EXPORTS
from posegen.foundations.wording import counted


@command(
    "posegen export data/default-0 --to humanml3d -o data/humanml3d",
    "posegen export data/default-0 --to humanml3d -o data/gym --where \"theme = 'gym'\"",
)
@click.argument("dataset", type=DATASET)
@click.option(
    "--to", "form", required=True, metavar="FORMAT", help=f"Format: {', '.join(EXPORTS.built_in)}.", **completed(EXPORTS.names)
)
@click.option("-o", "--out", type=DATASET, metavar="DIR", required=True, help="Folder to write, or s3://BUCKET/PATH.")
@selection_options("export")
@click.option(
    "--fps",
    type=click.Choice(["20", "25", "30", "60", "120"]),
    help="Frames per second.  [default: those of the format or DATASET]",
)
@workers_option
def export(dataset: AnyPath, form: str, out: AnyPath, fps: str | None, output: Output, **options: Any) -> None:
    """Export sequences of DATASET in the format of another program.

    The same command resumes an interrupted export. `posegen docs exchange` describes the formats.
    """
    from posegen.exchange.export import export as write
    from posegen.foundations.quantities import human_time

    with output.resumable(out):
        rate = None if fps is None else int(fps)
        result = write(dataset, form, out, fps=rate, progress=output.progress(), **options)
    for reason, count in result.left_out.items():
        output.note(f"left out: {counted(count, 'sequence')}: {reason}")
    if result.nothing_to_do:
        text = f"Nothing to do: {result.path} is complete, {counted(result.clips, 'clip')}."
    else:
        text = f"Exported {counted(result.clips, 'clip')} to {result.path} in {human_time(result.seconds)}."
    output.summary(result, text)


@command("posegen push data/default-0 me/motion", "posegen push data/default-0 s3://bucket/motion --to bvh --split test")
@click.argument("dataset", type=DATASET)
@click.argument("target", metavar="USER/NAME|s3://BUCKET/PATH")
@click.option(
    "--to", metavar="FORMAT", default="hf", help="Format, for a bucket any of `posegen export`.", **completed(EXPORTS.names)
)
@selection_options("upload")
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option("--replace", is_flag=True, help="Replace files of the repository that differ.")
@workers_option
def push(dataset: AnyPath, target: str, output: Output, **options: Any) -> None:
    """Upload DATASET to a repository of the Hugging Face Hub, or an export of it to a bucket.

    Few large Parquet files and a card are uploaded, as `posegen export --to hf` writes them. datasets.load_dataset("USER/NAME")
    reads them. Files that are there and equal are skipped, so that the same command resumes. Log in with `hf auth login`; for
    S3, set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION. A bucket is written as by `posegen export -o`.
    """
    from posegen.exchange.push import push as upload
    from posegen.foundations.quantities import human_bytes, human_time

    result = upload(dataset, target, progress=output.progress(), **options)
    text = (
        f"Uploaded {result.sent} of {result.files} files ({human_bytes(result.bytes_sent)}) to {result.url} in "
        f"{human_time(result.seconds)}; {result.files - result.sent} were there, {result.removed} others are removed. "
        f"They hold {counted(result.clips, 'clip')}."
    )
    output.summary(result, text)
