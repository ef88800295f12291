"""``posegen push``: upload a dataset to the Hugging Face Hub or to S3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import DATASET, PATH, Output, command, workers_option

if TYPE_CHECKING:
    from posegen.dataset.bucket import AnyPath

_SPLITS = ("training", "validation", "test")


@command("posegen push data/default-0 me/motion", "posegen push data/default-0 s3://bucket/motion --to webdataset --split test")
@click.argument("dataset", type=DATASET)
@click.argument("target", metavar="USER/NAME|s3://BUCKET/PATH")
@click.option("--to", metavar="FORMAT", default="hf", show_default=True, help="Format, for a bucket any of `posegen export`.")
@click.option(
    "--split", "splits", type=click.Choice(_SPLITS), multiple=True, help="Split to upload; may be repeated.  [default: all]"
)
@click.option(
    "--variant", "variants", metavar="VARIANT", multiple=True, help="Variant to upload; may be repeated.  [default: all]"
)
@click.option("--filter", "where", metavar="SQL", help="Condition on the columns of the table of sequences.  [default: all]")
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option("--replace", is_flag=True, help="Replace files that are there and differ.")
@click.option(
    "--staging", type=PATH, metavar="DIR", help="Folder for the files to upload, which is kept.  [default: beside DATASET]"
)
@workers_option
def push(
    dataset: AnyPath,
    target: str,
    to: str,
    splits: Sequence[str],
    variants: Sequence[str],
    where: str | None,
    private: bool,
    replace: bool,
    staging: Path | None,
    workers: int | None,
    output: Output,
) -> None:
    """Upload DATASET to a repository of the Hugging Face Hub, or an export of it to a bucket.

    Few large Parquet files and a card are uploaded, as `posegen export --to hf` writes them. datasets.load_dataset("USER/NAME")
    reads them. Files that are there and equal are skipped, so that the same command resumes. Log in with `hf auth login`; for
    S3, set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION.
    """
    from posegen.exchange.push import push as upload
    from posegen.quantities import human_bytes, human_time

    result = upload(
        dataset,
        target,
        to=to,
        splits=splits or _SPLITS,
        variants=variants,
        where=where or "",
        private=private,
        replace=replace,
        staging=staging,
        workers=workers,
        progress=output.progress(),
    )
    text = (
        f"Uploaded {result.sent} of {result.files} files ({human_bytes(result.bytes_sent)}) to {result.url} in "
        f"{human_time(result.seconds)}; {result.files - result.sent} were there, {result.removed} others are removed. "
        f"They hold {result.clips:,} clips."
    )
    output.summary(asdict(result), text)
