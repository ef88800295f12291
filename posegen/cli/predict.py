"""``posegen predict``: save the predictions of a trained model for a dataset."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import example, json_option, print_json, quiet_option


@click.command(epilog=example("posegen predict runs/action-default-0-quick data/default-0 -o predictions.parquet"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE.parquet", help="Table to write.")
@json_option
@quiet_option
def predict(run: Path, dataset: Path, out: Path, as_json: bool, quiet: bool) -> None:
    """Run the trained model of RUN on each sequence of DATASET and save its predictions as a Parquet table.

    Only the joints are read. The table has a row for each sequence, in order, with its sample and variant. For the task action,
    it has the predicted action, the share of frames with that action, and the action of each frame of the model's input.
    """
    from posegen.progress import make_progress
    from posegen.training.inference import predict as write_predictions

    result = write_predictions(run, dataset, out, make_progress(quiet=quiet))
    if as_json:
        print_json({"path": str(result.path), "clips": result.clips})
    elif not quiet:
        click.echo(f"Wrote {result.path}: {result.clips:,} clips.")
