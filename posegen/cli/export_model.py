"""``posegen export-model``: export a trained model for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import example, json_option, print_json, quiet_option
from posegen.plugins import MODEL_FORMATS


@click.command(name="export-model", epilog=example("posegen export-model runs/action-default-0-quick --format onnx"))
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "form", required=True, metavar="FORMAT", help=f"File format: {', '.join(MODEL_FORMATS.built_in)}.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="File to write.  [default: RUN/export.FORMAT]"
)
@json_option
@quiet_option
def export_model(run: Path, form: str, out: Path | None, as_json: bool, quiet: bool) -> None:
    """Export the trained model of RUN in another format, and compare the outputs of the exported model with the original.

    The inputs are motion [clip, frame, 69], as posegen.training.data.features.features_of computes it from joints, and length
    [clip]. The file's metadata holds the class names and the frame rate.
    """
    from posegen.training.export import export_model as export

    result = export(run, form, run / f"export.{form}" if out is None else out)
    if as_json:
        print_json({"path": str(result.path), "format": result.format, "difference": result.difference})
    elif not quiet:
        click.echo(f"Wrote {result.path}; largest difference from the original outputs: {result.difference:.1e}.")
