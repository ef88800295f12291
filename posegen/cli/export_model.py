"""``posegen export-model``: export a trained model for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import PATH, Output, command, file_option
from posegen.foundations.plugins import MODEL_FORMATS


@command("posegen export-model runs/action-default-0-quick --format onnx", name="export-model")
@click.argument("run", type=PATH)
@click.option("--format", "form", required=True, metavar="FORMAT", help=f"File format: {' or '.join(MODEL_FORMATS.built_in)}.")
@file_option("File to write.  [default: RUN/export.FORMAT]", required=False)
def export_model(run: Path, form: str, out: Path | None, output: Output) -> None:
    """Export the trained model of RUN in another format, and compare the outputs of the exported model with the original.

    Models of every task can be exported. Most take motion [clip, frame, 69], as posegen.training.data.features.features_of
    computes it from joints, and length [clip]; `posegen docs training` lists the inputs of the others,
    `posegen docs animate` a sampler for the task motion. The file's metadata holds inputs, output, class names and frame rate.
    """
    from posegen.training.model_formats import export_model as export

    path = run / f"export.{form}" if out is None else out
    difference = export(run, form, path)
    document = {"path": path, "format": form, "difference": difference}
    output.summary(document, f"Wrote {path}; largest difference from the original outputs: {difference:.1e}.")
