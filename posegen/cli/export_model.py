"""``posegen export-model``: a trained model for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import example, json_option, print_json, quiet_option

__all__ = ["export_model"]


@click.command(name="export-model", epilog=example("posegen export-model runs/action-default-0-quick --format onnx"))
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "form", required=True, type=click.Choice(["onnx", "safetensors"]), help="What to write.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to.  [default: RUN/export.FORMAT]")
@json_option
@quiet_option
def export_model(run: Path, form: str, out: Path | None, as_json: bool, quiet: bool) -> None:
    """Write the model of RUN as ONNX or safetensors, load that again, and check that it says the same.

    It takes motion [clip, frame, 69], as posegen.training.data.features.features_of makes it of joints, and length [clip].
    Which actions its answers stand for, and at how many frames a second it sees motion, is in the file's metadata.
    """
    from posegen.training.export import export_model as written

    result = written(run, form, run / f"export.{form}" if out is None else out)
    if as_json:
        print_json({"path": str(result.path), "format": result.format, "difference": result.difference})
    elif not quiet:
        click.echo(f"Wrote {result.path}; what it says differs from the model's own by {result.difference:.1e} at most.")
