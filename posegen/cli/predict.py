"""``posegen predict``: save the predictions of a trained model for a dataset."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import PATH, Output, command, file_option


@command("posegen predict runs/action-default-0-quick data/default-0 -o predictions.parquet")
@click.argument("run", type=PATH)
@click.argument("dataset", type=PATH)
@file_option("Table to write.", metavar="FILE.parquet")
def predict(run: Path, dataset: Path, out: Path, output: Output) -> None:
    """Run the trained model of RUN on each sequence of DATASET and save its predictions as a Parquet table.

    Only the joints are read. The table has a row for each sequence, in order, with its sample and variant. For the task action,
    it has the predicted action, the share of frames with that action, and the action of each frame of the model's input.
    """
    from posegen.training.trained_models import predict as write_predictions

    clips = write_predictions(run, dataset, out, output.progress())
    output.summary({"path": out, "clips": clips}, f"Wrote {out}: {clips:,} clips.")
