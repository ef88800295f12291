"""``posegen finish``: publish a dataset that was made in parts."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import click

from posegen.cli.options import DATASET, Output, command
from posegen.dataset.storage.address import AnyPath

INCOMPLETE = 1
_GAPS_SHOWN = 10


@command("posegen finish data/default-0")
@click.argument("dataset", type=DATASET)
def finish(dataset: AnyPath, output: Output) -> int:
    """Publish what the parts of DATASET have made: its complete samples, from the first without a gap.

    It names the shards that are missing, and the parts to run again. It may be run while parts are being made. The exit code is
    0 if nothing is missing, else 1.
    """
    from posegen.generation.finish import finish as publish

    result = publish(dataset, output.progress())
    lines = [f"{dataset}: {result.samples:,} samples, {result.sequences:,} sequences are published."]
    if result.missing:
        gaps = [f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last in result.missing]
        more = f" and {len(gaps) - _GAPS_SHOWN:,} more" if len(gaps) > _GAPS_SHOWN else ""
        lost = result.shards - result.complete
        lines.append(f"{lost:,} of {result.shards:,} shards are missing: {', '.join(gaps[:_GAPS_SHOWN])}{more}.")
        parts = ", ".join(f"{number}/{result.of_parts}" for number in result.parts[:_GAPS_SHOWN])
        more = " and more" if len(result.parts) > _GAPS_SHOWN else ""
        lines.append(
            f"Run again: posegen generate --part {parts}{more}, with the other options as before, or --part all for all "
            "of them; then this command."
            if result.of_parts > 1
            else "Run the same `posegen generate` command again: it makes and publishes them."
        )
    else:
        lines += ["Nothing is missing. Next:", f"  posegen verify {shlex.quote(str(dataset))}"]
    if result.incomplete_layers:
        fields = ", ".join(result.incomplete_layers)
        lines.append(f"Incomplete fields: {fields}. Run: posegen derive {shlex.quote(str(dataset))}")
    output.summary(asdict(result), "\n".join(lines))
    return INCOMPLETE if result.missing else 0
