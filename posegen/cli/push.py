"""``posegen push``: upload a dataset to the Hugging Face Hub or to S3."""

from __future__ import annotations

from typing import Any

import click

from posegen.cli.options import DATASET, PATH, Output, command, selection_options, workers_option
from posegen.dataset.storage.address import AnyPath


@command("posegen push data/default-0 me/motion", "posegen push data/default-0 s3://bucket/motion --to webdataset --split test")
@click.argument("dataset", type=DATASET)
@click.argument("target", metavar="USER/NAME|s3://BUCKET/PATH")
@click.option("--to", metavar="FORMAT", default="hf", show_default=True, help="Format, for a bucket any of `posegen export`.")
@selection_options("upload")
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option("--replace", is_flag=True, help="Replace files that are there and differ.")
@click.option(
    "--staging", type=PATH, metavar="DIR", help="Folder for the files to upload, which is kept.  [default: beside DATASET]"
)
@workers_option
def push(dataset: AnyPath, target: str, output: Output, **options: Any) -> None:
    """Upload DATASET to a repository of the Hugging Face Hub, or an export of it to a bucket.

    Few large Parquet files and a card are uploaded, as `posegen export --to hf` writes them. datasets.load_dataset("USER/NAME")
    reads them. Files that are there and equal are skipped, so that the same command resumes. Log in with `hf auth login`; for
    S3, set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION.
    """
    from posegen.exchange.push import push as upload
    from posegen.foundations.quantities import human_bytes, human_time

    result = upload(dataset, target, progress=output.progress(), **options)
    text = (
        f"Uploaded {result.sent} of {result.files} files ({human_bytes(result.bytes_sent)}) to {result.url} in "
        f"{human_time(result.seconds)}; {result.files - result.sent} were there, {result.removed} others are removed. "
        f"They hold {result.clips:,} clips."
    )
    output.summary(result, text)
