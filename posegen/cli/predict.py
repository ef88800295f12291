"""``posegen predict``: what a trained model says of a dataset."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from posegen.cli.options import example, json_option, note, print_json, quiet_option

__all__ = ["predict"]

_SECONDS_BETWEEN_NOTES = 5.0


@click.command(epilog=example("posegen predict runs/action-default-0-quick data/default-0 -o predictions.parquet"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE.parquet", help="Table to write.")
@json_option
@quiet_option
def predict(run: Path, dataset: Path, out: Path, as_json: bool, quiet: bool) -> None:
    """Write what the model of RUN says of each sequence of DATASET, as a Parquet table.

    Only the joints are looked at. The table has a row for each sequence, in order: its sample and variant, and of the task
    action the action, the share of frames that show it, and the action of each frame that the model sees.
    """
    from posegen.training.inference import predict as written

    result = written(run, dataset, out, _progress(quiet=quiet))
    if as_json:
        print_json({"path": str(result.path), "clips": result.clips})
    elif not quiet:
        click.echo(f"Wrote {result.path}: {result.clips:,} clips.")


def _progress(*, quiet: bool) -> Callable[[int, int], None]:
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > _SECONDS_BETWEEN_NOTES:
            told = time.monotonic()
            note(f"{done:,} of {total:,} clips", quiet=quiet)

    return tell
