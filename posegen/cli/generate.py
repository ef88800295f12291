"""``posegen generate``: generate a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from posegen.cli.options import (
    DATASET,
    Output,
    choose_part,
    command,
    config_option,
    dataset_options,
    folder_option,
    part_option,
    quoted,
)
from posegen.dataset.storage.address import AnyPath


@command("posegen generate --samples 10000 --workers 8", "posegen generate --config smoke --out data/first")
@config_option
@dataset_options
@folder_option("Dataset folder, or s3://BUCKET/PATH.  [default: data/CONFIG-SEED]", DATASET)
@part_option("Make")
@click.option(
    "--backend",
    metavar="loky|dask",
    default="loky",
    show_default=True,
    help="Backend of joblib: processes of this machine, or a Dask cluster.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler.  [default: one on this machine]")
@click.option(
    "--shard-timeout",
    type=float,
    metavar="SECONDS",
    help="Kill a worker whose shard takes longer, and try again.  [default: at least 5 minutes; none with 1 worker]",
)
def generate(
    config: str,
    out: AnyPath | None,
    overrides: Sequence[str],
    part: str | None,
    samples: int | None,
    workers: int | None,
    seed: int | None,
    output: Output,
    **options: Any,
) -> None:
    """Generate a dataset of labelled human motion.

    The same command resumes an interrupted run; with more samples, it extends the dataset.

    With --part, any number of jobs make one dataset, in any order and on any machines that share the folder. `posegen status`
    shows what they have made, and `posegen finish` publishes it. In a Slurm array, a task makes its part unless --part all is
    given.
    """
    from posegen.config.load import load_config
    from posegen.foundations.quantities import human_bytes, human_time
    from posegen.generation.run import default_path
    from posegen.generation.run import generate as make

    loaded = load_config(config, overrides, samples=samples, workers=workers, seed=seed)
    path = default_path(loaded) if out is None else out
    with output.resumable(path):
        result = make(loaded, out=path, part=choose_part(part, output), progress=output.progress(), **options)
    part_text = f"part {result.part} of " if result.part else ""
    if result.nothing_to_do:
        lines = [f"Nothing to do: {part_text}{result.path} is complete."]
    else:
        seconds, rate = result.seconds - result.startup_seconds, result.sequences_per_second
        made = f"{result.sequences_made:,} sequences in {f'{seconds:.1f}s' if seconds < 10 else human_time(seconds)}"
        lines = [f"Generated {made}, {rate:,.0f} per second, in {part_text}{result.path}."]
        if result.startup_seconds >= 1:
            lines.append(f"Start-up took {human_time(result.startup_seconds)}.")
    shown = quoted(result.path)
    if result.part:
        lines += ["Next, once all parts are made:", f"  posegen finish {shown}"]
        output.summary(result, "\n".join(lines))
        return
    if result.incomplete_layers:
        lines.append(f"Incomplete fields: {', '.join(result.incomplete_layers)}. Run: posegen derive {shown}")
    lines += [
        f"It holds {result.samples:,} samples, {result.sequences:,} sequences, {human_bytes(result.bytes)}.",
        "Next:",
        f"  posegen info {shown}",
        f"  posegen show {shown} --sample 0 -o sample.gif",
    ]
    output.summary(result, "\n".join(lines))
