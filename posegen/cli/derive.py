"""``posegen derive``: compute fields from the motion of a dataset and store them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from posegen.cli.options import DATASET, Output, choose_part, command, part_option, quoted, workers_option
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.plugins import FIELDS


@command("posegen derive data/default-0 --add velocity", "posegen derive data/default-0")
@click.argument("dataset", type=DATASET)
@click.option(
    "--add", "names", metavar="FIELD", multiple=True, help=f"Field to add: {', '.join(FIELDS.names())}. May be repeated."
)
@workers_option
@part_option("Derive")
def derive(dataset: AnyPath, names: Sequence[str], workers: int | None, part: str | None, output: Output) -> None:
    """Compute fields of all samples of DATASET and store them with the others.

    The same command resumes an interrupted run, and covers samples that were added since. Without --add, it updates all
    fields that were added before. `posegen docs fields` describes them.
    """
    from posegen.foundations.quantities import human_bytes, human_time
    from posegen.generation.derive import derive as compute

    with output.resumable(dataset):
        result = compute(dataset, names, workers=workers, part=choose_part(part, output), progress=output.progress())
    fields = ", ".join(result.layers) or "all derived fields"
    of_part = f" in part {result.part}" if result.part else ""
    if result.nothing_to_do:
        text = f"Nothing to do: {fields} of {result.path} is complete{of_part}."
    else:
        made = f"{result.shards_made:,} shard{'s' if result.shards_made > 1 else ''}, {human_bytes(result.bytes)}"
        work = f"{fields} of {result.samples:,} samples ({made}) in {human_time(result.seconds)}"
        text = f"Derived {work}{of_part}: {', '.join(result.arrays)}."
    if result.part:
        text += f"\nNext, once all parts are derived:\n  posegen finish {quoted(dataset)}"
    output.summary(result, text)
