"""``posegen status``: show how far a dataset is."""

from __future__ import annotations

from dataclasses import asdict

import click

from posegen.cli.options import DATASET, Output, command
from posegen.dataset.storage.address import AnyPath


@command("posegen status data/default-0")
@click.argument("dataset", type=DATASET)
def status(dataset: AnyPath, output: Output) -> None:
    """Show how far DATASET is while runs or parts make it: shards, running parts, and the time left.

    It reads the names and times of receipts, whatever else is missing. `posegen verify` reads the files.
    """
    from posegen.foundations.quantities import human_time
    from posegen.generation.status import find_status

    found = find_status(dataset)
    lines = [
        f"{dataset}: {found.made:,} of {found.shards:,} shards are made.",
        f"Published: {found.samples:,} of {found.target:,} samples.",
        f"Running: {'not known for a bucket' if found.running is None else ', '.join(found.running) or 'nothing'}.",
    ]
    if found.state == "stopped":
        lines.append("Stopped before its end. Run the same `posegen generate` command again: it makes what is missing.")
    if found.recent and found.made < found.shards:
        rest = f"; the rest takes {human_time(found.seconds_left)} at this rate" if found.seconds_left else ""
        lines.append(f"In the last 10 minutes, {found.recent:,} shards were made{rest}.")
    lines += [f"Field {name}: {made:,} shards are derived." for name, made in found.layers.items()]
    for name, (made, shards) in found.embeddings.items():
        lines.append(f"Embeddings {name}: {made:,} of {shards:,} shards of texts are embedded.")
    if found.samples < found.target and found.parts:
        lines.append("Once all parts are made, `posegen finish` publishes the samples.")
    output.result(asdict(found), "\n".join(lines))
