"""``posegen mix``: write a small file that names datasets to be read as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from posegen.cli.options import DATASET, PATH, Output, command
from posegen.dataset.storage.address import AnyPath


@command(
    "posegen mix data/default-0 data/default-1 --ratio 1:4 -o data/mix.json",
    "posegen mix data/default-0 data/default-1 --filter 'duration > 4' -o data/long.json",
)
@click.argument("datasets", type=DATASET, nargs=-1, required=True)
@click.option("--ratio", metavar="A:B", help="Share of each dataset in an epoch.  [default: each sequence once]")
@click.option("--filter", "where", metavar="SQL", default="", help="Condition on the columns of the tables.  [default: all]")
@click.option("-o", "--out", type=PATH, metavar="FILE", required=True, help="File to write.")
def mix(datasets: Sequence[AnyPath], ratio: str | None, where: str, out: Path, output: Output) -> None:
    """Write a file that names DATASETS, to be read as one dataset with posegen.open_mix.

    No motion is copied. `posegen docs reading` describes the order of batches.
    """
    from posegen.dataset.mix import concat, write_mix
    from posegen.foundations.errors import UsageError

    try:
        weights = None if ratio is None else [float(share) for share in ratio.split(":")]
    except ValueError:
        raise UsageError(f"--ratio must be numbers with colons between them, such as 1:4 (got {ratio!r})") from None
    mixed = concat(datasets, weights, where)
    samples, shares = mixed.counts()
    write_mix(out, mixed)
    document = {"path": out, "datasets": list(datasets), "samples": samples, "samples_in_epoch": shares}
    counts = ", ".join(f"{share:,} of {path}" for share, path in zip(shares, datasets, strict=True))
    output.summary(document, f"{out} {'selects' if where else 'names'} {samples:,} samples. An epoch has about {counts}.")
